//! Lists have exactly what their rules admit. No layer can break it, but types that do not decide
//! by their rules do.

use policy_core::object::{Condition, Field, FieldKind};
use policy_server::{
    object::{Edit, Object, Permits, Sample},
    tokens::Issuer,
};

use super::*;

#[derive(Object)]
#[rule(View = owner(user) | same(team) & !draft | member(readers))]
#[rule(Edit = owner(user) & role("lead") | owner(number) | scope("edit"))]
struct Order {
    #[object(key)]
    #[expect(dead_code, reason = "no handler runs")]
    id: u64,
    #[object(owner)]
    user: Option<String>,
    #[object(owner)]
    number: u64,
    #[object(tenant)]
    team: String,
    #[object(flag, column = "state = 'draft' OR state = '('")]
    draft: bool,
    #[object(members, table = "readers", object = "order_id", user = "person")]
    readers: Vec<String>,
}

#[get("/orders")]
#[auth(session | token, optional)]
async fn list(_orders: Scope<Order>) {}

#[put("/orders")]
#[auth(session)]
async fn edit_all(_orders: Scope<Order, Edit>) {}

#[get("/open")]
#[auth(public)]
async fn open(_orders: Scope<Order>) {}

#[test]
fn honest_lists_are_proved() {
    let app = with_tokens().sessions(Sessions::memory()).routes(routes![list, edit_all, open]);
    // Behind a layer, too.
    let proof = prove(requesting(app, |_| ()));
    proof.check(Law::ListRights);
    let text = proof.confirmation(Law::ListRights);
    assert!(text.contains("480 cases"), "{text}");
}

/// A caller of another issuer, whose name could be a user's.
#[get("/orders")]
#[auth(token, issuers = ["https://id.partner.example"])]
async fn of_partner(_orders: Scope<Order>) {}

#[test]
fn lists_for_foreign_callers_are_proved() {
    let partner = Issuer::new("https://id.partner.example").jwks("https://id.partner.example/keys");
    let settings = Tokens::hs256([("k1", secret())]).expect("a key").accept(partner);
    let proof = prove(app().tokens(settings).routes(routes![of_partner]));
    proof.check(Law::ListRights);
    let text = proof.confirmation(Law::ListRights);
    assert!(text.contains(": 1 cases"), "{text}");
}

#[derive(Object)]
#[rule(View = with(is_shown))]
struct Opaque {
    #[object(key)]
    id: u64,
}

fn is_shown(opaque: &Opaque, _: &Principal) -> bool {
    opaque.id > 0
}

#[get("/opaque")]
#[auth(session)]
async fn opaque(_all: Scope<Opaque>) {}

#[test]
fn lists_that_no_rule_filters_are_left_out_and_named() {
    let proof = prove(with_sessions().routes(routes![opaque]));
    proof.check(Law::ListRights);
    let stated = proof.caveats(Law::ListRights);
    assert_eq!(stated, ["no list can be filtered by the rules of `Opaque`"]);
}

/// An object that states these rules, and decides by others.
macro_rules! lying {
    ($name:ident: $says_view:literal, $says_edit:literal; $view:literal, $edit:literal; $is_flag:expr) => {
        mod $name {
            use super::*;

            $crate::proof::clauses::lying_object!($says_view, $says_edit; $view, $edit; $is_flag);

            #[put("/orders")]
            #[auth(session)]
            async fn edit_all(_orders: Scope<Order, Edit>) {}

            pub(super) fn refutation() -> String {
                prove(with_sessions().routes(routes![edit_all])).refutation(Law::ListRights)
            }
        }
    };
}

lying!(honest: "!draft", "anyone"; "!draft", "anyone"; |draft| draft);
lying!(shown: "!draft", "anyone"; "anyone", "anyone"; |draft| draft);
lying!(edited: "anyone", "!draft"; "anyone", "anyone"; |draft| draft);
lying!(hidden: "anyone", "anyone"; "anyone", "draft"; |draft| draft);
lying!(in_memory: "!draft", "anyone"; "!draft", "anyone"; |_| false);

#[test]
fn a_list_is_judged_by_each_of_its_rules_and_in_each_of_its_forms() {
    assert_eq!(honest::refutation(), "");
    let with_draft = "expected  the list does not have an object `Order` with `draft`";
    for (text, words) in [
        (shown::refutation(), with_draft),
        (edited::refutation(), with_draft),
        (
            hidden::refutation(),
            "expected  the list has an object `Order` that has nothing to do with the caller",
        ),
        (
            hidden::refutation(),
            "seen      the list in memory does not have it, the predicate `(draft)` with [] does not have it, ",
        ),
        (in_memory::refutation(), "seen      the list in memory has it\n"),
    ] {
        assert!(text.contains(words), "`{words}` in\n{text}");
    }
}

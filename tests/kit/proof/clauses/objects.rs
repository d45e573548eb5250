//! Handlers run for callers whom the rules of their objects admit. No layer can break it, but types
//! that do not decide by their rules do.

use policy_core::object::{Condition, Field, FieldKind};
use policy_server::object::{Edit, LoadLocked, Locked, Object, Permits, Sample};

use super::*;

#[derive(Object)]
#[object(name = "Honest")]
#[rule(View = owner | same(tenant) & !draft)]
#[rule(Edit = owner & role("lead") | member(editors))]
struct HonestOrder {
    #[object(key)]
    id: u64,
    #[object(owner)]
    user: Option<u64>,
    #[object(tenant)]
    team: String,
    #[object(flag)]
    draft: bool,
    #[object(members)]
    editors: Vec<String>,
}

impl Load for HonestOrder {
    type Source = ();

    async fn load(_: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
        Ok(None)
    }
}

#[get("/orders/{id}")]
#[auth(session | token)]
async fn show(order: Allowed<HonestOrder>) -> String {
    order.id.to_string()
}

#[put("/orders/{id}")]
#[auth(session | token, optional)]
async fn change(order: Allowed<HonestOrder, Edit>) -> String {
    order.id.to_string()
}

impl LoadLocked for HonestOrder {
    type Lock = ();

    async fn load_locked(_: &u64, _: &(), _: &()) -> Result<Option<(Self, ())>, Problem> {
        Ok(None)
    }
}

#[post("/orders/{id}/close")]
#[auth(session)]
async fn close(order: Locked<HonestOrder, Edit>) -> String {
    order.id.to_string()
}

#[test]
fn objects_with_locks_are_proved() {
    let proof = prove(with_sessions().routes(routes![close]));
    proof.check(Law::ObjectRights);
    let text = proof.confirmation(Law::ObjectRights);
    assert!(text.contains("32 cases"), "{text}");
}

#[test]
fn honest_objects_are_proved() {
    let app = with_tokens().sessions(Sessions::memory()).routes(routes![show, change]);
    // Behind a layer, too.
    let proof = prove(requesting(app, |_| ()));
    proof.check(Law::ObjectRights);
    let text = proof.confirmation(Law::ObjectRights);
    assert!(text.contains("208 cases"), "{text}");
}

/// An object with more fields than a proof combines.
#[derive(Object)]
#[rule(View = a | b | c | d | e | f | g | h | i)]
struct Wide {
    #[object(key)]
    id: u64,
    #[object(flag)]
    a: bool,
    #[object(flag)]
    b: bool,
    #[object(flag)]
    c: bool,
    #[object(flag)]
    d: bool,
    #[object(flag)]
    e: bool,
    #[object(flag)]
    f: bool,
    #[object(flag)]
    g: bool,
    #[object(flag)]
    h: bool,
    #[object(flag)]
    i: bool,
}

impl Load for Wide {
    type Source = ();

    async fn load(_: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
        Ok(None)
    }
}

#[get("/wide/{id}")]
#[auth(session)]
async fn wide(one: Allowed<Wide>, all: Scope<Wide>) -> String {
    format!("{} {}", one.id, all.contains(&one))
}

#[test]
fn fields_that_are_not_combined_are_stated() {
    let proof = prove(with_sessions().routes(routes![wide]));
    for law in [Law::ObjectRights, Law::ListRights] {
        proof.check(law);
        let stated = proof.caveats(law);
        let words = "only 8 of the 9 fields of `Wide` are combined";
        assert!(stated.iter().any(|line| line.contains(words)), "{law:?} {stated:?}");
    }
}

#[get("/shared/{id}")]
#[auth(public)]
async fn open(order: Allowed<HonestOrder>) -> String {
    order.id.to_string()
}

#[delete("/shared/{id}")]
#[auth(token, optional)]
async fn by_token(order: Allowed<HonestOrder>) -> String {
    order.id.to_string()
}

#[put("/shared/{id}")]
#[auth(session)]
async fn change_shared(order: Allowed<HonestOrder>) -> String {
    order.id.to_string()
}

#[test]
fn a_caller_whose_credential_a_route_does_not_take_is_nobody_to_it() {
    let app = with_tokens().sessions(Sessions::memory());
    let proof = prove(app.routes(routes![open, by_token, change_shared]));
    proof.check(Law::ObjectRights);
}

/// An object that states these rules, and decides by others.
macro_rules! lying {
    ($name:ident: $says_view:literal, $says_edit:literal; $view:literal, $edit:literal) => {
        mod $name {
            use super::*;

            $crate::proof::clauses::lying_object!($says_view, $says_edit; $view, $edit; |_| false);

            impl Load for Order {
                type Source = ();

                async fn load(_: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
                    Ok(None)
                }
            }

            #[put("/orders/{id}")]
            #[auth(session)]
            async fn change(_order: Allowed<Order, Edit>) {}

            pub(super) fn refutation() -> String {
                prove(with_sessions().routes(routes![change])).refutation(Law::ObjectRights)
            }
        }
    };
}

lying!(shown: "role(\"clerk\")", "anyone"; "anyone", "anyone");
lying!(changed: "anyone", "role(\"clerk\")"; "anyone", "anyone");
lying!(denied: "anyone", "role(\"clerk\")"; "anyone", "!anyone");
lying!(told: "role(\"clerk\")", "anyone"; "anyone", "!anyone");

#[test]
fn objects_that_decide_by_other_rules_are_found() {
    for (text, words) in [
        (shown::refutation(), "seen      the handler ran"),
        (changed::refutation(), "expected  403 object.denied"),
        (denied::refutation(), "expected  the handler runs"),
        (told::refutation(), "seen      403 object.denied"),
    ] {
        assert!(text.contains(words), "`{words}` in\n{text}");
    }
}

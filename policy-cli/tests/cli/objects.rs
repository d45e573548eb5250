//! Rights on objects, as each command states them.

use std::{fs, path::Path};

use policy_manifest::{
    Auth, EngineFacts, Lock, Manifest, ManifestRoute, ObjectKey, ObjectUse, RouteObjects,
    RouteRequirement, TokenFacts,
};
use serde_json::{Value, json};

use crate::{
    run::{Ran, folder, run_in},
    schema::validate,
};

/// An app whose callers edit an order, list those that they may see, and read every board.
fn app(edit: &str) -> Manifest {
    let mut manifest = Manifest::new();
    manifest.app.public_origin = Some("https://shop.example".to_owned());
    let mut tokens = TokenFacts::default();
    tokens.issuer = manifest.app.public_origin.clone();
    manifest.app.tokens = Some(tokens);
    let token = RouteRequirement { token: true, ..RouteRequirement::default() };
    let uses = |action: &str, key| {
        let uses = ObjectUse { object: "Order".to_owned(), action: action.to_owned(), key };
        RouteObjects::new([uses])
    };
    for (method, path, object) in [
        ("PUT", "/orders/{id}", uses("edit", ObjectKey::Parameter("id".to_owned()))),
        ("GET", "/orders", uses("view", ObjectKey::List)),
        ("GET", "/boards/{id}", RouteObjects::exempt("boards are everybody's")),
    ] {
        let mut route = ManifestRoute::handler(path, [method], Auth::Required(token.clone()));
        route.object = Some(object);
        manifest.routes.push(route);
    }
    for (rule, text) in [("Order.view", "owner(user) | same(team)"), ("Order.edit", edit)] {
        manifest.objects.insert(rule.to_owned(), text.to_owned());
    }
    manifest
}

const NARROW: &str = "owner(user)";
const WIDE: &str = "owner(user) | role(\"lead\") & same(team)";

fn run(name: &str, arguments: &[&str]) -> Ran {
    let (narrow, wide) = (app(NARROW).to_json(), app(WIDE).to_json());
    let folder = folder(name, &[("narrow.json", &*narrow), ("wide.json", &*wide)]);
    run_in(&folder, arguments, "")
}

fn is_of_schema(name: &str, text: &str) -> Value {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schema"));
    validate(&fs::read_to_string(root.join(name)).unwrap(), text)
}

#[test]
fn a_table_has_the_objects_of_routes_and_their_rules() {
    let show = ["show", "--from", "wide.json", "--width", "120", "--format"];
    let of = |format| run("objects-show", &[&show, &[format][..]].concat());
    let text = of("text").out;
    for words in [
        "Order: edit by id",
        "Order: view in lists",
        "none: boards are everybody's",
        "Rules of objects",
        "  Order.edit  owner(user) | role(\"lead\") & same(team)\n",
        "  Order.view  owner(user) | same(team)\n",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    for (format, words) in [
        ("markdown", "Rules of objects:\n\n- Order.edit: "),
        ("html", "<dt>Order.view</dt><dd><span class=\"text\">owner(user) | same(team)</span>"),
    ] {
        let table = of(format).out;
        assert!(table.contains(words), "{table}");
    }
    // Only rules of routes that are shown.
    let arguments = ["show", "--from", "wide.json", "--path", "/orders", "--format", "json"];
    let manifest = is_of_schema("manifest-1.json", &run("objects-shown", &arguments).out);
    assert_eq!(manifest["objects"], json!({ "Order.view": "owner(user) | same(team)" }));
}

#[test]
fn a_rule_that_admits_more_is_new_access_with_a_witness() {
    let gains = "opens: Order.edit: object: callers of the same `team` with the role `lead` who are \
                 not the `user` may now edit it: `owner(user)` -> `owner(user) | role(\"lead\") & \
                 same(team)`";
    let diff = ["diff", "narrow.json", "wide.json"];
    let strict =
        |more: &[&str]| run("objects-diff", &[&diff, &["--no-new-access"][..], more].concat());
    let text = strict(&[]);
    assert_eq!(text.code, 1, "{}", text.err);
    let section = format!(
        "1 change of rights on objects\n\nRIGHTS ON OBJECTS\n  {gains}\n      for example: \
         `owner(user)` is false, `role(\"lead\")` is true, `same(team)` is true\n"
    );
    assert!(text.out.contains(&section), "{}", text.out);
    let json = is_of_schema("diff-1.json", &strict(&["--format", "json"]).out);
    assert_eq!((&json["verdict"], &json["opens"]), (&json!("widened"), &json!(true)));
    let gained = &json["changes"][0]["gained"];
    assert_eq!(gained["true"], json!(["role(\"lead\")", "same(team)"]));
    assert_eq!(gained["false"], json!(["owner(user)"]));
    assert!(strict(&["--format", "markdown"]).out.contains("### Rights on objects\n\n- opens"));
    assert!(strict(&["--format", "sarif"]).out.contains("change of rights on objects"));
    let back = ["diff", "wide.json", "narrow.json", "--no-new-access"];
    assert_eq!(run("objects-back", &back).code, 0);
}

#[test]
fn a_rule_is_accepted_by_its_name() {
    let update = Lock::new(app(NARROW)).update(&app(WIDE)).unwrap();
    let [(change, line)] = update.to_accept.as_slice() else { panic!("{update:?}") };
    assert_eq!(change.route(), "Order.edit");
    let mut line = line.clone();
    (line.who, line.why) = ("ada".to_owned(), "leads correct orders".to_owned());
    let lock = Lock { accepted: vec![line], ..Lock::new(app(WIDE)) };
    is_of_schema("manifest-1.json", &lock.to_json());
    let (old, new) = (app(NARROW).to_json(), lock.to_json());
    let folder = folder("objects-lock", &[("old.json", &*old), ("new.lock", &*new)]);
    let strict = ["diff", "old.json", "new.lock", "--no-new-access", "--accepted"];
    let ran = run_in(&folder, &strict, "");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

#[test]
fn an_explanation_says_what_the_object_decides() {
    let put = ["explain", "PUT", "https://shop.example/orders/1", "--token", "--from", "wide.json"];
    let of = |more: &[&str]| run("objects-explain", &[&put, more].concat()).out;
    let text = of(&[]);
    let rules = "\nthe handler gets its objects if they satisfy\n  Order.view: owner(user) | \
                 same(team)\n  Order.edit: owner(user) | role(\"lead\") & same(team)\n    for \
                 this caller: owner(user)\n";
    assert!(text.contains(rules), "{text}");
    assert!(text.contains("object.denied"), "{text}");
    let json = is_of_schema("explain-1.json", &of(&["--role", "lead", "--format", "json"]));
    let edit = json!({
        "rule": "Order.edit",
        "key": { "parameter": "id" },
        "condition": WIDE,
        "verdict": "object",
        "left": "owner(user) | same(team)",
        "engine": null,
    });
    assert_eq!(json["objects"][1], edit);
}

#[test]
fn the_engine_is_shown_explained_and_compared() {
    let with_engine = |digest: &str| {
        let mut manifest = app("engine | owner(user)");
        let mut engine = EngineFacts::default();
        (engine.name, engine.digest) = ("cedar".to_owned(), digest.to_owned());
        manifest.app.engine = Some(engine);
        manifest.to_json()
    };
    let (old, new) = (with_engine("1f"), with_engine("2e"));
    is_of_schema("manifest-1.json", &old);
    let folder = folder("objects-engine", &[("old.json", &*old), ("new.json", &*new)]);
    let ran = |arguments: &[&str]| run_in(&folder, arguments, "");
    let table = ran(&["show", "--from", "old.json"]).out;
    assert!(table.contains("Engine of rules") && table.contains("digest 1f"), "{table}");
    let explain =
        ["explain", "PUT", "https://shop.example/orders/1", "--token", "--from", "old.json"];
    let explained = ran(&explain).out;
    let line = "the engine `cedar` decides where the rest does not";
    assert_eq!(explained.matches(line).count(), 1, "{explained}");
    let json = ran(&[&explain[..], &["--format", "json"]].concat()).out;
    assert_eq!(is_of_schema("explain-1.json", &json)["objects"][1]["engine"], "cedar");
    let diff = ran(&["diff", "old.json", "new.json", "--no-new-access"]);
    let words = "was `cedar 1f`, is `cedar 2e`: it cannot be shown to decide as before";
    let out = diff.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(diff.code == 1 && out.contains(words), "{} {}", diff.code, diff.out);
}

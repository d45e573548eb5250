//! `cargo policy openapi`: the table, the comparison, and their exit codes.

use serde_json::{Value, json};

use crate::{
    run::{Ran, compare, folder, git, run_in},
    schema::validate,
};

/// A shop with two operations.
fn shop() -> Value {
    let order = json!({ "$ref": "#/components/schemas/Order" });
    json!({
        "openapi": "3.1.1",
        "info": { "title": "Shop", "version": "1" },
        "paths": {
            "/orders/{id}": {
                "parameters": [
                    { "in": "path", "name": "id", "required": true, "schema": { "type": "integer" } },
                ],
                "get": {
                    "operationId": "orders.get",
                    "security": [{ "session": [] }, { "token": ["orders:read"] }],
                    "responses": {
                        "200": { "content": { "application/json": { "schema": order } } },
                        "404": { "description": "There is no such order" },
                    },
                },
                "put": {
                    "operationId": "orders.put",
                    "security": [{ "session": [], "csrf": [] }],
                    "requestBody": { "content": { "application/json": { "schema": order } } },
                    "responses": { "204": { "description": "It is stored" } },
                },
            },
            "/health": { "get": { "security": [], "responses": { "200": {} } } },
        },
        "components": {
            "schemas": {
                "Order": {
                    "type": "object",
                    "properties": {
                        "lamp": { "type": "string" },
                        "state": { "enum": ["open", "closed"] },
                    },
                    "required": ["lamp"],
                },
            },
        },
    })
}

/// The shop with another value at a pointer, or without one.
fn changed(shop: Value, pointer: &str, value: Option<Value>) -> Value {
    let mut shop = shop;
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let name = name.replace("~1", "/").replace("~0", "~");
    let object = shop.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    match value {
        Some(value) => drop(object.insert(name, value)),
        None => drop(object.remove(&name)),
    }
    shop
}

/// Requests and responses change, an operation is gone and another one new.
fn changed_shop() -> Value {
    let states = json!({ "enum": ["open", "closed", "held"] });
    let shop = changed(shop(), "/components/schemas/Order/properties/state", Some(states));
    let required = Some(json!(["lamp", "state"]));
    let shop = changed(shop, "/components/schemas/Order/required", required);
    let shop = changed(shop, "/paths/~1health", None);
    let shop = changed(shop, "/paths/~1prices", Some(json!({ "get": { "responses": {} } })));
    changed(shop, "/info/version", Some(json!("2")))
}

fn compared(name: &str, old: &Value, new: &Value, arguments: &[&str]) -> Ran {
    let files = [("old.json", &*old.to_string()), ("new.json", &*new.to_string())];
    let arguments = [&["openapi", "diff", "old.json", "new.json"], arguments].concat();
    run_in(&folder(name, &files), &arguments, "")
}

#[test]
fn a_comparison_says_what_breaks_clients() {
    for (format, file) in
        [("text", "openapi.txt"), ("markdown", "openapi.md"), ("json", "openapi.json")]
    {
        let ran = compared("openapi-diff", &shop(), &changed_shop(), &["--format", format]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        compare(file, &ran.out);
    }
}

#[test]
fn the_json_follows_its_schema() {
    for (new, breaks) in [(changed_shop(), true), (shop(), false)] {
        let ran = compared("openapi-json", &shop(), &new, &["--format", "json"]);
        let value = validate(include_str!("../../../docs/schema/openapi-diff-1.json"), &ran.out);
        assert_eq!(value["breaks"], breaks);
    }
}

#[test]
fn the_exit_code_of_a_check_says_whether_a_client_breaks() {
    let note = json!({ "type": "string" });
    let added = changed(shop(), "/components/schemas/Order/properties/note", Some(note));
    let read = changed(shop(), "/info/title", Some(json!("The shop")));
    for (name, new, code) in [
        ("same", shop(), 0),
        ("added", added, 0),
        ("words", read, 0),
        ("breaks", changed_shop(), 1),
    ] {
        let name = format!("openapi-{name}");
        let ran = compared(&name, &shop(), &new, &["--check"]);
        assert_eq!(ran.code, code, "{name}: {}{}", ran.out, ran.err);
        assert_eq!(ran.out.contains("nothing differs"), name == "openapi-same", "{}", ran.out);
    }
}

#[test]
fn a_table_names_the_callers_and_statuses_of_operations() {
    let input = shop().to_string();
    for (format, file) in [
        ("text", "openapi-table.txt"),
        ("markdown", "openapi-table.md"),
        ("json", "openapi-table.json"),
    ] {
        let arguments = ["openapi", "--from", "-", "--format", format];
        let ran = run_in(&folder("openapi-table", &[("shop.json", &input)]), &arguments, &input);
        assert_eq!(ran.code, 0, "{}", ran.err);
        compare(file, &ran.out);
    }
}

#[test]
fn the_document_of_a_package_is_checked_against_a_revision() {
    let package = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\n\n[workspace]\n";
    let (old, new) = (shop().to_string(), changed_shop().to_string());
    let files = [("Cargo.toml", package), ("src/lib.rs", ""), ("openapi.json", &old)];
    let folder = folder("openapi-package", &files);
    git(&folder, &["init", "--quiet"]);
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "--quiet", "-m", "one"]);
    let unchanged = run_in(&folder, &["openapi", "--check"], "");
    assert_eq!(unchanged.code, 0, "{}{}", unchanged.out, unchanged.err);
    std::fs::write(folder.join("openapi.json"), new).unwrap();
    let broken = run_in(&folder, &["openapi", "--check"], "");
    assert_eq!(broken.code, 1, "{}{}", broken.out, broken.err);
    assert!(broken.out.contains("GET /health"), "{}", broken.out);
    let table = run_in(&folder, &["openapi"], "");
    assert!(table.out.contains("/prices") && table.code == 0, "{}{}", table.out, table.err);
    git(&folder, &["commit", "--quiet", "--all", "-m", "two"]);
    for (against, code) in [("HEAD", 0), ("HEAD~1", 1), ("HEAD~1:openapi.json", 1)] {
        let ran = run_in(&folder, &["openapi", "--check", "--against", against], "");
        assert_eq!(ran.code, code, "{against}: {}{}", ran.out, ran.err);
    }
    std::fs::remove_file(folder.join("openapi.json")).unwrap();
    let missing = run_in(&folder, &["openapi"], "");
    assert!(missing.code == 2 && missing.err.contains("cargo test -p shop"), "{}", missing.err);
}

#[test]
fn what_is_no_document_is_an_error_with_its_fix() {
    let nested = "[".repeat(200_000) + &"]".repeat(200_000);
    let files = [
        ("shop.json", &*shop().to_string()),
        ("old.json", r#"{"openapi":"3.0.3"}"#),
        ("none.json", "{}"),
        ("text.json", "openapi: 3.1.1"),
        ("nested.json", &nested),
    ];
    let folder = folder("openapi-wrong", &files);
    for (arguments, words) in [
        (&["diff", "-", "-"][..], "standard input cannot be both"),
        (&["diff", "old.json", "shop.json"], "is a document of OpenAPI 3.0.3"),
        (&["diff", "shop.json", "none.json"], "is no OpenAPI document"),
        (&["--from", "text.json"], "is no JSON"),
        (&["--from", "nested.json"], "recursion limit"),
        (&["--from", "nowhere.json"], "name a document"),
        (&["--against", "HEAD"], "--check"),
    ] {
        let ran = run_in(&folder, &[&["openapi"], arguments].concat(), "");
        assert_eq!((ran.code, &*ran.out), (2, ""), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(words), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn a_document_cannot_write_to_the_terminal_or_the_pull_request() {
    let item = json!({ "get": { "operationId": "\u{202e}" } });
    let old = changed(shop(), "/paths/~1\u{1b}[2J::error::<b>`|", Some(item));
    for format in ["text", "markdown", "json"] {
        let ran = compared("openapi-hostile", &old, &shop(), &["--format", format]);
        assert!(!ran.out.contains(['\u{1b}', '\u{202e}']), "{}", ran.out);
        assert!(format != "markdown" || ran.out.contains("<code>"), "{}", ran.out);
    }
}

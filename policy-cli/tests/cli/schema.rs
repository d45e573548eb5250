//! The published JSON Schemas, of manifests and lock files above all.

use std::{fs, path::Path};

use policy_manifest::{Acceptance, Lock, Suppression, rules::Rules};
use serde_json::{Value, json};

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Parses JSON that a command has written, and asserts that it follows its schema.
pub(crate) fn validate(schema: &str, text: &str) -> Value {
    let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let value: Value = serde_json::from_str(text).unwrap();
    let errors: Vec<_> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}: {text}");
    value
}

fn schema() -> Value {
    let text = fs::read_to_string(repository().join("docs/schema/manifest-1.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The lock files that are checked in, and the manifests of these tests.
fn manifests() -> Vec<(String, String)> {
    let folders = ["", "tests", "policy-cli/tests/manifests"].map(|name| repository().join(name));
    let examples = fs::read_dir(repository().join("examples")).unwrap();
    let examples = examples.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let folders = folders.into_iter().chain(examples);
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    let files = files.map(|entry| entry.unwrap().path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_lock = name.starts_with("policy.") && name.ends_with(".lock");
        is_lock || path.parent().is_some_and(|folder| folder.ends_with("tests/manifests"))
    });
    files.map(|path| (path.display().to_string(), fs::read_to_string(&path).unwrap())).collect()
}

#[test]
fn every_manifest_of_the_repository_is_valid() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let manifests = manifests();
    assert!(manifests.len() >= 10, "{}", manifests.len());
    for (name, text) in manifests {
        let mut lock = Lock::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let line = |text: &str| text.to_owned();
        lock.accepted = vec![Acceptance {
            route: line("GET /"),
            policy: line("0"),
            who: line("ada"),
            why: line("launch"),
        }];
        lock.suppressed = vec![Suppression {
            lint: line("lint.own-origin"),
            route: Some(line("GET /")),
            who: line("ada"),
            why: line("launch"),
            until: Some("2027-01-31".parse().unwrap()),
        }];
        for text in [text, lock.to_json()] {
            let value: Value = serde_json::from_str(&text).unwrap();
            let errors: Vec<_> =
                validator.iter_errors(&value).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{name}: {errors:?}");
        }
    }
}

/// The schema and the reader refuse the same files.
#[test]
fn the_schema_and_the_reader_refuse_alike() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let route = |facets: Value| {
        let mut route = json!({ "path": "/", "methods": ["GET"], "auth": "public" });
        let (Some(route_fields), Some(facets)) = (route.as_object_mut(), facets.as_object()) else {
            panic!("both are objects")
        };
        route_fields.extend(facets.clone());
        json!({ "format": 1, "app": {}, "routes": [route] })
    };
    let suppressed = |line: Value| {
        let mut lock = route(json!({}));
        lock["suppressed"] = json!([line]);
        lock
    };
    let rules = |rules: Value| {
        let key = json!({ "parameter": "id" });
        let uses = json!([{ "object": "Order", "action": "edit", "key": key }]);
        let mut manifest = route(json!({ "object": { "uses": uses } }));
        manifest["objects"] = rules;
        manifest
    };
    for (value, is_valid) in [
        (suppressed(json!({ "lint": "lint.own-origin", "who": "ada", "why": "launch" })), true),
        (suppressed(json!({ "lint": "lint.own-origin", "who": "ada" })), false),
        (suppressed(json!({ "lint": "x", "who": "a", "why": "b", "till": "2027-01-31" })), false),
        (suppressed(json!({ "lint": "x", "who": "a", "why": "b", "until": "2027-01-31" })), true),
        (suppressed(json!({ "lint": "x", "who": "a", "why": "b", "until": "31.1.2027" })), false),
        (suppressed(json!({ "lint": "x", "who": "a", "why": "b", "until": "1969-12-31" })), false),
        (route(json!({})), true),
        (route(json!({ "auth": { "required": { "session": true } } })), true),
        (route(json!({ "auth": { "required": { "cookie": true } } })), false),
        (route(json!({ "auth": "everybody" })), false),
        (route(json!({ "csrf": { "exempt": "why" } })), true),
        (route(json!({ "csrf": "never" })), false),
        (route(json!({ "cors": { "origins": { "list": "partners" } } })), true),
        (route(json!({ "cors": { "origins": { "lists": "partners" } } })), false),
        (route(json!({ "cors": {} })), false),
        (route(json!({ "isolation": "same-planet" })), false),
        (route(json!({ "cache": { "max_age": 5 } })), true),
        (route(json!({ "cache": { "max-age": 5 } })), false),
        (route(json!({ "limits": { "rate": { "count": 1 } } })), false),
        (route(json!({ "object": { "none": "every board is public" } })), true),
        (route(json!({ "object": { "uses": [{ "object": "Order", "action": "edit" }] } })), false),
        (route(json!({ "object": { "any": true } })), false),
        (rules(json!({ "Order.edit": "owner(user)", "Order.view": "anyone" })), true),
        (rules(json!({ "Order": "owner(user)" })), false),
        (rules(json!({ "Order.": "owner(user)" })), false),
        (rules(json!({ "/orders.edit": "owner(user)" })), false),
        (rules(json!({ "Order.edit": "" })), false),
        (rules(json!({ "Order.edit": 1 })), false),
        (route(json!({ "kind": "cellar" })), false),
        (json!({ "format": 1, "routes": [] }), false),
    ] {
        let is_read = Lock::parse(&value.to_string()).is_ok();
        assert_eq!((validator.is_valid(&value), is_read), (is_valid, is_valid), "{value}");
    }
}

/// The schema of rules refuses what their reader refuses, except for errors that only the reader
/// can find.
#[test]
fn the_schema_of_rules_and_their_reader_refuse_alike() {
    let schema = fs::read_to_string(repository().join("docs/schema/rules-1.json")).unwrap();
    let validator = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    let except = "[[except]]\nrule = \"public\"\nroute = \"GET /a\"\nwho = \"ada\"\n";
    for (text, is_valid) in [
        (String::new(), true),
        ("[public]\nroutes = [\"GET,PUT /a/**\", \"**\"]\nwhy = \"b\"".to_owned(), true),
        ("[public]\nroutes = []".to_owned(), false),
        ("[public]\nroutes = [\"a\"]".to_owned(), false),
        ("[public]\nroutes = [\"get /a\"]".to_owned(), false),
        ("[public]\nroutes = [\"/a\"]\nkinds = [\"mount\"]".to_owned(), false),
        ("[publik]\nroutes = [\"/a\"]".to_owned(), false),
        ("[never.a]\nroutes = [\"/a\"]".to_owned(), true),
        ("[never.A]\nroutes = [\"/a\"]".to_owned(), false),
        ("[never.a]\nkinds = [\"mount\"]".to_owned(), false),
        (
            "[never.a]\nroutes = [\"/a\"]\nkinds = [\"mount\"]\ncallers = [\"session\"]".to_owned(),
            true,
        ),
        ("[never.a]\nroutes = [\"/a\"]\ncallers = [\"cookie\"]".to_owned(), false),
        (
            "[never.a]\nroutes = [\"/a\"]\nroles = [\"b\"]\nwithout-roles = [\"b\"]".to_owned(),
            false,
        ),
        ("[never.a]\nroutes = [\"/a\"]\nseverity = \"grave\"".to_owned(), false),
        ("[require.a]\nroutes = [\"/a\"]".to_owned(), false),
        ("[require.a]\nroutes = [\"/a\"]\nheaders = {}".to_owned(), false),
        ("[require.a]\nroutes = [\"/a\"]\nheaders = { x = \"1\" }".to_owned(), true),
        (
            "[require.a]\nroutes = [\"/a\"]\ncsrf = true\nrate = \"5/min per address\"".to_owned(),
            true,
        ),
        ("[require.a]\nroutes = [\"/a\"]\ncsrf = false".to_owned(), false),
        ("[require.a]\nroutes = [\"/a\"]\nrate = \"5 a minute\"".to_owned(), false),
        ("[require.a]\nroutes = [\"/a\"]\ncache = \"private\"".to_owned(), true),
        ("[require.a]\nroutes = [\"/a\"]\ncache = \"public\"".to_owned(), false),
        ("[require.a]\nroutes = [\"/a\"]\nobjects = true".to_owned(), true),
        ("[require.a]\nroutes = [\"/a\"]\nobjects = false".to_owned(), false),
        (format!("{except}why = \"b\""), true),
        (format!("{except}why = \" \""), false),
        (format!("{except}why = \"b\"\nuntil = \"2027-01-31\""), true),
        (format!("{except}why = \"b\"\nuntil = \"31.1.2027\""), false),
        ("[lifetimes]\nsession = \"12 h\"\ntoken = \"15 min\"".to_owned(), true),
        ("[lifetimes]\nsession = \"12h\"".to_owned(), false),
        ("[lifetimes]\nsession = \"0 h\"".to_owned(), false),
        ("[lifetimes]\nsessions = \"12 h\"".to_owned(), false),
        (except.to_owned(), false),
    ] {
        let value = serde_json::to_value(toml::from_str::<toml::Table>(&text).unwrap()).unwrap();
        let is_read = Rules::parse("policy.rules", &text).is_ok();
        assert_eq!((validator.is_valid(&value), is_read), (is_valid, is_valid), "{text}");
    }
}

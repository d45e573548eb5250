//! Schemas against brute force, and a change of each kind.

use proptest::{prelude::*, sample::subsequence, test_runner::Config};
use serde_json::{Map, Value, json};

use super::{
    Change, Impact, compare,
    schema::{Side, Steps, Subset},
};
use crate::commands::openapi::document::Document;

fn document(value: &Value) -> Document {
    Document::parse(&value.to_string(), "a test").unwrap()
}

/// An OpenAPI document with these schemas by name, which may refer to each other.
fn openapi(schemas: &Value) -> Value {
    json!({ "openapi": "3.1.1", "components": { "schemas": schemas } })
}

/// Whether each value of the left schema `Root` is also valid for the right one.
fn holds(left: &Value, right: &Value) -> bool {
    let (left, right) = (document(&openapi(left)), document(&openapi(right)));
    let steps = Steps::new(1 << 20);
    let root = |document| Document::root(document).pointer("/components/schemas/Root").unwrap();
    Subset::new(&left, &right, Side::Left, &steps).gaps(root(&left), root(&right)).is_empty()
}

/// Values of the types that the schemas below describe.
fn instances() -> Vec<Value> {
    let mut scalars = vec![json!(null), json!(true), json!(false)];
    scalars.extend([0.0, 1.0, 2.0, 0.5].map(Value::from));
    scalars.extend([json!(0), json!(1), json!(2), json!(3)]);
    scalars.extend(["", "a", "b", "ab"].map(Value::from));
    let mut values = scalars.clone();
    let small = [json!(null), json!(true), json!(1), json!(2), json!(0.5), json!("a"), json!("ab")];
    values.push(json!([]));
    values.push(json!({}));
    for one in &small {
        values.push(json!([one]));
        values.push(json!({ "a": one }));
        values.push(json!({ "b": one }));
        values.push(json!({ "a": { "a": one } }));
        values.push(json!({ "a": [one] }));
        for other in &small {
            values.push(json!([one, other]));
            values.push(json!({ "a": one, "b": other }));
            values.push(json!({ "a": { "a": one }, "b": other }));
        }
    }
    values
}

fn scalar() -> impl Strategy<Value = Value> {
    let values = [json!(null), json!(true), json!(0), json!(1), json!(2), json!("a"), json!("ab")];
    prop_oneof![
        (0_u8..3, 0_u8..4).prop_map(|(least, most)| {
            json!({ "type": "string", "minLength": least, "maxLength": most })
        }),
        (0_u8..3, 0_u8..4).prop_map(
            |(least, most)| json!({ "type": "integer", "minimum": least, "maximum": most })
        ),
        (0_u8..3).prop_map(|least| json!({ "type": "number", "exclusiveMinimum": least })),
        Just(json!({ "type": "string" })),
        Just(json!({ "type": "integer" })),
        Just(json!({ "type": "number" })),
        Just(json!({ "type": "boolean" })),
        Just(json!({ "type": ["string", "null"] })),
        Just(json!(true)),
        subsequence(values.to_vec(), 1..4).prop_map(|values| json!({ "enum": values })),
        prop::sample::select(values.to_vec()).prop_map(|value| json!({ "const": value })),
    ]
}

/// Objects and arrays of these schemas.
fn structured(inner: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    let names = || subsequence(vec!["a", "b"], 0..3);
    let other = prop_oneof![
        3 => Just(None),
        1 => Just(Some(json!(false))),
        1 => inner.clone().prop_map(Some),
    ];
    let object = (prop::collection::btree_map("a|b", inner.clone(), 0..3), names(), other)
        .prop_map(|(properties, required, other)| {
            let mut schema =
                json!({ "type": "object", "properties": properties, "required": required });
            if let Some(other) = other {
                schema["additionalProperties"] = other;
            }
            schema
        });
    let array = (inner, 0_u8..3, 0_u8..3).prop_map(|(items, least, most)| {
        json!({ "type": "array", "items": items, "minItems": least, "maxItems": most })
    });
    prop_oneof![object, array]
}

fn schema() -> BoxedStrategy<Value> {
    let to_other = prop_oneof![
        Just(json!({ "$ref": "#/components/schemas/Other" })),
        Just(json!({ "$ref": "#/components/schemas/Root" })),
    ];
    let leaf = prop_oneof![4 => scalar(), 1 => to_other].boxed();
    let plain = prop_oneof![scalar(), structured(leaf.clone())].boxed();
    let many = || prop::collection::vec(plain.clone(), 1..4);
    let inner = prop_oneof![
        3 => plain.clone(),
        1 => many().prop_map(|list| json!({ "anyOf": list })),
        1 => many().prop_map(|list| json!({ "oneOf": list })),
        1 => many().prop_map(|list| json!({ "allOf": list })),
    ]
    .boxed();
    prop_oneof![inner.clone(), structured(inner)].boxed()
}

fn schemas() -> impl Strategy<Value = Value> {
    let of = |(root, other): (Value, Value)| json!({ "Root": root, "Other": other });
    (schema(), prop_oneof![scalar(), structured(scalar().boxed())]).prop_map(of)
}

/// Two versions: unrelated, or with one schema in common.
fn versions() -> impl Strategy<Value = (Value, Value)> {
    (schemas(), schemas(), 0_u8..4).prop_map(|(old, mut new, kept)| {
        match kept {
            0 => new["Root"] = old["Root"].clone(),
            1 => new["Other"] = old["Other"].clone(),
            2 => {
                let more = new.pointer("/Root/properties").cloned();
                new = old.clone();
                let properties = new.pointer_mut("/Root/properties").and_then(Value::as_object_mut);
                if let (Some(properties), Some(Value::Object(more))) = (properties, more) {
                    properties.extend(more);
                }
            }
            _ => (),
        }
        (old, new)
    })
}

/// Closes a schema: its values have no properties that it does not declare.
fn close(schema: &Value) -> Value {
    let Some(keywords) = schema.as_object() else { return schema.clone() };
    let mut own = Map::new();
    for (name, value) in keywords {
        let value = match name.as_str() {
            "properties" => {
                let declared = value.as_object().unwrap().iter();
                declared.map(|(name, value)| (name.clone(), close(value))).collect()
            }
            "items" | "additionalProperties" => close(value),
            "anyOf" | "oneOf" | "allOf" => {
                value.as_array().unwrap().iter().map(close_inside).collect()
            }
            _ => value.clone(),
        };
        own.insert(name.clone(), value);
    }
    if keywords.contains_key("$ref") {
        return Value::Object(own);
    }
    let list = own.get("anyOf").or_else(|| own.get("oneOf")).and_then(Value::as_array).cloned();
    let whole = |more: Value| json!({ "allOf": [own, more], "unevaluatedProperties": false });
    match list {
        // A value matches one alternative, and has no properties that others declare.
        Some(list) => {
            let mut alternatives = list.into_iter().map(
                |alternative| json!({ "allOf": [alternative], "unevaluatedProperties": false }),
            );
            let alternatives: Value = alternatives.by_ref().collect();
            json!({ "allOf": [own], "anyOf": alternatives })
        }
        None => whole(json!(true)),
    }
}

/// Closes a part of a schema, which does not know the other parts.
fn close_inside(schema: &Value) -> Value {
    let closed = close(schema);
    closed.get("allOf").and_then(|list| list.get(0)).cloned().unwrap_or(closed)
}

fn validator(schemas: &Value) -> jsonschema::Validator {
    let mut root = openapi(schemas);
    root["$ref"] = json!("#/components/schemas/Root");
    jsonschema::draft202012::new(&root).unwrap()
}

/// A value of the left that the right refuses.
fn witness(left: &Value, right: &Value) -> Option<Value> {
    let closed: Map<_, _> = left
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, schema)| (name.clone(), close(schema)))
        .collect();
    let (left, right) = (validator(&Value::Object(closed)), validator(right));
    instances().into_iter().find(|value| left.is_valid(value) && !right.is_valid(value))
}

proptest! {
    #![proptest_config(Config::with_cases(500))]

    /// If the old schema accepts a value that the new one refuses, this is found. For responses,
    /// the two change places.
    #[test]
    fn a_value_that_is_refused_now_is_found((old, new) in versions()) {
        if let Some(value) = witness(&old, &new) {
            prop_assert!(!holds(&old, &new), "{value} is refused now");
        }
    }

    #[test]
    fn a_document_breaks_nothing_of_itself(schemas in schemas()) {
        prop_assert!(holds(&schemas, &schemas));
    }
}

/// These changes break nothing, although the texts differ.
#[test]
fn what_accepts_the_same_or_more_breaks_nothing() {
    let shared = |schema: Value| json!({ "Root": schema, "Other": { "type": "string" } });
    let to_other = json!({ "$ref": "#/components/schemas/Other" });
    let tagged = |tags: &[&str]| {
        let one = |tag: &&str| json!({ "type": "object", "properties": { "t": { "const": tag }, "v": { "type": "string" } }, "required": ["t"] });
        json!({ "oneOf": tags.iter().map(one).collect::<Vec<_>>() })
    };
    for (old, new) in [
        (json!({ "type": "string" }), to_other.clone()),
        (json!({ "type": "integer" }), json!({ "type": "number" })),
        (json!({ "type": "string" }), json!({ "type": ["string", "null"] })),
        (json!({ "type": ["string", "null"] }), json!({ "anyOf": [to_other, { "type": "null" }] })),
        (json!({ "anyOf": [to_other, { "type": "null" }] }), json!({ "type": ["string", "null"] })),
        (json!({ "enum": ["a"] }), json!({ "enum": ["b", "a"] })),
        (json!({ "enum": ["a", "b"] }), json!({ "oneOf": [{ "const": "a" }, { "const": "b" }] })),
        (json!({ "enum": [1, 2] }), json!({ "type": "integer" })),
        (json!({ "type": "boolean" }), json!({ "enum": [true, false, null] })),
        (json!({ "type": "string", "minLength": 2 }), json!({ "type": "string", "minLength": 1 })),
        (tagged(&["a", "b"]), tagged(&["a", "b", "c"])),
        (
            json!({ "type": "object", "properties": { "a": true }, "required": ["a"] }),
            json!({ "type": "object", "properties": { "a": true, "b": { "type": "string" } } }),
        ),
        (
            json!({ "type": "object", "properties": { "a": true }, "required": ["a"] }),
            json!({ "allOf": [{ "type": "object", "properties": { "a": true } }, { "required": ["a"] }] }),
        ),
        (
            json!({ "properties": { "next": { "$ref": "#/components/schemas/Root" } } }),
            json!({ "properties": { "next": { "$ref": "#/components/schemas/Root" }, "new": true } }),
        ),
    ] {
        assert!(holds(&shared(old.clone()), &shared(new.clone())), "{old} {new}");
    }
}

/// A service with one operation.
fn service(change: impl FnOnce(&mut Value)) -> Value {
    let mut operation = json!({
        "operationId": "orders.create",
        "security": [{ "session": [], "csrf": [] }, { "token": ["orders:write"] }],
        "parameters": [
            { "in": "path", "name": "shop", "required": true, "schema": { "type": "string" } },
            { "in": "query", "name": "dry", "schema": { "enum": ["yes", "no"] } },
        ],
        "requestBody": {
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/NewOrder" } } },
        },
        "responses": {
            "201": {
                "headers": { "Location": { "required": true, "schema": { "type": "string" } } },
                "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Order" } } },
            },
            "409": {
                "content": { "application/problem+json": { "schema": {
                    "type": "object",
                    "properties": { "status": { "type": "integer" }, "code": { "enum": ["orders.closed"] } },
                    "required": ["status", "code"],
                } } },
            },
        },
    });
    operation["description"] = json!("Orders");
    let mut value = json!({
        "openapi": "3.1.1",
        "info": { "title": "Shop", "version": "1" },
        "paths": { "/shops/{shop}/orders": { "post": operation } },
        "components": {
            "schemas": {
                "NewOrder": {
                    "type": "object",
                    "properties": {
                        "lamp": { "type": "integer", "maximum": 9 },
                        "color": { "enum": ["red", "blue"] },
                        "note": { "type": ["string", "null"], "format": "date" },
                    },
                    "required": ["lamp"],
                },
                "Order": {
                    "type": "object",
                    "properties": {
                        "id": { "type": "integer" },
                        "state": { "enum": ["open", "closed"] },
                        "part_of": { "anyOf": [{ "$ref": "#/components/schemas/Order" }, { "type": "null" }] },
                    },
                    "required": ["id"],
                },
            },
            "securitySchemes": {
                "session": { "type": "apiKey", "in": "cookie", "name": "__Host-sid" },
                "csrf": { "type": "apiKey", "in": "header", "name": "x-csrf-token" },
                "token": { "type": "http", "scheme": "bearer" },
            },
        },
    });
    change(&mut value);
    value
}

fn changed(change: impl FnOnce(&mut Value)) -> Vec<Change> {
    compare(&document(&service(|_| ())), &document(&service(change)))
}

/// Each change of the service by itself: what it means, where, and in which words.
#[test]
fn each_change_is_found_with_its_meaning() {
    use Impact::{Adds, Breaks, Words};

    const OPERATION: &str = "/paths/~1shops~1{shop}~1orders/post";
    type Case = (&'static str, Value, &'static [(Impact, &'static str, &'static str)]);
    let removed = Value::String("removed".to_owned());
    let at = |pointer: &str| match pointer.strip_prefix("op") {
        Some(rest) => format!("{OPERATION}{rest}"),
        None => format!("/components{pointer}"),
    };
    let cases: Vec<Case> = vec![
        (
            "op/operationId",
            json!("orders.new"),
            &[(
                Breaks,
                "",
                "`operationId` was `orders.create`, and is `orders.new`: generated clients name it",
            )],
        ),
        (
            "op/description",
            json!("All orders"),
            &[(Words, "", "its descriptions or extensions changed")],
        ),
        ("op/deprecated", json!(true), &[(Words, "", "it is deprecated")]),
        (
            "op/parameters/1/required",
            json!(true),
            &[(Breaks, "query parameter `dry`", "it is required now")],
        ),
        ("op/parameters/1", removed.clone(), &[(Breaks, "query parameter `dry`", "it is gone")]),
        (
            "op/parameters/2",
            json!({ "in": "query", "name": "a", "required": true }),
            &[(Breaks, "query parameter `a`", "it is new, and required")],
        ),
        (
            "op/parameters/2",
            json!({ "in": "query", "name": "a" }),
            &[(Adds, "query parameter `a`", "it is new")],
        ),
        (
            "op/parameters/1/schema/enum",
            json!(["yes"]),
            &[(Breaks, "query parameter `dry`", "it is no longer accepted as `\"no\"`")],
        ),
        (
            "op/parameters/1/schema/enum",
            json!(["yes", "no", "ask"]),
            &[(Adds, "query parameter `dry`", "it is accepted as `\"ask\"` now")],
        ),
        (
            "op/parameters/0/schema/type",
            json!("integer"),
            &[(Breaks, "path parameter `shop`", "the type was string, and is integer")],
        ),
        ("op/requestBody/required", json!(true), &[(Breaks, "body", "it is required now")]),
        ("op/requestBody", removed.clone(), &[(Breaks, "body", "it is gone")]),
        (
            "op/requestBody/content/text~1csv",
            json!({}),
            &[(Adds, "body", "the media type `text/csv` is new")],
        ),
        (
            "op/requestBody/content/application~1json",
            removed.clone(),
            &[(Breaks, "body", "the media type `application/json` is gone")],
        ),
        (
            "/schemas/NewOrder/required",
            json!(["lamp", "color"]),
            &[(Breaks, "body `/color`", "it is required now")],
        ),
        (
            "/schemas/NewOrder/required",
            json!([]),
            &[(Adds, "body `/lamp`", "it is no longer required")],
        ),
        (
            "/schemas/NewOrder/properties/note",
            removed.clone(),
            &[(Breaks, "body `/note`", "it is gone")],
        ),
        (
            "/schemas/NewOrder/properties/gift",
            json!({ "type": "boolean" }),
            &[(Adds, "body `/gift`", "it is new")],
        ),
        (
            "/schemas/NewOrder/properties/note/type",
            json!("string"),
            &[(Breaks, "body `/note`", "the type was null or string, and is string")],
        ),
        (
            "/schemas/NewOrder/properties/note/format",
            json!("uuid"),
            &[(Breaks, "body `/note`", "`format` was `\"date\"`, and is `\"uuid\"`")],
        ),
        (
            "/schemas/NewOrder/properties/lamp/maximum",
            json!(5),
            &[(Breaks, "body `/lamp`", "`maximum` was `9`, and is `5`")],
        ),
        (
            "/schemas/NewOrder/properties/lamp/maximum",
            json!(50),
            &[(Adds, "body `/lamp`", "`maximum` was `9`, and is `50`")],
        ),
        ("/schemas/NewOrder/additionalProperties", json!(false), &[]),
        ("op/responses/201", removed.clone(), &[(Breaks, "response 201", "it no longer occurs")]),
        ("op/responses/409", removed.clone(), &[(Adds, "response 409", "it no longer occurs")]),
        ("op/responses/410", json!({}), &[(Adds, "response 410", "it can occur now")]),
        (
            "op/responses/201/headers/Location",
            removed.clone(),
            &[(Breaks, "response 201 header `location`", "it is gone")],
        ),
        (
            "op/responses/201/headers/Location/required",
            json!(false),
            &[(Breaks, "response 201 header `location`", "it may be absent now")],
        ),
        (
            "op/responses/201/headers/ETag",
            json!({}),
            &[(Adds, "response 201 header `etag`", "it is new")],
        ),
        (
            "/schemas/Order/properties/state/enum",
            json!(["open"]),
            &[(Adds, "response 201 `/state`", "it is no longer `\"closed\"`")],
        ),
        (
            "/schemas/Order/properties/state/enum",
            json!(["open", "closed", "held"]),
            &[(Breaks, "response 201 `/state`", "it can be `\"held\"` now")],
        ),
        (
            "/schemas/Order/properties/state",
            removed.clone(),
            &[(Breaks, "response 201 `/state`", "it is gone")],
        ),
        (
            "/schemas/Order/properties/price",
            json!({ "type": "integer" }),
            &[(Adds, "response 201 `/price`", "it is new")],
        ),
        (
            "/schemas/Order/required",
            json!([]),
            &[(Breaks, "response 201 `/id`", "it may be absent now")],
        ),
        (
            "/schemas/Order/required",
            json!(["id", "state"]),
            &[(Adds, "response 201 `/state`", "it is always there now")],
        ),
        (
            "op/responses/409/content/application~1problem+json/schema/properties/code/enum",
            json!(["orders.closed", "orders.held"]),
            &[(Adds, "response 409", "the problem `orders.held` can occur now")],
        ),
        (
            "op/security",
            json!([{ "token": ["orders:write"] }]),
            &[(Breaks, "", "callers with `csrf` and `session` may no longer call")],
        ),
        (
            "op/security/1/token",
            json!(["orders:write", "admin"]),
            &[(Breaks, "", "callers with `token` (orders:write) may no longer call")],
        ),
        ("op/security/2", json!({}), &[(Adds, "", "callers with nothing may call now")]),
        (
            "/securitySchemes/session/name",
            json!("sid"),
            &[
                (Breaks, "", "callers with `csrf` and `session` may no longer call"),
                (Adds, "", "callers with `csrf` and `session` may call now"),
            ],
        ),
        ("/securitySchemes/session/description", json!("A cookie"), &[]),
    ];
    for (pointer, value, expected) in cases {
        let pointer = at(pointer);
        let found = changed(|document| {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            let name = name.replace("~1", "/");
            match document.pointer_mut(parent).unwrap() {
                Value::Array(list) => {
                    let index: usize = name.parse().unwrap();
                    list.splice(
                        index..(index + 1).min(list.len()),
                        (value != removed).then(|| value.clone()),
                    );
                }
                Value::Object(object) if value == removed => drop(object.remove(&name)),
                object => object[&name] = value.clone(),
            }
        });
        let found: Vec<_> =
            found.iter().map(|it| (it.impact, it.part.as_str(), it.words.as_str())).collect();
        assert_eq!(found, expected, "{pointer} {value}");
    }
}

#[test]
fn operations_and_paths_are_compared_by_what_requests_have() {
    let path = |document: &mut Value, path: &str| {
        let paths = document["paths"].as_object_mut().unwrap();
        let item = paths.remove("/shops/{shop}/orders").unwrap();
        paths.insert(path.to_owned(), item);
    };
    let moved = changed(|document| path(document, "/orders"));
    let words: Vec<_> = moved.iter().map(|it| (it.impact, &*it.operation, &*it.words)).collect();
    assert_eq!(
        words,
        [
            (Impact::Breaks, "POST /shops/{shop}/orders", "the operation is gone"),
            (Impact::Adds, "POST /orders", "the operation is new"),
        ]
    );
    let renamed = changed(|document| {
        path(document, "/shops/{store}/orders");
        document["paths"]["/shops/{store}/orders"]["post"]["parameters"][0]["name"] =
            json!("store");
    });
    assert_eq!(renamed.len(), 1, "{renamed:?}");
    assert!(renamed[0].words.contains("called `store` now"), "{renamed:?}");
    let of_server = changed(|document| document["servers"] = json!([{ "url": "/v2" }]));
    assert_eq!(of_server.len(), 2, "{of_server:?}");
}

#[test]
fn operations_that_differ_beside_a_parameter_are_two() {
    let jobs = |paths: &[&str]| {
        let item = json!({ "post": { "responses": { "200": { "description": "Done." } } } });
        let items: Map<_, _> = paths.iter().map(|it| ((*it).to_owned(), item.clone())).collect();
        document(&json!({ "openapi": "3.1.1", "paths": items }))
    };
    let changes = compare(
        &jobs(&["/jobs/{id}:cancel", "/jobs/{id}:retry", "/files/{id}"]),
        &jobs(&["/jobs/{id}:cancel", "/files/{id}", "/files/{id}.zip"]),
    );
    let found: Vec<_> = changes.iter().map(|it| (it.impact, &*it.operation, &*it.words)).collect();
    assert_eq!(
        found,
        [
            (Impact::Breaks, "POST /jobs/{id}:retry", "the operation is gone"),
            (Impact::Adds, "POST /files/{id}.zip", "the operation is new"),
        ]
    );
}

#[test]
fn hostile_documents_end() {
    // A chain of references that is longer than any stack, and alternatives that double.
    let chain = |end: &str| {
        let mut schemas = Map::new();
        for index in 0..20_000 {
            let next = json!({ "$ref": format!("#/components/schemas/S{}", index + 1) });
            let schema = match index % 3 {
                0 => json!({ "properties": { "next": next } }),
                1 => json!({ "anyOf": [next, next, { "type": "null" }] }),
                _ => json!({ "allOf": [next, { "items": next }] }),
            };
            schemas.insert(format!("S{index}"), schema);
        }
        schemas.insert("S20000".to_owned(), json!({ "type": end }));
        schemas.insert("Root".to_owned(), json!({ "$ref": "#/components/schemas/S0" }));
        Value::Object(schemas)
    };
    assert!(!holds(&chain("string"), &chain("integer")));
    let selves =
        ["#/components/schemas/Root", "#/components/schemas/none", "https://a.example/b", "#"];
    for own in selves {
        let schemas = json!({ "Root": { "$ref": own, "allOf": [{ "$ref": own }] } });
        assert!(holds(&schemas, &schemas), "{own}");
    }
    let many: Vec<_> = (0..3_000).map(|index| json!({ "const": index })).collect();
    let (many, more) = (json!({ "oneOf": many }), json!({ "anyOf": many, "title": "more" }));
    let _ = holds(&json!({ "Root": many }), &json!({ "Root": more }));
    let path = |index: u32| (format!("/{index}"), json!({ "get": { "responses": {} } }));
    let paths: Map<_, _> = (0..40_000).map(path).collect();
    let paths = document(&json!({ "openapi": "3.1.1", "paths": paths }));
    assert!(compare(&paths, &paths).is_empty());
}

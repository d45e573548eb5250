//! A change of each kind.

use serde_json::{Map, Value, json};

use super::{Change, Impact, compare};
use crate::commands::openapi::document::Document;

fn document(value: &Value) -> Document {
    Document::parse(&value.to_string(), "a test").unwrap()
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
        "servers": [{ "url": "https://{host}", "variables": { "host": { "default": "a.example" } } }],
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
            "op/servers",
            json!([{ "url": "/v2" }]),
            &[
                (Breaks, "", "the server `https://{host}` is gone"),
                (Adds, "", "the server `/v2` is new"),
            ],
        ),
        (
            "op/requestBody/content/application~1json/encoding",
            json!({ "lamp": { "style": "pipeDelimited" } }),
            &[(Breaks, "body", "`encoding` is another")],
        ),
        (
            "op/responses/201/headers/Location/explode",
            json!(true),
            &[(Breaks, "response 201 header `location`", "`explode` is another")],
        ),
        (
            "op/responses/201/links",
            json!({ "next": {} }),
            &[(Words, "", "its descriptions or extensions changed")],
        ),
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
    let of_path = changed(|document| {
        document["paths"]["/shops/{shop}/orders"]["servers"] = json!([{ "url": "/v2" }]);
    });
    assert_eq!(of_path[0].impact, Impact::Breaks, "{of_path:?}");
    let of_host = changed(|document| {
        document["servers"][0]["variables"]["host"]["default"] = json!("b.example");
    });
    assert_eq!(of_host[0].words, "the server `https://{host}` has other variables");
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

/// It would take minutes if each operation or each parameter were compared with every other one.
#[test]
fn a_large_document_ends() {
    let path = |index: u32| (format!("/{index}"), json!({ "get": { "responses": {} } }));
    let mut paths: Map<_, _> = (0..40_000).map(path).collect();
    let [own, shared] = ["header", "query"].map(|place| {
        let parameter = |index: u32| json!({ "in": place, "name": format!("{index}") });
        (0..40_000).map(parameter).collect::<Value>()
    });
    let operation = json!({ "parameters": own, "responses": {} });
    paths.insert("/many".to_owned(), json!({ "parameters": shared, "get": operation }));
    let paths = document(&json!({ "openapi": "3.1.1", "paths": paths }));
    assert!(compare(&paths, &paths).is_empty());
}

/// What is in another document may change, although the reference stays.
#[test]
fn a_reference_to_another_document_breaks() {
    for (pointer, part) in [
        ("/paths/~1shops~1{shop}~1orders", ""),
        ("/paths/~1shops~1{shop}~1orders/post/parameters/1", "parameters"),
        ("/paths/~1shops~1{shop}~1orders/post/requestBody", "body"),
        ("/paths/~1shops~1{shop}~1orders/post/responses/201", "response 201"),
        (
            "/paths/~1shops~1{shop}~1orders/post/responses/201/headers/Location",
            "response 201 header `location`",
        ),
        ("/components/schemas/NewOrder/properties/lamp", "body `/lamp`"),
    ] {
        let shop = document(&service(|document| {
            *document.pointer_mut(pointer).unwrap() = json!({ "$ref": "other.json#/a" });
        }));
        let found = compare(&shop, &shop);
        let found: Vec<_> = found
            .iter()
            .map(|it| (it.impact, &*it.part, it.words.contains("`other.json#/a`")))
            .collect();
        assert_eq!(found, [(Impact::Breaks, part, true)], "{pointer}");
    }
}

//! Schemas against brute force.

use proptest::{prelude::*, sample::subsequence, test_runner::Config};
use serde_json::{Map, Value, json};

use super::{Side, Steps, Subset};
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
        1 => (many(), many()).prop_map(|(any, one)| json!({ "anyOf": any, "oneOf": one })),
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

#[test]
fn a_value_needs_an_alternative_of_both_lists() {
    let (a, b) = (json!({ "const": "a" }), json!({ "const": "b" }));
    let both = json!({ "anyOf": [a, b], "oneOf": [a] });
    for (old, new, expected) in [
        (json!({ "anyOf": [a, b] }), both.clone(), false),
        (b, json!({ "anyOf": [both] }), false),
        (both.clone(), both, true),
    ] {
        let root = |schema: &Value| json!({ "Root": schema });
        assert_eq!(holds(&root(&old), &root(&new)), expected, "{old} {new}");
    }
}

#[test]
fn a_reference_may_have_percent_codes() {
    let page = |kind: &str| {
        let root = json!({ "$ref": "#/components/schemas/Page%5BOrder%5d" });
        json!({ "Root": root, "Page[Order]": { "type": kind } })
    };
    assert!(holds(&page("string"), &page("string")));
    assert!(!holds(&page("string"), &page("integer")));
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
    for (own, is_here) in [
        ("#/components/schemas/Root", true),
        ("#", true),
        ("#/components/schemas/none", false),
        ("#/components/schemas/%zz", false),
        ("https://a.example/b", false),
    ] {
        let schemas = json!({ "Root": { "$ref": own, "allOf": [{ "$ref": own }] } });
        assert_eq!(holds(&schemas, &schemas), is_here, "{own}");
    }
    let many: Vec<_> = (0..3_000).map(|index| json!({ "const": index })).collect();
    let (many, more) = (json!({ "oneOf": many }), json!({ "anyOf": many, "title": "more" }));
    let _ = holds(&json!({ "Root": many }), &json!({ "Root": more }));
}

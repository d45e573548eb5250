//! Sets of types, as bits. A number is an integer or a fraction.

use std::sync::LazyLock;

use serde_json::{Value, json};

pub(super) const NULL: u8 = 1;
pub(super) const BOOLEAN: u8 = 2;
pub(super) const INTEGER: u8 = 4;
pub(super) const NUMBER: u8 = 4 | 8;
pub(super) const STRING: u8 = 16;
pub(super) const ARRAY: u8 = 32;
pub(super) const OBJECT: u8 = 64;
/// Every type.
pub(super) const ANY: u8 = 127;

pub(super) const TYPES: [(&str, u8); 7] = [
    ("null", NULL),
    ("boolean", BOOLEAN),
    ("number", NUMBER),
    ("integer", INTEGER),
    ("string", STRING),
    ("array", ARRAY),
    ("object", OBJECT),
];

/// The schema that no value matches.
pub(super) static NOTHING: Value = Value::Bool(false);
/// The schema that every value matches.
pub(super) static EVERYTHING: Value = Value::Bool(true);

/// A schema for each type.
pub(super) static OF_TYPE: LazyLock<Vec<Value>> =
    LazyLock::new(|| TYPES.iter().map(|(name, _)| json!({ "type": name })).collect());

pub(super) fn type_of(value: &Value) -> u8 {
    match value {
        Value::Null => NULL,
        Value::Bool(_) => BOOLEAN,
        Value::Number(number) if number.as_f64().is_some_and(|it| it.fract() != 0.0) => {
            NUMBER & !INTEGER
        }
        Value::Number(_) => INTEGER,
        Value::String(_) => STRING,
        Value::Array(_) => ARRAY,
        Value::Object(_) => OBJECT,
    }
}

/// The types of the keyword `type`.
pub(super) fn own_types(schema: &Value) -> u8 {
    let bits = |name: &Value| {
        let known = TYPES.iter().find(|(known, _)| name == known);
        known.map_or(0, |(_, bits)| *bits)
    };
    match schema.get("type") {
        None => ANY,
        Some(Value::Array(names)) => names.iter().fold(0, |types, name| types | bits(name)),
        Some(name) => bits(name),
    }
}

pub(super) fn type_names(types: u8) -> String {
    if types == ANY {
        return "any".to_owned();
    }
    let named = TYPES.iter().filter(|(_, bits)| {
        types & bits == *bits && (*bits != INTEGER || types & NUMBER != NUMBER)
    });
    named.map(|(name, _)| *name).collect::<Vec<_>>().join(" or ")
}

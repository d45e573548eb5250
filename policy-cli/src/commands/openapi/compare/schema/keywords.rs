//! The keywords of schemas that are compared.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    super::super::document::object,
    types::{ARRAY, NUMBER, OBJECT, STRING},
};

/// Keywords that permit and refuse nothing.
const ANNOTATIONS: &str = "\
    $anchor $comment $defs $id $schema default definitions deprecated description discriminator \
    example examples externalDocs readOnly title writeOnly xml";

/// Keywords that are read. A schema with another one has to stay as it is.
const READ: &str = "\
    $ref additionalProperties allOf anyOf const contentEncoding contentMediaType enum \
    exclusiveMaximum exclusiveMinimum format items maxItems maxLength maxProperties maximum \
    minItems minLength minProperties minimum multipleOf oneOf pattern properties required type \
    uniqueItems";

/// Lower bounds, upper bounds, and texts that have to stay, with the types that they are about.
pub(super) const LOWER: [(&str, u8); 5] = [
    ("minimum", NUMBER),
    ("exclusiveMinimum", NUMBER),
    ("minLength", STRING),
    ("minItems", ARRAY),
    ("minProperties", OBJECT),
];
pub(super) const UPPER: [(&str, u8); 5] = [
    ("maximum", NUMBER),
    ("exclusiveMaximum", NUMBER),
    ("maxLength", STRING),
    ("maxItems", ARRAY),
    ("maxProperties", OBJECT),
];
pub(super) const KEPT: [(&str, u8); 6] = [
    ("multipleOf", NUMBER),
    ("pattern", STRING),
    ("format", NUMBER | STRING),
    ("contentEncoding", STRING),
    ("contentMediaType", STRING),
    ("uniqueItems", ARRAY),
];

pub(super) fn is_annotation(name: &str) -> bool {
    ANNOTATIONS.split(' ').any(|known| known == name) || name.starts_with("x-")
}

/// Whether a schema is understood with this keyword.
pub(super) fn is_read(name: &str) -> bool {
    READ.split(' ').any(|known| known == name) || is_annotation(name)
}

pub(super) fn alternatives(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array)
}

/// Whether a value needs an alternative of both lists, of which `alternatives` has one.
pub(super) fn has_both_lists(schema: &Value) -> bool {
    schema.get("anyOf").is_some() && schema.get("oneOf").is_some()
}

pub(super) fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// The properties that one of these schemas declares.
pub(super) fn names<'a>(schemas: &[&'a Value]) -> BTreeSet<&'a str> {
    let declared = schemas.iter().filter_map(|schema| object(schema, "properties")).flatten();
    declared.map(|(name, _)| name.as_str()).collect()
}

/// How much a schema has to compare.
pub(super) fn weight(schema: &Value) -> usize {
    let lists = ["enum", "required", "anyOf", "oneOf"].iter();
    let lists = lists.filter_map(|name| schema.get(*name)?.as_array()).map(Vec::len);
    lists.sum::<usize>() + object(schema, "properties").map_or(0, serde_json::Map::len) + 1
}

/// The values of `enum` or `const`.
pub(super) fn stated_values(schema: &Value) -> Option<Vec<&Value>> {
    let one = schema.get("const").map(|value| vec![value]);
    one.or_else(|| schema.get("enum")?.as_array().map(|values| values.iter().collect()))
}

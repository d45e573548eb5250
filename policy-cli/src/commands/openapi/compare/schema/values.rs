//! Single values, and the types that a schema permits.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    super::super::document::{Document, conjuncts},
    keywords::{
        KEPT, LOWER, UPPER, alternatives, has_both_lists, is_annotation, stated_values, weight,
    },
    limits::{DEPTH, Steps, address},
    types::{ANY, NOTHING, own_types, type_of},
};

/// The types that a schema permits; all in a cycle and where it nests too deeply. `known` has the
/// types of earlier schemas.
pub(super) fn types_of(
    document: &Document,
    schema: &Value,
    known: &mut HashMap<usize, u8>,
    depth: usize,
) -> u8 {
    if *schema == NOTHING {
        return 0;
    }
    if depth > DEPTH {
        return ANY;
    }
    if let Some(types) = known.get(&address(schema)) {
        return *types;
    }
    let mut types = ANY;
    known.insert(address(schema), types);
    for schema in conjuncts(document, schema) {
        types &= own_types(schema);
        if let Some(values) = stated_values(schema) {
            types &= values.iter().fold(0, |types, value| types | type_of(value));
        }
        if let Some(list) = alternatives(schema) {
            let of_each = |types, it| types | types_of(document, it, known, depth + 1);
            types &= list.iter().fold(0, of_each);
        }
    }
    known.insert(address(schema), types);
    types
}

/// Whether two values are the same: 1 is 1.0.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one_as), Some(other_as)) if one.as_i64().is_none() || other.as_i64().is_none() => {
            one_as.total_cmp(&other_as).is_eq()
        }
        _ => one == other,
    }
}

/// Whether a value is one of a schema; `None` if that is not known.
pub(super) fn accepts(
    document: &Document,
    schema: &Value,
    value: &Value,
    depth: usize,
    steps: &Steps,
) -> Option<bool> {
    if depth > DEPTH || !steps.take(weight(schema)) {
        return None;
    }
    let mut is_known = true;
    for schema in conjuncts(document, schema) {
        is_known &= !has_both_lists(schema);
        let Some(keywords) = schema.as_object() else {
            if *schema == NOTHING {
                return Some(false);
            }
            continue;
        };
        if own_types(schema) & type_of(value) == 0
            || stated_values(schema)
                .is_some_and(|values| !values.iter().any(|it| is_same(it, value)))
        {
            return Some(false);
        }
        if let Some(list) = alternatives(schema) {
            let list: Vec<_> =
                list.iter().map(|it| accepts(document, it, value, depth + 1, steps)).collect();
            let accepting = list.iter().filter(|it| **it == Some(true)).count();
            let unknown = list.contains(&None);
            match (schema.get("anyOf").is_some(), accepting, unknown) {
                (true, 1.., _) | (false, 1, false) => (),
                (_, 0, false) => return Some(false),
                (false, 2.., _) => return Some(false),
                _ => is_known = false,
            }
        }
        let decides = |name: &&String| {
            let about = LOWER.iter().chain(&UPPER).chain(&KEPT).find(|(known, _)| known == name);
            match (about, name.as_str()) {
                (Some((_, about)), _) => about & type_of(value) != 0,
                (None, "properties" | "required" | "additionalProperties") => value.is_object(),
                (None, "items") => value.is_array(),
                (None, "$ref") => document.target(schema).is_none(),
                (None, "type" | "enum" | "const" | "allOf" | "anyOf" | "oneOf") => false,
                (None, name) => !is_annotation(name),
            }
        };
        is_known &= !keywords.keys().any(|name| decides(&name));
    }
    is_known.then_some(true)
}

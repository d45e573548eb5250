//! The schemas that one side consists of, and what they say of a property.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::{
    super::super::document::{Document, conjuncts, object},
    keywords::{alternatives, names, required, stated_values, weight},
    limits::{Steps, address},
    types::{ANY, NOTHING, OBJECT, own_types},
    values::{accepts, types_of},
};

/// A schema of the left side.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) schema: &'a Value,
    /// Whether one of its alternatives is among the parts.
    pub(super) is_split: bool,
}

impl<'a> Part<'a> {
    pub(super) fn new(schema: &'a Value) -> Self {
        Self { schema, is_split: false }
    }
}

/// The properties that schemas declare, with all alternatives.
#[derive(Default)]
pub(super) struct DeclaredProperties<'a> {
    pub(super) names: BTreeMap<&'a str, &'a Value>,
    /// Whether the schemas state other properties, or describe no object.
    pub(super) has_others: bool,
}

impl<'a> DeclaredProperties<'a> {
    pub(super) fn collect(
        document: &'a Document,
        schemas: impl IntoIterator<Item = &'a Value>,
        steps: &Steps,
    ) -> Self {
        let mut declared = Self::default();
        let (mut open, mut seen) = (schemas.into_iter().collect::<Vec<_>>(), HashSet::new());
        let mut is_object = false;
        while let Some(schema) = open.pop() {
            for schema in conjuncts(document, schema) {
                if !seen.insert(address(schema)) || !steps.take(weight(schema)) {
                    continue;
                }
                open.extend(alternatives(schema).into_iter().flatten());
                let properties = object(schema, "properties").into_iter().flatten();
                declared.names.extend(properties.map(|(name, value)| (name.as_str(), value)));
                is_object |= schema.get("properties").is_some() || own_types(schema) == OBJECT;
                let others = ["additionalProperties", "patternProperties"];
                declared.has_others |= others.iter().any(|name| schema.get(*name).is_some());
            }
        }
        declared.has_others |= !is_object;
        declared
    }
}

/// What the left says of a property: nothing, if it does not declare it.
pub(super) fn property<'a>(parts: &[Part<'a>], name: &str) -> Vec<Part<'a>> {
    let (mut value, mut is_declared) = (Vec::new(), false);
    for Part { schema, .. } in parts {
        let own = object(schema, "properties").and_then(|declared| declared.get(name));
        if schema.get("patternProperties").is_some() {
            is_declared = true;
        }
        if let Some(stated) = own.or_else(|| schema.get("additionalProperties")) {
            is_declared = true;
            if own.is_some() || schema.get("patternProperties").is_none() {
                value.push(Part::new(stated));
            }
        }
    }
    if is_declared { value } else { vec![Part::new(&NOTHING)] }
}

/// Whether no value matches both: their types or values differ, or those of a property that both
/// require.
pub(super) fn is_disjoint(
    (left, parts): (&Document, &[Part<'_>]),
    (right, schema): (&Document, &Value),
    depth: usize,
    steps: &Steps,
) -> bool {
    if depth > 4 || !steps.take(weight(schema)) {
        return false;
    }
    let mut known = HashMap::new();
    let types = parts.iter().fold(ANY, |it, part| it & types_of(left, part.schema, &mut known, 0));
    steps.take(known.len());
    known.clear();
    if types & types_of(right, schema, &mut known, 0) == 0 {
        return true;
    }
    steps.take(known.len());
    let rights = conjuncts(right, schema);
    let lefts = parts.iter().flat_map(|part| conjuncts(left, part.schema)).collect::<Vec<_>>();
    let stated = lefts.iter().find_map(|it| stated_values(it));
    if stated.is_some_and(|values| {
        values.iter().all(|it| accepts(right, schema, it, 0, steps) == Some(false))
    }) {
        return true;
    }
    let stated = rights.iter().find_map(|it| stated_values(it));
    let refuses =
        |value: &&Value| lefts.iter().any(|it| accepts(left, it, value, 0, steps) == Some(false));
    if stated.is_some_and(|values| values.iter().all(refuses)) {
        return true;
    }
    let is_required = |schemas: &[&Value], name: &str| {
        schemas.iter().any(|schema| required(schema).any(|known| known == name))
    };
    let parts: Vec<_> = lefts.iter().copied().map(Part::new).collect();
    types == OBJECT
        && names(&rights).into_iter().any(|name| {
            let value = property(&parts, name);
            is_required(&lefts, name)
                && is_required(&rights, name)
                && !value.is_empty()
                && rights
                    .iter()
                    .filter_map(|it| object(it, "properties")?.get(name))
                    .any(|schema| is_disjoint((left, &value), (right, schema), depth + 1, steps))
        })
}

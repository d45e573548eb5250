//! The callers of an operation: alternatives, each of schemes that are needed together (OpenAPI 3.1, 4.8.30).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::document::{Document, Operation};

/// Schemes by their meaning, each with the scopes that it needs, and the names that people read.
#[derive(Debug)]
pub(super) struct Alternative {
    schemes: BTreeMap<String, BTreeSet<String>>,
    pub(super) words: String,
}

impl Alternative {
    /// Whether a client that meets the other one also meets this one.
    pub(super) fn is_met_by(&self, other: &Self) -> bool {
        self.schemes.iter().all(|(scheme, scopes)| {
            other.schemes.get(scheme).is_some_and(|held| scopes.is_subset(held))
        })
    }
}

/// The alternatives of an operation; of the document, if the operation states none.
pub(super) fn alternatives(document: &Document, operation: &Operation<'_>) -> Vec<Alternative> {
    let stated = operation.value.get("security").or_else(|| document.root().get("security"));
    let list = stated.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let read = |requirement: &Value| {
        let entries = requirement.as_object().into_iter().flatten();
        let entries: Vec<_> = entries
            .map(|(name, scopes)| {
                let scopes = scopes.as_array().into_iter().flatten().filter_map(Value::as_str);
                (name, scopes.map(str::to_owned).collect::<BTreeSet<_>>())
            })
            .collect();
        let words = entries.iter().map(|(name, scopes)| match scopes.is_empty() {
            true => format!("`{name}`"),
            false => {
                let scopes: Vec<_> = scopes.iter().map(String::as_str).collect();
                format!("`{name}` ({})", scopes.join(" "))
            }
        });
        let words = words.collect::<Vec<_>>().join(" and ");
        let words = if words.is_empty() { "nothing".to_owned() } else { words };
        let schemes =
            entries.into_iter().map(|(name, scopes)| (meaning(document, name), scopes)).collect();
        Alternative { schemes, words }
    };
    let alternatives: Vec<_> = list.iter().map(read).collect();
    if alternatives.is_empty() {
        // Any client may call.
        return vec![read(&Value::Null)];
    }
    alternatives
}

/// The meaning of a scheme: its name is no part of a request.
fn meaning(document: &Document, name: &str) -> String {
    let schemes = document.root().get("components").and_then(|it| it.get("securitySchemes"));
    let scheme = schemes.and_then(|schemes| schemes.get(name)).map(|it| document.resolve(it));
    match scheme.and_then(Value::as_object).cloned() {
        Some(mut scheme) => {
            scheme.retain(|key, _| {
                !key.starts_with("x-") && !["description", "bearerFormat"].contains(&&**key)
            });
            Value::Object(scheme).to_string()
        }
        None => name.to_owned(),
    }
}

//! What differs between two documents for their clients. Nothing here reads or writes.

mod operation;
mod schema;
mod security;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use self::{operation::compare_operations, schema::Steps};
use super::document::{Document, Operation, object, reference};

/// The most steps of one comparison: some seconds.
const STEPS: u64 = 1 << 25;

/// What a change means to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Impact {
    /// A client that worked may fail, or does not compile any more.
    Breaks,
    /// Clients may do or get more.
    Adds,
    /// Only what people read.
    Words,
}

impl Impact {
    pub(super) const ALL: [Self; 3] = [Self::Breaks, Self::Adds, Self::Words];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Breaks => "breaks",
            Self::Adds => "adds",
            Self::Words => "words",
        }
    }
}

/// A difference of two documents.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Change {
    pub(super) impact: Impact,
    /// The operation; empty for the document as a whole.
    pub(super) operation: String,
    /// The part of the operation, such as `response 200 /price`; empty for all of it.
    pub(super) part: String,
    /// Names and values between backticks.
    pub(super) words: String,
}

impl Change {
    /// A change of an operation, or of the document, as a whole.
    fn whole(impact: Impact, operation: impl Into<String>, words: impl Into<String>) -> Self {
        Self { impact, operation: operation.into(), part: String::new(), words: words.into() }
    }
}

/// The differences, the worst first.
pub(super) fn compare(old: &Document, new: &Document) -> Vec<Change> {
    let mut changes = Vec::new();
    compare_servers("", (old, None), (new, None), &mut changes);
    for (path, item) in old.entries(old.root(), "paths") {
        if let Some(reference) = reference(item) {
            let words =
                format!("the path `{path}` is `{reference}`, which is not in this document");
            changes.push(Change::whole(Impact::Breaks, "", words));
        }
    }
    let steps = Steps::new(STEPS);
    let (olds, news): (Vec<_>, Vec<_>) = (old.operations().collect(), new.operations().collect());
    // The first of a key counts.
    let others: BTreeMap<_, _> = news.iter().rev().map(|other| (key(other), other)).collect();
    for operation in &olds {
        match others.get(&key(operation)).copied() {
            Some(other) => compare_operations((old, operation), (new, other), &steps, &mut changes),
            None => {
                let words = "the operation is gone";
                changes.push(Change::whole(Impact::Breaks, operation.name(), words));
            }
        }
    }
    let known: BTreeSet<_> = olds.iter().map(key).collect();
    for operation in news.iter().filter(|operation| !known.contains(&key(operation))) {
        changes.push(Change::whole(Impact::Adds, operation.name(), "the operation is new"));
    }
    let info = |document: &Document| document.root().get("info").cloned();
    if info(old) != info(new) {
        let words = "the title, version or description of the document changed";
        changes.push(Change::whole(Impact::Words, "", words));
    }
    changes.sort();
    changes.dedup();
    changes
}

/// The method and the path, without the names of parameters, which no request has. A parameter may be
/// a part of a segment, as in `/jobs/{id}:cancel`.
fn key(operation: &Operation<'_>) -> (&'static str, String) {
    let mut parts = operation.path.split('{');
    let mut path = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        path.push_str("{}");
        path.push_str(part.split_once('}').map_or(part, |(_, after)| after));
    }
    (operation.method, path)
}

/// Compares the addresses that clients have, of an operation or of the document.
fn compare_servers(
    operation: &str,
    (old, old_list): (&Document, Option<&Value>),
    (new, new_list): (&Document, Option<&Value>),
    changes: &mut Vec<Change>,
) {
    let (olds, news) = (servers(old, old_list), servers(new, new_list));
    let mut push = |impact, url: &str, what| {
        changes.push(Change::whole(impact, operation, format!("the server `{url}` {what}")));
    };
    for (url, variables) in &olds {
        match news.get(url) {
            None => push(Impact::Breaks, url, "is gone"),
            Some(other) if other != variables => push(Impact::Breaks, url, "has other variables"),
            Some(_) => (),
        }
    }
    let added = news.keys().filter(|url| !olds.contains_key(*url));
    added.for_each(|url| push(Impact::Adds, url, "is new"));
}

/// Names, values and defaults of the variables of a server.
type Variables<'a> = Vec<(&'a String, Option<&'a Value>, Option<&'a Value>)>;

/// The URLs of a list of servers, or else of the document's.
fn servers<'a>(
    document: &'a Document,
    list: Option<&'a Value>,
) -> BTreeMap<&'a str, Variables<'a>> {
    let list = list.or_else(|| document.root().get("servers")).and_then(Value::as_array);
    let read = |server: &'a Value| {
        let variables = object(server, "variables").into_iter().flatten();
        let variables = variables.map(|(name, it)| (name, it.get("enum"), it.get("default")));
        Some((server.get("url")?.as_str()?, variables.collect()))
    };
    let servers: BTreeMap<_, Variables<'_>> = list.into_iter().flatten().filter_map(read).collect();
    // OpenAPI 3.1, 4.8.1: the default.
    if servers.is_empty() { BTreeMap::from([("/", Vec::new())]) } else { servers }
}

/// The callers of an operation, in words.
pub(super) fn callers(document: &Document, operation: &Operation<'_>) -> String {
    let alternatives = security::alternatives(document, operation);
    let words = alternatives.iter().map(|alternative| match &*alternative.words {
        "nothing" => "everybody".to_owned(),
        words => words.replace('`', ""),
    });
    words.collect::<Vec<_>>().join(" or ")
}

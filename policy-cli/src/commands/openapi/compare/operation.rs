//! What differs between two versions of an operation.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    Change, Impact, compare_servers,
    schema::{Gap, LocatedGap, Side, Steps, Subset},
    security::{Alternative, alternatives},
};
use crate::commands::openapi::document::{
    Document, Operation, conjuncts, identity, object, reference,
};

/// The media type of problems (RFC 9457 4).
const PROBLEM: &str = "application/problem+json";

/// The side that writes the values of a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// The client: what it sends has to be accepted still.
    Request,
    /// The server: what it sends has to be what clients expect.
    Response,
}

/// Compares two versions of an operation.
pub(super) fn compare_operations(
    (old, old_operation): (&Document, &Operation<'_>),
    (new, new_operation): (&Document, &Operation<'_>),
    steps: &Steps,
    changes: &mut Vec<Change>,
) {
    let mut comparison =
        Comparison { old, new, operation: new_operation.name(), steps, changes: Vec::new() };
    comparison.rest(
        "",
        old_operation.value,
        new_operation.value,
        &["operationId", "parameters", "requestBody", "responses", "security", "servers"],
    );
    comparison.servers(old_operation.servers, new_operation.servers);
    comparison.identifier(old_operation.value, new_operation.value);
    comparison.parameters(old_operation, new_operation);
    comparison.body(old_operation.value, new_operation.value);
    comparison.responses(old_operation.value, new_operation.value);
    comparison.security(&alternatives(old, old_operation), &alternatives(new, new_operation));
    if comparison.changes.is_empty() && old_operation.value != new_operation.value {
        comparison.push(Impact::Words, "", "its descriptions or extensions changed");
    }
    changes.append(&mut comparison.changes);
}

struct Comparison<'a> {
    old: &'a Document,
    new: &'a Document,
    operation: String,
    steps: &'a Steps,
    changes: Vec<Change>,
}

impl<'a> Comparison<'a> {
    fn push(&mut self, impact: Impact, part: &str, words: impl Into<String>) {
        let (operation, part) = (self.operation.clone(), part.to_owned());
        self.changes.push(Change { impact, operation, part, words: words.into() });
    }

    fn identifier(&mut self, old: &Value, new: &Value) {
        let id =
            |value: &Value| value.get("operationId").and_then(Value::as_str).map(str::to_owned);
        match (id(old), id(new)) {
            (Some(old), Some(new)) if old != new => {
                let words =
                    format!("`operationId` was `{old}`, and is `{new}`: generated clients name it");
                self.push(Impact::Breaks, "", words);
            }
            (Some(old), None) => {
                let words = format!("`operationId` `{old}` is gone: generated clients name it");
                self.push(Impact::Breaks, "", words);
            }
            _ => (),
        }
        if is_true(new, "deprecated") && !is_true(old, "deprecated") {
            self.push(Impact::Words, "", "it is deprecated");
        }
    }

    /// The servers of the document are compared as its own.
    fn servers(&mut self, old: Option<&Value>, new: Option<&Value>) {
        if old.is_some() || new.is_some() {
            let (old, new) = ((self.old, old), (self.new, new));
            compare_servers(&self.operation, old, new, &mut self.changes);
        }
    }

    /// Reports what is in another document, where it may change.
    fn reference(&mut self, part: &str, value: &Value) {
        if let Some(reference) = reference(value) {
            self.push(Impact::Breaks, part, unresolved(&reference));
        }
    }

    /// Reports what differs beside the keywords that are compared.
    fn rest(&mut self, part: &str, old: &Value, new: &Value, compared: &[&str]) {
        self.reference(part, old);
        self.reference(part, new);
        let names = [old, new].into_iter().filter_map(Value::as_object).flat_map(Map::keys);
        let names: BTreeSet<_> = names.collect();
        for name in names {
            let is_left_out = compared.contains(&&**name) || is_irrelevant(name);
            if !is_left_out && old.get(name) != new.get(name) {
                self.push(Impact::Breaks, part, format!("`{name}` is another"));
            }
        }
    }

    fn parameters(&mut self, old: &Operation<'a>, new: &Operation<'a>) {
        for parameter in old.parameters.iter().chain(&new.parameters) {
            self.reference("parameters", parameter);
        }
        let known = |operation: &Operation<'a>| {
            let parameters = operation.parameters.iter().copied();
            parameters.filter(|parameter| reference(parameter).is_none()).collect::<Vec<_>>()
        };
        let (olds, news) = (known(old), known(new));
        let renamed: BTreeMap<_, _> = old.names_in_path().zip(new.names_in_path()).collect();
        let same = |old: &Value| {
            let (place, name) = identity(old);
            let name = renamed
                .get(&*name)
                .filter(|_| place == "path")
                .map_or(name.clone(), |it| (*it).to_owned());
            (place.to_owned(), name)
        };
        let of = |parameter: &Value| {
            let (place, name) = identity(parameter);
            (place.to_owned(), name)
        };
        // Of several with one identity, the first counts.
        let others: BTreeMap<_, _> = news.iter().rev().map(|it| (of(it), *it)).collect();
        for parameter in &olds {
            let (place, name) = identity(parameter);
            let part = format!("{place} parameter `{name}`");
            let Some(other) = others.get(&same(parameter)).copied() else {
                self.push(Impact::Breaks, &part, "it is gone");
                continue;
            };
            let (_, new_name) = identity(other);
            if name != new_name {
                let words = format!("it is called `{new_name}` now: generated clients name it");
                self.push(Impact::Breaks, &part, words);
            }
            self.required(&part, parameter, other, Direction::Request);
            let compared = ["content", "in", "name", "required", "schema"];
            self.rest(&part, parameter, other, &compared);
            let [before, after] = [*parameter, other].map(|it| it.get("schema"));
            self.schemas(&part, before, after, Direction::Request, false);
            self.contents(&part, parameter, other, Direction::Request);
        }
        let known: BTreeSet<_> = olds.iter().map(|it| same(it)).collect();
        for parameter in news.iter().filter(|it| !known.contains(&of(it))) {
            let (place, name) = identity(parameter);
            let part = format!("{place} parameter `{name}`");
            match is_true(parameter, "required") {
                true => self.push(Impact::Breaks, &part, "it is new, and required"),
                false => self.push(Impact::Adds, &part, "it is new"),
            }
        }
    }

    fn required(&mut self, part: &str, old: &Value, new: &Value, direction: Direction) {
        let [before, after] = [old, new].map(|it| is_true(it, "required"));
        if before != after {
            let breaks = after == (direction == Direction::Request);
            let impact = if breaks { Impact::Breaks } else { Impact::Adds };
            self.push(impact, part, required_words(direction, impact));
        }
    }

    fn body(&mut self, old: &'a Value, new: &'a Value) {
        let body = |document: &'a Document, operation: &'a Value| {
            operation.get("requestBody").map(|it| document.resolve(it))
        };
        match (body(self.old, old), body(self.new, new)) {
            (Some(old), Some(new)) => {
                self.rest("body", old, new, &["content", "required"]);
                self.required("body", old, new, Direction::Request);
                self.contents("body", old, new, Direction::Request);
            }
            (Some(_), None) => self.push(Impact::Breaks, "body", "it is gone"),
            (None, Some(new)) if is_true(new, "required") => {
                self.push(Impact::Breaks, "body", "it is new, and required");
            }
            (None, Some(new)) => {
                self.reference("body", new);
                self.push(Impact::Adds, "body", "it is new");
            }
            (None, None) => (),
        }
    }

    fn responses(&mut self, old: &'a Value, new: &'a Value) {
        let olds: BTreeMap<_, _> = self.old.entries(old, "responses").collect();
        let news: BTreeMap<_, _> = self.new.entries(new, "responses").collect();
        for (status, old) in &olds {
            let part = format!("response {status}");
            let Some(new) = news.get(status) else {
                // No client depends on an error.
                let is_success = status.starts_with(['1', '2', '3']);
                let impact = if is_success { Impact::Breaks } else { Impact::Adds };
                self.push(impact, &part, "it no longer occurs");
                continue;
            };
            self.rest(&part, old, new, &["content", "headers"]);
            self.contents(&part, old, new, Direction::Response);
            self.headers(&part, old, new);
        }
        for status in news.keys().filter(|status| !olds.contains_key(*status)) {
            self.push(Impact::Adds, &format!("response {status}"), "it can occur now");
        }
    }

    fn headers(&mut self, part: &str, old: &'a Value, new: &'a Value) {
        let lower = |(name, value): (&str, &'a Value)| (name.to_ascii_lowercase(), value);
        let olds: BTreeMap<_, _> = self.old.entries(old, "headers").map(lower).collect();
        let news: BTreeMap<_, _> = self.new.entries(new, "headers").map(lower).collect();
        for (name, old) in &olds {
            let part = format!("{part} header `{name}`");
            match news.get(name) {
                Some(new) => {
                    self.rest(&part, old, new, &["required", "schema"]);
                    self.required(&part, old, new, Direction::Response);
                    let [before, after] = [old, new].map(|it| it.get("schema"));
                    self.schemas(&part, before, after, Direction::Response, false);
                }
                None => self.push(Impact::Breaks, &part, "it is gone"),
            }
        }
        for name in news.keys().filter(|name| !olds.contains_key(*name)) {
            self.push(Impact::Adds, &format!("{part} header `{name}`"), "it is new");
        }
    }

    /// Compares the media types and their schemas.
    fn contents(&mut self, part: &str, old: &'a Value, new: &'a Value, direction: Direction) {
        let olds: BTreeMap<_, _> = self.old.entries(old, "content").collect();
        let news: BTreeMap<_, _> = self.new.entries(new, "content").collect();
        for (media_type, old) in &olds {
            let is_only = olds.len() == 1;
            let part = if is_only { part.to_owned() } else { format!("{part} `{media_type}`") };
            match news.get(media_type) {
                Some(new) => {
                    self.rest(&part, old, new, &["schema"]);
                    let is_problem = direction == Direction::Response && *media_type == PROBLEM;
                    let (old, new) = (old.get("schema"), new.get("schema"));
                    if let (true, Some(old), Some(new)) = (is_problem, old, new) {
                        self.problems(&part, old, new);
                    }
                    self.schemas(&part, old, new, direction, is_problem);
                }
                None => self.push(
                    Impact::Breaks,
                    &part,
                    format!("the media type `{media_type}` is gone"),
                ),
            }
        }
        for media_type in news.keys().filter(|name| !olds.contains_key(*name)) {
            self.push(Impact::Adds, part, format!("the media type `{media_type}` is new"));
        }
    }

    /// Compares the codes of problems. A client handles an unknown code by its status.
    fn problems(&mut self, part: &str, old: &Value, new: &Value) {
        let (old, new) = (codes(self.old, old), codes(self.new, new));
        for code in new.difference(&old) {
            self.push(Impact::Adds, part, format!("the problem `{code}` can occur now"));
        }
        for code in old.difference(&new) {
            self.push(Impact::Adds, part, format!("the problem `{code}` no longer occurs"));
        }
    }

    /// Compares two schemas; a missing one permits everything.
    fn schemas(
        &mut self,
        part: &str,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
        direction: Direction,
        is_problem: bool,
    ) {
        const ANYTHING: &Value = &Value::Bool(true);
        let (old, new) = (old.unwrap_or(ANYTHING), new.unwrap_or(ANYTHING));
        // Whether values of the old schema are values of the new one, and the reverse.
        let forward = |side| Subset::new(self.old, self.new, side, self.steps).gaps(old, new);
        let backward = |side| Subset::new(self.new, self.old, side, self.steps).gaps(new, old);
        let (breaks, adds) = match direction {
            Direction::Request => (forward(Side::Left), backward(Side::Left)),
            Direction::Response => (backward(Side::Right), forward(Side::Right)),
        };
        let is_code = |found: &&LocatedGap| is_problem && found.at == "/code";
        let is_new = |found: &&LocatedGap| !breaks.iter().any(|broken| broken.at == found.at);
        let change = |found: &LocatedGap, impact| {
            let part = if found.at.is_empty() {
                part.to_owned()
            } else {
                format!("{part} `{}`", found.at)
            };
            (impact, part, words(&found.gap, direction, impact))
        };
        let breaking = breaks.iter().filter(|it| !is_code(it)).map(|it| change(it, Impact::Breaks));
        let adding = adds.iter().filter(|it| !is_code(it) && is_new(it));
        let adding = adding.map(|it| change(it, Impact::Adds));
        let all: Vec<_> = breaking.chain(adding).collect();
        for (impact, part, words) in all {
            self.push(impact, &part, words);
        }
    }

    fn security(&mut self, old: &[Alternative], new: &[Alternative]) {
        for one in old {
            if !new.iter().any(|other| other.is_met_by(one)) {
                let words = format!("callers with {} may no longer call", one.words);
                self.push(Impact::Breaks, "", words);
            }
        }
        for one in new {
            if !old.iter().any(|other| other.is_met_by(one)) {
                self.push(Impact::Adds, "", format!("callers with {} may call now", one.words));
            }
        }
    }
}

/// A gap in words. A request is described from the old to the new document if it breaks, and a response
/// the other way.
fn words(gap: &Gap, direction: Direction, impact: Impact) -> String {
    let is_request = direction == Direction::Request;
    let breaks = impact == Impact::Breaks;
    let left_is_old = is_request == breaks;
    let was = |left: &str, right: &str| match left_is_old {
        true => format!("was {left}, and is {right}"),
        false => format!("was {right}, and is {left}"),
    };
    match gap {
        Gap::Undeclared if breaks => "it is gone".to_owned(),
        Gap::Undeclared => "it is new".to_owned(),
        Gap::Type(left, right) => format!("the type {}", was(left, right)),
        Gap::Values(values) => {
            let values = values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>();
            let values = values.join(", ");
            match (is_request, breaks) {
                (true, true) => format!("it is no longer accepted as {values}"),
                (true, false) => format!("it is accepted as {values} now"),
                (false, true) => format!("it can be {values} now"),
                (false, false) => format!("it is no longer {values}"),
            }
        }
        Gap::Required(_) => required_words(direction, impact).to_owned(),
        Gap::Keyword(name, left, right) => {
            let left = left.as_ref().map_or("absent".to_owned(), |left| format!("`{left}`"));
            format!("`{name}` {}", was(&left, &format!("`{right}`")))
        }
        Gap::Refused if left_is_old => "no value is permitted any more".to_owned(),
        Gap::Refused => "it is permitted now".to_owned(),
        Gap::Alternatives if left_is_old => "an alternative is gone or narrower".to_owned(),
        Gap::Alternatives => "an alternative is new or wider".to_owned(),
        Gap::Overlap => "several alternatives of `oneOf` may be meant".to_owned(),
        Gap::Unresolved(reference) => unresolved(reference),
        Gap::Other => "it changed in a way that is not compared".to_owned(),
        Gap::TooDeep => "it is too large, or nests too deeply, to be compared".to_owned(),
    }
}

/// What it means that a part is required on one side only.
fn required_words(direction: Direction, impact: Impact) -> &'static str {
    match (direction, impact == Impact::Breaks) {
        (Direction::Request, true) => "it is required now",
        (Direction::Request, false) => "it is no longer required",
        (Direction::Response, true) => "it may be absent now",
        (Direction::Response, false) => "it is always there now",
    }
}

fn unresolved(reference: &str) -> String {
    format!("`{reference}` is not in this document")
}

/// Whether [`rest`](Comparison::rest) leaves a keyword out: its changes break no client, it is not compared
/// (callbacks, links), or it is reported separately (`$ref`).
fn is_irrelevant(keyword: &str) -> bool {
    matches!(
        keyword,
        "$ref"
            | "callbacks"
            | "deprecated"
            | "description"
            | "example"
            | "examples"
            | "externalDocs"
            | "links"
            | "summary"
            | "tags"
    ) || keyword.starts_with("x-")
}

fn is_true(value: &Value, name: &str) -> bool {
    value.get(name) == Some(&Value::Bool(true))
}

/// The codes that a problem of this schema can have.
fn codes(document: &Document, schema: &Value) -> BTreeSet<String> {
    let (mut codes, mut open, mut seen) = (BTreeSet::new(), vec![schema], BTreeSet::new());
    while let Some(schema) = open.pop() {
        for schema in conjuncts(document, schema) {
            if !seen.insert(std::ptr::from_ref(schema)) {
                continue;
            }
            for name in ["anyOf", "oneOf"] {
                open.extend(schema.get(name).and_then(Value::as_array).into_iter().flatten());
            }
            let Some(code) = object(schema, "properties").and_then(|it| it.get("code")) else {
                continue;
            };
            for code in conjuncts(document, code) {
                let listed = code.get("enum").and_then(Value::as_array).into_iter().flatten();
                let values = listed.chain(code.get("const")).filter_map(Value::as_str);
                codes.extend(values.map(str::to_owned));
            }
        }
    }
    codes
}

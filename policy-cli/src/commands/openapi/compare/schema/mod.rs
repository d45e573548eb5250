//! Whether every value that one schema describes is also one of another: the parts of JSON
//! Schema 2020-12 that documents of services use. What cannot be proven counts as a difference.
//!
//! A property that an object does not declare is not sent, although the schema permits it: otherwise
//! no document could gain an optional property.

mod keywords;
mod limits;
mod parts;
#[cfg(test)]
mod tests;
mod types;
mod values;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    mem, ptr,
};

use serde_json::Value;

pub(super) use self::limits::Steps;
use self::{
    keywords::{
        KEPT, LOWER, UPPER, alternatives, has_both_lists, is_annotation, is_read, names, required,
        stated_values, weight,
    },
    limits::{DEPTH, PARTS, address},
    parts::{DeclaredProperties, Part, is_disjoint, property},
    types::{
        ANY, ARRAY, BOOLEAN, EVERYTHING, INTEGER, NOTHING, NULL, NUMBER, OBJECT, OF_TYPE, TYPES,
        own_types, type_names, type_of,
    },
    values::{accepts, types_of},
};
use super::super::document::{Document, conjuncts, object, reference};

/// Why a value of the left schema may be none of the right one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Gap {
    /// A property that only one side declares.
    Undeclared,
    /// The types of the left and the right.
    Type(String, String),
    /// Values that only the left has.
    Values(Vec<String>),
    /// The name of a property that only the right requires.
    Required(String),
    /// A keyword, and its values on the left and the right.
    Keyword(String, Option<String>, String),
    /// The right has no such value at all.
    Refused,
    /// No alternative of the right has all values of the left.
    Alternatives,
    /// Several alternatives of a `oneOf` may have the same value.
    Overlap,
    /// The schema has keywords that are not compared.
    Other,
    /// A reference to what is not in the document.
    Unresolved(String),
    /// The schemas nest too deeply.
    TooDeep,
}

/// A gap and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LocatedGap {
    /// A path of names, `*` for items.
    pub(super) at: String,
    pub(super) gap: Gap,
}

/// The side whose declared properties the other side has to declare, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// The parts of the left, and the schema of the right, by their addresses.
type Pair = (Vec<(usize, bool)>, usize);

/// Compares the schemas of two documents.
pub(super) struct Subset<'a, 'b> {
    left: &'a Document,
    right: &'a Document,
    declared_by: Side,
    steps: &'b Steps,
    /// Pairs that are compared, or were. A cycle comes back to one of them.
    compared: HashSet<Pair>,
    /// The same, in their order.
    order: Vec<Pair>,
    equal: HashMap<(usize, usize), bool>,
    types: HashMap<usize, u8>,
    /// What is still to be compared, so that a gap is named by its shortest path.
    open: VecDeque<Open<'a>>,
    found: Vec<LocatedGap>,
    /// The gaps of each schema that were reported: several paths can lead to it.
    reported: HashSet<(usize, Gap)>,
}

/// Schemas to compare, and their place.
struct Open<'a> {
    left: Vec<Part<'a>>,
    right: &'a Value,
    at: String,
    depth: usize,
}

impl<'a, 'b> Subset<'a, 'b> {
    pub(super) fn new(
        left: &'a Document,
        right: &'a Document,
        declared_by: Side,
        steps: &'b Steps,
    ) -> Self {
        let (compared, order, equal) = (HashSet::new(), Vec::new(), HashMap::new());
        let (types, reported) = (HashMap::new(), HashSet::new());
        let (open, found) = (VecDeque::new(), Vec::new());
        Self {
            left,
            right,
            declared_by,
            steps,
            compared,
            order,
            equal,
            types,
            open,
            found,
            reported,
        }
    }

    /// Where values of the left schema may be none of the right one.
    pub(super) fn gaps(mut self, left: &'a Value, right: &'a Value) -> Vec<LocatedGap> {
        self.defer(vec![Part::new(left)], right, String::new(), 0);
        while let Some(Open { left, right, at, depth }) = self.open.pop_front() {
            self.check(&left, right, &at, depth);
        }
        self.found
    }

    fn defer(&mut self, left: Vec<Part<'a>>, right: &'a Value, at: String, depth: usize) {
        self.open.push_back(Open { left, right, at, depth });
    }

    /// Adds a gap of a schema, once.
    fn report(&mut self, at: &str, about: &Value, gap: Gap) {
        if self.reported.insert((address(about), gap.clone())) {
            self.found.push(LocatedGap { at: at.to_owned(), gap });
        }
    }

    /// Whether there is no gap, without adding any.
    fn holds(&mut self, left: &[Part<'a>], right: &'a Value, depth: usize) -> bool {
        let (found, order) = (mem::take(&mut self.found), self.order.len());
        let (open, reported) = (mem::take(&mut self.open), mem::take(&mut self.reported));
        self.compare(left, right, "", depth);
        while self.found.is_empty()
            && let Some(Open { left, right, at, depth }) = self.open.pop_front()
        {
            self.check(&left, right, &at, depth);
        }
        (self.open, self.reported) = (open, reported);
        let holds = self.found.is_empty();
        self.found = found;
        if !holds {
            // Pairs that were assumed to hold for it may not hold.
            for pair in self.order.drain(order..) {
                self.compared.remove(&pair);
            }
        }
        holds
    }

    fn check(&mut self, left: &[Part<'a>], right: &'a Value, at: &str, depth: usize) {
        self.declared(left, right, at);
        self.compare(left, right, at, depth);
    }

    fn compare(&mut self, left: &[Part<'a>], right: &'a Value, at: &str, depth: usize) {
        if depth > DEPTH || !self.steps.take(1 + self.found.len()) {
            return self.report(at, right, Gap::TooDeep);
        }
        let mut parts: Vec<Part<'a>> = Vec::new();
        for part in left {
            for schema in conjuncts(self.left, part.schema) {
                let is_split = part.is_split && ptr::eq(schema, part.schema);
                if parts.len() > PARTS {
                    return self.report(at, right, Gap::TooDeep);
                }
                match parts.iter_mut().find(|known| ptr::eq(known.schema, schema)) {
                    Some(known) => known.is_split |= is_split,
                    None => parts.push(Part { schema, is_split }),
                }
            }
        }
        if parts.iter().any(|part| *part.schema == NOTHING) || self.types(&parts) == 0 {
            return;
        }
        let mut key: Vec<_> =
            parts.iter().map(|part| (address(part.schema), part.is_split)).collect();
        key.sort_unstable();
        let pair = (key, address(right));
        if !self.compared.insert(pair.clone()) {
            return;
        }
        self.order.push(pair);
        let rights = conjuncts(self.right, right);
        let mut open = rights.clone();
        open.retain(|right| !parts.iter().any(|part| self.is_equal(part.schema, right, 0)));
        if open.is_empty() {
            return;
        }
        let lefts = parts.iter().map(|part| (self.left, part.schema));
        let others = open.iter().map(|schema| (self.right, *schema));
        let uncompared = lefts.chain(others).find_map(|(document, schema)| {
            match reference(schema).filter(|_| document.target(schema).is_none()) {
                Some(reference) => Some(Gap::Unresolved(reference)),
                None => has_both_lists(schema).then_some(Gap::Other),
            }
        });
        if let Some(gap) = uncompared {
            return self.report(at, right, gap);
        }
        let weights = parts.iter().map(|part| weight(part.schema)).sum::<usize>();
        let work = weights.saturating_mul(rights.iter().map(|right| weight(right)).sum());
        if rights.len() > PARTS || !self.steps.take(work) {
            return self.report(at, right, Gap::TooDeep);
        }
        if let Some(values) = self.values(&parts) {
            let refused = values.into_iter().filter(|value| {
                accepts(self.right, right, value, 0, self.steps) != Some(true)
                    && parts.iter().all(|part| {
                        accepts(self.left, part.schema, value, 0, self.steps) != Some(false)
                    })
            });
            let refused: Vec<_> = refused.map(ToString::to_string).collect();
            if !refused.is_empty() {
                self.report(at, right, Gap::Values(refused));
            }
            return;
        }
        if let Some(index) =
            parts.iter().position(|part| !part.is_split && alternatives(part.schema).is_some())
        {
            let alternatives = parts.get(index).and_then(|part| alternatives(part.schema));
            for alternative in alternatives.into_iter().flatten() {
                let mut parts = parts.clone();
                if let Some(part) = parts.get_mut(index) {
                    part.is_split = true;
                }
                parts.push(Part::new(alternative));
                self.compare(&parts, right, at, depth + 1);
            }
            return;
        }
        let types = self.types(&parts);
        let has_alternatives = open.iter().any(|right| alternatives(right).is_some());
        if has_alternatives && types.count_ones() > 1 && types != NUMBER {
            let of_types = TYPES.iter().zip(OF_TYPE.iter()).filter(|((_, bits), _)| {
                types & bits == *bits && (*bits != INTEGER || types & NUMBER != NUMBER)
            });
            for (_, schema) in of_types {
                let parts = [&*parts, &[Part::new(schema)]].concat();
                self.compare(&parts, right, at, depth + 1);
            }
            return;
        }
        for right in open {
            self.conjunct(&parts, right, at, depth);
        }
    }

    /// Finds the properties that one side declares and the other does not.
    fn declared(&mut self, parts: &[Part<'a>], right: &'a Value, at: &str) {
        let left = DeclaredProperties::collect(
            self.left,
            parts.iter().map(|part| part.schema),
            self.steps,
        );
        let right = DeclaredProperties::collect(self.right, [right], self.steps);
        let (one, other) = match self.declared_by {
            Side::Left => (left, right),
            Side::Right => (right, left),
        };
        // A schema about other properties accepts or refuses all of them.
        if !other.has_others {
            let unknown = one.names.into_iter().filter(|(name, _)| !other.names.contains_key(name));
            for (name, schema) in unknown {
                self.report(&format!("{at}/{name}"), schema, Gap::Undeclared);
            }
        }
    }

    fn conjunct(&mut self, parts: &[Part<'a>], right: &'a Value, at: &str, depth: usize) {
        let Some(keywords) = right.as_object() else {
            if *right == NOTHING {
                self.report(at, right, Gap::Refused);
            }
            return;
        };
        if !keywords.keys().all(|name| is_read(name)) {
            return self.report(at, right, Gap::Other);
        }
        if alternatives(right).is_some() {
            self.alternatives(parts, right, at, depth);
        }
        let types = self.types(parts);
        let allowed = own_types(right);
        if types & !allowed != 0 {
            self.report(at, right, Gap::Type(type_names(types), type_names(allowed)));
        }
        let types = types & allowed;
        if types == 0 {
            return;
        }
        let keyword = |name: &str| right.get(name).map(ToString::to_string);
        if let Some(values) = keyword("enum").or_else(|| keyword("const")) {
            self.report(at, right, Gap::Keyword("enum".to_owned(), None, values));
        }
        let bounds =
            LOWER.iter().map(|bound| (bound, 1.0)).chain(UPPER.iter().map(|bound| (bound, -1.0)));
        for ((name, about), sign) in bounds {
            let Some(bound) = right.get(*name).and_then(Value::as_f64) else { continue };
            // Lengths and counts are at least zero anyway.
            let is_default = sign > 0.0 && *about & NUMBER == 0 && bound <= 0.0;
            let bounds = parts.iter().filter_map(|part| part.schema.get(*name)?.as_f64());
            let is_kept = bounds.clone().any(|left| left * sign >= bound * sign);
            if types & about != 0 && !is_default && !is_kept {
                let left = parts.iter().find_map(|part| part.schema.get(*name));
                let gap = Gap::Keyword(
                    (*name).to_owned(),
                    left.map(ToString::to_string),
                    right.get(*name).map(ToString::to_string).unwrap_or_default(),
                );
                self.report(at, right, gap);
            }
        }
        for (name, about) in KEPT {
            let Some(value) = right.get(name).filter(|value| **value != NOTHING) else { continue };
            if types & about != 0 && !parts.iter().any(|part| part.schema.get(name) == Some(value))
            {
                let left = parts.iter().find_map(|part| part.schema.get(name));
                let gap =
                    Gap::Keyword(name.to_owned(), left.map(ToString::to_string), value.to_string());
                self.report(at, right, gap);
            }
        }
        if types & OBJECT != 0 {
            self.object(parts, right, at, depth);
        }
        if let Some(items) = right.get("items").filter(|_| types & ARRAY != 0) {
            let lefts = parts.iter().filter(|part| part.schema.get("prefixItems").is_none());
            let lefts: Vec<_> =
                lefts.filter_map(|part| part.schema.get("items")).map(Part::new).collect();
            self.defer(lefts, items, format!("{at}/*"), depth + 1);
        }
    }

    fn object(&mut self, parts: &[Part<'a>], right: &'a Value, at: &str, depth: usize) {
        for name in required(right) {
            if !parts.iter().any(|part| required(part.schema).any(|known| known == name)) {
                self.report(&format!("{at}/{name}"), right, Gap::Required(name.to_owned()));
            }
        }
        let declared = object(right, "properties");
        for (name, schema) in declared.into_iter().flatten() {
            let value = property(parts, name);
            self.defer(value, schema, format!("{at}/{name}"), depth + 1);
        }
        let Some(other) = right.get("additionalProperties") else { return };
        let lefts: Vec<_> = parts.iter().map(|part| part.schema).collect();
        for name in names(&lefts) {
            if declared.is_none_or(|declared| !declared.contains_key(name)) {
                let value = property(parts, name);
                self.defer(value, other, format!("{at}/{name}"), depth + 1);
            }
        }
        let others = |part: &Part<'a>| {
            let other = part.schema.get("additionalProperties");
            if part.schema.get("patternProperties").is_some() { Some(&EVERYTHING) } else { other }
        };
        let others: Vec<_> = parts.iter().filter_map(others).map(Part::new).collect();
        if !others.is_empty() {
            self.defer(others, other, format!("{at}/*"), depth + 1);
        }
    }

    /// Whether the values of the left are among those of `anyOf` or `oneOf`.
    fn alternatives(&mut self, parts: &[Part<'a>], right: &'a Value, at: &str, depth: usize) {
        let list = || alternatives(right).into_iter().flatten();
        let fitting = list().position(|alternative| self.holds(parts, alternative, depth + 1));
        let overlaps = |subset: &Self, alternative: &Value| {
            !is_disjoint((subset.left, parts), (subset.right, alternative), 0, subset.steps)
        };
        let mut possible = list().enumerate().filter(|(_, it)| overlaps(self, it));
        let (first, second) = (possible.next(), possible.next());
        match (fitting, first) {
            (Some(_), _) if right.get("anyOf").is_some() => (),
            (Some(fitting), Some((only, _))) if second.is_none() && only == fitting => (),
            (Some(_), _) => self.report(at, right, Gap::Overlap),
            // The gaps of the only possible alternative say more.
            (None, Some((_, only))) if second.is_none() => self.compare(parts, only, at, depth + 1),
            (None, _) => self.report(at, right, Gap::Alternatives),
        }
    }

    /// The values of the left, if it states all of them.
    fn values(&mut self, parts: &[Part<'a>]) -> Option<Vec<&'a Value>> {
        let stated = parts.iter().find_map(|part| stated_values(part.schema));
        stated.or_else(|| {
            static SMALL: [Value; 3] = [Value::Null, Value::Bool(true), Value::Bool(false)];
            let types = self.types(parts);
            (types & !(NULL | BOOLEAN) == 0).then(|| {
                let has = |value: &&Value| types & type_of(value) != 0;
                SMALL.iter().filter(has).collect()
            })
        })
    }

    /// The types that all parts permit.
    fn types(&mut self, parts: &[Part<'a>]) -> u8 {
        parts
            .iter()
            .fold(ANY, |types, part| types & types_of(self.left, part.schema, &mut self.types, 0))
    }

    /// Whether two schemas are the same, annotations aside.
    fn is_equal(&mut self, left: &'a Value, right: &'a Value, depth: usize) -> bool {
        if depth > DEPTH || !self.steps.take(1) {
            return false;
        }
        let pair = (address(left), address(right));
        if let Some(known) = self.equal.get(&pair) {
            return *known;
        }
        // Assumed until it is known, so that cycles end.
        self.equal.insert(pair, true);
        let is_equal = match (left, right) {
            (Value::Object(one), Value::Object(other)) => {
                let targets = (self.left.target(left), self.right.target(right));
                let is_meant = |(name, _): &(&String, &Value)| !is_annotation(name);
                let (mut ones, mut others) =
                    (one.iter().filter(is_meant), other.iter().filter(is_meant));
                loop {
                    break match (ones.next(), others.next()) {
                        (None, None) => true,
                        (Some((name, _)), Some((same, _))) if name == "$ref" && same == "$ref" => {
                            match targets {
                                (Some(one), Some(other))
                                    if self.is_equal(one, other, depth + 1) =>
                                {
                                    continue;
                                }
                                // The target of the same reference may differ, if it is elsewhere.
                                _ => false,
                            }
                        }
                        (Some((name, one)), Some((same, other)))
                            if name == same && self.is_equal_part(name, one, other, depth) =>
                        {
                            continue;
                        }
                        _ => false,
                    };
                }
            }
            _ => left == right,
        };
        if !is_equal {
            // Results below it may rest on that assumption.
            self.steps.take(self.equal.len());
            self.equal.retain(|_, is_equal| !*is_equal);
            self.equal.insert(pair, false);
        }
        is_equal
    }

    /// The same for the value of a keyword.
    fn is_equal_part(
        &mut self,
        name: &str,
        left: &'a Value,
        right: &'a Value,
        depth: usize,
    ) -> bool {
        match (left, right) {
            _ if ["enum", "const", "required", "type"].contains(&name) => left == right,
            (Value::Array(ones), Value::Array(others)) => {
                ones.len() == others.len()
                    && ones
                        .iter()
                        .zip(others)
                        .all(|(one, other)| self.is_equal(one, other, depth + 1))
            }
            // Names of properties are not keywords.
            (Value::Object(ones), Value::Object(others))
                if ["properties", "patternProperties", "dependentSchemas"].contains(&name) =>
            {
                ones.len() == others.len()
                    && ones.iter().zip(others).all(|((name, one), (same, other))| {
                        name == same && self.is_equal(one, other, depth + 1)
                    })
            }
            _ => self.is_equal(left, right, depth + 1),
        }
    }
}

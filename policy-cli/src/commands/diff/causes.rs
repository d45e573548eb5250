//! Findings and changes by what caused them: one changed line can decide about every route of an app.

use std::collections::{BTreeMap, BTreeSet};

use policy_manifest::{
    Change, Direction,
    diff::{Axis, DiffFinding, PathMethods},
};

use super::Compared;

/// The findings of one cause.
pub(super) struct Cause<'a> {
    /// The worst finding, which is shown whole.
    pub(super) worst: &'a DiffFinding,
    /// The places of the others.
    pub(super) elsewhere: Vec<&'a PathMethods>,
    /// How many others there are.
    pub(super) others: usize,
}

/// Changes of different routes that are alike.
pub(super) struct Alike<'a> {
    pub(super) first: &'a Change,
    /// How many others there are.
    pub(super) others: usize,
}

/// What tells changes apart, except for their route: facet, direction, words, and the line that
/// decided.
type CauseKey<'a> = (&'a str, Direction, &'a str, Option<(&'a str, u32)>);

impl Compared {
    fn why<'a>(&'a self, change: &'a Change) -> CauseKey<'a> {
        let line = self.source(change).map(|source| (source.file.as_str(), source.line));
        (change.facet, change.direction, &change.words, line)
    }

    /// The findings on an axis by their causes, those with the worst finding first.
    pub(super) fn causes(&self, axis: Axis) -> Vec<Cause<'_>> {
        let mut causes: Vec<Cause<'_>> = Vec::new();
        let mut known: BTreeMap<BTreeSet<CauseKey<'_>>, usize> = BTreeMap::new();
        // They are in order of severity.
        for finding in self.findings_on(axis) {
            let why: BTreeSet<_> = finding.changes.iter().map(|change| self.why(change)).collect();
            let same = known.get(&why).filter(|_| !why.is_empty());
            match same.and_then(|index| causes.get_mut(*index)) {
                Some(cause) => {
                    cause.elsewhere.extend(&finding.places);
                    cause.others += 1;
                }
                None => {
                    known.insert(why, causes.len());
                    causes.push(Cause { worst: finding, elsewhere: Vec::new(), others: 0 });
                }
            }
        }
        causes
    }

    /// Changes without those that are like an earlier one.
    pub(super) fn alike<'a>(&'a self, changes: &'a [Change]) -> Vec<Alike<'a>> {
        let mut found: Vec<Alike<'a>> = Vec::new();
        let mut known: BTreeMap<CauseKey<'_>, usize> = BTreeMap::new();
        for change in changes {
            match known.get(&self.why(change)).and_then(|index| found.get_mut(*index)) {
                Some(alike) => alike.others += 1,
                None => {
                    known.insert(self.why(change), found.len());
                    found.push(Alike { first: change, others: 0 });
                }
            }
        }
        found
    }
}

impl Alike<'_> {
    /// Whether they are about rights on objects, which no request shows without an object.
    pub(super) fn is_of_objects(&self) -> bool {
        is_of_objects(self.first)
    }

    /// A caller and an object whom a changed rule admits: what is true of them, and what is not.
    pub(super) fn witness(&self) -> Option<String> {
        let statements = self.first.gained.as_ref()?.statements();
        let statements = statements.map(|(atom, is_true)| {
            format!("`{atom}` is {}", if is_true { "true" } else { "false" })
        });
        let statements: Vec<_> = statements.collect();
        (!statements.is_empty()).then(|| format!("for example: {}", statements.join(", ")))
    }

    /// The number of the others in words; empty without any.
    pub(super) fn words(&self) -> String {
        match self.others {
            0 => String::new(),
            1 => ", and alike at 1 more route".to_owned(),
            others => format!(", and alike at {others} more routes"),
        }
    }
}

/// Whether a change is about rights on objects.
pub(super) fn is_of_objects(change: &Change) -> bool {
    change.facet == "object"
}

impl Cause<'_> {
    /// The number of the other findings in words; `None` without any.
    pub(super) fn words(&self) -> Option<String> {
        match self.others {
            0 => None,
            1 => Some("1 more finding has this cause, at".to_owned()),
            others => Some(format!("{others} more findings have this cause, at")),
        }
    }
}

//! The findings of a request, looked up by its place and its key.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use super::{cells::Key, group::Group, located::Indices};

/// The places of findings, to find those of a request.
#[derive(Debug, Default)]
pub(super) struct Covered {
    pub(super) requests: HashMap<PlaceKey, Vec<CaseOf>>,
    pub(super) preflights: HashMap<(Indices, String), Vec<CaseOf>>,
}

/// A case, by the index of its finding and its index in the finding.
#[derive(Clone, Debug)]
pub(super) struct CaseOf {
    pub(super) finding: usize,
    pub(super) case: usize,
    pub(super) keys: Rc<HashSet<Key>>,
    pub(super) has_malformed: bool,
}

/// Paths, a method, the routes for it, and the routes that take the encoded slash, for a path that
/// has one.
pub(super) type PlaceKey = (Indices, String, Indices, Option<Indices>);

impl Covered {
    pub(super) fn add(&mut self, group: &Group, finding: usize) {
        for unit in &group.units {
            for (case, sketch) in unit.sketches.iter().enumerate() {
                let (keys, has_malformed) = (Rc::clone(&sketch.keys), sketch.has_malformed);
                let case = CaseOf { finding, case, keys, has_malformed };
                if sketch.is_preflight {
                    let key = (unit.found, unit.asked.name().to_owned());
                    self.preflights.entry(key).or_default().push(case);
                    continue;
                }
                let taken = unit.has_slash.then_some(unit.taken);
                let key = (unit.found, unit.asked.name().to_owned(), unit.routes, taken);
                let known = self.requests.entry(key).or_default();
                // Several paths represent the encoded slashes of one template.
                if !known.iter().any(|other| (other.finding, other.case) == (finding, case.case)) {
                    known.push(case);
                }
            }
        }
    }
}

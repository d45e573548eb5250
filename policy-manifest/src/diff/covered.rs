//! An index of the findings: looks up those that cover a request.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use super::{cells::Key, group::Group, located::Indices};

/// The cases of all findings, by the place of the requests that they cover.
#[derive(Debug, Default)]
pub(super) struct CoveredCases {
    pub(super) requests: HashMap<PlaceKey, Vec<CaseOf>>,
    pub(super) preflights: HashMap<(Indices, String), Vec<CaseOf>>,
}

/// A case of a finding, by the two indices, and the requests that it covers.
#[derive(Clone, Debug)]
pub(super) struct CaseOf {
    pub(super) finding: usize,
    pub(super) case: usize,
    pub(super) keys: Rc<HashSet<Key>>,
    pub(super) has_malformed: bool,
}

/// The place of a request: its path in both apps, its method, the routes for this method and, if
/// the path has an encoded slash, the routes that accept it.
pub(super) type PlaceKey = (Indices, String, Indices, Option<Indices>);

impl CoveredCases {
    pub(super) fn add(&mut self, group: &Group, finding: usize) {
        for unit in &group.units {
            for (case, sketch) in unit.sketches.iter().enumerate() {
                let (keys, has_malformed) = (Rc::clone(&sketch.keys), sketch.has_malformed);
                let case = CaseOf { finding, case, keys, has_malformed };
                if sketch.is_preflight {
                    let key = (unit.found, unit.method.name().to_owned());
                    self.preflights.entry(key).or_default().push(case);
                    continue;
                }
                let taken = unit.has_slash.then_some(unit.taken);
                let key = (unit.found, unit.method.name().to_owned(), unit.routes, taken);
                let known = self.requests.entry(key).or_default();
                // A template with several encoded slashes has several paths, but one case.
                if !known.iter().any(|other| (other.finding, other.case) == (finding, case.case)) {
                    known.push(case);
                }
            }
        }
    }
}

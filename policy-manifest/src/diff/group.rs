//! Places with the same difference, merged into one finding that both engines confirm.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::{
    access::Access,
    causes::Causes,
    cells::Sketch,
    error::DiffError,
    finding::{Axis, Case, DiffFinding, PathMethods, Witness},
    located::Indices,
    places::RequestedMethod,
    probe,
    side::Side,
};
use crate::{
    FindingSeverity,
    engine::{Decision, Outcome},
};

/// A place with its differences.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) found: Indices,
    pub(super) method: RequestedMethod,
    pub(super) path: String,
    pub(super) template: String,
    pub(super) has_slash: bool,
    pub(super) routes: Indices,
    /// The routes that take an encoded slash.
    pub(super) taken: Indices,
    /// The differences, shared with those of the other places of the group.
    pub(super) sketches: Vec<Rc<Sketch>>,
}

/// Places with the same differences.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) axis: Axis,
    pub(super) units: Vec<Unit>,
}

impl Group {
    /// The differences at one of its places.
    fn sketches(&self) -> impl Iterator<Item = &Rc<Sketch>> {
        self.units.iter().take(1).flat_map(|unit| &unit.sketches)
    }

    fn severity(&self) -> FindingSeverity {
        let severities = self.sketches().map(|sketch| sketch.severity);
        severities.max().unwrap_or(FindingSeverity::Info)
    }

    pub(super) fn order(&self) -> impl Ord + use<> {
        let places: Vec<_> =
            self.units.iter().map(|unit| (unit.template.clone(), unit.method.clone())).collect();
        (self.axis, Reverse(self.severity()), places)
    }

    pub(super) fn finding(
        &self,
        sides: (&Side, &Side),
        causes: &mut Causes<'_>,
    ) -> Result<DiffFinding, DiffError> {
        let mut places: BTreeMap<(String, bool), PathMethods> = BTreeMap::new();
        for unit in &self.units {
            let path = |side: &Side, index| side.route(index).map(|route| route.path.clone());
            let key = (unit.template.clone(), unit.has_slash);
            let place = places.entry(key).or_insert_with(|| PathMethods {
                path: unit.template.clone(),
                methods: Vec::new(),
                every_other_method: false,
                encoded_slash: unit.has_slash,
                before: path(sides.0, unit.routes.0),
                after: path(sides.1, unit.routes.1),
            });
            match &unit.method {
                RequestedMethod::Other => place.every_other_method = true,
                RequestedMethod::Method(name) if !place.methods.contains(name) => {
                    place.methods.push(name.clone());
                }
                RequestedMethod::Method(_) => (),
            }
        }
        let mut cases = Vec::new();
        for (number, sketch) in self.sketches().enumerate() {
            let mut witness = None;
            for unit in &self.units {
                let Some(own) = unit.sketches.get(number) else { continue };
                let found = unit.replay(sides, own)?;
                witness = witness.or(Some(found));
            }
            let Some(witness) = witness else { continue };
            cases.push(Case {
                severity: sketch.severity,
                senders: sketch.senders.clone(),
                callers: sketch.callers.clone(),
                gains: sketch.gains.clone(),
                witness,
                is_preflight: sketch.is_preflight,
            });
        }
        let facets: BTreeSet<&'static str> =
            self.sketches().flat_map(|sketch| sketch.facets.iter().copied()).collect();
        let places: Vec<PathMethods> = places.into_values().collect();
        let changes = causes.find(self.axis, &places, &facets);
        let facets = facets.into_iter().collect();
        let (axis, severity) = (self.axis, self.severity());
        Ok(DiffFinding { axis, severity, places, cases, facets, changes })
    }
}

impl Unit {
    /// Asks both engines about the witness of a sketch.
    fn replay(&self, sides: (&Side, &Side), sketch: &Sketch) -> Result<Witness, DiffError> {
        let (old, new) = sides;
        let target = (self.method.name(), self.path.as_str());
        let request = |side: &Side| match sketch.is_preflight {
            true => probe::preflight(target, &sketch.sender.origin, &side.identity),
            false => probe::request(target, &sketch.sender, &sketch.credentials, &side.identity),
        };
        let caller = sketch.credentials.caller();
        let (request, moved) = (request(old), request(new));
        let before = old.engine.decide(&request, &caller);
        let after = new.engine.decide(&moved, &caller);
        let access = |decision: &Decision, is_served: bool| match sketch.is_preflight {
            true if is_served => Access::for_preflight(decision, self.method.name()),
            true => Access::default(),
            false => Access::for_request(decision, sketch.sender.is_other_page()),
        };
        let old_access = access(&before, self.routes.0.is_some());
        let new_access = access(&after, self.routes.1.is_some());
        let gains = match sketch.axis {
            Axis::Widened => new_access.beyond(&old_access),
            Axis::Narrowed => old_access.beyond(&new_access),
        };
        if gains != sketch.gains {
            return Err(DiffError::Mismatch {
                place: format!("{} {}", self.method.name(), self.template),
                words: format!(
                    "the finding says {:?}, and the engines say {:?}: {:?}",
                    sketch.gains.words(),
                    gains.words(),
                    (outcome(&before), outcome(&after))
                ),
            });
        }
        let moved = (old.identity != new.identity).then_some(moved);
        let credentials = sketch.credentials.words();
        Ok(Witness { request, moved, caller, credentials, before, after })
    }
}

fn outcome(decision: &Decision) -> String {
    match decision.outcome {
        Outcome::Refused(refusal) => refusal.code().to_owned(),
        outcome => format!("{outcome:?}"),
    }
}

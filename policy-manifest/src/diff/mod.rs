//! Which requests two apps decide differently.
//!
//! Paths and methods fall into places that each app serves by one route, or by none. On a place
//! whose routes differ, all requests fall into finitely many classes: by the facts of their sender
//! and of their caller for the two routes ([`Inspection`](super::engine)). Both engines decide
//! about a request of each class. Classes that differ alike are merged, then places.

mod access;
mod callers;
mod causes;
mod cells;
mod comparison;
mod covered;
mod error;
mod finding;
mod group;
mod located;
mod places;
pub(crate) mod probe;
mod senders;
pub(crate) mod side;

use http::{Request, header};

pub use access::{Gains, PageRead};
pub(crate) use comparison::policy_numbers;
pub use error::DiffError;
pub use finding::{Axis, Case, DiffFinding, PathMethods, Witness};
pub(crate) use places::class_of;
pub use senders::Senders;

use self::{
    access::Access,
    causes::Causes,
    comparison::Comparison,
    covered::{CaseOf, CoveredCases},
    group::Group,
    located::{is_of_own_page, method_name, preflight_method, requested_method, route_of, routes},
    side::Side,
};
use crate::{
    Change, Manifest,
    algebra::OriginRegion,
    changes::between,
    engine::{Engine, Gate, RequestCredentials},
};

/// The changes from one app to another.
#[derive(Debug)]
#[non_exhaustive]
pub struct Diff {
    /// The requests of which one app allows more than the other; widened access first, then the
    /// worst.
    pub findings: Vec<DiffFinding>,
    /// The changes that are in no finding: no tested request gains or loses access by them.
    pub changes: Vec<Change>,
    sides: (Side, Side),
    covered: CoveredCases,
}

/// Compares two apps by the requests that they allow.
///
/// Lists of origins that are given at run time count as all that their bounds allow. Rates, permits
/// and the length of bodies do not count as access: their changes are in [`Diff::changes`], as are
/// changes of the app's own origin and of the name of its cookie: requests to each app use its own
/// ones. A probe, which responds under every host name, is also tested under another one.
///
/// # Errors
///
/// [`DiffError`]: one of the two is not a policy that the engine accepts; or the engines decide a
/// witness differently from the comparison, which is an error of this crate and always reported.
///
/// ```
/// use policy_manifest::{
///     Auth, Manifest, RouteRequirement, ManifestRoute,
///     diff::{Axis, diff},
/// };
///
/// let of = |auth| {
///     let mut manifest = Manifest::new();
///     manifest.routes.push(ManifestRoute::handler("/orders", ["GET"], auth));
///     manifest
/// };
/// let session = Auth::Required(RouteRequirement { token: true, ..RouteRequirement::default() });
/// let diff = diff(&of(session), &of(Auth::Public)).unwrap();
/// let [finding] = diff.findings.as_slice() else { panic!() };
/// assert_eq!(finding.axis, Axis::Widened);
/// assert_eq!(finding.places[0].words(), "GET,HEAD /orders");
/// assert_eq!(finding.cases[0].senders.words(), "everybody");
/// ```
pub fn diff(old: &Manifest, new: &Manifest) -> Result<Diff, DiffError> {
    let mut sides =
        (Side::new(old).map_err(DiffError::Old)?, Side::new(new).map_err(DiffError::New)?);
    sides.0.take_cookie(&sides.1);
    sides.1.take_cookie(&sides.0);
    let (of_old, of_new) = (&sides.0, &sides.1);
    let engines = [&of_old.engine, &of_new.engine];
    let changes = between([&of_old.manifest, &of_new.manifest], engines);
    let mut found = Comparison::new((&sides.0, &sides.1)).run()?;
    let mut findings = Vec::new();
    let mut covered = CoveredCases::default();
    // Widened access first, then the worst, then by path.
    found.sort_by_cached_key(Group::order);
    let mut causes = Causes::new(&changes, sides.0.is_same_app(&sides.1));
    for (number, group) in found.iter().enumerate() {
        findings.push(group.finding((&sides.0, &sides.1), &mut causes)?);
        covered.add(group, number);
    }
    let changes = causes.unexplained();
    Ok(Diff { findings, changes, sides, covered })
}

impl Diff {
    /// Whether both apps are the same.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty() && self.changes.is_empty()
    }

    /// The findings and cases that a request belongs to: none if both apps allow the same. A
    /// request that is longer than one of them allows is in none, nor is a request of a page of
    /// `http://localhost` to an app in the development profile under another name of this machine:
    /// such an app is compared as `localhost`.
    pub fn at(
        &self,
        request: &Request<()>,
        caller: &RequestCredentials,
    ) -> Vec<(&DiffFinding, &Case)> {
        let (old, new) = &self.sides;
        let before = old.engine.inspect(request, caller);
        let after = new.engine.inspect(request, caller);
        let found = (before.found, after.found);
        let is_malformed = [old, new].iter().all(|side| {
            let decision = side.engine.decide(request, caller);
            decision.steps.last().is_some_and(|step| step.gate <= Gate::OwnOrigin)
        });
        if is_malformed || before.is_too_long || after.is_too_long {
            return Vec::new();
        }
        let cases = match preflight_method(request) {
            Some(_) if is_of_own_page(old, request) => Vec::new(),
            Some(method) => {
                let key = (found, requested_method(method, found, (old, new)));
                let origin = request.headers().get(header::ORIGIN);
                let origin = origin.map(http::HeaderValue::as_bytes).unwrap_or_default();
                let is_in = |case: &&CaseOf| {
                    let pages = self.case(case).map(|(_, case)| &case.senders.pages);
                    let is_origin = OriginRegion::all().contains(origin);
                    pages.is_some_and(|pages| pages.contains(origin))
                        || (case.has_malformed && !is_origin)
                };
                let cases = self.covered.preflights.get(&key).into_iter().flatten();
                cases.filter(is_in).cloned().collect::<Vec<_>>()
            }
            None => {
                let method = Engine::method_of(request);
                let routes = routes((old, new), found, method);
                let key = cells::key_of(&before, &after);
                let taken = before.has_slash.then_some((before.route, after.route));
                let place = (found, method_name(method, found, (old, new)), routes, taken);
                let cases = self.covered.requests.get(&place).into_iter().flatten();
                cases.filter(|case| case.keys.contains(&key)).cloned().collect()
            }
        };
        cases.iter().filter_map(|case| self.case(case)).collect()
    }

    /// The access that only the new app allows a request, and the access that only the old one
    /// allows.
    pub fn gains(&self, request: &Request<()>, caller: &RequestCredentials) -> (Gains, Gains) {
        let (old, new) = &self.sides;
        let [before, after] = [old, new].map(|side| {
            let inspection = side.engine.inspect(request, caller);
            (side, side.engine.decide(request, caller), inspection)
        });
        let is_same_answer = cells::is_same_answer(&before.1, &after.1);
        let access = [before, after].map(|(side, decision, inspection)| {
            let is_other = inspection.sender.is_some_and(|sender| sender.is_other_page);
            let Some(method) = preflight_method(request) else {
                return Access::for_request(&decision, is_other);
            };
            let found = inspection.found;
            let is_served = found.is_some() && route_of(side, found, method).is_some();
            match is_served && !is_same_answer && !is_of_own_page(side, request) {
                true => Access::for_preflight(&decision, method),
                false => Access::default(),
            }
        });
        let [before, after] = access;
        (after.beyond(&before), before.beyond(&after))
    }

    fn case(&self, of: &CaseOf) -> Option<(&DiffFinding, &Case)> {
        let finding = self.findings.get(of.finding)?;
        Some((finding, finding.cases.get(of.case)?))
    }
}

#[cfg(test)]
mod tests;

//! Which requests two apps decide differently.
//!
//! Paths and methods fall into places that each app serves by one route, or by none. On a place whose
//! routes differ, all requests fall into finitely many classes: by what their sender means to the two
//! routes, and by what their caller does ([`Inspection`](super::engine)). Both engines decide about a
//! request of each class. Classes that differ alike are merged, then places.

mod access;
mod callers;
mod cells;
mod finding;
mod places;
mod probe;
mod senders;
mod side;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    error::Error,
    fmt,
    rc::Rc,
};

use http::{HeaderMap, Method, Request, header};

pub use access::{Gains, Read};
pub use finding::{Axis, Case, Finding, Place, Witness};
pub use senders::Senders;

use self::{
    access::Access,
    cells::{Key, Sketch},
    places::{Asked, Region, class_of},
    probe::Credentials,
    side::Side,
};
use super::{
    Change, Manifest, Route, RouteKind, changes,
    engine::{Caller, Decision, Engine, EngineError, Gate, Outcome},
};

/// What changes from one app to another.
#[derive(Debug)]
#[non_exhaustive]
pub struct Diff {
    /// The requests of which one app allows more than the other, what is widened first, then the worst.
    pub findings: Vec<Finding>,
    /// The changes that are in no finding: nobody gains or loses access by them, as far as requests
    /// show it.
    pub changes: Vec<Change>,
    sides: (Side, Side),
    covered: Covered,
}

/// Where the findings of a request are.
#[derive(Debug, Default)]
struct Covered {
    requests: HashMap<PlaceKey, Vec<CaseOf>>,
    preflights: HashMap<(Indices, String), Vec<CaseOf>>,
}

/// A case by the numbers of its finding and in it.
#[derive(Clone, Debug)]
struct CaseOf {
    finding: usize,
    case: usize,
    keys: Rc<std::collections::HashSet<Key>>,
    has_malformed: bool,
}

/// Paths, a method, the routes for it, and which of them take the encoded slash of a path
/// that has one.
type PlaceKey = (Indices, String, Indices, Option<Indices>);

/// Before and after.
type Indices = (Option<usize>, Option<usize>);

/// Why two apps cannot be compared.
#[derive(Debug)]
#[non_exhaustive]
pub enum DiffError {
    /// The old one is no policy that the engine accepts.
    Old(EngineError),
    /// The new one is no policy that the engine accepts.
    New(EngineError),
    /// An error of this crate: the engines do not decide about a witness as the finding says.
    Mismatch {
        /// Where.
        place: String,
        /// What the finding says, and what the engines do.
        words: String,
    },
}

impl fmt::Display for DiffError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Old(error) => write!(f, "the old manifest breaks a rule: {error}"),
            Self::New(error) => write!(f, "the new manifest breaks a rule: {error}"),
            Self::Mismatch { place, words } => {
                write!(f, "the comparison contradicts itself at {place}: {words}")
            }
        }
    }
}

impl Error for DiffError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Old(error) | Self::New(error) => Some(error),
            Self::Mismatch { .. } => None,
        }
    }
}

/// Compares two apps by the requests that they allow.
///
/// Lists of origins that are given at run time count as all that their bounds allow. Rates, permits and
/// the length of bodies are no access: their changes are in [`Diff::changes`]. So are those of the app's
/// own origin and of the name of its cookie: each app is asked under its own.
///
/// # Errors
///
/// [`DiffError`]: one of the two is no policy that the engine accepts; or a witness is not decided as
/// the comparison says, which is an error of this crate and never passed over.
///
/// ```
/// use policy_core::manifest::{
///     Auth, Manifest, Requirement, Route,
///     diff::{Axis, diff},
/// };
///
/// let of = |auth| {
///     let mut manifest = Manifest::new();
///     manifest.routes.push(Route::handler("/orders", ["GET"], auth));
///     manifest
/// };
/// let session = Auth::Required(Requirement { token: true, ..Requirement::default() });
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
    let changes = changes(old, new).map_err(DiffError::New)?;
    let mut found = Comparison::new((&sides.0, &sides.1)).run();
    let mut findings = Vec::new();
    let mut covered = Covered::default();
    // What is widened first, then the worst, then by path.
    found.sort_by_key(Group::order);
    for (number, group) in found.iter().enumerate() {
        findings.push(group.finding((&sides.0, &sides.1), &changes)?);
        covered.add(group, number);
    }
    let is_explained =
        |change: &&Change| findings.iter().any(|finding| finding.changes.contains(change));
    let changes = changes.iter().filter(|change| !is_explained(change)).cloned().collect();
    Ok(Diff { findings, changes, sides, covered })
}

impl Diff {
    /// Whether both apps are the same.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty() && self.changes.is_empty()
    }

    /// The findings and cases of which a request is one: none where both apps allow the same. A request
    /// that is longer than one of them allows is in none.
    pub fn at(&self, request: &Request<()>, caller: &Caller) -> Vec<(&Finding, &Case)> {
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
                let key = (found, asked(method, found, (old, new)));
                let origin = request.headers().get(header::ORIGIN);
                let origin = origin.map(http::HeaderValue::as_bytes).unwrap_or_default();
                let is_in = |case: &&CaseOf| {
                    let pages = self.case(case).map(|(_, case)| &case.senders.pages);
                    let is_origin = crate::algebra::OriginRegion::all().contains(origin);
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
                let place = (found, named(method, found, (old, new)), routes, taken);
                let cases = self.covered.requests.get(&place).into_iter().flatten();
                cases.filter(|case| case.keys.contains(&key)).cloned().collect()
            }
        };
        cases.iter().filter_map(|case| self.case(case)).collect()
    }

    /// What the new app allows a request more than the old one, and the old one more than the new one.
    pub fn gains(&self, request: &Request<()>, caller: &Caller) -> (Gains, Gains) {
        let (old, new) = &self.sides;
        let [before, after] = [old, new].map(|side| {
            let inspection = side.engine.inspect(request, caller);
            (side, side.engine.decide(request, caller), inspection)
        });
        let is_same_answer = cells::is_same_answer(&before.1, &after.1);
        let access = [before, after].map(|(side, decision, inspection)| {
            let is_other = inspection.sender.is_some_and(|sender| sender.is_other_page);
            let Some(method) = preflight_method(request) else {
                return Access::of(&decision, is_other);
            };
            let found = inspection.found;
            let is_served = found.is_some() && route_of(side, found, method).is_some();
            match is_served && !is_same_answer && !is_of_own_page(side, request) {
                true => Access::of_preflight(&decision, method),
                false => Access::default(),
            }
        });
        let [before, after] = access;
        (after.beyond(&before), before.beyond(&after))
    }

    fn case(&self, of: &CaseOf) -> Option<(&Finding, &Case)> {
        let finding = self.findings.get(of.finding)?;
        Some((finding, finding.cases.get(of.case)?))
    }
}

/// The method that a preflight asks for, if the request is a preflight; none in particular if it is
/// malformed.
fn preflight_method(request: &Request<()>) -> Option<&str> {
    let headers: &HeaderMap = request.headers();
    let is_preflight = *request.method() == Method::OPTIONS && headers.contains_key(header::ORIGIN);
    let asked = headers.get(header::ACCESS_CONTROL_REQUEST_METHOD).filter(|_| is_preflight)?;
    let is_one = |name: header::HeaderName| headers.get_all(name).iter().count() == 1;
    let is_valid = is_one(header::ORIGIN) && is_one(header::ACCESS_CONTROL_REQUEST_METHOD);
    Some(asked.to_str().ok().filter(|_| is_valid).unwrap_or_default())
}

/// Whether a preflight states the own origin of an app, whose pages send none.
fn is_of_own_page(side: &Side, request: &Request<()>) -> bool {
    let field = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let origin = field(header::ORIGIN);
    match &side.manifest.app.public_origin {
        Some(own) => origin == Some(own),
        None => {
            let host = origin.and_then(|origin| origin.strip_prefix("http://"));
            host.is_some() && host == field(header::HOST)
        }
    }
}

fn asked(method: &str, found: Indices, (old, new): (&Side, &Side)) -> String {
    let routes = routes((old, new), found, method);
    match routes {
        (None, None) => places::OTHER.to_owned(),
        _ => method.to_owned(),
    }
}

/// The method as a place of some paths has it: by its name, or as any that neither app names.
fn named(method: &str, found: Indices, (old, new): (&Side, &Side)) -> String {
    let names = |side: &Side, path: Option<usize>| {
        let methods = path.map(|path| side.engine.methods_of(path)).unwrap_or_default();
        methods.iter().any(|(name, _)| name == method)
    };
    let is_named = method == "CONNECT"
        || places::USUAL.contains(&method)
        || names(old, found.0)
        || names(new, found.1);
    if is_named { method } else { places::OTHER }.to_owned()
}

/// The routes for a method of some paths.
fn routes((old, new): (&Side, &Side), found: Indices, method: &str) -> Indices {
    (route_of(old, found.0, method), route_of(new, found.1, method))
}

fn route_of(side: &Side, path: Option<usize>, method: &str) -> Option<usize> {
    match path {
        None if method == "CONNECT" => side.engine.tunnel(),
        None => {
            side.engine.elsewhere().filter(|_| side.elsewhere_kind() == Some(RouteKind::Fallback))
        }
        Some(path) => {
            let methods = side.engine.methods_of(path);
            let of = |name: &str| methods.iter().find(|(known, _)| known == name);
            let found = of(method).or_else(|| of("GET").filter(|_| method == "HEAD"));
            found.map(|(_, index)| *index)
        }
    }
}

/// A place with what is found there.
#[derive(Debug)]
struct Unit {
    found: Indices,
    asked: Asked,
    path: String,
    template: String,
    has_slash: bool,
    routes: Indices,
    /// The routes, as far as they take an encoded slash.
    taken: Indices,
    /// What is found, in the words of the others in its group.
    sketches: Vec<Rc<Sketch>>,
}

/// Places where the same is found.
#[derive(Debug)]
struct Group {
    axis: Axis,
    units: Vec<Unit>,
}

struct Comparison<'a> {
    sides: (&'a Side, &'a Side),
    /// The number of the policy of each route, equal for equal policies.
    policies: (Vec<usize>, Vec<usize>),
    /// Whether routes with equal policies are equal.
    is_same_app: bool,
    of_requests: HashMap<String, Rc<Vec<Rc<Sketch>>>>,
    of_preflights: HashMap<String, Rc<Vec<Rc<Sketch>>>>,
    groups: BTreeMap<String, Group>,
}

impl<'a> Comparison<'a> {
    fn new(sides: (&'a Side, &'a Side)) -> Self {
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut numbers = |side: &Side| {
            let routes = side.manifest.routes.iter();
            let numbers = routes.map(|route| {
                let next = known.len();
                *known.entry(policy_text(route)).or_insert(next)
            });
            numbers.collect::<Vec<_>>()
        };
        let policies = (numbers(sides.0), numbers(sides.1));
        let is_same_app = sides.0.engine.facts() == sides.1.engine.facts()
            && sides.0.identity == sides.1.identity;
        Self {
            sides,
            policies,
            is_same_app,
            of_requests: HashMap::new(),
            of_preflights: HashMap::new(),
            groups: BTreeMap::new(),
        }
    }

    fn run(mut self) -> Vec<Group> {
        for region in places::regions(self.sides.0, self.sides.1) {
            for asked in places::methods(&region, self.sides) {
                self.compare(&region, &asked);
            }
        }
        let tunnel = Region {
            found: (None, None),
            path: String::new(),
            template: String::new(),
            has_slash: false,
        };
        self.compare(&tunnel, &Asked::Method("CONNECT".to_owned()));
        self.groups.into_values().collect()
    }

    fn policy(&self, routes: Indices) -> Indices {
        let of = |policies: &[usize], index: Option<usize>| policies.get(index?).copied();
        (of(&self.policies.0, routes.0), of(&self.policies.1, routes.1))
    }

    fn is_same(&self, routes: Indices) -> bool {
        let (old, new) = self.policy(routes);
        old == new && (self.is_same_app || old.is_none())
    }

    fn compare(&mut self, region: &Region, asked: &Asked) {
        let method = asked.name().to_owned();
        let class = class_of(&method).to_owned();
        let routes = self.served(region, &method);
        let place = cells::Place { method: &method, path: &region.path, class: &class, routes };
        let mut sketches: Vec<Rc<Sketch>> = Vec::new();
        if !self.is_same(routes) {
            let key = format!("{class} {:?}", self.policy(routes));
            let sides = self.sides;
            let known = self.of_requests.entry(key);
            let found = known.or_insert_with(|| shared(cells::requests(sides, place)));
            sketches.extend(found.iter().cloned());
        }
        let has_preflights = region.found != (None, None) && !region.has_slash;
        if has_preflights && let Some(key) = self.tables(region) {
            let key = format!("{method} {key}");
            let sides = self.sides;
            let known = self.of_preflights.entry(key);
            let routes = self::routes(sides, region.found, &method);
            let place = cells::Place { routes, ..place };
            let found =
                known.or_insert_with(|| shared(cells::preflights(sides, place, region.found)));
            sketches.extend(found.iter().cloned());
        }
        for axis in Axis::ALL {
            let of_axis: Vec<Rc<Sketch>> =
                sketches.iter().filter(|sketch| sketch.axis == axis).cloned().collect();
            if of_axis.is_empty() {
                continue;
            }
            let words = of_axis.iter().map(|sketch| sketch.identity()).collect::<Vec<_>>();
            let key = format!("{axis:?} {}", words.join("\n"));
            let unit = Unit {
                found: region.found,
                asked: asked.clone(),
                path: region.path.clone(),
                template: region.template.clone(),
                has_slash: region.has_slash,
                routes: self::routes(self.sides, region.found, &method),
                taken: routes,
                sketches: of_axis,
            };
            let group = self.groups.entry(key).or_insert_with(|| Group { axis, units: Vec::new() });
            group.units.push(unit);
        }
    }

    /// The routes that get a request, which is none where an encoded slash is not taken.
    fn served(&self, region: &Region, method: &str) -> Indices {
        let (old, new) = self.sides;
        let of = |side: &Side| {
            let target = (method, region.path.as_str());
            let credentials = Credentials::default();
            let request =
                probe::request(target, &probe::Sender::default(), &credentials, &side.identity);
            side.engine.inspect(&request, &credentials.caller()).route
        };
        (of(old), of(new))
    }

    /// All on which preflights for a region depend; `None` if it is the same for both.
    fn tables(&self, region: &Region) -> Option<String> {
        let table = |side: &Side, policies: &[usize], path: Option<usize>| {
            let methods = path.map(|path| side.engine.methods_of(path)).unwrap_or_default();
            let numbers = methods.iter().map(|(name, index)| {
                format!("{name} {}", policies.get(*index).copied().unwrap_or_default())
            });
            numbers.collect::<Vec<_>>().join(",")
        };
        let old = table(self.sides.0, &self.policies.0, region.found.0);
        let new = table(self.sides.1, &self.policies.1, region.found.1);
        (old != new || !self.is_same_app).then(|| format!("{old};{new}"))
    }
}

fn shared(sketches: Vec<Sketch>) -> Rc<Vec<Rc<Sketch>>> {
    Rc::new(sketches.into_iter().map(Rc::new).collect())
}

/// All of a policy that decides about requests.
fn policy_text(route: &Route) -> String {
    let bare = Route {
        path: String::new(),
        methods: Vec::new(),
        targets: Vec::new(),
        cache: None,
        headers: None,
        limits: super::facets::Limits::default(),
        ..route.clone()
    };
    serde_json::to_string(&bare).unwrap_or_default()
}

impl Sketch {
    /// Equal for what is told in the same words.
    fn identity(&self) -> String {
        format!(
            "{} {:?} {:?} {:?} {} {:?}",
            self.senders.words(),
            self.callers,
            self.gains,
            self.facets,
            self.is_preflight,
            self.severity
        )
    }
}

impl Group {
    /// What is found at one of its places.
    fn sketches(&self) -> impl Iterator<Item = &Rc<Sketch>> {
        self.units.iter().take(1).flat_map(|unit| &unit.sketches)
    }

    fn severity(&self) -> super::Severity {
        let severities = self.sketches().map(|sketch| sketch.severity);
        severities.max().unwrap_or(super::Severity::Info)
    }

    fn order(&self) -> impl Ord + use<> {
        let places: Vec<_> =
            self.units.iter().map(|unit| (unit.template.clone(), unit.asked.clone())).collect();
        (self.axis, std::cmp::Reverse(self.severity()), places)
    }

    fn finding(&self, sides: (&Side, &Side), changes: &[Change]) -> Result<Finding, DiffError> {
        let mut places: BTreeMap<(String, bool), Place> = BTreeMap::new();
        for unit in &self.units {
            let path = |side: &Side, index| side.route(index).map(|route| route.path.clone());
            let key = (unit.template.clone(), unit.has_slash);
            let place = places.entry(key).or_insert_with(|| Place {
                path: unit.template.clone(),
                methods: Vec::new(),
                every_other_method: false,
                encoded_slash: unit.has_slash,
                before: path(sides.0, unit.routes.0),
                after: path(sides.1, unit.routes.1),
            });
            match &unit.asked {
                Asked::Other => place.every_other_method = true,
                Asked::Method(name) if !place.methods.contains(name) => {
                    place.methods.push(name.clone());
                }
                Asked::Method(_) => (),
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
        let places: Vec<Place> = places.into_values().collect();
        let changes = because(changes, &places, &facets);
        let facets = facets.into_iter().collect();
        let (axis, severity) = (self.axis, self.severity());
        Ok(Finding { axis, severity, places, cases, facets, changes })
    }
}

impl Unit {
    /// Asks both engines about the witness of a sketch.
    fn replay(&self, sides: (&Side, &Side), sketch: &Sketch) -> Result<Witness, DiffError> {
        let (old, new) = sides;
        let target = (self.asked.name(), self.path.as_str());
        let request = |side: &Side| match sketch.is_preflight {
            true => probe::preflight(target, &sketch.sender.origin, &side.identity),
            false => probe::request(target, &sketch.sender, &sketch.credentials, &side.identity),
        };
        let caller = sketch.credentials.caller();
        let (asked, moved) = (request(old), request(new));
        let before = old.engine.decide(&asked, &caller);
        let after = new.engine.decide(&moved, &caller);
        let access = |decision: &Decision, is_served: bool| match sketch.is_preflight {
            true if is_served => Access::of_preflight(decision, self.asked.name()),
            true => Access::default(),
            false => Access::of(decision, sketch.sender.is_other_page()),
        };
        let old_access = access(&before, self.routes.0.is_some());
        let new_access = access(&after, self.routes.1.is_some());
        let gains = match sketch.axis {
            Axis::Widened => new_access.beyond(&old_access),
            Axis::Narrowed => old_access.beyond(&new_access),
        };
        if gains != sketch.gains {
            return Err(DiffError::Mismatch {
                place: format!("{} {}", self.asked.name(), self.template),
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
        Ok(Witness { request: asked, moved, caller, credentials, before, after })
    }
}

fn outcome(decision: &Decision) -> String {
    match decision.outcome {
        Outcome::Refused(refusal) => refusal.code().to_owned(),
        outcome => format!("{outcome:?}"),
    }
}

/// The changes that make up a finding: those of the facets that decide where it is.
fn because(changes: &[Change], places: &[Place], facets: &BTreeSet<&str>) -> Vec<Change> {
    let is_at = |change: &&Change| {
        places.iter().any(|place| {
            let paths = [Some(&place.path), place.before.as_ref(), place.after.as_ref()];
            let is_method = change.methods.is_empty()
                || place.every_other_method
                || change.methods.iter().any(|method| place.methods.contains(method));
            is_method && paths.contains(&Some(&change.path))
        })
    };
    let of_access = |change: &&Change| !matches!(change.facet, "limits" | "cache" | "headers");
    let here: Vec<&Change> = changes.iter().filter(is_at).filter(of_access).collect();
    let deciding =
        here.iter().filter(|change| facets.contains(change.facet) || change.facet == "route");
    let deciding: Vec<Change> = deciding.map(|change| (*change).clone()).collect();
    if !deciding.is_empty() {
        return deciding;
    }
    let of_app = changes.iter().filter(|change| change.path == "app");
    match here.is_empty() {
        true => of_app.cloned().collect(),
        false => here.into_iter().cloned().collect(),
    }
}

impl Covered {
    fn add(&mut self, group: &Group, finding: usize) {
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
                // Several paths stand for the encoded slashes of one template.
                if !known.iter().any(|other| (other.finding, other.case) == (finding, case.case)) {
                    known.push(case);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;

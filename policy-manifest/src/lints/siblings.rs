//! Lints about routes that are less guarded than those beside them.

use std::collections::BTreeMap;

use policy_core::Lint;

use super::{
    Authority, Effect, Finding, Gain, Gainer, Manifest,
    callers::is_open,
    effect,
    words::{area, internal, is_entrance, segments},
};
use crate::ExamplePaths;
use crate::facets::{ManifestRoute, RouteKind};

pub(super) fn look(manifest: &Manifest, paths: &ExamplePaths, found: &mut Vec<Finding>) {
    let mut areas: BTreeMap<String, Vec<Sibling<'_>>> = BTreeMap::new();
    let mut of_path: BTreeMap<&str, Vec<Sibling<'_>>> = BTreeMap::new();
    for route in manifest.routes.iter().filter(|route| is_served(route)) {
        let segments = segments(&route.path);
        let sibling = Sibling { route, guard: Guard::for_route(route) };
        match area(&segments) {
            Some(area) if !is_exempt(route, &segments, area) => {
                areas.entry(format!("/{}", area.join("/"))).or_default().push(sibling);
            }
            Some(_) => {}
            None => of_path.entry(&route.path).or_default().push(sibling),
        }
    }
    for (area, routes) in &areas {
        found.extend(outliers(area, routes, paths));
    }
    for routes in of_path.values() {
        found.extend(open_deletion(routes, paths));
    }
}

/// A route, and how it is guarded.
#[derive(Clone, Copy)]
struct Sibling<'a> {
    route: &'a ManifestRoute,
    guard: Guard,
}

/// How a route is guarded, in ascending order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Guard {
    Open,
    /// Every user with an account may call.
    Caller,
    /// Only some users may call.
    Right,
}

impl Guard {
    fn for_route(route: &ManifestRoute) -> Self {
        let Some(requirement) = route.auth.requirement().filter(|_| !is_open(route)) else {
            return Self::Open;
        };
        // A scheme decides itself who has its credential, and so do an issuer that is named, and the rules
        // of objects.
        let has_right = requirement.scheme.is_some()
            || route.object.as_ref().is_some_and(|object| !object.uses.is_empty())
            || [&requirement.roles, &requirement.scopes, &requirement.issuers]
                .iter()
                .any(|names| !names.is_empty());
        if has_right { Self::Right } else { Self::Caller }
    }

    /// What the routes beside it need.
    const fn words(self) -> &'static str {
        match self {
            Self::Open => "nothing",
            Self::Caller => "a caller",
            Self::Right => "a role, a scope or a scheme",
        }
    }
}

fn is_served(route: &ManifestRoute) -> bool {
    matches!(route.kind, RouteKind::Handler | RouteKind::Mount | RouteKind::Proxy)
}

/// Whether a route in an area for staff is meant for others: its login, its own page, or what another
/// lint finds.
fn is_exempt(route: &ManifestRoute, segments: &[String], area: &[String]) -> bool {
    let is_page = segments == area && effect(route) == Effect::Read;
    let is_found = internal(segments).is_some() && is_open(route);
    is_page || is_found || is_entrance(segments.split_at(area.len()).1)
}

/// Routes show what is usual if there are this many times as many of them as of the others.
const USUAL: usize = 3;

/// The routes of an area for staff that need less than most of its routes.
fn outliers(area: &str, routes: &[Sibling<'_>], paths: &ExamplePaths) -> Vec<Finding> {
    for usual in [Guard::Right, Guard::Caller] {
        let (guarded, less): (Vec<Sibling<'_>>, Vec<_>) =
            routes.iter().partition(|sibling| sibling.guard >= usual);
        let count = endpoints(&guarded);
        if endpoints(&less).saturating_mul(USUAL) > count {
            continue;
        }
        let about = format!("the {count} others below `{area}` need {}", usual.words());
        return less.into_iter().map(|sibling| finding(sibling, paths).about(&*about)).collect();
    }
    Vec::new()
}

/// The number of methods that routes serve at their paths: those of one path with the same policy are
/// one route.
fn endpoints(routes: &[Sibling<'_>]) -> usize {
    routes.iter().map(|sibling| sibling.route.methods.len().max(1)).sum()
}

/// A deletion that every user may request, although not every user may write or even read there.
fn open_deletion(routes: &[Sibling<'_>], paths: &ExamplePaths) -> Option<Finding> {
    let serves = |sibling: &&Sibling<'_>, methods: &[&str]| {
        methods.iter().any(|method| sibling.route.serves(method))
    };
    let deletes = |sibling: &&Sibling<'_>| serves(sibling, &["DELETE"]);
    // A handler that takes the session may check its caller itself.
    let deletion = routes
        .iter()
        .find(deletes)
        .filter(|deletion| deletion.guard == Guard::Caller && !deletion.route.takes_session)?;
    let others = |methods: &'static [&str]| {
        routes.iter().filter(move |it| serves(it, methods) && !deletes(it)).collect::<Vec<_>>()
    };
    let [writing, reading] = [others(&["PATCH", "PUT"]), others(&["GET"])];
    let (others, word) =
        if writing.is_empty() { (reading, "to read") } else { (writing, "to write") };
    let is_odd = !others.is_empty() && others.iter().all(|other| other.guard == Guard::Right);
    let about = format!("{word} at this path needs {}", Guard::Right.words());
    is_odd.then(|| finding(*deletion, paths).about(about))
}

fn finding(Sibling { route, guard }: Sibling<'_>, paths: &ExamplePaths) -> Finding {
    let authority = match guard {
        Guard::Open => Authority::Nobody,
        Guard::Caller | Guard::Right => Authority::Held,
    };
    let gain = Gain { who: Gainer::Anybody, what: effect(route), authority };
    let witness = route.methods.first().and_then(|method| paths.request(method, route));
    Finding::for_route(Lint::Outlier, route, "auth").gain(gain).witness(witness)
}

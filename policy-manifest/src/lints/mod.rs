//! Lints: oddities in the policy of a whole app, although each part of it is legal.

mod callers;
mod finding;
mod forgery;
#[cfg(test)]
mod honest;
mod objects;
mod operators;
mod origins;
mod preflights;
mod siblings;
mod suppressions;
#[cfg(test)]
mod tests;
mod words;

use std::collections::HashMap;

pub use finding::Finding;
pub(crate) use finding::{name, source_of};
pub(crate) use forgery::is_forgeable;
pub use suppressions::Suppression;
pub(crate) use suppressions::sort;

use policy_core::{
    method,
    origin::{OriginKind, OriginPattern, registrable_domain},
};

use super::{
    Date, ExamplePaths, Manifest,
    facets::{ManifestRoute, RouteCors, RouteKind},
    severity::{Authority, Effect, Gain, Gainer},
};

/// The result of [`lint`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LintReport {
    /// The findings, the worst first.
    pub findings: Vec<Finding>,
    /// The suppressed findings, each with its suppression.
    pub suppressed: Vec<(Finding, Suppression)>,
}

/// Applies all lints to a manifest, with the suppressions of its lock file.
///
/// ```
/// use policy_core::{Lint, time::Timestamp};
/// use policy_manifest::{Date, Manifest, SessionFacts, Suppression, lint};
///
/// let mut manifest = Manifest::new();
/// let mut sessions = SessionFacts::new("postgres", "__Secure-sid", "lax");
/// sessions.domain = Some("shop.example".to_owned());
/// manifest.app.sessions = Some(sessions);
///
/// let today = Date::from_timestamp(Timestamp::from_seconds(1_800_000_000));
/// let linted = lint(&manifest, &[], today);
/// assert_eq!(linted.findings[0].lint, Lint::CookieOfDomain);
///
/// let suppression = Suppression {
///     lint: "lint.cookie-of-domain".to_owned(),
///     route: Some("app".to_owned()),
///     who: "ada".to_owned(),
///     why: "help.shop.example shows who is logged in".to_owned(),
///     until: Some("2027-06-30".parse()?),
/// };
/// assert_eq!(lint(&manifest, &[suppression], today).findings, []);
/// # Ok::<_, policy_manifest::ParseDateError>(())
/// ```
pub fn lint(manifest: &Manifest, suppressions: &[Suppression], today: Date) -> LintReport {
    let manifest = manifest.clone().normal();
    let paths = ExamplePaths::new(&manifest.routes);
    let mut found = Vec::new();
    origins::look(&manifest, &mut found);
    preflights::look(&manifest, &paths, &mut found);
    callers::look(&manifest, &paths, &mut found);
    forgery::look(&manifest, &paths, &mut found);
    siblings::look(&manifest, &paths, &mut found);
    operators::look(&manifest, &paths, &mut found);
    objects::look(&manifest, &mut found);
    let (mut findings, suppressed) = suppressions::apply(suppressions, found, today);
    findings.sort_by_cached_key(Finding::order);
    LintReport { findings: merge(findings), suppressed }
}

/// Merges equal findings at several routes.
fn merge(findings: Vec<Finding>) -> Vec<Finding> {
    let mut joined: Vec<Finding> = Vec::new();
    let mut known: HashMap<_, usize> = HashMap::new();
    for mut finding in findings {
        let index = *known.entry(finding.without_routes()).or_insert(joined.len());
        match joined.get_mut(index) {
            Some(known) => known.routes.append(&mut finding.routes),
            None => joined.push(finding),
        }
    }
    joined
}

/// The effect of a request to the route, judged by its methods.
fn effect(route: &ManifestRoute) -> Effect {
    let is_any = route.methods.is_empty() && route.kind == RouteKind::Fallback;
    match is_any || route.methods.iter().any(|method| !method::is_safe(method)) {
        true => Effect::Write,
        false => Effect::Read,
    }
}

/// The gain of pages of these origins by a CORS policy. Without a credential of their visitor they
/// act as any program could, so they gain only to read what their visitor can reach.
fn gain_by_cors(
    manifest: &Manifest,
    who: Gainer,
    (route, cors): (&ManifestRoute, &RouteCors),
    origins: &[OriginPattern<'_>],
) -> Gain {
    match cors.credentials && are_sent(manifest, route, origins) {
        true => Gain { who, what: effect(route), authority: Authority::Ambient },
        false => Gain { who, what: Effect::Read, authority: Authority::Nobody },
    }
}

/// Whether browsers add a credential of the route to requests of pages of one of these origins.
fn are_sent(manifest: &Manifest, route: &ManifestRoute, origins: &[OriginPattern<'_>]) -> bool {
    // A service behind the route may use its own cookies.
    let is_foreign = !matches!(route.kind, RouteKind::Handler | RouteKind::Probe);
    let is_sent = |origin: &OriginPattern<'_>| {
        same_site(manifest) == Some("none") || is_same_site(manifest, origin)
    };
    is_foreign || has_ambient_scheme(route) || (route.is_ambient() && origins.iter().any(is_sent))
}

/// The `SameSite` of the session cookie: `strict`, `lax` or `none`.
fn same_site(manifest: &Manifest) -> Option<&str> {
    manifest.app.sessions.as_ref().map(|facts| facts.same_site.as_str())
}

/// Whether the app has a public origin, to which browsers connect by `https`.
fn is_https(manifest: &Manifest) -> bool {
    manifest
        .app
        .public_origin
        .as_ref()
        .is_some_and(|own| OriginPattern::parse(own).is_ok_and(|own| own.kind() == OriginKind::Web))
}

/// Whether a page may be of the site of the app, if that is known. The scheme is ignored, since not
/// every browser compares it.
fn is_same_site(manifest: &Manifest, page: &OriginPattern<'_>) -> bool {
    let own = manifest.app.public_origin.as_ref();
    let Some(own) = own.and_then(|own| OriginPattern::parse(own).ok()) else { return true };
    registrable_domain(page.host()) == registrable_domain(own.host())
}

/// The routes that other pages may read, with their policies. A 404 response has nothing to read.
fn shared(manifest: &Manifest) -> impl Iterator<Item = (&ManifestRoute, &RouteCors)> {
    let routes = manifest.routes.iter().filter(|route| route.kind != RouteKind::NotFound);
    routes.filter_map(|route| Some((route, route.cors.as_ref()?)))
}

/// Whether anything in the app takes a credential that browsers send automatically.
fn has_ambient(manifest: &Manifest) -> bool {
    manifest.app.sessions.is_some() || manifest.routes.iter().any(has_ambient_scheme)
}

/// Whether a route takes an ambient credential that no cookie carries, so that `SameSite` does not
/// apply to it.
fn has_ambient_scheme(route: &ManifestRoute) -> bool {
    let scheme = route.auth.requirement().and_then(|requirement| requirement.scheme.as_ref());
    scheme.is_some_and(|scheme| scheme.ambient)
}

/// What anybody gains without a credential.
const fn by_anybody(what: Effect) -> Gain {
    Gain { who: Gainer::Anybody, what, authority: Authority::Nobody }
}

/// Names in backticks, with commas between them.
fn quoted<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let names = names.into_iter().map(|name| format!("`{}`", name.as_ref()));
    names.collect::<Vec<_>>().join(", ")
}

//! Lints about credentials that browsers send automatically.

use policy_core::Lint;

use super::{
    Authority, Effect, Finding, Gain, Gainer, Manifest, effect, has_ambient, has_ambient_scheme,
    is_https, quoted, same_site,
};
use crate::{
    ExamplePaths,
    algebra::OriginRegion,
    facets::{Csrf, Headers, ManifestRoute, RouteCors, RouteKind, RouteRequirement, opens_socket},
};

pub(super) fn look(manifest: &Manifest, paths: &ExamplePaths, found: &mut Vec<Finding>) {
    let has_ambient = has_ambient(manifest);
    for route in &manifest.routes {
        found.extend(forgeable(manifest, route));
        found.extend(change_by_get(manifest, paths, route));
        found.extend(open_framing(manifest, route).filter(|_| has_ambient));
    }
    found.extend(cookie_of_domain(manifest));
    transport(manifest, found);
}

/// Why a route is exempt from CSRF protection, if pages of any site can send its requests as their
/// visitor.
pub(crate) fn is_forgeable<'r>(manifest: &Manifest, route: &'r ManifestRoute) -> Option<&'r str> {
    let Csrf::Exempt(reason) = &route.csrf else { return None };
    let is_sent =
        has_ambient_scheme(route) || (route.is_ambient() && same_site(manifest) == Some("none"));
    // No page opens a tunnel.
    let is_kept_out = route.kind == RouteKind::Tunnel || route.isolation.is_some();
    // CORS decides which pages may open a WebSocket at all.
    let is_shared = route.cors.as_ref().is_some_and(|cors| cors.patterns() == ["*"]);
    let acts = effect(route) == Effect::Write || (opens_socket(route) && is_shared);
    (is_sent && !is_kept_out && acts).then_some(reason)
}

fn forgeable(manifest: &Manifest, route: &ManifestRoute) -> Option<Finding> {
    let reason = is_forgeable(manifest, route)?;
    let (who, what, authority) = (Gainer::AnySite, Effect::Write, Authority::Ambient);
    let granted = route.cors.as_ref().map(RouteCors::region).unwrap_or_default();
    let finding = Finding::for_route(Lint::ForgeableFromAnySite, route, "csrf");
    let finding = finding.gain(Gain { who, what, authority });
    Some(finding.about(format!("exempt: {reason}")).witness(granted.complement().witness()))
}

/// Words that name a change if they are the last segment of a path.
const CHANGES: [&str; 12] = [
    "cancel", "delete", "destroy", "disable", "enable", "log-out", "logout", "purge", "remove",
    "reset", "sign-out", "signout",
];

fn change_by_get(
    manifest: &Manifest,
    paths: &ExamplePaths,
    route: &ManifestRoute,
) -> Option<Finding> {
    let is_required = route.auth.requirement().is_some_and(RouteRequirement::is_ambient);
    // Browsers do not send a `Strict` cookie with a link from another site.
    let is_sent = has_ambient_scheme(route) || same_site(manifest) != Some("strict");
    let last = route.path.rsplit('/').next().unwrap_or_default();
    let is_handler = route.kind == RouteKind::Handler && route.isolation.is_none();
    let is_found = is_handler && is_required && is_sent && route.serves("GET");
    if !is_found || !CHANGES.contains(&last) {
        return None;
    }
    let (who, what, authority) = (Gainer::AnySite, Effect::Write, Authority::Ambient);
    let finding = Finding::for_route(Lint::ChangeByGet, route, "auth");
    let finding = finding.gain(Gain { who, what, authority }).about(quoted([last]));
    Some(finding.witness(paths.request("GET", route)))
}

fn cookie_of_domain(manifest: &Manifest) -> Option<Finding> {
    let domain = manifest.app.sessions.as_ref()?.domain.as_ref()?;
    let below: Option<OriginRegion> = format!("https://*.{domain}").parse().ok();
    let (who, what, authority) = (Gainer::NamedSites, Effect::Read, Authority::Ambient);
    let finding = Finding::for_app(Lint::CookieOfDomain).gain(Gain { who, what, authority });
    Some(finding.about(quoted([domain])).witness(below.and_then(|below| below.witness())))
}

fn open_framing(manifest: &Manifest, route: &ManifestRoute) -> Option<Finding> {
    let headers = manifest.headers_of(route);
    // No policy states the headers that a mounted service or an upstream sends itself.
    let is_own = match route.kind {
        RouteKind::Handler => true,
        RouteKind::Mount | RouteKind::Proxy | RouteKind::Fallback => headers.is_some(),
        RouteKind::Probe | RouteKind::Tunnel | RouteKind::NotFound => false,
    };
    let is_ruled = headers.is_some_and(|headers| {
        let mut fields = headers.every.iter().chain(&headers.pages);
        fields.any(|(name, value)| {
            name == "x-frame-options"
                || (name == "content-security-policy" && value.contains("frame-ancestors"))
        })
    });
    let is_page = route.serves("GET") || route.methods.is_empty();
    if !is_own || !is_page || is_ruled || route.jsonp.is_some() {
        return None;
    }
    // Browsers send the other cookies into frames of the same site only.
    let is_sent = same_site(manifest) == Some("none") || has_ambient_scheme(route);
    let who = if is_sent { Gainer::AnySite } else { Gainer::NamedSites };
    let gain = Gain { who, what: Effect::Write, authority: Authority::Ambient };
    Some(Finding::for_route(Lint::FramingOpen, route, "headers").gain(gain))
}

/// The header applies to the host as a whole, so one route that has it is enough, and one that revokes
/// it is too much.
fn transport(manifest: &Manifest, found: &mut Vec<Finding>) {
    let facts = &manifest.app;
    if !is_https(manifest) || (facts.sessions.is_none() && facts.tokens.is_none()) {
        return;
    }
    let (who, what, authority) = (Gainer::AnySite, Effect::Read, Authority::Nobody);
    let gain = Gain { who, what, authority };
    let mut is_stated = false;
    for route in &manifest.routes {
        let value = manifest.headers_of(route).and_then(transport_of);
        let is_revoked =
            value.is_some_and(|value| value.split(';').any(|part| part.trim() == "max-age=0"));
        if is_revoked {
            let finding = Finding::for_route(Lint::HstsOff, route, "headers");
            found.push(finding.gain(gain).about(quoted(value)));
        }
        is_stated |= value.is_some();
    }
    if !is_stated && !manifest.routes.is_empty() {
        found.push(Finding::for_app(Lint::HstsOff).gain(gain));
    }
}

fn transport_of(headers: &Headers) -> Option<&String> {
    let name = "strict-transport-security";
    headers.every.get(name).or_else(|| headers.pages.get(name))
}

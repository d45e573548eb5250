//! Lints about the origins that a policy grants.

use policy_core::{
    Lint,
    cache::Audience,
    origin::{OriginKind, OriginPattern, Port, has_public_names},
};

use super::{
    Authority, Effect, Finding, Gain, Gainer, Manifest, are_sent, gain_by_cors, is_https, quoted,
    shared,
};
use crate::{
    algebra::OriginRegion,
    facets::{Auth, Cache, ManifestRoute, RouteCors, RouteKind, RouteOrigins},
};

pub(super) fn look(manifest: &Manifest, found: &mut Vec<Finding>) {
    for (route, cors) in shared(manifest) {
        found.extend(public_suffixes(manifest, route, cors));
        found.extend(insecure(manifest, route, cors));
        found.extend(subdomains(manifest, route, cors));
        found.extend(unbounded(route, cors));
        found.extend(development(manifest, route, cors));
        found.extend(jsonp(route, cors));
        found.extend(split_cache(route, cors));
        let own = manifest.app.public_origin.as_ref();
        found.extend(own.and_then(|own| own_origin(route, cors, own)));
    }
}

fn public_suffixes(
    manifest: &Manifest,
    route: &ManifestRoute,
    cors: &RouteCors,
) -> Option<Finding> {
    let covers = |pattern: &OriginPattern<'_>| {
        pattern.is_wildcard() && !pattern.is_loopback() && has_public_names(pattern.host())
    };
    let finding = Finding::for_route(Lint::PublicSuffixOrigins, route, "cors");
    let found = Patterns::select(cors, covers)?;
    let gain = gain_by_cors(manifest, Gainer::AnySite, (route, cors), &found.parsed);
    Some(found.shown_by(finding.gain(gain)))
}

fn insecure(manifest: &Manifest, route: &ManifestRoute, cors: &RouteCors) -> Option<Finding> {
    let is_plain = |pattern: &OriginPattern<'_>| pattern.kind() == OriginKind::Insecure;
    let finding = Finding::for_route(Lint::InsecureOrigins, route, "cors");
    let found = Patterns::select(cors, is_plain)?;
    let gain = gain_by_cors(manifest, Gainer::AnySite, (route, cors), &found.parsed);
    Some(found.shown_by(finding.gain(gain)))
}

fn subdomains(manifest: &Manifest, route: &ManifestRoute, cors: &RouteCors) -> Option<Finding> {
    let is_own_wildcard = |pattern: &OriginPattern<'_>| {
        pattern.is_wildcard() && !pattern.is_loopback() && !has_public_names(pattern.host())
    };
    let found = Patterns::select(cors, is_own_wildcard)?;
    let is_handler = route.kind == RouteKind::Handler;
    if !cors.credentials || !is_handler || !are_sent(manifest, route, &found.parsed) {
        return None;
    }
    let gain = gain_by_cors(manifest, Gainer::NamedSites, (route, cors), &found.parsed);
    Some(found.shown_by(Finding::for_route(Lint::SubdomainOrigins, route, "cors").gain(gain)))
}

fn development(manifest: &Manifest, route: &ManifestRoute, cors: &RouteCors) -> Option<Finding> {
    // Installed apps of old have pages of `http://localhost`, without a port.
    let is_server =
        |pattern: &OriginPattern<'_>| pattern.is_development() && pattern.port() != Port::Default;
    let found = Patterns::select(cors, is_server)?;
    if !is_https(manifest) || !cors.credentials || !are_sent(manifest, route, &found.parsed) {
        return None;
    }
    let gain = gain_by_cors(manifest, Gainer::NamedSites, (route, cors), &found.parsed);
    Some(found.shown_by(Finding::for_route(Lint::DevelopmentOrigin, route, "cors").gain(gain)))
}

/// Those patterns of a policy that a lint is about.
struct Patterns<'a> {
    texts: Vec<&'a str>,
    parsed: Vec<OriginPattern<'a>>,
}

impl<'a> Patterns<'a> {
    /// Selects the patterns for which `is_meant` holds; `None` if there are none.
    fn select(cors: &'a RouteCors, is_meant: impl Fn(&OriginPattern<'_>) -> bool) -> Option<Self> {
        let parse = |text: &'a String| Some((text.as_str(), OriginPattern::parse(text).ok()?));
        let parsed = cors.patterns().iter().filter_map(parse);
        let (texts, parsed): (Vec<_>, Vec<_>) =
            parsed.filter(|(_, pattern)| is_meant(pattern)).unzip();
        (!parsed.is_empty()).then_some(Self { texts, parsed })
    }

    /// The finding with these patterns and an origin that they match.
    fn shown_by(self, finding: Finding) -> Finding {
        let region: OriginRegion = self.parsed.into_iter().collect();
        finding.about(quoted(self.texts)).witness(region.witness())
    }
}

/// The gain of pages of every site that read a response without credentials.
const READ_BY_ALL: Gain =
    Gain { who: Gainer::AnySite, what: Effect::Read, authority: Authority::Nobody };

fn unbounded(route: &ManifestRoute, cors: &RouteCors) -> Option<Finding> {
    let RouteOrigins::AtRunTime(list) = &cors.origins else { return None };
    if list.within.is_some() {
        return None;
    }
    let finding = Finding::for_route(Lint::UnboundedOrigins, route, "cors");
    let finding = finding.gain(READ_BY_ALL).about(quoted([&list.list]));
    Some(finding.witness(OriginRegion::all().witness()))
}

fn own_origin(route: &ManifestRoute, cors: &RouteCors, own: &str) -> Option<Finding> {
    let RouteOrigins::Listed(listed) = &cors.origins else { return None };
    let is_listed = listed.iter().any(|pattern| pattern == own);
    is_listed.then(|| Finding::for_route(Lint::OwnOrigin, route, "cors").about(quoted([own])))
}

fn jsonp(route: &ManifestRoute, cors: &RouteCors) -> Option<Finding> {
    route.jsonp.as_ref()?;
    let witness = cors.region().complement().witness()?;
    let finding = Finding::for_route(Lint::JsonpBesideCors, route, "jsonp").gain(READ_BY_ALL);
    Some(finding.witness(Some(witness)))
}

/// The shortest age in seconds at which copies in a shared cache matter.
const LASTING: i64 = 60;

fn split_cache(route: &ManifestRoute, cors: &RouteCors) -> Option<Finding> {
    let cache = route.cache.as_ref()?;
    let Cache { no_store, no_cache, audience, max_age, s_maxage, .. } = cache;
    let age = s_maxage.or(*max_age).unwrap_or_default();
    let is_kept = *audience == Audience::Public && !no_store && !no_cache && age >= LASTING;
    let is_the_same = route.auth == Auth::Public && !route.takes_session && !cors.credentials;
    // One origin has only one copy.
    let has_several = !cors.region().is_cofinite() && {
        let parsed = cors.patterns().iter().filter_map(|text| OriginPattern::parse(text).ok());
        let singles = parsed.clone().filter(OriginPattern::is_single).count();
        singles > 1 || parsed.count() > singles
    };
    let is_found = is_kept && is_the_same && has_several;
    is_found
        .then(|| Finding::for_route(Lint::SharedCacheSplit, route, "cache").about(cache.control()))
}

//! Lints about what operators of a service see to: guesses of passwords, pages of operators, uploads,
//! caches, TRACE.

use policy_core::{Lint, cache::Audience};

use super::{
    Authority, Effect, Finding, Gain, Gainer, Manifest,
    callers::{is_open, required},
    effect, is_https, quoted,
    words::{internal, is_entrance, is_login, is_one_time_link, segments},
};
use crate::facets::{Cache, ManifestRoute, RouteKind};

pub(super) fn look(manifest: &Manifest, found: &mut Vec<Finding>) {
    let has_callers = manifest.routes.iter().any(|route| required(route).is_some());
    for route in &manifest.routes {
        let segments = segments(&route.path);
        found.extend(login_without_rate(route, &segments));
        found.extend(public_internals(route, &segments, has_callers));
        found.extend(open_upload(route));
        found.extend(cached_link(route, &segments));
    }
    if manifest.app.trace && is_https(manifest) {
        let gain = by_anybody(Effect::Read);
        found.push(Finding::of_app(Lint::TraceServed).gain(gain));
    }
}

const fn by_anybody(what: Effect) -> Gain {
    Gain { who: Gainer::Anybody, what, authority: Authority::Nobody }
}

fn login_without_rate(route: &ManifestRoute, segments: &[String]) -> Option<Finding> {
    let is_session = matches!(segments, [.., last] if last == "session" || last == "sessions");
    let is_login = is_login(segments) || (is_session && route.takes_session);
    let is_handler = route.kind == RouteKind::Handler && route.serves("POST");
    if !is_handler || !is_open(route) || !is_login || route.limits.rate.is_some() {
        return None;
    }
    let witness = route.example_path().map(|path| format!("POST {path}"));
    let finding = Finding::of(Lint::LoginWithoutRate, route, "limits");
    Some(finding.gain(by_anybody(Effect::Read)).witness(witness))
}

fn public_internals(
    route: &ManifestRoute,
    segments: &[String],
    has_callers: bool,
) -> Option<Finding> {
    let word = internal(segments)?;
    let is_served = matches!(route.kind, RouteKind::Handler | RouteKind::Mount | RouteKind::Proxy);
    // An app without any caller is behind something that admits other services only.
    let is_meant = is_entrance(segments) || (word.starts_with("internal") && !has_callers);
    if !is_served || !is_open(route) || is_meant {
        return None;
    }
    let finding = Finding::of(Lint::InternalsPublic, route, "auth").gain(by_anybody(effect(route)));
    let witness = route.methods.first().zip(route.example_path());
    let witness = witness.map(|(method, path)| format!("{method} {path}"));
    Some(finding.about(quoted([word])).witness(witness))
}

/// The size of a body in bytes of which a few fill a disk.
const LARGE: u64 = 1 << 30;

/// The time in milliseconds for which no connection has to be held otherwise.
const LONG: u64 = 10 * 60 * 1000;

fn open_upload(route: &ManifestRoute) -> Option<Finding> {
    let limits = &route.limits;
    let is_large = limits.body.is_some_and(|bytes| bytes >= LARGE);
    let is_long = limits.timeout_ms.is_some_and(|millis| millis >= LONG);
    let is_found = is_large && is_long && limits.concurrency.is_none() && is_open(route);
    if !is_found || effect(route) != Effect::Write {
        return None;
    }
    let mebibytes = limits.body.unwrap_or_default() >> 20;
    let minutes = limits.timeout_ms.unwrap_or_default() / 60_000;
    let finding = Finding::of(Lint::UploadWithoutCaller, route, "limits");
    let about = format!("bodies of {mebibytes} MiB, for {minutes} minutes each");
    Some(finding.gain(by_anybody(Effect::Write)).about(about))
}

fn cached_link(route: &ManifestRoute, segments: &[String]) -> Option<Finding> {
    let cache = route.cache.as_ref()?;
    let Cache { no_store, audience, s_maxage, .. } = cache;
    let is_shared = !no_store && (*audience == Audience::Public || s_maxage.is_some());
    if !is_shared || !route.serves("GET") || !is_one_time_link(segments) {
        return None;
    }
    let finding = Finding::of(Lint::OneTimeLinkCached, route, "cache");
    let witness = route.example_path().map(|path| format!("GET {path}"));
    Some(finding.gain(by_anybody(Effect::Read)).about(cache.control()).witness(witness))
}

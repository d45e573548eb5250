//! Lints about the duties of an operator: guesses of passwords, pages of operators, uploads, caches,
//! upstreams, lifetimes, TRACE.

use std::net::IpAddr;

use policy_core::{Lint, cache::Audience};

use super::{
    Authority, Effect, Finding, Gain, Gainer, Manifest, by_anybody,
    callers::is_open,
    effect, is_https, quoted,
    words::{internal, is_entrance, is_health, is_login, is_one_time_link, segments},
};
use crate::ExamplePaths;
use crate::facets::{Cache, ManifestRoute, RouteKind};

pub(super) fn look(manifest: &Manifest, paths: &ExamplePaths, found: &mut Vec<Finding>) {
    let has_callers = manifest.routes.iter().any(|route| route.auth.requirement().is_some());
    for route in &manifest.routes {
        let segments = segments(&route.path);
        found.extend(login_without_rate(route, paths, &segments));
        found.extend(public_internals(route, paths, &segments, has_callers));
        found.extend(open_upload(route));
        found.extend(cached_link(route, paths, &segments));
        found.extend(cleartext_upstream(route));
    }
    found.extend(long_lifetimes(manifest));
    if manifest.app.trace && is_https(manifest) {
        let gain = by_anybody(Effect::Read);
        found.push(Finding::for_app(Lint::TraceServed).gain(gain));
    }
}

fn login_without_rate(
    route: &ManifestRoute,
    paths: &ExamplePaths,
    segments: &[String],
) -> Option<Finding> {
    let is_session = matches!(segments, [.., last] if last == "session" || last == "sessions");
    let is_login = is_login(segments) || (is_session && route.takes_session);
    let is_handler = route.kind == RouteKind::Handler && route.serves("POST");
    if !is_handler || !is_open(route) || !is_login || route.limits.rate.is_some() {
        return None;
    }
    let finding = Finding::for_route(Lint::LoginWithoutRate, route, "limits");
    Some(finding.gain(by_anybody(Effect::Read)).witness(paths.request("POST", route)))
}

fn public_internals(
    route: &ManifestRoute,
    paths: &ExamplePaths,
    segments: &[String],
    has_callers: bool,
) -> Option<Finding> {
    let word = internal(segments)?;
    let is_served = matches!(route.kind, RouteKind::Handler | RouteKind::Mount | RouteKind::Proxy);
    let is_meant = match word {
        // An app without any caller is behind something that admits other services only.
        "internal" | "internals" => is_entrance(segments) || !has_callers,
        _ => is_health(segments),
    };
    if !is_served || !is_open(route) || is_meant {
        return None;
    }
    let finding =
        Finding::for_route(Lint::InternalsPublic, route, "auth").gain(by_anybody(effect(route)));
    let witness = route.methods.first().and_then(|method| paths.request(method, route));
    Some(finding.about(quoted([word])).witness(witness))
}

/// A body size in bytes: a few such bodies fill a disk.
const LARGE: u64 = 1 << 30;

/// A time in milliseconds for which only an upload has to hold a connection.
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
    let finding = Finding::for_route(Lint::UploadWithoutCaller, route, "limits");
    let about = format!("bodies of {mebibytes} MiB, for {minutes} minutes each");
    Some(finding.gain(by_anybody(Effect::Write)).about(about))
}

fn cached_link(
    route: &ManifestRoute,
    paths: &ExamplePaths,
    segments: &[String],
) -> Option<Finding> {
    let cache = route.cache.as_ref()?;
    let Cache { no_store, audience, s_maxage, .. } = cache;
    let is_shared = !no_store && (*audience == Audience::Public || s_maxage.is_some());
    if !is_shared || !route.serves("GET") || !is_one_time_link(segments) {
        return None;
    }
    let finding = Finding::for_route(Lint::OneTimeLinkCached, route, "cache");
    let witness = paths.request("GET", route);
    Some(finding.gain(by_anybody(Effect::Read)).about(cache.control()).witness(witness))
}

fn cleartext_upstream(route: &ManifestRoute) -> Option<Finding> {
    let upstream = route.target.upstream.as_ref()?;
    let host = upstream.strip_prefix("http://")?.split('/').next()?;
    let takes_token = route.auth.requirement().is_some_and(|requirement| requirement.token);
    if is_private(host) || !(route.target.forwards_session || takes_token) {
        return None;
    }
    let finding = Finding::for_route(Lint::CleartextUpstream, route, "target");
    Some(finding.gain(by_anybody(Effect::Write)).about(quoted([upstream])))
}

/// Ends of names that are valid in one network only.
const PRIVATE_NAMES: [&str; 8] =
    [".arpa", ".internal", ".lan", ".local", ".localhost", ".private", ".svc", ".test"];

/// Whether a host, perhaps with a port, is of a private network: an address of one, or a name without a
/// domain.
fn is_private(host: &str) -> bool {
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let name = match host.rsplit_once(':') {
        Some((name, port)) if is_port(port) => name,
        _ => host,
    };
    match name.trim_matches(['[', ']']).parse() {
        Ok(IpAddr::V4(address)) => {
            address.is_private() || address.is_loopback() || address.is_link_local()
        }
        Ok(IpAddr::V6(address)) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
        Err(_) => !name.contains('.') || PRIVATE_NAMES.iter().any(|end| name.ends_with(end)),
    }
}

const DAY: u64 = 24 * 60 * 60;

/// The longest time for which browsers keep a cookie (RFC 6265bis 5.5).
const LONGEST_COOKIE: u64 = 400 * DAY;

/// Access tokens cannot be taken back as sessions can.
const LONGEST_TOKEN: u64 = 31 * DAY;

fn long_lifetimes(manifest: &Manifest) -> Option<Finding> {
    let (sessions, tokens) = (manifest.app.sessions.as_ref(), manifest.app.tokens.as_ref());
    let of_sessions = sessions.into_iter().flat_map(|facts| {
        let remembered = ("sessions that are remembered", facts.remembered_absolute_s);
        [("sessions", facts.absolute_s), remembered].map(|fact| (fact, LONGEST_COOKIE))
    });
    let of_tokens = tokens.into_iter().flat_map(|facts| {
        let tokens = (("tokens", facts.lifetime_s), LONGEST_TOKEN);
        [tokens, (("refresh tokens", facts.refresh_lifetime_s), LONGEST_COOKIE)]
    });
    let long = of_sessions.chain(of_tokens).filter_map(|((name, seconds), most)| {
        let seconds = seconds.filter(|seconds| *seconds > most)?;
        Some(format!("{name} of {} days", seconds / DAY))
    });
    let long: Vec<_> = long.collect();
    let gain = Gain { who: Gainer::Anybody, what: Effect::Write, authority: Authority::Held };
    let finding = || Finding::for_app(Lint::LongLifetime).gain(gain).about(long.join(", "));
    (!long.is_empty()).then(finding)
}

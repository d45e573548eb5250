//! The facets of a route in words. Sizes, times and rates are spelled as in attributes.

use policy_core::{
    cache::Audience, isolation::Isolation, limits::RateKey, method::is_safe, path::TrailingSlash,
    route::Level,
};
use policy_manifest::{
    AppFacts, Auth, Cache, Cors, Csrf, Limits, Origins, Requirement, Route, RouteKind, Sources,
};

use super::{
    reader::{How, Reading},
    view::{Cell, Tone},
};

pub(super) fn methods(route: &Route) -> Cell {
    match (&*route.methods, route.kind) {
        ([], _) => Cell::plain("any"),
        (methods, _) => Cell::list(methods.iter().cloned()),
    }
}

/// The path, and the service that serves it if it is not a handler.
pub(super) fn path(route: &Route) -> Cell {
    let path = route.path.clone();
    match route.kind {
        RouteKind::Handler => Cell::plain(path),
        RouteKind::Mount => Cell::list([path, "(a mount, and below)".to_owned()]),
        RouteKind::Proxy => Cell::list([path, "(a proxy, and below)".to_owned()]),
        RouteKind::Probe => Cell::list([path, "(a probe)".to_owned()]),
        RouteKind::Tunnel => {
            let targets = route.targets.iter().cloned();
            Cell::list(["(tunnels to)".to_owned()].into_iter().chain(targets))
        }
        RouteKind::Fallback => Cell::list([path, "(no other route)".to_owned()]),
        RouteKind::NotFound => Cell::list([path, "(no route: 404)".to_owned()]),
        _ => Cell::plain(path),
    }
}

pub(super) fn callers(route: &Route) -> Cell {
    match &route.auth {
        Auth::Public => {
            let takes = route.takes_session.then(|| "takes the session".to_owned());
            Cell::list(["everybody".to_owned()].into_iter().chain(takes)).with_tone(Tone::Open)
        }
        Auth::Required(requirement) => Cell::list(required(requirement)),
    }
}

fn required(requirement: &Requirement) -> Vec<String> {
    let Requirement { session, token, ticket, scheme, optional, issuers, scopes, roles, fresh } =
        requirement;
    let named = [(*session, "session"), (*token, "token"), (*ticket, "ticket")];
    let named = named.into_iter().filter(|(is, _)| *is).map(|(_, name)| name.to_owned());
    let scheme = scheme.iter().map(|scheme| match scheme.ambient {
        true => format!("scheme {} (sent by browsers)", scheme.name),
        false => format!("scheme {}", scheme.name),
    });
    let credentials: Vec<_> = named.chain(scheme).collect();
    let mut words = vec![credentials.join(" or ")];
    if *optional {
        words.push("or nobody".to_owned());
    }
    if !roles.is_empty() {
        words.push(format!("role {}", roles.join(" or ")));
    }
    if !scopes.is_empty() {
        words.push(format!("scope {}", scopes.join(" and ")));
    }
    if !issuers.is_empty() {
        words.push(format!("issued by {}", issuers.join(" or ")));
    }
    if let Some(seconds) = fresh {
        words.push(format!("login at most {} ago", seconds_in_words(i64::from(*seconds))));
    }
    words
}

/// The pages that may read responses. The entries of a list that is given at run time come from the
/// last test run.
pub(super) fn origins(route: &Route, sources: Option<&Sources>) -> Cell {
    let Some(Cors { origins, .. }) = &route.cors else { return Cell::nothing() };
    match origins {
        Origins::Listed(patterns) => {
            let is_any = patterns.iter().any(|pattern| pattern == "*");
            let tone = if is_any { Tone::Open } else { Tone::Plain };
            let words = |pattern: &String| match pattern.as_str() {
                "*" => "* (any)".to_owned(),
                _ => pattern.clone(),
            };
            Cell::list(patterns.iter().map(words)).with_tone(tone)
        }
        Origins::AtRunTime(list) => {
            let mut words = vec![match &list.by {
                Some(by) => format!("list {} by {{{by}}}", list.list),
                None => format!("list {}", list.list),
            }];
            match &list.within {
                Some(patterns) => words.push(format!("within {}", patterns.join(" "))),
                None => words.push("without bound".to_owned()),
            }
            let known = sources.filter(|_| list.by.is_none());
            if let Some(entries) = known.and_then(|sources| sources.lists.get(&list.list)) {
                let entries = entries.join(" ");
                words.push(format!("now {}", if entries.is_empty() { "empty" } else { &entries }));
            }
            Cell::list(words)
        }
    }
}

pub(super) fn credentials(route: &Route) -> Cell {
    let Some(cors) = &route.cors else { return Cell::nothing() };
    if !cors.credentials {
        return Cell::plain("no");
    }
    let mut words = vec!["yes".to_owned()];
    if cors.dangers.insecure_origins {
        words.push("also over http".to_owned());
    }
    if cors.dangers.public_suffix {
        words.push("for a public suffix".to_owned());
    }
    let tone = if words.len() > 1 { Tone::Risk } else { Tone::Plain };
    Cell::list(words).with_tone(tone)
}

pub(super) fn reading(reading: &Reading) -> Cell {
    let how = match reading.how {
        How::SameOrigin => "same origin",
        How::WithCredentials => "with credentials",
        How::WithoutCredentials => "without credentials",
        How::Script => "as a script",
    };
    let mut words = vec![how.to_owned()];
    words.extend(reading.methods.iter().map(|methods| format!("by {}", methods.join(" or "))));
    words.extend(reading.if_listed.iter().map(|list| format!("if list {list} has it")));
    Cell::list(words)
}

/// The CSRF protection, where browsers send a credential with requests that are not safe.
pub(super) fn csrf(route: &Route) -> Cell {
    if let Csrf::Exempt(reason) = &route.csrf {
        return Cell::plain(format!("exempt: {reason}")).with_tone(Tone::Risk);
    }
    let is_other_service =
        matches!(route.kind, RouteKind::Mount | RouteKind::Proxy | RouteKind::Fallback);
    let is_changing =
        route.methods.is_empty() || route.methods.iter().any(|method| !is_safe(method));
    if !is_changing || !(route.is_ambient() || is_other_service) {
        return Cell::nothing();
    }
    match &route.csrf {
        Csrf::Token => Cell::plain("token"),
        Csrf::OriginElseToken => Cell::plain("origin else token"),
        Csrf::Origin => Cell::plain("origin"),
        Csrf::Exempt(_) => Cell::nothing(),
    }
}

/// The directives of `Cache-Control`.
pub(super) fn cache(route: &Route) -> Cell {
    let Some(cache) = &route.cache else { return Cell::nothing() };
    let Cache {
        no_store,
        no_cache,
        audience,
        max_age,
        s_maxage,
        stale_while_revalidate,
        stale_if_error,
        must_revalidate,
        immutable,
        vary,
    } = cache;
    let flag = |is: bool, name: &str| is.then(|| name.to_owned());
    let seconds = |value: &Option<i64>, name: &str| value.map(|value| format!("{name}={value}"));
    let directives = [
        flag(*no_store, "no-store"),
        flag(*no_cache, "no-cache"),
        flag(*audience == Audience::Private, "private"),
        flag(*audience == Audience::Public, "public"),
        seconds(max_age, "max-age"),
        seconds(s_maxage, "s-maxage"),
        seconds(stale_while_revalidate, "stale-while-revalidate"),
        seconds(stale_if_error, "stale-if-error"),
        flag(*must_revalidate, "must-revalidate"),
        flag(*immutable, "immutable"),
        (!vary.is_empty()).then(|| format!("vary {}", vary.join(" "))),
    ];
    Cell::list(directives.into_iter().flatten())
}

pub(super) fn limits(route: &Route) -> Cell {
    let Limits { body, timeout_ms, rate, concurrency, message, silence_ms, .. } = route.limits;
    let Limits { sockets, sockets_per_caller, .. } = route.limits;
    let rate = rate.map(|rate| {
        let by = match rate.by {
            RateKey::Address => "address",
            RateKey::Principal => "principal",
            _ => "client",
        };
        format!("{} per {by}", rate_in_words(rate.count, rate.per_ms))
    });
    let words = [
        body.map(|bytes| format!("body {}", bytes_in_words(bytes))),
        timeout_ms.map(|millis| format!("timeout {}", millis_in_words(millis))),
        rate,
        concurrency.map(|most| format!("concurrency {most}")),
        message.map(|bytes| format!("message {}", bytes_in_words(bytes))),
        silence_ms.map(|millis| format!("silence {}", millis_in_words(millis))),
        sockets.map(|most| format!("sockets {most}")),
        sockets_per_caller.map(|most| format!("sockets per caller {most}")),
    ];
    Cell::list(words.into_iter().flatten())
}

pub(super) fn isolation(route: &Route) -> Cell {
    match route.isolation {
        Some(Isolation::SameOrigin) => Cell::plain("same-origin"),
        Some(Isolation::SameSite) => Cell::plain("same-site"),
        None => Cell::nothing(),
    }
}

pub(super) fn jsonp(route: &Route) -> Cell {
    match &route.jsonp {
        Some(jsonp) => Cell::plain(format!("callback in {}", jsonp.callback)).with_tone(Tone::Open),
        None => Cell::nothing(),
    }
}

/// The function, the line of its policy, and what levels around it decided.
pub(super) fn declared(route: &Route, sources: &Sources) -> Cell {
    let any = ["*".to_owned()];
    let methods = if route.methods.is_empty() { &any[..] } else { &route.methods };
    let mut own: Vec<String> = Vec::new();
    // The facets that levels around the route decided, by the line.
    let mut outer: Vec<(String, Vec<&str>)> = Vec::new();
    for method in methods {
        let key = format!("{method} {}", route.path);
        let decided = sources.decided.get(&key);
        let line = decided.and_then(|decided| decided.get("auth"));
        let line = line.map(|auth| format!("{}:{}", auth.file, auth.line));
        let words = match (sources.handlers.get(&key), line) {
            (Some(handler), Some(line)) => Some(format!("{handler} {line}")),
            (handler, line) => line.or_else(|| handler.cloned()),
        };
        own.extend(words.filter(|words| !own.contains(words)));
        let around = decided.into_iter().flatten();
        for (facet, source) in around.filter(|(_, source)| source.level != Level::Route) {
            let line = format!("of the {} {}:{}", source.level.name(), source.file, source.line);
            match outer.iter_mut().find(|(known, _)| *known == line) {
                Some((_, facets)) if facets.contains(&facet.as_str()) => (),
                Some((_, facets)) => facets.push(facet),
                None => outer.push((line, vec![facet])),
            }
        }
    }
    let outer = outer.iter().map(|(line, facets)| format!("{} {line}", facets.join(" and ")));
    Cell::list(own.into_iter().chain(outer))
}

/// The facts about the app as a whole.
pub(super) fn app(app: &AppFacts) -> Vec<(&'static str, Cell)> {
    let mut facts = Vec::new();
    let origin = app.public_origin.as_deref().unwrap_or("none: the development profile");
    facts.push(("Public origin", Cell::plain(origin)));
    if let Some(sessions) = &app.sessions {
        let mut words = vec![
            format!("stored in {}", sessions.store),
            format!("cookie {}", sessions.cookie),
            format!("SameSite={}", sessions.same_site),
        ];
        words.extend(sessions.domain.iter().map(|domain| format!("Domain={domain}")));
        words.extend(sessions.partitioned.then(|| "Partitioned".to_owned()));
        facts.push(("Sessions", Cell::list(words)));
    }
    if let Some(tokens) = &app.tokens {
        let own = tokens.issuer.iter().map(|issuer| format!("issued by {issuer}"));
        let others = tokens.accepts.iter().map(|issuer| format!("accepted from {issuer}"));
        let from = tokens.websocket_protocol.then(|| "also in Sec-WebSocket-Protocol".to_owned());
        facts.push(("Tokens", Cell::list(own.chain(others).chain(from))));
    }
    if !app.proxies.is_empty() {
        facts.push(("Trusted proxies", Cell::list(app.proxies.iter().cloned())));
    }
    match app.trailing_slash {
        TrailingSlash::Strict => (),
        TrailingSlash::Redirect => facts.push(("Trailing slash", Cell::plain("redirected"))),
        TrailingSlash::Same => facts.push(("Trailing slash", Cell::plain("the same resource"))),
    }
    if app.trace {
        facts.push(("TRACE", Cell::plain("served").with_tone(Tone::Risk)));
    }
    facts
}

fn bytes_in_words(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let whole = units.iter().find(|(power, _)| bytes != 0 && bytes.trailing_zeros() >= *power);
    match whole {
        Some((power, unit)) => format!("{} {unit}", bytes >> power),
        None => format!("{bytes} B"),
    }
}

fn millis_in_words(millis: u64) -> String {
    match millis {
        0 => "0ms".to_owned(),
        millis if millis.is_multiple_of(60_000) => format!("{}m", millis / 60_000),
        millis if millis.is_multiple_of(1000) => format!("{}s", millis / 1000),
        millis => format!("{millis}ms"),
    }
}

fn seconds_in_words(seconds: i64) -> String {
    match seconds {
        seconds if seconds > 0 && seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        seconds if seconds > 0 && seconds % 60 == 0 => format!("{}m", seconds / 60),
        seconds => format!("{seconds}s"),
    }
}

fn rate_in_words(count: u32, per_ms: u64) -> String {
    let unit = match per_ms {
        1000 => "s",
        60_000 => "min",
        3_600_000 => "h",
        86_400_000 => "d",
        millis => return format!("{count} in {}", millis_in_words(millis)),
    };
    format!("{count}/{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_times_and_rates_are_spelled_as_in_attributes() {
        let sizes = [1, 1000, 1024, 1536, 1 << 20, 3 << 30];
        let sizes = sizes.map(bytes_in_words);
        assert_eq!(sizes, ["1 B", "1000 B", "1 KiB", "1536 B", "1 MiB", "3 GiB"]);
        let times = [1, 1500, 2000, 60_000, 90_000].map(millis_in_words);
        assert_eq!(times, ["1ms", "1500ms", "2s", "1m", "90s"]);
        let rates = [1000, 60_000, 3_600_000, 86_400_000, 1500].map(|per| rate_in_words(5, per));
        assert_eq!(rates, ["5/s", "5/min", "5/h", "5/d", "5 in 1500ms"]);
        assert_eq!([59, 600, 7200].map(seconds_in_words), ["59s", "10m", "2h"]);
    }

    #[test]
    fn csrf_is_told_where_a_browser_sends_a_credential_that_changes_something() {
        let session = Requirement { session: true, ..Requirement::default() };
        let session = Auth::Required(session);
        let of = |kind, methods: &[&str], auth: &Auth| {
            csrf(&Route::new(kind, "/", methods.iter().copied(), auth.clone()))
        };
        let token = Cell::plain("token");
        for (kind, methods, auth, expected) in [
            (RouteKind::Handler, &["POST"][..], &session, &token),
            (RouteKind::Handler, &["GET", "QUERY"], &session, &Cell::nothing()),
            (RouteKind::Handler, &["POST"], &Auth::Public, &Cell::nothing()),
            (RouteKind::Mount, &["POST"], &Auth::Public, &token),
            (RouteKind::Fallback, &[], &Auth::Public, &token),
        ] {
            assert_eq!(of(kind, methods, auth), *expected, "{kind:?} {methods:?}");
        }
        let mut exempt = Route::handler("/", ["GET"], Auth::Public);
        exempt.csrf = Csrf::Exempt("a webhook".to_owned());
        assert_eq!(csrf(&exempt), Cell::plain("exempt: a webhook").with_tone(Tone::Risk));
    }
}

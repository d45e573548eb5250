//! The changes of each facet.

use std::collections::BTreeSet;

use policy_core::{
    auth::OWN_ISSUER, cache::Audience, isolation::Isolation, method, path::TrailingSlash,
};

use super::{Change, Direction};
use crate::{
    AppFacts,
    algebra::OriginRegion,
    facets::{Auth, Cache, Cors, Csrf, Headers, Limits, OriginList, Origins, Requirement},
    route::{Route, RouteKind},
};

type Found = Vec<Change>;

fn change(facet: &'static str, direction: Direction, words: impl Into<String>) -> Change {
    Change { path: String::new(), methods: Vec::new(), facet, direction, words: words.into() }
}

/// The changes of the facts about the app as a whole.
pub(super) fn of_app(old: &AppFacts, new: &AppFacts) -> Found {
    let mut found = Found::new();
    let mut note = |facet, direction, words: String| {
        let change = change(facet, direction, words);
        found.push(Change { path: "app".to_owned(), ..change });
    };
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
    if old.public_origin != new.public_origin {
        let words =
            format!("was {}, is {}", or_none(&old.public_origin), or_none(&new.public_origin));
        note("public_origin", Direction::Shifts, words);
    }
    match (&old.sessions, &new.sessions) {
        (None, Some(_)) => note("sessions", Direction::Shifts, "they are new".to_owned()),
        (Some(_), None) => note("sessions", Direction::Narrows, "they are gone".to_owned()),
        (Some(old), Some(new)) if old != new => {
            let strictness = |same_site: &str| match same_site {
                "strict" => 0,
                "lax" => 1,
                _ => 2,
            };
            let opens = strictness(&new.same_site) > strictness(&old.same_site)
                || (new.domain != old.domain && new.domain.is_some())
                || (old.partitioned && !new.partitioned);
            let narrows = strictness(&new.same_site) < strictness(&old.same_site)
                || (new.domain != old.domain && old.domain.is_some())
                || (new.partitioned && !old.partitioned);
            let direction = Direction::of(opens, narrows).unwrap_or(Direction::Shifts);
            let words = |facts: &crate::SessionFacts| {
                let domain = facts.domain.as_deref().map(|domain| format!(", domain {domain}"));
                let domain = domain.unwrap_or_default();
                let partitioned = if facts.partitioned { ", partitioned" } else { "" };
                let [store, cookie, same_site] = [&facts.store, &facts.cookie, &facts.same_site];
                format!("{store}, {cookie}, SameSite {same_site}{domain}{partitioned}")
            };
            note("sessions", direction, format!("was {}; is {}", words(old), words(new)));
        }
        _ => (),
    }
    let tokens = |facts: &AppFacts| {
        let tokens = facts.tokens.iter();
        let issuers = tokens.flat_map(|tokens| tokens.issuer.iter().chain(&tokens.accepts));
        issuers.cloned().collect::<BTreeSet<_>>()
    };
    for (facet, old, new) in
        [("tokens", tokens(old), tokens(new)), ("proxies", set(&old.proxies), set(&new.proxies))]
    {
        if let Some((direction, words)) = sets(&old, &new) {
            note(facet, direction, words);
        }
    }
    let of_protocol =
        |facts: &AppFacts| facts.tokens.as_ref().is_some_and(|tokens| tokens.websocket_protocol);
    let words = match (of_protocol(old), of_protocol(new)) {
        (false, true) => Some((Direction::Opens, "are taken from `Sec-WebSocket-Protocol`")),
        (true, false) => Some((Direction::Narrows, "are not taken from `Sec-WebSocket-Protocol`")),
        _ => None,
    };
    if let Some((direction, words)) = words {
        note("tokens", direction, words.to_owned());
    }
    if old.trailing_slash != new.trailing_slash {
        let words = |of| match of {
            TrailingSlash::Strict => "another path",
            TrailingSlash::Redirect => "redirected",
            TrailingSlash::Same => "the same resource",
        };
        let direction = match (old.trailing_slash, new.trailing_slash) {
            // A path without its own route may have matched a prefix.
            (TrailingSlash::Strict, TrailingSlash::Same)
            | (TrailingSlash::Same, TrailingSlash::Strict) => Direction::OpensAndNarrows,
            (old, new) if old < new && old != TrailingSlash::Strict => Direction::Opens,
            (_, TrailingSlash::Strict) => Direction::Opens,
            _ => Direction::Narrows,
        };
        let (old, new) = (words(old.trailing_slash), words(new.trailing_slash));
        let words = format!("a path with another trailing slash was {old}, is {new}");
        note("trailing_slash", direction, words);
    }
    if old.trace != new.trace {
        let (direction, words) = match new.trace {
            true => (Direction::Opens, "TRACE is served"),
            false => (Direction::Narrows, "TRACE is not served any more"),
        };
        note("trace", direction, words.to_owned());
    }
    found
}

/// The changes of the route that serves one method of a path.
pub(super) fn of_route(
    old: Option<&Route>,
    new: Option<&Route>,
    headers: (&Option<Headers>, &Option<Headers>),
) -> Found {
    let (old, new) = match (old, new) {
        (None, None) => return Found::new(),
        (None, Some(new)) => return vec![change("route", came(new), came_words(new))],
        (Some(_), None) => return vec![change("route", Direction::Narrows, "it is gone")],
        (Some(old), Some(new)) => (old, new),
    };
    let mut found = Found::new();
    let mut note = |facet: &'static str, found_change: Option<(Direction, String)>| {
        let changed = found_change.map(|(direction, words)| change(facet, direction, words));
        found.extend(changed);
    };
    if old.kind != new.kind {
        let words = format!("was a {:?}, is a {:?}", old.kind, new.kind).to_lowercase();
        note("route", Some((Direction::Shifts, words)));
    }
    if old.takes_slashes != new.takes_slashes {
        let direction = if new.takes_slashes { Direction::Opens } else { Direction::Narrows };
        note("route", Some((direction, "encoded slashes".to_owned())));
    }
    note("route", sets(&set(&old.targets), &set(&new.targets)));
    note("auth", auth(old, new));
    note("csrf", csrf(old, new));
    note("cors", cors(old.cors.as_ref(), new.cors.as_ref()));
    note("isolation", isolation(old.isolation, new.isolation));
    note("cache", cache(old.cache.as_ref(), new.cache.as_ref()));
    if old.jsonp != new.jsonp {
        let direction = match (&old.jsonp, &new.jsonp) {
            (None, _) => Direction::Opens,
            (_, None) => Direction::Narrows,
            _ => Direction::Shifts,
        };
        note("jsonp", Some((direction, "scripts for pages of any origin".to_owned())));
    }
    note("limits", limits(&old.limits, &new.limits));
    note("headers", security_headers(headers.0.as_ref(), headers.1.as_ref()));
    found
}

/// Whether a new route opens access: it does, unless it requires a credential, and has CSRF
/// protection if browsers send the credential automatically.
fn came(route: &Route) -> Direction {
    let is_open = match &route.auth {
        Auth::Public => route.kind != RouteKind::NotFound,
        Auth::Required(requirement) => requirement.optional,
    };
    let is_exempt = matches!(route.csrf, Csrf::Exempt(_)) && route.is_ambient();
    let is_shared = route.cors.as_ref().is_some_and(|cors| cors.credentials);
    match is_open || is_exempt || is_shared || route.jsonp.is_some() {
        true => Direction::Opens,
        false => Direction::Shifts,
    }
}

fn came_words(route: &Route) -> String {
    let mut words = format!("it is new, `{}`", route.auth);
    if let Some(cors) = &route.cors {
        words += &format!(", shared with {}", cors.region());
        if cors.credentials {
            words += " with credentials";
        }
    }
    words
}

fn auth(old: &Route, new: &Route) -> Option<(Direction, String)> {
    let opens = !admits(&old.auth, &new.auth);
    let narrows = !admits(&new.auth, &old.auth);
    let direction = match Direction::of(opens, narrows) {
        Some(direction) => direction,
        None if old.takes_session == new.takes_session => return None,
        None => {
            let words = match new.takes_session {
                true => "its handler takes the session itself",
                false => "its handler does not take the session any more",
            };
            return Some((Direction::Shifts, words.to_owned()));
        }
    };
    let (old, new) = (old.auth.to_string(), new.auth.to_string());
    Some((direction, format!("was `{old}`, is `{new}`")))
}

/// Whether `outer` admits every caller that `inner` admits.
fn admits(outer: &Auth, inner: &Auth) -> bool {
    match (outer, inner) {
        (Auth::Public, _) => true,
        (Auth::Required(outer), Auth::Public) => outer.optional,
        (Auth::Required(outer), Auth::Required(inner)) => admits_required(outer, inner),
    }
}

fn admits_required(outer: &Requirement, inner: &Requirement) -> bool {
    let credentials = (!inner.session || outer.session)
        && (!inner.token || outer.token)
        && (!inner.ticket || outer.ticket)
        && (inner.scheme.is_none() || inner.scheme == outer.scheme);
    let roles = outer.roles.is_empty()
        || (!inner.roles.is_empty() && inner.roles.iter().all(|role| outer.roles.contains(role)));
    let fresh = outer.fresh.is_none_or(|most| inner.fresh.is_some_and(|own| own <= most));
    let own = [OWN_ISSUER.to_owned()];
    let named = |list: &'_ Vec<String>| match list.is_empty() {
        true => own.to_vec(),
        false => list.clone(),
    };
    let (issuers, others) = (named(&inner.issuers), named(&outer.issuers));
    let takes_issuers =
        !(inner.token || inner.ticket) || issuers.iter().all(|issuer| others.contains(issuer));
    credentials
        && takes_issuers
        && (!inner.optional || outer.optional)
        && outer.scopes.iter().all(|scope| inner.scopes.contains(scope))
        && roles
        && fresh
}

fn csrf(old: &Route, new: &Route) -> Option<(Direction, String)> {
    if old.csrf == new.csrf {
        return None;
    }
    let laxness = |csrf: &Csrf| match csrf {
        Csrf::Token => 0,
        Csrf::OriginElseToken => 1,
        Csrf::Origin => 2,
        Csrf::Exempt(_) => 3,
    };
    let protects = |route: &Route| {
        route.is_ambient() && route.methods.iter().any(|method| !method::is_safe(method))
            || matches!(route.kind, RouteKind::Mount | RouteKind::Proxy | RouteKind::Fallback)
    };
    let direction = match laxness(&new.csrf).cmp(&laxness(&old.csrf)) {
        _ if !protects(old) && !protects(new) => Direction::Shifts,
        std::cmp::Ordering::Greater => Direction::Opens,
        std::cmp::Ordering::Less => Direction::Narrows,
        std::cmp::Ordering::Equal => Direction::Shifts,
    };
    let words = |csrf: &Csrf| match csrf {
        Csrf::Token => "token".to_owned(),
        Csrf::OriginElseToken => "origin_else_token".to_owned(),
        Csrf::Origin => "origin".to_owned(),
        Csrf::Exempt(reason) => format!("exempt = {reason:?}"),
    };
    Some((direction, format!("was `{}`, is `{}`", words(&old.csrf), words(&new.csrf))))
}

fn cors(old: Option<&Cors>, new: Option<&Cors>) -> Option<(Direction, String)> {
    let nothing = OriginRegion::default();
    let (before, after) =
        (old.map_or(nothing.clone(), Cors::region), new.map_or(nothing, Cors::region));
    let (gained, lost) = (after.difference(&before), before.difference(&after));
    let (mut opens, mut narrows) = (!gained.is_empty(), !lost.is_empty());
    let mut words = Vec::new();
    if opens {
        words.push(format!("origins gain `{gained}`"));
    }
    if narrows {
        words.push(format!("origins lose `{lost}`"));
    }
    let (Some(old), Some(new)) = (old, new) else {
        if new.is_some_and(|new| new.credentials) {
            words.push("with credentials".to_owned());
        }
        return Direction::of(opens, narrows).map(|direction| (direction, words.join(", ")));
    };
    if old.credentials != new.credentials {
        opens |= new.credentials;
        narrows |= old.credentials;
        words.push(match new.credentials {
            true => "credentials are allowed".to_owned(),
            false => "credentials are not allowed any more".to_owned(),
        });
    }
    let methods = |cors: &Cors| cors.methods.as_ref().map(|methods| set(methods));
    match (methods(old), methods(new)) {
        (Some(old), Some(new)) => {
            merge("methods", &old, &new, &mut opens, &mut narrows, &mut words);
        }
        (None, None) => (),
        (None, Some(_)) => words.push("methods are listed".to_owned()),
        (Some(_), None) => words.push("methods are those that are served".to_owned()),
    }
    let (before, after) = (set(&old.headers), set(&new.headers));
    merge("request headers", &before, &after, &mut opens, &mut narrows, &mut words);
    let (before, after) = (set(&old.expose), set(&new.expose));
    merge("exposed headers", &before, &after, &mut opens, &mut narrows, &mut words);
    for (name, before, after) in [
        ("max_age", format!("{:?}", old.max_age), format!("{:?}", new.max_age)),
        ("list", list_words(old), list_words(new)),
        ("dangers", format!("{:?}", old.dangers), format!("{:?}", new.dangers)),
    ] {
        if before != after {
            words.push(format!("{name} was {before}, is {after}"));
        }
    }
    let shifts = (!words.is_empty()).then_some(Direction::Shifts);
    Some((Direction::of(opens, narrows).or(shifts)?, words.join(", ")))
}

fn list_words(cors: &Cors) -> String {
    match &cors.origins {
        Origins::Listed(_) => "constant".to_owned(),
        Origins::AtRunTime(OriginList { list, by: None, .. }) => format!("`{list}`"),
        Origins::AtRunTime(OriginList { list, by: Some(by), .. }) => {
            format!("`{list}` by `{{{by}}}`")
        }
    }
}

fn merge(
    name: &str,
    old: &BTreeSet<String>,
    new: &BTreeSet<String>,
    opens: &mut bool,
    narrows: &mut bool,
    words: &mut Vec<String>,
) {
    if let Some((direction, change)) = sets(old, new) {
        *opens |= direction.opens();
        *narrows |= direction.narrows();
        words.push(format!("{name} {change}"));
    }
}

fn isolation(old: Option<Isolation>, new: Option<Isolation>) -> Option<(Direction, String)> {
    let laxness = |isolation| match isolation {
        Some(Isolation::SameOrigin) => 0,
        Some(Isolation::SameSite) => 1,
        None => 2,
    };
    let words = |isolation| match isolation {
        Some(Isolation::SameOrigin) => "same-origin",
        Some(Isolation::SameSite) => "same-site",
        None => "none",
    };
    let direction = match laxness(new).cmp(&laxness(old)) {
        std::cmp::Ordering::Greater => Direction::Opens,
        std::cmp::Ordering::Less => Direction::Narrows,
        std::cmp::Ordering::Equal => return None,
    };
    Some((direction, format!("was {}, is {}", words(old), words(new))))
}

fn cache(old: Option<&Cache>, new: Option<&Cache>) -> Option<(Direction, String)> {
    if old == new {
        return None;
    }
    let is_public = |cache: Option<&Cache>| {
        cache.is_some_and(|cache| cache.audience == Audience::Public && !cache.no_store)
    };
    let direction = match (is_public(old), is_public(new)) {
        (false, true) => Direction::Opens,
        _ => Direction::Shifts,
    };
    let words = |cache: Option<&Cache>| cache.map_or_else(|| "none".to_owned(), Cache::control);
    Some((direction, format!("was `{}`, is `{}`", words(old), words(new))))
}

fn limits(old: &Limits, new: &Limits) -> Option<(Direction, String)> {
    let (mut opens, mut narrows, mut words) = (false, false, Vec::new());
    // Requests per second; no rate is unbounded.
    let speed = |limits: &Limits| {
        limits.rate.map_or(f64::INFINITY, |rate| f64::from(rate.count) / rate.per_ms as f64)
    };
    if old.rate != new.rate {
        opens |= speed(new) > speed(old);
        narrows |= speed(new) < speed(old);
        words.push(format!("rate was {}, is {}", rate_words(old), rate_words(new)));
    }
    let number = |value: Option<u64>| value.map_or_else(|| "none".to_owned(), |n| n.to_string());
    let most = |value: Option<u64>| value.unwrap_or(u64::MAX);
    for (name, before, after) in [
        ("concurrency", old.concurrency.map(u64::from), new.concurrency.map(u64::from)),
        ("body", old.body, new.body),
        ("timeout in ms", old.timeout_ms, new.timeout_ms),
    ]
    .into_iter()
    .chain(of_sockets(old, new))
    {
        if before != after {
            opens |= most(after) > most(before);
            narrows |= most(after) < most(before);
            words.push(format!("{name} was {}, is {}", number(before), number(after)));
        }
    }
    let shifts = (!words.is_empty()).then_some(Direction::Shifts);
    Some((Direction::of(opens, narrows).or(shifts)?, words.join(", ")))
}

/// The limits of WebSockets. A manifest lists only those that are stated; the others have defaults.
fn of_sockets(
    old: &Limits,
    new: &Limits,
) -> impl Iterator<Item = (&'static str, Option<u64>, Option<u64>)> {
    let values = |limits: &Limits| {
        let sockets = [limits.sockets, limits.sockets_per_caller].map(|most| most.map(u64::from));
        let [in_all, per_caller] = sockets;
        [limits.message, limits.silence_ms, in_all, per_caller]
    };
    let default = values(&Limits::from(&OF_SOCKETS));
    let names = ["message", "silence in ms", "sockets", "sockets per caller"];
    let pairs = values(old).into_iter().zip(values(new)).zip(default);
    names
        .into_iter()
        .zip(pairs)
        .map(|(name, ((before, after), default))| (name, before.or(default), after.or(default)))
}

const OF_SOCKETS: policy_core::limits::Limits = policy_core::limits::Limits::OF_SOCKETS;

pub(crate) fn rate_words(limits: &Limits) -> String {
    limits.rate.map_or_else(
        || "none".to_owned(),
        |rate| {
            let by = format!("{:?}", rate.by).to_lowercase();
            format!("{} in {} ms by {by}", rate.count, rate.per_ms)
        },
    )
}

fn security_headers(old: Option<&Headers>, new: Option<&Headers>) -> Option<(Direction, String)> {
    let (mut opens, mut narrows, mut words) = (false, false, Vec::new());
    let nothing = Headers::default();
    let (old, new) = (old.unwrap_or(&nothing), new.unwrap_or(&nothing));
    for (before, after, on) in [(&old.every, &new.every, ""), (&old.pages, &new.pages, " of pages")]
    {
        for name in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
            match (before.get(name), after.get(name)) {
                (Some(_), None) => {
                    opens = true;
                    words.push(format!("`{name}`{on} is gone"));
                }
                (None, Some(value)) => {
                    narrows = true;
                    words.push(format!("`{name}: {value}`{on} is new"));
                }
                (Some(one), Some(other)) if one != other => {
                    words.push(format!("`{name}`{on} was `{one}`, is `{other}`"));
                }
                _ => (),
            }
        }
    }
    let shifts = (!words.is_empty()).then_some(Direction::Shifts);
    Some((Direction::of(opens, narrows).or(shifts)?, words.join(", ")))
}

/// The members that a set gains and loses; more members open access.
fn sets(old: &BTreeSet<String>, new: &BTreeSet<String>) -> Option<(Direction, String)> {
    let listed = |names: Vec<&String>| {
        let names: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
        names.join(" ")
    };
    let gained: Vec<_> = new.difference(old).collect();
    let lost: Vec<_> = old.difference(new).collect();
    let direction = Direction::of(!gained.is_empty(), !lost.is_empty())?;
    let mut words = Vec::new();
    if !gained.is_empty() {
        words.push(format!("gain {}", listed(gained)));
    }
    if !lost.is_empty() {
        words.push(format!("lose {}", listed(lost)));
    }
    Some((direction, words.join(", ")))
}

fn set(list: &[String]) -> BTreeSet<String> {
    list.iter().cloned().collect()
}

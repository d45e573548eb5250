//! The facts about an app and its routes in words, except for facets, which have their own.

use std::collections::BTreeSet;

use policy_core::{path::TrailingSlash, route::Level};
use policy_manifest::{
    AppFacts, EngineFacts, Manifest, ManifestRoute, RouteKind, SessionFacts, Sources, TlsFacts,
    TokenFacts,
    facet::{Cell, Tone},
};

use super::reader::{ReadAccess, Reading};

pub(super) fn methods(route: &ManifestRoute) -> Cell {
    match &*route.methods {
        [] => Cell::plain("any"),
        methods => Cell::list(methods.iter().cloned()),
    }
}

/// The path, and the service that serves it if it is not a handler.
pub(super) fn path(route: &ManifestRoute) -> Cell {
    let path = route.path.clone();
    match route.kind {
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

/// The statuses of its refusals, by any of its methods.
pub(super) fn refuses(manifest: &Manifest, route: &ManifestRoute) -> Cell {
    let any = ["GET".to_owned()];
    let methods = if route.methods.is_empty() { &any[..] } else { &route.methods };
    let outcomes: Vec<_> = methods.iter().map(|method| manifest.outcomes(route, method)).collect();
    let statuses: BTreeSet<u16> =
        outcomes.iter().flat_map(|it| it.by_status().into_keys()).collect();
    let open = outcomes.iter().any(|it| it.is_open).then(|| "others".to_owned());
    Cell::list(statuses.iter().map(u16::to_string).chain(open))
}

pub(super) fn reading(reading: &Reading) -> Cell {
    let how = match reading.how {
        ReadAccess::SameOrigin => "same origin",
        ReadAccess::WithCredentials => "with credentials",
        ReadAccess::WithoutCredentials => "without credentials",
        ReadAccess::Script => "as a script",
    };
    let mut words = vec![how.to_owned()];
    words.extend(reading.methods.iter().map(|methods| format!("by {}", methods.join(" or "))));
    words.extend(reading.if_listed.iter().map(|list| format!("if list {list} has it")));
    Cell::list(words)
}

/// The function, the line of its policy, and what levels around it decided.
pub(super) fn declared(route: &ManifestRoute, sources: &Sources) -> Cell {
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
    for (name, words) in [
        ("Sessions", app.sessions.as_ref().map(SessionFacts::words)),
        ("Tokens", app.tokens.as_ref().map(TokenFacts::words)),
        ("Engine of rules", app.engine.as_ref().map(EngineFacts::words)),
        ("Trusted proxies", Some(app.proxies.clone())),
        ("Layers", Some(app.layers.clone())),
        ("TLS", app.tls.as_ref().map(TlsFacts::words)),
        ("Connections", Some(app.server.words())),
    ] {
        let words = words.unwrap_or_default();
        if !words.is_empty() {
            facts.push((name, Cell::list(words)));
        }
    }
    for (name, list) in &app.lists {
        facts.push(("List of origins", Cell::list([name.clone()].into_iter().chain(list.words()))));
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

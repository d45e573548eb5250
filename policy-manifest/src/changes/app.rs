//! The changes of the facts about an app as a whole.

use std::collections::BTreeSet;

use policy_core::path::TrailingSlash;

use super::{Change, change};
use crate::{
    AppFacts,
    facets::{Direction, set, sets},
};

/// The changes of the facts about the app as a whole.
pub(super) fn of_app(old: &AppFacts, new: &AppFacts) -> Vec<Change> {
    let mut found = Vec::new();
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
            // Sibling hosts, and pages without HTTPS, cannot set a cookie of this name (RFC 6265bis
            // 4.1.3).
            let protection = |cookie: &str| match cookie.to_ascii_lowercase() {
                name if name.starts_with("__host-") => 2,
                name if name.starts_with("__secure-") => 1,
                _ => 0,
            };
            let [before, after] = [&old.cookie, &new.cookie].map(|cookie| protection(cookie));
            let opens = strictness(&new.same_site) > strictness(&old.same_site)
                || after < before
                || (new.domain != old.domain && new.domain.is_some())
                || (old.partitioned && !new.partitioned);
            let narrows = strictness(&new.same_site) < strictness(&old.same_site)
                || after > before
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

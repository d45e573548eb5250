//! What a route lacks of the protections that a rule requires, apart from CSRF.

use std::collections::BTreeMap;

use policy_core::path::PathTemplate;

use super::{
    error::plain,
    rule::{Lifetime, Require},
};
use crate::{
    AppFacts, Manifest, ManifestRoute, ObjectKey, RouteRate,
    facets::{exceeds, is_as_strict, shown_rate, storers},
};

/// A protection that is missing or too weak: the facet that states it, and the words.
pub(super) type Fault = (&'static str, String);

pub(super) fn faults(manifest: &Manifest, route: &ManifestRoute, require: &Require) -> Vec<Fault> {
    let mut faults = Vec::new();
    if let Some((rate, text)) = &require.rate {
        faults.extend(check_rate(route, *rate, text).map(|words| ("limits", words)));
    }
    for (header, weakest) in &require.headers {
        let words = check_header(manifest, route, (header, weakest));
        faults.extend(words.map(|words| ("headers", words)));
    }
    if let Some(most) = require.cache
        && storers(route) > most as u8
    {
        let has = route.cache.as_ref().map(|cache| format!("`{}`", plain(&cache.control())));
        let has = has.unwrap_or_else(|| "left to handlers".to_owned());
        faults.push(("cache", format!("its caching is {has}, and `{}` is required", most.name())));
    }
    if require.objects {
        faults.extend(unchecked(route).map(|words| ("object", words)));
    }
    faults
}

/// The first parameter of the path that is the key of no object.
fn unchecked(route: &ManifestRoute) -> Option<String> {
    let template = PathTemplate::parse(&route.path).ok()?;
    let uses = route.object.iter().flat_map(|objects| &objects.uses);
    let keys: Vec<_> = uses.map(|it| &it.key).collect();
    let is_checked =
        |name: &str| keys.iter().any(|key| matches!(key, ObjectKey::Parameter(of) if of == name));
    let name = template.parameters().find(|name| !is_checked(name))?;
    let exempt = route.object.as_ref().and_then(|objects| objects.none.as_ref());
    let reason = exempt.map(|reason| format!(", for the reason `{}`", plain(reason)));
    let name = plain(name);
    Some(format!("it takes `{name}` without an object{}", reason.unwrap_or_default()))
}

/// What lives for longer than a rule allows, or for an unstated time.
pub(super) fn too_long(
    app: &AppFacts,
    most: &BTreeMap<Lifetime, (u64, String)>,
) -> impl Iterator<Item = String> {
    most.iter().flat_map(|(lifetime, (most, text))| {
        let (sessions, tokens) = (app.sessions.as_ref(), app.tokens.as_ref());
        let signing = tokens.filter(|facts| facts.issuer.is_some());
        // Nothing is checked that the app does not have.
        let times: Vec<(&str, Option<u64>)> = match lifetime {
            Lifetime::Session => sessions.map_or(Vec::new(), |facts| {
                let remembered = facts.remembered_absolute_s.map(Some);
                let remembered =
                    remembered.map(|time| ("a session of a user who stays logged in", time));
                [("a session", facts.absolute_s)].into_iter().chain(remembered).collect()
            }),
            Lifetime::SessionIdle => sessions.map_or(Vec::new(), |facts| {
                let remembered = facts.remembered_idle_s.map(Some);
                let remembered = remembered
                    .map(|time| ("a session without requests of a user who stays logged in", time));
                [("a session without requests", facts.idle_s)]
                    .into_iter()
                    .chain(remembered)
                    .collect()
            }),
            Lifetime::Token => {
                signing.map(|facts| ("a token", facts.lifetime_s)).into_iter().collect()
            }
            // Not every app has refresh tokens.
            Lifetime::RefreshToken => {
                let time = signing.and_then(|facts| facts.refresh_lifetime_s);
                time.map(|time| ("a refresh token", Some(time))).into_iter().collect()
            }
        };
        let too_long = times.into_iter().filter(|(_, time)| time.is_none_or(|time| time > *most));
        let words = too_long.map(move |(what, time)| {
            let lives = time.map_or_else(
                || "for a time that the policy does not state".to_owned(),
                |time| format!("for {time} s"),
            );
            format!("{what} lives {lives}, and at most `{text}` is required")
        });
        words.collect::<Vec<_>>()
    })
}

fn check_rate(route: &ManifestRoute, required: RouteRate, text: &str) -> Option<String> {
    let own = route.limits.rate;
    // A required rate without a key applies however clients are distinguished.
    let is_of_any = !text.contains(" per ");
    let by = own.filter(|_| is_of_any).map_or(required.by, |own| own.by);
    let required = RouteRate { by, ..required };
    let words = own.map_or_else(|| "none".to_owned(), |own| format!("`{}`", shown_rate(own)));
    exceeds(own, Some(required))
        .then(|| format!("its rate is {words}, and at least as strict as `{text}` is required"))
}

/// Checks a header in the set for all responses and in the one for pages: it has to be as strict in
/// each of them that has it.
fn check_header(
    manifest: &Manifest,
    route: &ManifestRoute,
    (name, weakest): (&str, &str),
) -> Option<String> {
    let own = manifest.headers_of(route);
    let sets = own.into_iter().flat_map(|headers| [&headers.every, &headers.pages]);
    let values: Vec<&String> = sets.filter_map(|set| set.get(name)).collect();
    let weakest_words = plain(weakest);
    if values.is_empty() {
        return Some(format!("it has no `{name}`, and `{weakest_words}` is required"));
    }
    let weak = values.into_iter().find(|value| !is_as_strict(name, value, weakest))?;
    let weak = plain(weak);
    Some(format!(
        "its `{name}` is `{weak}`, and at least as strict as `{weakest_words}` is required"
    ))
}

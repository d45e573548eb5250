//! The credentials that two routes may distinguish.

use std::collections::BTreeSet;

use policy_core::auth::OWN_ISSUER;

use super::probe::{Cookie, Credentials, Extra, Slot};
use super::side::Side;
use crate::{ManifestRoute, RouteKind, engine::Login, facets::RouteRequirement};

/// The credentials that a caller may send to one of two routes. Those with the shortest description
/// are first.
pub(super) fn candidates(
    sides: [(&Side, Option<&ManifestRoute>); 2],
    class: &str,
) -> Vec<Credentials> {
    let required = |route: &ManifestRoute| route.auth.requirement().cloned();
    let requirements = sides.map(|(_, route)| route.and_then(required).unwrap_or_default());
    let takes = |of: fn(&RouteRequirement) -> bool| requirements.iter().any(of);
    let takes_session = takes(|requirement| requirement.session)
        || sides.iter().any(|(_, route)| route.is_some_and(|route| route.takes_session));
    let logins = logins(sides, &requirements);
    // Only tokens have issuers.
    let default = default_issuers(&sides).min();
    let of_app = logins.iter().filter(|login| login.issuer == default);
    let of_app: Vec<Login> = of_app.map(|login| Login { issuer: None, ..login.clone() }).collect();
    let slots = |logins: &[Login], is_taken: bool| -> Vec<Slot> {
        let states = [Slot::Invalid, Slot::Unchecked];
        let valid = logins.iter().cloned().map(Slot::Valid);
        let taken = valid.chain(states).filter(|_| is_taken);
        std::iter::once(Slot::Absent).chain(taken).collect()
    };
    let mut bearers = slots(&logins, takes(|requirement| requirement.token));
    if bearers.len() > 1 {
        bearers.push(Slot::Malformed);
    }
    let reads_ambient = |route: &ManifestRoute| route.kind.reads_ambient_credentials();
    if sides.iter().any(|(_, route)| route.is_some_and(reads_ambient)) {
        bearers.push(Slot::OtherScheme);
    }
    let reads = matches!(class, "GET" | "CONNECT");
    let tickets = slots(&logins, reads && takes(|requirement| requirement.ticket));
    let schemes = slots(&of_app, takes(|requirement| requirement.scheme.is_some()));
    let mut cookies = vec![Cookie::Absent, Cookie::Other];
    if takes_session {
        let states = slots(&of_app, true).into_iter().filter(|slot| *slot != Slot::Absent);
        cookies.extend(states.map(Cookie::Session));
        cookies.push(Cookie::TooLarge);
    }
    let mut found = Vec::new();
    for extra in extras(sides.map(|(_, route)| route), class) {
        for bearer in &bearers {
            for ticket in &tickets {
                for scheme in &schemes {
                    for cookie in &cookies {
                        for has_csrf in [false, true] {
                            if has_csrf && !takes_session {
                                continue;
                            }
                            found.push(Credentials {
                                bearer: bearer.clone(),
                                ticket: ticket.clone(),
                                scheme: scheme.clone(),
                                cookie: cookie.clone(),
                                has_csrf,
                                extra: extra.clone(),
                            });
                        }
                    }
                }
            }
        }
    }
    found.sort_by_key(Credentials::length);
    found
}

/// The issuers whose tokens routes take that name none, where that is not the app.
fn default_issuers(sides: &[(&Side, Option<&ManifestRoute>); 2]) -> impl Iterator<Item = String> {
    let issuers = sides.iter().map(|(side, _)| {
        let tokens = side.manifest.app.tokens.as_ref()?;
        match &tokens.issuer {
            Some(_) => None,
            None => tokens.accepts.first().map(|facts| facts.issuer.clone()),
        }
    });
    issuers.flatten()
}

/// Logins, one of each kind that the requirements distinguish.
fn logins(
    sides: [(&Side, Option<&ManifestRoute>); 2],
    requirements: &[RouteRequirement; 2],
) -> Vec<Login> {
    let [one, other] = requirements;
    let default = default_issuers(&sides).min();
    let mut issuers: BTreeSet<_> = default_issuers(&sides).map(Some).chain([None]).collect();
    for issuer in one.issuers.iter().chain(&other.issuers) {
        issuers.insert((issuer != OWN_ISSUER).then(|| issuer.clone()));
    }
    if one.token || other.token || one.ticket || other.ticket {
        issuers.insert(Some("https://unknown.invalid".to_owned()));
    }
    let all = |lists: [&[String]; 2]| {
        let names: BTreeSet<String> = lists.concat().into_iter().collect();
        names.into_iter().collect::<Vec<_>>()
    };
    let both = all([&one.scopes, &other.scopes]);
    let scopes = shortest_first([Vec::new(), one.scopes.clone(), other.scopes.clone(), both]);
    let only = |own: &RouteRequirement, other: &RouteRequirement| {
        own.roles.iter().find(|role| !other.roles.contains(role)).cloned()
    };
    let of_both = one.roles.iter().find(|role| other.roles.contains(role)).cloned();
    let (first, second) = (only(one, other), only(other, one));
    let each = all([first.as_slice(), second.as_slice()]);
    let single = [of_both, first, second].into_iter().flatten().map(|role| vec![role]);
    let roles = shortest_first(single.chain([Vec::new(), each]));
    let limits: BTreeSet<u32> = one.fresh.into_iter().chain(other.fresh).collect();
    let mut ages = vec![Some(0)];
    ages.extend(limits.into_iter().map(Some).chain([None]));
    let mut kinds = BTreeSet::new();
    let mut found = Vec::new();
    for scopes in &scopes {
        for roles in &roles {
            for age in &ages {
                for issuer in &issuers {
                    let login = Login {
                        scopes: scopes.clone(),
                        roles: roles.clone(),
                        age: *age,
                        issuer: issuer.clone(),
                    };
                    let kind = requirements.each_ref().map(|requirement| kind(requirement, &login));
                    let issuer = (issuer.clone(), kind);
                    // The facts of the app decide about issuers, too.
                    if kinds.insert(issuer) {
                        found.push(login);
                    }
                }
            }
        }
    }
    let length = |login: &Login| {
        let is_default = login.issuer.is_none() || login.issuer == default;
        (
            !is_default,
            login.age != Some(0),
            login.scopes.len() + login.roles.len(),
            login.issuer.clone(),
            login.scopes.clone(),
            login.roles.clone(),
        )
    };
    found.sort_by_key(length);
    found
}

/// The lists in an order that does not depend on which of two apps is the old one.
fn shortest_first(lists: impl IntoIterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    let lists: BTreeSet<(usize, Vec<String>)> =
        lists.into_iter().map(|list| (list.len(), list)).collect();
    lists.into_iter().map(|(_, list)| list).collect()
}

/// Whether a login has the rights that are required, and whether it is fresh.
fn kind(requirement: &RouteRequirement, login: &Login) -> (bool, bool) {
    let has_scopes = requirement.scopes.iter().all(|scope| login.scopes.contains(scope));
    let has_role = requirement.has_role(login);
    let is_fresh = requirement.fresh.is_none_or(|most| login.age.is_some_and(|age| age < most));
    (has_scopes && has_role, is_fresh)
}

/// The parts of a request that only some routes read.
fn extras(routes: [Option<&ManifestRoute>; 2], class: &str) -> Vec<Extra> {
    let mut found = vec![Extra::default()];
    let names: BTreeSet<&str> = routes
        .into_iter()
        .flatten()
        .filter_map(|route| route.jsonp.as_ref())
        .map(|jsonp| jsonp.callback.as_str())
        .collect();
    let mut queries = Vec::new();
    for name in &names {
        queries.extend(["show", "a.show", "1"].map(|value| format!("{name}={value}")));
    }
    if let [one, other] = *names.iter().copied().collect::<Vec<_>>() {
        for value in ["show", "a.show", "1"] {
            for another in ["show", "a.show", "1"] {
                queries.push(format!("{one}={value}&{other}={another}"));
            }
        }
    }
    found.extend(queries.into_iter().map(|query| Extra { query: Some(query), ..Extra::default() }));
    match class {
        "PUT" => found.push(Extra { is_part: true, ..Extra::default() }),
        "QUERY" => found.push(Extra { is_untyped: true, ..Extra::default() }),
        "OPTIONS" | "TRACE"
            if routes.iter().flatten().any(|route| route.kind == RouteKind::Proxy) =>
        {
            found.push(Extra { is_last: true, ..Extra::default() });
        }
        _ => (),
    }
    found
}

impl Credentials {
    /// The length of its description.
    fn length(&self) -> usize {
        let slots = [&self.bearer, &self.ticket, &self.scheme];
        let of_slots: usize = slots.iter().map(|slot| slot.length()).sum();
        let of_cookie = match &self.cookie {
            Cookie::Absent => 0,
            Cookie::Session(slot) => slot.length(),
            Cookie::Other => 1,
            // No browser sends this, so an invalid session is the better example.
            Cookie::TooLarge => 7,
        };
        let extra = &self.extra;
        let extras = [extra.query.is_some(), extra.is_part, extra.is_untyped, extra.is_last];
        of_slots + of_cookie + usize::from(self.has_csrf) + extras.iter().filter(|is| **is).count()
    }

    /// The credentials in words, such as "a session with the role `staff`".
    pub(crate) fn words(&self) -> String {
        let mut words = Vec::new();
        match &self.cookie {
            Cookie::Absent => (),
            Cookie::Session(slot) => words.push(slot.words("session")),
            Cookie::Other => words.push(OTHER_COOKIE.to_owned()),
            Cookie::TooLarge => words.push("too many cookies".to_owned()),
        }
        for (slot, name) in
            [(&self.bearer, "token"), (&self.ticket, "ticket"), (&self.scheme, "credential")]
        {
            if *slot != Slot::Absent {
                words.push(slot.words(name));
            }
        }
        if words.is_empty() {
            words.push("no credentials".to_owned());
        }
        if self.has_csrf {
            words.push(CSRF.to_owned());
        }
        if let Some(query) = &self.extra.query {
            words.push(format!("the query `{query}`"));
        }
        let extras = [
            (self.extra.is_part, "a part of a body"),
            (self.extra.is_untyped, "no media type"),
            (self.extra.is_last, "`Max-Forwards: 0`"),
        ];
        words.extend(extras.iter().filter(|(is, _)| *is).map(|(_, word)| (*word).to_owned()));
        words.join(" and ")
    }
}

const CSRF: &str = "its CSRF token";
const OTHER_COOKIE: &str = "a cookie of something else";
const AUTHENTICATION: &str = "HTTP authentication";

impl Slot {
    fn length(&self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Valid(login) => {
                1 + login.scopes.len()
                    + login.roles.len()
                    + usize::from(login.age != Some(0))
                    + usize::from(login.issuer.is_some())
            }
            Self::OtherScheme => 1,
            Self::Invalid | Self::Unchecked | Self::Malformed => 6,
        }
    }

    fn words(&self, name: &str) -> String {
        match self {
            Self::Absent => format!("no {name}"),
            Self::Invalid => format!("an invalid {name}"),
            Self::Unchecked => format!("a {name} that cannot be checked"),
            Self::Malformed => "a malformed `Authorization`".to_owned(),
            Self::OtherScheme => AUTHENTICATION.to_owned(),
            Self::Valid(login) => {
                let mut words = format!("a {name}");
                for (one, many, list) in
                    [("scope", "scopes", &login.scopes), ("role", "roles", &login.roles)]
                {
                    let names: Vec<_> = list.iter().map(|name| format!("`{name}`")).collect();
                    match names.as_slice() {
                        [] => (),
                        [only] => words += &format!(" with the {one} {only}"),
                        names => words += &format!(" with the {many} {}", names.join(" ")),
                    }
                }
                match login.age {
                    Some(0) => (),
                    Some(age) => words += &format!(" of a login {age} s ago"),
                    None => words += " of a login at an unknown time",
                }
                if let Some(issuer) = &login.issuer {
                    words += &format!(" of `{issuer}`");
                }
                words
            }
        }
    }
}

/// The words for some credentials, without credentials that include others: a caller who is
/// admitted without a CSRF token is admitted with one, too.
pub(super) fn words<'a>(all: impl IntoIterator<Item = &'a Credentials>) -> Vec<String> {
    let all: BTreeSet<String> = all.into_iter().map(Credentials::words).collect();
    let is_needed = |words: &&String| {
        let csrf = words.replace(&format!(" and {CSRF}"), "");
        let ambient = [OTHER_COOKIE, AUTHENTICATION].into_iter().flat_map(|credential| {
            [
                words.replace(&format!("{credential} and "), ""),
                words.replace(&format!(" and {credential}"), ""),
                words.replace(credential, "no credentials"),
            ]
        });
        ambient.chain([csrf]).all(|shorter| shorter == **words || !all.contains(&shorter))
    };
    all.iter().filter(is_needed).cloned().collect()
}

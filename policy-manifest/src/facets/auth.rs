//! `#[auth]`: the callers that a route accepts.

use std::fmt;

use policy_core::{
    Refusal,
    auth::{self, AuthPolicy, OWN_ISSUER},
    gates::Gate,
};
use serde::{Deserialize, Serialize};

use super::{
    Cell, Column, Direction, FacetEntry, ManifestRoute, MethodRequests, RefusedRequest, RouteKind,
    ShownRoute, Side, Tone, is_false, sort, texts, words::seconds_in_words,
};
use crate::credentials::{CredentialState, Login, RequestCredentials};

/// The callers that a route accepts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// Anybody, without credentials.
    Public,
    /// Callers with one of these credentials.
    Required(RouteRequirement),
}

/// The credentials that a route takes, and the rights that they must have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct RouteRequirement {
    /// The cookie of a session.
    #[serde(skip_serializing_if = "is_false")]
    pub session: bool,
    /// A bearer token.
    #[serde(skip_serializing_if = "is_false")]
    pub token: bool,
    /// A ticket in the query.
    #[serde(skip_serializing_if = "is_false")]
    pub ticket: bool,
    /// A scheme of the app.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<AppScheme>,
    /// Whether a caller without credentials is admitted as anonymous.
    #[serde(skip_serializing_if = "is_false")]
    pub optional: bool,
    /// The issuers whose tokens are taken; if it is empty, the app itself, or its only issuer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issuers: Vec<String>,
    /// Scopes, all of which are needed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Roles, one of which is needed; if it is empty, none is needed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// The longest time in seconds since the user last authenticated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fresh: Option<u32>,
}

impl fmt::Display for Auth {
    /// As the attribute writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requirement = match self {
            Self::Public => return f.write_str("public"),
            Self::Required(requirement) => requirement,
        };
        let words = [
            ("session", requirement.session),
            ("token", requirement.token),
            ("ticket", requirement.ticket),
        ];
        let words: Vec<_> = words.into_iter().filter_map(|(word, is)| is.then_some(word)).collect();
        f.write_str(&words.join(" | "))?;
        if let Some(scheme) = &requirement.scheme {
            write!(f, "scheme = {}", scheme.name)?;
        }
        if requirement.optional {
            f.write_str(", optional")?;
        }
        for (word, list) in [
            ("issuers", &requirement.issuers),
            ("scopes", &requirement.scopes),
            ("roles", &requirement.roles),
        ] {
            if !list.is_empty() {
                write!(f, ", {word} = {list:?}")?;
            }
        }
        match requirement.fresh {
            Some(seconds) => write!(f, ", fresh = \"{seconds}s\""),
            None => Ok(()),
        }
    }
}

impl Auth {
    /// What it requires of callers, if it requires anything.
    ///
    /// ```
    /// use policy_manifest::{Auth, RouteRequirement};
    ///
    /// let auth = Auth::Required(RouteRequirement { session: true, ..RouteRequirement::default() });
    /// assert!(auth.requirement().is_some_and(|requirement| requirement.session));
    /// assert_eq!(Auth::Public.requirement(), None);
    /// ```
    pub const fn requirement(&self) -> Option<&RouteRequirement> {
        match self {
            Self::Public => None,
            Self::Required(requirement) => Some(requirement),
        }
    }
}

impl RouteRequirement {
    /// Whether browsers send one of the credentials automatically.
    pub fn is_ambient(&self) -> bool {
        self.session || self.scheme.as_ref().is_some_and(|scheme| scheme.ambient)
    }

    /// Whether a login has one of the roles, if any is needed.
    pub(crate) fn has_role(&self, login: &Login) -> bool {
        self.roles.is_empty() || self.roles.iter().any(|role| login.roles.contains(role))
    }
}

/// A scheme of the app.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AppScheme {
    /// Its name.
    pub name: String,
    /// Whether browsers send its credential automatically.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ambient: bool,
}

impl From<&AuthPolicy> for Auth {
    fn from(policy: &AuthPolicy) -> Self {
        match policy {
            AuthPolicy::Public => Self::Public,
            AuthPolicy::Required(requirement) => Self::Required(requirement.into()),
        }
    }
}

impl From<&auth::Requirement> for RouteRequirement {
    fn from(requirement: &auth::Requirement) -> Self {
        let scheme = requirement
            .scheme
            .map(|scheme| AppScheme { name: scheme.name.to_owned(), ambient: scheme.ambient });
        Self {
            session: requirement.session,
            token: requirement.token,
            ticket: requirement.ticket,
            scheme,
            optional: requirement.optional,
            issuers: texts(requirement.issuers),
            scopes: texts(requirement.scopes),
            roles: texts(requirement.roles),
            fresh: requirement.fresh,
        }
    }
}

/// The callers.
pub const CALLERS: Column = Column { is_key: true, ..Column::new("Who may call") };

pub(super) const FACET: FacetEntry = FacetEntry {
    name: "auth",
    attribute: "auth",
    about: "who may call",
    gates: &[Gate::Authenticate, Gate::Authorize],
    why: "A route that does not name its callers is open by accident sooner or later, so \
         each route says who may call it. The requirement has to be possible: a session \
         that no page can send, or a right that nobody can have, locks out everybody and \
         looks like a bug of the client.",
    links: &[(
        "OWASP, Authorization Cheat Sheet",
        "https://cheatsheetseries.owasp.org/cheatsheets/Authorization_Cheat_Sheet.html",
    )],
    columns: &[(CALLERS, callers)],
    normalize,
    refusals,
    relax,
    is_open,
    change,
    ..FacetEntry::NONE
};

fn refusals(MethodRequests { route, method, .. }: MethodRequests<'_>, found: &mut Vec<Refusal>) {
    let takes_session = route.takes_session
        || route.auth.requirement().is_some_and(|requirement| requirement.session);
    if takes_session {
        found.extend([Refusal::CookiesTooLarge, Refusal::CredentialsUnchecked]);
    }
    let Some(requirement) = route.auth.requirement() else { return };
    if route.kind == RouteKind::Tunnel {
        found.push(Refusal::TunnelCredentials);
    } else {
        add_credential_refusals(requirement, method, found);
    }
    if requirement.token || requirement.ticket || requirement.scheme.is_some() {
        found.push(Refusal::CredentialsUnchecked);
    }
    if requirement.token {
        found.push(Refusal::AuthorizationMalformed);
    }
    if !(requirement.scopes.is_empty() && requirement.roles.is_empty()) {
        found.push(Refusal::RightsMissing);
    }
}

/// Adds the refusals with 401, which are 407 for a tunnel.
fn add_credential_refusals(requirement: &RouteRequirement, method: &str, found: &mut Vec<Refusal>) {
    if !requirement.optional {
        found.push(Refusal::CredentialsMissing);
    }
    if requirement.token {
        found.extend([Refusal::TokenInvalid, Refusal::TokenExpired]);
    }
    // No other method takes a ticket.
    if requirement.ticket && matches!(method, "GET" | "CONNECT") {
        found.push(Refusal::TicketInvalid);
    }
    if requirement.scheme.is_some() {
        found.push(Refusal::CredentialInvalid);
    }
    if requirement.fresh.is_some() {
        found.push(Refusal::LoginTooOld);
    }
}

fn relax(route: &mut ManifestRoute, refused: RefusedRequest<'_>) -> Option<String> {
    let Auth::Required(requirement) = &mut route.auth else { return None };
    match refused.refusal {
        Refusal::CredentialsMissing => {
            requirement.optional = true;
            Some("auth: `optional`".to_owned())
        }
        Refusal::RightsMissing => Some(grant(requirement, login(refused.caller)?)),
        Refusal::LoginTooOld => {
            let age = login(refused.caller)?.age;
            requirement.fresh = age.and_then(|age| age.checked_add(1));
            Some(requirement.fresh.map_or_else(
                || "auth: without `fresh`".to_owned(),
                |seconds| format!("auth: `fresh = \"{seconds}s\"`"),
            ))
        }
        _ => None,
    }
}

/// Requires no right that a login lacks.
fn grant(requirement: &mut RouteRequirement, login: &Login) -> String {
    let lacking: Vec<_> =
        requirement.scopes.iter().filter(|scope| !login.scopes.contains(scope)).cloned().collect();
    requirement.scopes.retain(|scope| login.scopes.contains(scope));
    let mut words: Vec<_> =
        lacking.iter().map(|scope| format!("without the scope {scope:?}")).collect();
    let has_role = requirement.has_role(login);
    match login.roles.first() {
        _ if has_role => (),
        Some(role) => {
            requirement.roles.push(role.clone());
            words.push(format!("with the role {role:?}"));
        }
        None => {
            requirement.roles.clear();
            words.push("without roles".to_owned());
        }
    }
    format!("auth: {}", words.join(", "))
}

/// The login of a caller, by any credential.
fn login(caller: &RequestCredentials) -> Option<&Login> {
    [&caller.token, &caller.ticket, &caller.scheme, &caller.session].into_iter().find_map(|state| {
        match state {
            CredentialState::Valid(login) => Some(login),
            _ => None,
        }
    })
}

fn normalize(route: &mut ManifestRoute) {
    if let Auth::Required(requirement) = &mut route.auth {
        for list in [&mut requirement.issuers, &mut requirement.scopes, &mut requirement.roles] {
            sort(list);
        }
    }
}

fn is_open(route: &ManifestRoute) -> bool {
    match &route.auth {
        Auth::Public => route.kind != RouteKind::NotFound,
        Auth::Required(requirement) => requirement.optional,
    }
}

fn change(old: Side<'_>, new: Side<'_>) -> Option<(Direction, String)> {
    let opens = !admits(&old.route.auth, &new.route.auth);
    let narrows = !admits(&new.route.auth, &old.route.auth);
    let direction = match Direction::from_effects(opens, narrows) {
        Some(direction) => direction,
        // The same callers are admitted in another way: `session, optional` and `public`.
        None if old.route.auth != new.route.auth => Direction::Shifts,
        None if old.route.takes_session == new.route.takes_session => return None,
        None => {
            let words = match new.route.takes_session {
                true => "its handler takes the session itself",
                false => "its handler does not take the session any more",
            };
            return Some((Direction::Shifts, words.to_owned()));
        }
    };
    let (old, new) = (old.route.auth.to_string(), new.route.auth.to_string());
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

fn admits_required(outer: &RouteRequirement, inner: &RouteRequirement) -> bool {
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

fn callers(ShownRoute { route, .. }: ShownRoute<'_>) -> Cell {
    match &route.auth {
        Auth::Public => {
            let takes = route.takes_session.then(|| "takes the session".to_owned());
            Cell::list(["everybody".to_owned()].into_iter().chain(takes)).with_tone(Tone::Open)
        }
        Auth::Required(requirement) => Cell::list(required(requirement)),
    }
}

fn required(requirement: &RouteRequirement) -> Vec<String> {
    let RouteRequirement {
        session,
        token,
        ticket,
        scheme,
        optional,
        issuers,
        scopes,
        roles,
        fresh,
    } = requirement;
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

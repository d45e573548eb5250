//! The caller of a request for the engine of a candidate, from what the gates found out.

use std::cell::Cell;

use http::HeaderMap;
use policy_core::{
    Refusal,
    auth::{AuthPolicy, Requirement},
    session::Identity,
    time::Timestamp,
};
use policy_manifest::{
    Auth, ManifestRoute, RouteRequirement as Wanted,
    engine::{CredentialState, CsrfTokenState, Login, RequestCredentials},
};

use crate::auth::{
    RequestAuth, SessionFinding,
    principal::{AuthScheme, CLOCK_SKEW, Principal},
};

/// The findings of the gates about the caller.
pub(super) struct Sender<'a> {
    /// The requirements of the route in force.
    pub(super) auth: &'a AuthPolicy,
    pub(super) request: Option<&'a RequestAuth>,
    pub(super) headers: &'a HeaderMap,
    /// The time at which the request arrived.
    pub(super) at: Timestamp,
    /// Set if the engine cannot express what was found.
    pub(super) is_beyond_words: Cell<bool>,
}

impl Sender<'_> {
    /// The caller for a route of the candidate. A credential that no gate checked is
    /// [`Unchecked`](CredentialState::Unchecked).
    pub(super) fn caller(&self, route: &ManifestRoute) -> RequestCredentials {
        let unchecked = || CredentialState::Unchecked;
        let mut caller = RequestCredentials {
            session: unchecked(),
            token: unchecked(),
            ticket: unchecked(),
            scheme: unchecked(),
            csrf: CsrfTokenState::Absent,
        };
        let Some(request) = self.request else { return caller };
        if let SessionFinding::Live(record) = request.session_finding() {
            caller.csrf = match request.csrf_finding(self.headers, record) {
                None => CsrfTokenState::Absent,
                Some(true) => CsrfTokenState::Valid,
                Some(false) => CsrfTokenState::Invalid,
            };
        }
        caller.session = self.session(request, route);
        let Some(wanted) = route.auth.requirement() else { return caller };
        let AuthPolicy::Required(required) = self.auth else { return caller };
        // Another issuer or scheme was not consulted.
        let (refused, who) = (request.refusal(), request.recognized());
        let is_same_issuer = wanted.issuers.iter().eq(required.issuers);
        match who.map(Principal::scheme) {
            Some(AuthScheme::Token) => caller.token = self.valid(who, required),
            Some(AuthScheme::Ticket) => caller.ticket = self.valid(who, required),
            Some(AuthScheme::Own(_)) if is_same_scheme(wanted, required) => {
                caller.scheme = self.valid(who, required);
            }
            _ => (),
        }
        match refused {
            Some(Refusal::TokenExpired) if is_same_issuer => {
                caller.token = CredentialState::Expired;
            }
            Some(Refusal::TokenInvalid) if is_same_issuer => {
                caller.token = CredentialState::Invalid;
            }
            Some(Refusal::TicketInvalid) if is_same_issuer => {
                caller.ticket = CredentialState::Invalid;
            }
            Some(Refusal::CredentialInvalid) if is_same_scheme(wanted, required) => {
                caller.scheme = CredentialState::Invalid;
            }
            // The scheme ran and found no credential.
            None | Some(Refusal::CredentialsMissing | Refusal::CsrfOrigin)
                if who.is_none() && is_same_scheme(wanted, required) =>
            {
                caller.scheme = CredentialState::Absent;
            }
            _ => (),
        }
        caller
    }

    fn session(&self, request: &RequestAuth, route: &ManifestRoute) -> CredentialState {
        let record = match request.session_finding() {
            SessionFinding::Unasked | SessionFinding::Unavailable => {
                return CredentialState::Unchecked;
            }
            SessionFinding::Nobody => return CredentialState::Invalid,
            SessionFinding::Live(record) => record,
        };
        match (&record.identity, &route.auth) {
            (Some(identity), _) => {
                let required = match self.auth {
                    AuthPolicy::Required(required) => Some(required),
                    _ => None,
                };
                let age = self.age(request.refusal(), record.authenticated, required);
                CredentialState::Valid(login(identity, age, None))
            }
            // Nobody is logged in, but the session has a CSRF token.
            (None, Auth::Public) => CredentialState::valid(),
            (None, Auth::Required(_)) => {
                if route.takes_session {
                    self.is_beyond_words.set(true);
                }
                CredentialState::Invalid
            }
        }
    }

    fn valid(&self, who: Option<&Principal>, required: &Requirement) -> CredentialState {
        let Some(who) = who else { return CredentialState::Unchecked };
        let refused = self.request.and_then(RequestAuth::refusal);
        let age = self.age(refused, who.authenticated_at(), Some(required));
        let identity = who.caller().identity;
        CredentialState::Valid(login(&identity, age, who.foreign_issuer()))
    }

    /// Seconds since the login. Time has passed since the gate checked them; its result is kept.
    fn age(
        &self,
        refused: Option<Refusal>,
        authenticated: Option<Timestamp>,
        required: Option<&Requirement>,
    ) -> Option<u32> {
        let at = authenticated.filter(|at| *at <= self.at.after(CLOCK_SKEW))?;
        let age = u32::try_from(self.at.since(at).as_secs()).unwrap_or(u32::MAX);
        Some(match (refused, required.and_then(|required| required.fresh)) {
            (Some(Refusal::LoginTooOld), Some(limit)) => age.max(limit),
            (None, Some(limit)) => age.min(limit.saturating_sub(1)),
            _ => age,
        })
    }
}

fn is_same_scheme(wanted: &Wanted, required: &Requirement) -> bool {
    match (&wanted.scheme, required.scheme) {
        (Some(wanted), Some(required)) => wanted.name == required.name,
        _ => false,
    }
}

fn login(identity: &Identity, age: Option<u32>, issuer: Option<&str>) -> Login {
    let texts = |list: &[Box<str>]| list.iter().map(ToString::to_string).collect();
    Login {
        scopes: texts(&identity.scopes),
        roles: texts(&identity.roles),
        age,
        issuer: issuer.map(str::to_owned),
    }
}

//! Gates 5 to 9: where a request comes from, who sent it, and what they may do.

mod background;
pub(crate) mod caller;
mod challenge;
mod credential_error;
mod cut_offs;
#[cfg(feature = "manifest")]
mod findings;
mod form_token;
mod last_credential;
pub(crate) mod principal;
mod request_auth;
pub(crate) mod revocation_events;
pub(crate) mod scheme;
pub(crate) mod sent_credentials;
pub(crate) mod session;
mod session_cookie;
mod store_era;
mod stream_revocation;
pub(crate) mod tokens;
pub(crate) mod websocket_protocol;

use std::{any::TypeId, sync::Arc};

use axum_core::response::Response;
use http::{HeaderValue, Request};
use policy_core::{
    Refusal, Rule,
    auth::{AuthPolicy, Challenges},
    csrf::CsrfPolicy,
    head::OwnOrigin,
};
use tokio::sync::watch;

pub(crate) use challenge::Denial;
pub use credential_error::CredentialError;
pub(crate) use cut_offs::{CutOffs, Ending, KnownCutOffs, StoreCutOffs};
#[cfg(feature = "manifest")]
pub(crate) use findings::SessionFinding;
pub(crate) use last_credential::LastCredential;
pub(crate) use request_auth::{Commit, RequestAuth, SettledResponse};
#[cfg(feature = "testing")]
pub(crate) use stream_revocation::is_event_stream;
pub(crate) use stream_revocation::{RevocationSignal, end_when, end_with_service, lasts};

use crate::{
    auth::{
        revocation_events::RevocationBus, scheme::SharedScheme, session::SessionService,
        tokens::TokenService,
    },
    base::{clock::Clock, log::RefusalLog, task::BackgroundTask},
};

/// Authenticates the callers of an app.
#[derive(Debug)]
pub(crate) struct AuthService {
    pub(crate) sessions: Option<Arc<SessionService>>,
    pub(crate) tokens: Option<Arc<TokenService>>,
    /// Whether tokens are accepted in `Sec-WebSocket-Protocol`.
    pub(crate) takes_websocket_protocol: bool,
    pub(crate) clock: Clock,
    /// Whether the app has no public origin, so that responses explain themselves.
    pub(crate) is_development: bool,
    pub(crate) revocation_bus: RevocationBus,
    /// Each commit in progress holds a receiver. It may outlast its connection.
    pub(crate) commits: watch::Sender<()>,
    pub(crate) refusals: RefusalLog,
    /// The background tasks, aborted when this is dropped.
    pub(crate) background_tasks: Vec<BackgroundTask>,
}

impl AuthService {
    /// A service without sessions, tokens or schemes.
    pub(crate) fn new(own: &OwnOrigin, clock: Clock, revocation_bus: RevocationBus) -> Self {
        Self {
            sessions: None,
            tokens: None,
            takes_websocket_protocol: false,
            clock,
            is_development: *own == OwnOrigin::Development,
            revocation_bus,
            commits: watch::Sender::new(()),
            refusals: RefusalLog::default(),
            background_tasks: Vec::new(),
        }
    }

    /// The refusal of requests that need a store that currently cannot write, if there is one.
    pub(crate) fn unwritable(&self) -> Option<Refusal> {
        if self.sessions.as_ref().is_some_and(|sessions| !sessions.is_writable()) {
            return Some(Refusal::SessionStore);
        }
        let tokens = self.tokens.as_ref().filter(|tokens| !tokens.is_writable());
        tokens.map(|_| Refusal::TokenStoreUnavailable)
    }

    /// The newest cut-offs that this process knows.
    pub(crate) fn known_cut_offs(&self) -> KnownCutOffs {
        KnownCutOffs {
            sessions: self.sessions.as_ref().map_or(0, |sessions| sessions.newest_cut_off()),
            tokens: self.tokens.as_ref().map_or(0, |tokens| tokens.newest_cut_off()),
        }
    }

    /// Logs a refusal and builds the response.
    pub(crate) fn refuse<B>(&self, refusal: Refusal, request: &Request<B>) -> Response {
        let denied = Denial::from(refusal);
        self.deny(request.method(), request.uri().path(), request.headers(), denied)
    }
}

/// The requirements of one route for its callers.
#[derive(Clone, Debug)]
pub(crate) struct RouteAuth {
    pub(crate) auth: AuthPolicy,
    pub(crate) csrf: CsrfPolicy,
    /// The scheme that the policy names.
    pub(crate) scheme: Option<SharedScheme>,
    /// The challenges for a client without a valid token, on a route that takes tokens.
    challenges: Option<Challenges>,
    /// Whether unsafe requests without a caller need a permitted origin, too, because the service
    /// that responds may use its own cookies.
    pub(crate) checks_anonymous: bool,
}

/// The protection space of bearer tokens (RFC 9110 11.5): the whole service is one.
const REALM: &str = "api";

impl RouteAuth {
    /// The requirements that a policy states.
    pub(crate) fn new(
        auth: AuthPolicy,
        csrf: CsrfPolicy,
        scheme: Option<SharedScheme>,
    ) -> Result<Self, Rule> {
        let challenges = match &auth {
            AuthPolicy::Required(policy) if policy.token => {
                Some(Challenges::new(REALM, policy.scopes)?)
            }
            _ => None,
        };
        Ok(Self { auth, csrf, scheme, challenges, checks_anonymous: false })
    }

    /// No requirements.
    pub(crate) const fn public() -> Self {
        Self {
            auth: AuthPolicy::Public,
            csrf: CsrfPolicy::Token,
            scheme: None,
            challenges: None,
            checks_anonymous: false,
        }
    }

    /// These requirements for a service without attributes.
    pub(crate) fn for_service(self) -> Self {
        Self { checks_anonymous: true, ..self }
    }

    /// Its callers, with the type of their scheme.
    pub(crate) fn callers(&self) -> (AuthPolicy, Option<TypeId>) {
        (self.auth, self.scheme.as_ref().map(|scheme| scheme.id))
    }

    /// Whether a credential of the route may be in `Authorization`: a bearer token, or one of a scheme.
    fn takes_authorization(&self) -> bool {
        matches!(self.auth, AuthPolicy::Required(policy) if policy.token || policy.scheme.is_some())
    }

    /// Whether browsers attach the scheme's credential automatically.
    fn is_ambient(&self) -> bool {
        let AuthPolicy::Required(policy) = &self.auth else { return false };
        policy.scheme.is_some_and(|own| own.ambient)
    }

    pub(crate) fn challenge(&self, refusal: Refusal) -> Option<HeaderValue> {
        let own = || match refusal {
            Refusal::CredentialsMissing | Refusal::CredentialInvalid => {
                self.scheme.as_ref().and_then(SharedScheme::challenge)
            }
            _ => None,
        };
        let bearer =
            self.challenges.as_ref().and_then(|challenges| challenges.for_refusal(refusal));
        bearer.cloned().or_else(own)
    }
}

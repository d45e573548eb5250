//! Gate 7: verifies the credential that counts, or loads the session.

use axum_core::body::Body;
use http::{HeaderMap, Method, Request, Uri, request::Parts};
use policy_core::{
    Refusal,
    auth::{OwnScheme, Requirement},
    gates::{
        self,
        authenticate::{Credential, CredentialKinds, credential},
    },
    token::TokenError,
};

use crate::{
    auth::{
        Denial, LastCredential, RequestAuth, RouteAuth,
        principal::Principal,
        scheme::{AuthError, SharedScheme},
        session::Load,
    },
    base::{escape::printable, event::log},
    store::StoreError,
};

/// The parts of a request head that authentication and authorization read.
#[derive(Clone, Copy)]
pub(crate) struct AuthView<'a> {
    pub(crate) method: &'a Method,
    pub(crate) uri: &'a Uri,
    pub(crate) headers: &'a HeaderMap,
}

impl<'a> AuthView<'a> {
    pub(crate) fn new(request: &'a Request<Body>) -> Self {
        Self { method: request.method(), uri: request.uri(), headers: request.headers() }
    }

    pub(crate) fn from_parts(parts: &'a Parts) -> Self {
        Self { method: &parts.method, uri: &parts.uri, headers: &parts.headers }
    }
}

/// A recognised caller.
pub(crate) struct AuthenticatedCaller {
    pub(crate) principal: Principal,
    /// Whether the browser attached the credential by itself, as it does with cookies.
    pub(crate) is_ambient: bool,
}

/// How far authentication gets without waiting.
enum AuthStep<'a> {
    /// Authentication is complete; `None` is an anonymous caller.
    Known(Option<AuthenticatedCaller>),
    /// A ticket has to be taken from its store.
    Ticket(&'a str),
    /// A scheme of the application has to run.
    Own(OwnScheme),
    /// A session has to be loaded.
    Load,
}

/// Authenticates, if that needs no waiting.
pub(crate) fn check_now(
    auth: &mut RequestAuth,
    policy: &Requirement,
    view: AuthView<'_>,
    last: Option<&LastCredential>,
) -> Option<Result<Option<AuthenticatedCaller>, Denial>> {
    match auth.step(policy, view, last) {
        Ok(AuthStep::Known(caller)) => Some(Ok(caller)),
        Ok(AuthStep::Load) => {
            let caller = auth.load_early(view.headers, last).map(session_caller)?;
            Some(caller.inspect(|caller| note_epoch(auth, caller.as_ref())))
        }
        Ok(AuthStep::Ticket(_) | AuthStep::Own(_)) => None,
        Err(denied) => Some(Err(denied)),
    }
}

pub(crate) async fn check_later(
    auth: &RequestAuth,
    route: &RouteAuth,
    policy: &Requirement,
    parts: &Parts,
    body: &mut Body,
) -> Result<Option<AuthenticatedCaller>, Denial> {
    let view = AuthView::from_parts(parts);
    match auth.step(policy, view, None)? {
        AuthStep::Known(caller) => Ok(caller),
        AuthStep::Ticket(text) => auth.redeem(text, policy).await,
        AuthStep::Own(own) => match &route.scheme {
            Some(scheme) => ask(own, scheme, parts, body).await,
            None => Err(Refusal::Internal.into()),
        },
        AuthStep::Load => {
            let caller = session_caller(auth.session(view.headers)?.load().await)?;
            note_epoch(auth, caller.as_ref());
            Ok(caller)
        }
    }
}

/// A caller with the clock that says how long ago the login was.
pub(super) struct KnownCaller<'a> {
    pub(super) caller: &'a AuthenticatedCaller,
    pub(super) auth: &'a RequestAuth,
}

impl gates::GatedCaller for KnownCaller<'_> {
    fn is_ambient(&self) -> bool {
        self.caller.is_ambient
    }

    fn has_scope(&self, scope: &str) -> bool {
        self.caller.principal.has_scope(scope)
    }

    fn has_role(&self, role: &str) -> bool {
        self.caller.principal.has_role(role)
    }

    fn is_fresh(&self, seconds: u32) -> bool {
        self.caller.principal.is_fresh(seconds, || self.auth.guard().clock.steady())
    }
}

impl RequestAuth {
    fn step<'a>(
        &self,
        policy: &Requirement,
        view: AuthView<'a>,
        last: Option<&LastCredential>,
    ) -> Result<AuthStep<'a>, Denial> {
        let Requirement { session, token, ticket, scheme, .. } = *policy;
        let taken = CredentialKinds { session, token, ticket, scheme: scheme.is_some() };
        let (query, headers) = (view.uri.query(), view.headers);
        let counts = credential(taken, view.method, query, headers, self.sender());
        Ok(match counts.map_err(|(_gate, refusal)| Denial::from(refusal))? {
            Credential::None => AuthStep::Known(None),
            Credential::Bearer(token) => {
                let principal = self.verify(token, policy, last)?;
                AuthStep::Known(Some(AuthenticatedCaller { principal, is_ambient: false }))
            }
            Credential::Ticket(text) => AuthStep::Ticket(text),
            Credential::Scheme => AuthStep::Own(scheme.ok_or(Refusal::Internal)?),
            Credential::Session => AuthStep::Load,
        })
    }

    fn verify(
        &self,
        token: &[u8],
        policy: &Requirement,
        last: Option<&LastCredential>,
    ) -> Result<Principal, Denial> {
        let service = self.guard().tokens.as_ref().ok_or(Refusal::Internal)?;
        let verified = service.verify(token, policy.issuers, self.guard().clock.now(), last);
        verified.map(Principal::from_token).map_err(|error| {
            let refusal = match error {
                TokenError::Expired => Refusal::TokenExpired,
                TokenError::StoreUnavailable | TokenError::KeysUnavailable => {
                    Refusal::CredentialsUnchecked
                }
                _ => Refusal::TokenInvalid,
            };
            Denial::from(refusal).cause(error)
        })
    }

    /// Redeems a ticket, unless the session in which it was issued has ended or lost rights, or the
    /// route does not take the issuer of the token from which it was issued.
    async fn redeem(
        &self,
        text: &str,
        policy: &Requirement,
    ) -> Result<Option<AuthenticatedCaller>, Denial> {
        let service = self.guard().tokens.as_ref().ok_or(Refusal::Internal)?;
        let unchecked = |error: StoreError| {
            let text = error.to_string();
            log!(TicketUnchecked, error = %printable(&text));
            Denial::unchecked()
        };
        let ticket = service.take_ticket(text).await.map_err(unchecked)?;
        let ticket = ticket.ok_or(Refusal::TicketInvalid)?;
        // A ticket issued from a token carries the session id of that token.
        if let (None, Some(handle)) = (&ticket.token, ticket.session) {
            let sessions = self.guard().sessions.as_ref().ok_or(Refusal::Internal)?;
            let lives = sessions.lives(&ticket.identity, handle).await;
            if !lives.map_err(unchecked)? {
                return Err(Refusal::TicketInvalid.into());
            }
        }
        let principal = Principal::from_ticket(ticket);
        if !service.takes(policy.issuers, principal.foreign_issuer()) {
            return Err(Refusal::TicketInvalid.into());
        }
        Ok(Some(AuthenticatedCaller { principal, is_ambient: false }))
    }
}

/// The caller according to the session store.
fn session_caller(loaded: Load<'_>) -> Result<Option<AuthenticatedCaller>, Denial> {
    let loaded = loaded.map_err(|_logged| Denial::unchecked())?;
    let principal = loaded.and_then(Principal::from_session);
    Ok(principal.map(|principal| AuthenticatedCaller { principal, is_ambient: true }))
}

fn note_epoch(auth: &RequestAuth, caller: Option<&AuthenticatedCaller>) {
    if let Some(record) = caller.and_then(|caller| caller.principal.record()) {
        auth.know_epoch(record.epoch);
    }
}

/// Runs a scheme of the application.
async fn ask(
    own: OwnScheme,
    scheme: &SharedScheme,
    parts: &Parts,
    body: &mut Body,
) -> Result<Option<AuthenticatedCaller>, Denial> {
    match scheme.authenticate(parts, body).await {
        Ok(identity) => Ok(identity.map(|identity| AuthenticatedCaller {
            principal: Principal::from_scheme(own.name, identity),
            is_ambient: own.ambient,
        })),
        Err(AuthError::Invalid) => Err(Refusal::CredentialInvalid.into()),
        Err(AuthError::Unavailable(error)) => {
            let text = error.to_string();
            log!(SchemeFailed, error = %printable(&text));
            Err(Denial::unchecked())
        }
        Err(AuthError::Body(rejection)) => Err(rejection.into()),
    }
}

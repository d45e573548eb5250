//! Gates 7 to 9: who sent a request, whether they meant to, and whether they may.

use axum_core::body::Body;
use http::{HeaderValue, Method, Uri, request::Parts};
use policy_core::{
    Refusal,
    auth::{AuthPolicy, Authorization, Requirement, authorization, local_path},
    time::Timestamp,
    token::TokenError,
};

use super::{Denied, RequestAuth, RouteGuard};
use crate::{
    extract::{BodyRejection, printable},
    principal::Principal,
    problem::Problem,
    scheme::{AuthError, SharedScheme},
    store::StoreError,
};

/// Whoever was recognised.
struct Found {
    principal: Principal,
    /// Whether their browser sent the credential by itself.
    is_ambient: bool,
}

impl RequestAuth {
    /// Lets a request through to its handler, or says why not.
    pub(crate) async fn admit(
        &self,
        route: &RouteGuard,
        parts: &Parts,
        body: &mut Body,
    ) -> Result<(), Denied> {
        let admitted = self.ask(route, parts, body).await;
        admitted.map_err(|denied| {
            let challenge = route.challenge(denied.refusal());
            denied.challenge(challenge)
        })
    }

    async fn ask(&self, route: &RouteGuard, parts: &Parts, body: &mut Body) -> Result<(), Denied> {
        let AuthPolicy::Required(policy) = &route.auth else {
            return self.read_form(parts, body).await;
        };
        let now = self.guard().clock.now();
        let found = self.authenticate(policy, route.scheme.as_ref(), parts, body, now).await?;
        let Some(Found { principal, is_ambient }) = found else {
            if policy.optional {
                return self.read_form(parts, body).await;
            }
            let login = if policy.session { self.login_page(parts) } else { None };
            return Err(Denied::from(Refusal::CredentialsMissing).login(login));
        };
        self.read_form(parts, body).await?;
        if is_ambient {
            self.check_forgery(&parts.headers, principal.record())?;
        }
        principal.satisfies(policy, now)?;
        let _ = self.principal.set(principal);
        Ok(())
    }

    /// Looks for the anti-forgery token in the body, once nothing else is left to refuse before.
    async fn read_form(&self, parts: &Parts, body: &mut Body) -> Result<(), Denied> {
        if let Some(form) = self.form(&parts.headers)
            && let Some(token) = form.token(body).await.map_err(Denied::from)?
        {
            let _ = self.form_token.set(token);
        }
        Ok(())
    }

    /// Gate 7. A bearer token decides alone where the route takes one; a credential that is no
    /// good is refused, and never passed over for another.
    async fn authenticate(
        &self,
        policy: &Requirement,
        scheme: Option<&SharedScheme>,
        parts: &Parts,
        body: &mut Body,
        now: Timestamp,
    ) -> Result<Option<Found>, Denied> {
        let explicit = |principal| Ok(Some(Found { principal, is_ambient: false }));
        if policy.token {
            match authorization(&parts.headers) {
                Authorization::None | Authorization::OtherScheme => (),
                Authorization::Bearer(token) => return explicit(self.verify(token, now)?),
                Authorization::Invalid => {
                    return Err(Refusal::AuthorizationMalformed.into());
                }
            }
        }
        if policy.ticket
            && let Some(text) = ticket(&parts.uri)
        {
            return explicit(self.redeem(text).await?);
        }
        if let (Some(own), Some(scheme)) = (policy.scheme, scheme) {
            let found = scheme.authenticate(parts, body).await;
            let identity = found.map_err(|error| match error {
                AuthError::Invalid => Refusal::CredentialInvalid.into(),
                AuthError::Unavailable(error) => {
                    let text = error.to_string();
                    tracing::error!(error = %printable(&text), "a scheme failed");
                    Denied::unchecked()
                }
                AuthError::Body(rejection) => Denied::from(rejection),
            })?;
            return Ok(identity.map(|identity| Found {
                principal: Principal::of_scheme(own.name, identity),
                is_ambient: own.ambient,
            }));
        }
        if policy.session {
            let session = self.session(&parts.headers)?;
            let loaded = session.load().await.map_err(|_logged| Denied::unchecked())?;
            let principal = loaded.and_then(Principal::of_session);
            return Ok(principal.map(|principal| Found { principal, is_ambient: true }));
        }
        Ok(None)
    }

    fn verify(&self, token: &[u8], now: Timestamp) -> Result<Principal, Denied> {
        let service = self.guard().tokens.as_ref().ok_or(Refusal::Internal)?;
        service.verify(token, now).map(Principal::of_token).map_err(|error| {
            let refusal = match error {
                TokenError::Expired => Refusal::TokenExpired,
                TokenError::StoreUnavailable => Refusal::CredentialsUnchecked,
                _ => Refusal::TokenInvalid,
            };
            Denied::from(refusal).detail(error.code())
        })
    }

    async fn redeem(&self, text: &str) -> Result<Principal, Denied> {
        let service = self.guard().tokens.as_ref().ok_or(Refusal::Internal)?;
        let unchecked = |error: StoreError| {
            let text = error.to_string();
            tracing::error!(error = %printable(&text), "a ticket could not be checked");
            Denied::unchecked()
        };
        let ticket = service.take_ticket(text).await.map_err(unchecked)?;
        let ticket = ticket.ok_or(Refusal::TicketInvalid)?;
        // One that was made with a token names the session of that.
        if let (None, Some(handle)) = (&ticket.token, ticket.session) {
            let sessions = self.guard().sessions.as_ref().ok_or(Refusal::Internal)?;
            let lives = sessions.lives(&ticket.identity.subject, handle).await;
            if !lives.map_err(unchecked)? {
                return Err(Refusal::TicketInvalid.into());
            }
        }
        Ok(Principal::of_ticket(ticket))
    }

    /// Where somebody who opened a page by its address goes to log in.
    fn login_page(&self, parts: &Parts) -> Option<HeaderValue> {
        let page = self.guard().sessions.as_ref()?.login_page()?;
        let navigates = parts.headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate");
        if !navigates || parts.method != Method::GET {
            return None;
        }
        let next = parts.uri.path_and_query().and_then(|next| local_path(next.as_str()));
        // Back to the page that was asked for, unless its path could be taken for another host.
        let Some(next) = next else { return HeaderValue::from_str(page).ok() };
        let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
        let sign = if page.contains('?') { '&' } else { '?' };
        HeaderValue::from_str(&format!("{page}{sign}next={next}")).ok()
    }
}

/// The ticket in a query: `?ticket=`, once.
fn ticket(uri: &Uri) -> Option<&str> {
    let mut tickets =
        uri.query()?.split('&').filter_map(|parameter| parameter.strip_prefix("ticket="));
    match (tickets.next(), tickets.next()) {
        (Some(ticket), None) => Some(ticket),
        _ => None,
    }
}

impl From<BodyRejection> for Denied {
    fn from(rejection: BodyRejection) -> Self {
        Self::problem(Refusal::BodyIncomplete, Problem::from(rejection))
    }
}

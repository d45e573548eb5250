//! Gates 7 to 9: who sent a request, whether they meant to, and whether they may.

use axum_core::body::Body;
use http::{HeaderMap, HeaderValue, Method, Uri, request::Parts};
use policy_core::{
    Refusal,
    auth::{
        AuthPolicy, Requirement,
        bearer::{Authorization, authorization},
        challenge::{Failure, challenge},
    },
    time::Timestamp,
    token::TokenError,
};

use super::{Denied, RequestAuth, RouteGuard};
use crate::{
    extract::BodyRejection,
    principal::{Principal, Unmet},
    problem::Problem,
    scheme::{AuthError, SharedScheme},
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
        if let Some(form) = self.form(&parts.headers)
            && let Some(token) = form.token(body).await.map_err(Denied::from)?
        {
            let _ = self.form_token.set(token);
        }
        let AuthPolicy::Required(policy) = &route.auth else { return Ok(()) };
        let now = self.guard().clock.now();
        let found = self.authenticate(policy, route.scheme.as_ref(), parts, body, now).await?;
        let Some(Found { principal, is_ambient }) = found else {
            return if policy.optional { Ok(()) } else { Err(self.unknown(policy, route, parts)) };
        };
        if is_ambient {
            self.check_forgery(&parts.headers, principal.record())?;
        }
        principal.satisfies(policy, now).map_err(|unmet| lacking(&principal, policy, unmet))?;
        let _ = self.principal.set(principal);
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
                    return Err(Denied::from(Refusal::AuthorizationMalformed)
                        .challenge(bearer(Failure::InvalidRequest)));
                }
            }
        }
        if policy.ticket
            && let Some(text) = ticket(&parts.uri)
        {
            return explicit(self.redeem(text, now).await?);
        }
        if let (Some(own), Some(scheme)) = (policy.scheme, scheme) {
            let found = scheme.authenticate(parts, body).await;
            let identity = found.map_err(|error| match error {
                AuthError::Invalid => {
                    Denied::from(Refusal::CredentialInvalid).challenge(scheme.challenge())
                }
                AuthError::Unavailable(error) => Denied::unavailable(error),
                AuthError::Body(rejection) => Denied::from(rejection),
            })?;
            return Ok(identity.map(|identity| Found {
                principal: Principal::of_scheme(own.name, identity),
                is_ambient: own.ambient,
            }));
        }
        if policy.session {
            let loaded = self.session(&parts.headers)?.load().await.map_err(Denied::unavailable)?;
            let principal = loaded.as_ref().and_then(Principal::of_session);
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
            Denied::from(refusal).detail(error.code()).challenge(bearer(Failure::Token(error)))
        })
    }

    async fn redeem(&self, text: &str, now: Timestamp) -> Result<Principal, Denied> {
        let service = self.guard().tokens.as_ref().ok_or(Refusal::Internal)?;
        let ticket = service.take_ticket(text, now).await.map_err(Denied::unavailable)?;
        ticket.map(Principal::of_ticket).ok_or_else(|| Refusal::TicketInvalid.into())
    }

    /// Nobody is known to have sent the request.
    fn unknown(&self, policy: &Requirement, route: &RouteGuard, parts: &Parts) -> Denied {
        let challenge = match &route.scheme {
            Some(scheme) => scheme.challenge(),
            None if policy.token => bearer(Failure::None),
            None => None,
        };
        let denied = Denied::from(Refusal::CredentialsMissing).challenge(challenge);
        if policy.session { denied.login(self.login_page(parts)) } else { denied }
    }

    /// Where somebody who opened a page by its address goes to log in.
    fn login_page(&self, parts: &Parts) -> Option<HeaderValue> {
        let page = self.guard().sessions.as_ref()?.login_page()?;
        let navigates =
            parts.headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate");
        if !navigates || parts.method != Method::GET {
            return None;
        }
        let next = parts.uri.path_and_query()?.as_str();
        let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
        HeaderValue::from_str(&format!("{page}?next={next}")).ok()
    }
}

/// Gate 9: they are known, and what the route asks is not theirs.
fn lacking(principal: &Principal, policy: &Requirement, unmet: Unmet) -> Denied {
    let is_token = principal.token().is_some();
    let of_token = |failure| if is_token { bearer(failure) } else { None };
    match unmet {
        Unmet::Scope => Denied::from(Refusal::RightsMissing)
            .challenge(of_token(Failure::InsufficientScope(policy.scopes))),
        Unmet::Role => Refusal::RightsMissing.into(),
        // RFC 9470 3
        Unmet::Freshness => Denied::from(Refusal::LoginTooOld)
            .challenge(of_token(Failure::NotFresh(policy.fresh.unwrap_or_default()))),
    }
}

fn bearer(failure: Failure<'_>) -> Option<HeaderValue> {
    challenge(failure, "api").1
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

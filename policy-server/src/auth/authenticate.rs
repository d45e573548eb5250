//! Gates 7 to 9: who sent a request, whether they meant to, and whether they may.

use std::sync::OnceLock;

use axum_core::body::Body;
use http::{HeaderMap, HeaderValue, Method, Request, Uri, request::Parts};
use policy_core::{
    Refusal,
    auth::{AuthPolicy, Authorization, OwnScheme, Requirement, authorization, local_path},
    token::TokenError,
};

use super::{Denied, RequestAuth, RouteGuard};
use crate::{
    auth::{
        principal::Principal,
        scheme::{AuthError, SharedScheme},
        session::Load,
    },
    base::{body::BodyRejection, escape::printable, event::log, problem::Problem},
    store::StoreError,
};

/// The head of a request.
#[derive(Clone, Copy)]
struct Seen<'a> {
    method: &'a Method,
    uri: &'a Uri,
    headers: &'a HeaderMap,
}

/// Whoever was recognised.
struct Found {
    principal: Principal,
    /// Whether their browser sent the credential by itself.
    is_ambient: bool,
}

/// Gate 7, as far as it comes without waiting.
enum Step<'a> {
    /// Whoever was recognised, if anybody was.
    Known(Option<Found>),
    /// A ticket is to be taken out of its store.
    Ticket(&'a str),
    /// An application's own scheme is to be asked.
    Own(OwnScheme),
    /// A session is to be loaded.
    Load,
}

impl RequestAuth {
    /// Lets a request through to its handler, or says why not, if nothing is to be waited for.
    pub(crate) fn admit_now(
        &mut self,
        route: &RouteGuard,
        request: &Request<Body>,
    ) -> Option<Result<(), Denied>> {
        let headers = request.headers();
        if self.form(headers).is_some() {
            return None;
        }
        let AuthPolicy::Required(policy) = &route.auth else { return Some(Ok(())) };
        let seen = Seen { method: request.method(), uri: request.uri(), headers };
        let found = match self.step(policy, seen) {
            Ok(Step::Known(found)) => Ok(found),
            Ok(Step::Load) => self.load_early(headers).map(of_session)?,
            Ok(Step::Ticket(_) | Step::Own(_)) => return None,
            Err(denied) => Err(denied),
        };
        let judged = self.judge(route, policy, seen, found);
        Some(judged.map(|principal| {
            self.principal = principal.map_or_else(OnceLock::new, OnceLock::from);
        }))
    }

    /// Lets a request through to its handler, or says why not.
    pub(crate) async fn admit(
        &self,
        route: &RouteGuard,
        parts: &Parts,
        body: &mut Body,
    ) -> Result<(), Denied> {
        let AuthPolicy::Required(policy) = &route.auth else {
            return self.read_form(parts, body).await;
        };
        let seen = Seen { method: &parts.method, uri: &parts.uri, headers: &parts.headers };
        let found = match self.step(policy, seen) {
            Ok(Step::Known(found)) => Ok(found),
            Ok(Step::Ticket(text)) => self.redeem(text).await,
            Ok(Step::Own(own)) => match &route.scheme {
                Some(scheme) => ask(own, scheme, parts, body).await,
                None => Err(Refusal::Internal.into()),
            },
            Ok(Step::Load) => self.load(seen.headers).await,
            Err(denied) => Err(denied),
        };
        let reads_form = match &found {
            Ok(Some(found)) => found.is_ambient,
            Ok(None) => policy.optional,
            Err(_) => false,
        };
        if reads_form {
            self.read_form(parts, body).await?;
        }
        if let Some(principal) = self.judge(route, policy, seen, found)? {
            let _ = self.principal.set(principal);
        }
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
    fn step<'a>(&self, policy: &Requirement, seen: Seen<'a>) -> Result<Step<'a>, Denied> {
        if policy.token {
            match authorization(seen.headers) {
                Authorization::None | Authorization::OtherScheme => (),
                Authorization::Bearer(token) => {
                    let principal = self.verify(token)?;
                    return Ok(Step::Known(Some(Found { principal, is_ambient: false })));
                }
                Authorization::Invalid => return Err(Refusal::AuthorizationMalformed.into()),
            }
        }
        if policy.ticket
            && let Some(text) = ticket(seen.uri)
        {
            return Ok(Step::Ticket(text));
        }
        if let Some(own) = policy.scheme {
            return Ok(Step::Own(own));
        }
        if !policy.session {
            return Ok(Step::Known(None));
        }
        Ok(Step::Load)
    }

    /// Gates 8 and 9, and what the answer says where one of the three refuses.
    fn judge(
        &self,
        route: &RouteGuard,
        policy: &Requirement,
        seen: Seen<'_>,
        found: Result<Option<Found>, Denied>,
    ) -> Result<Option<Principal>, Denied> {
        let admitted = found.and_then(|found| match found {
            None if policy.optional => Ok(None),
            None => {
                let login = if policy.session { self.login_page(seen) } else { None };
                Err(Denied::from(Refusal::CredentialsMissing).login(login))
            }
            Some(Found { principal, is_ambient }) => {
                if is_ambient {
                    self.check_forgery(seen.headers, principal.record())?;
                }
                principal.satisfies(policy, || self.guard().clock.now())?;
                Ok(Some(principal))
            }
        });
        admitted.map_err(|denied| {
            let challenge = route.challenge(denied.refusal());
            denied.challenge(challenge)
        })
    }

    async fn load(&self, headers: &HeaderMap) -> Result<Option<Found>, Denied> {
        of_session(self.session(headers)?.load().await)
    }

    fn verify(&self, token: &[u8]) -> Result<Principal, Denied> {
        let service = self.guard().tokens.as_ref().ok_or(Refusal::Internal)?;
        service.verify(token, self.guard().clock.now()).map(Principal::of_token).map_err(|error| {
            let refusal = match error {
                TokenError::Expired => Refusal::TokenExpired,
                TokenError::StoreUnavailable | TokenError::KeysUnavailable => {
                    Refusal::CredentialsUnchecked
                }
                _ => Refusal::TokenInvalid,
            };
            Denied::from(refusal).detail(error.code())
        })
    }

    /// Takes a ticket, unless the session that it was made in has ended since.
    async fn redeem(&self, text: &str) -> Result<Option<Found>, Denied> {
        let service = self.guard().tokens.as_ref().ok_or(Refusal::Internal)?;
        let unchecked = |error: StoreError| {
            let text = error.to_string();
            log!(TicketUnchecked, error = %printable(&text));
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
        let principal = Principal::of_ticket(ticket);
        Ok(Some(Found { principal, is_ambient: false }))
    }

    /// Where somebody who opened a page by its address goes to log in.
    fn login_page(&self, seen: Seen<'_>) -> Option<HeaderValue> {
        let page = self.guard().sessions.as_ref()?.login_page()?;
        let navigates = seen.headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate");
        if !navigates || *seen.method != Method::GET {
            return None;
        }
        let next = seen.uri.path_and_query().and_then(|next| local_path(next.as_str()));
        // Back to the page that was asked for, unless its path could be taken for another host.
        let Some(next) = next else { return HeaderValue::from_str(page).ok() };
        let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
        let sign = if page.contains('?') { '&' } else { '?' };
        HeaderValue::from_str(&format!("{page}{sign}next={next}")).ok()
    }
}

/// Whoever is logged in, as the store says.
fn of_session(loaded: Load<'_>) -> Result<Option<Found>, Denied> {
    let loaded = loaded.map_err(|_logged| Denied::unchecked())?;
    let principal = loaded.and_then(Principal::of_session);
    Ok(principal.map(|principal| Found { principal, is_ambient: true }))
}

/// Whoever an application's own scheme recognises.
async fn ask(
    own: OwnScheme,
    scheme: &SharedScheme,
    parts: &Parts,
    body: &mut Body,
) -> Result<Option<Found>, Denied> {
    match scheme.authenticate(parts, body).await {
        Ok(identity) => Ok(identity.map(|identity| Found {
            principal: Principal::of_scheme(own.name, identity),
            is_ambient: own.ambient,
        })),
        Err(AuthError::Invalid) => Err(Refusal::CredentialInvalid.into()),
        Err(AuthError::Unavailable(error)) => {
            let text = error.to_string();
            log!(SchemeFailed, error = %printable(&text));
            Err(Denied::unchecked())
        }
        Err(AuthError::Body(rejection)) => Err(rejection.into()),
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

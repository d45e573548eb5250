//! Sessions and CSRF tokens as handler arguments.
//!
//! Gate 8 is part of extraction: every handler that can use a session is protected from CSRF, on
//! `#[auth(public)]` routes as well, so that no attribute can be forgotten.

use std::sync::Arc;

use axum_core::{
    extract::FromRequestParts,
    response::{IntoResponse, Response},
};
use http::request::Parts;
use policy_core::csrf::admit_login;

use super::context::{Context, ContextRejection};
use crate::auth::{
    CredentialError, Denial, RequestAuth,
    session::{RequestSession, Session, Sessions},
};

impl<S: Send + Sync> FromRequestParts<S> for Session {
    type Rejection = ContextRejection;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ContextRejection> {
        let session = checked_session(parts).await?;
        Ok(Self::new(session).with_grants(navigates(parts)))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Sessions {
    type Rejection = ContextRejection;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ContextRejection> {
        let session = checked_session(parts).await?;
        session.share(auth(parts)?.cut_offs());
        Ok(Self::new(session).with_logins(navigates(parts)))
    }
}

/// Whether a request may raise rights: with a safe method, only as a navigation.
fn navigates(parts: &Parts) -> Result<(), CredentialError> {
    admit_login(&parts.method, &parts.headers).map_err(|_refusal| CredentialError::Navigation)
}

/// The session of a request that has passed the CSRF check.
async fn checked_session(parts: &Parts) -> Result<Arc<RequestSession>, ContextRejection> {
    let auth = auth(parts)?;
    match auth.checked_session(&parts.headers).await {
        Ok(session) => Ok(Arc::clone(session)),
        Err(denied) => {
            let (method, path) = (&parts.method, parts.uri.path());
            let problem = auth.guard().problem_of(method, path, &parts.headers, denied);
            Err(ContextRejection::from_problem(problem))
        }
    }
}

fn auth(parts: &Parts) -> Result<&RequestAuth, ContextRejection> {
    let auth = Context::from_extensions(&parts.extensions)?.auth.as_deref();
    auth.filter(|auth| auth.guard().sessions.is_some()).ok_or(ContextRejection::NO_SESSIONS)
}

/// A CSRF token of the session, for a form or script of the app.
///
/// Unsafe requests with a session must carry it, as the header `x-csrf-token` or the form field
/// `csrf_token`. Without a session there is no token, and none is needed: then only the origin of
/// the request is checked. A page whose handler begins a session asks
/// [`Session::csrf_token`](crate::Session::csrf_token) after that. The response is not cached. As for
/// [`Session`](crate::Session), a request that may not use the session is refused.
///
/// ```
/// use policy_server::prelude::*;
///
/// #[get("/profile")]
/// #[auth(session)]
/// async fn profile(csrf: CsrfToken) -> String {
///     format!("<form method=post>{}<button>Save</button></form>", csrf.field())
/// }
/// # let app = App::new(()).sessions(Sessions::memory()).routes(routes![profile]);
/// # assert!(app.check().is_ok());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct CsrfToken(Option<String>);

impl CsrfToken {
    /// The text; `None` without a session.
    pub fn text(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// A hidden field for an HTML form; empty without a session.
    pub fn field(&self) -> String {
        // The alphabet of base64url needs no escaping in HTML.
        self.text().map_or_else(String::new, |token| {
            format!("<input type=\"hidden\" name=\"csrf_token\" value=\"{token}\">")
        })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for CsrfToken {
    type Rejection = ContextRejection;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ContextRejection> {
        let refused = |denied: Denial| ContextRejection::from_problem(denied.into_problem());
        let session = auth(parts)?.checked_session(&parts.headers).await.map_err(refused)?;
        session.csrf_token().map(Self).map_err(ContextRejection::from_problem)
    }
}

/// The response of `GET /csrf` to a page's script: `{"token": ".."}`.
impl IntoResponse for CsrfToken {
    fn into_response(self) -> Response {
        super::Json(serde_json::json!({ "token": self.0 })).into_response()
    }
}

/// Keeps the token out of logs.
impl std::fmt::Debug for CsrfToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CsrfToken")
    }
}

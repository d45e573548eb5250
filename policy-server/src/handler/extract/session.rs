//! The session of a request, sessions as such, and anti-forgery tokens, as arguments.
//!
//! Gate 8 is part of extraction: whoever can touch a session has passed it, on routes that are
//! `#[auth(public)]` as well, so that no attribute can be forgotten.

use std::sync::Arc;

use axum_core::{
    extract::FromRequestParts,
    response::{IntoResponse, Response},
};
use http::request::Parts;

use super::context::Context;
use crate::{
    auth::{
        Denied, RequestAuth,
        session::{RequestSession, Session, Sessions},
    },
    base::problem::Problem,
};

/// What is wrong with a handler that asks for a session in an app without any.
const NO_SESSIONS: &str = "a handler takes a session, and the app has none: give it some with \
                           `App::sessions(Sessions::embedded(\"sessions.redb\"))`";

impl<S: Send + Sync> FromRequestParts<S> for Session {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Response> {
        checked(parts).await.map(Self::new)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Sessions {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Response> {
        checked(parts).await.map(Self::of)
    }
}

/// The session of a request, once it is known that a page of ours sent it.
async fn checked(parts: &Parts) -> Result<Arc<RequestSession>, Response> {
    let auth = auth(parts).map_err(IntoResponse::into_response)?;
    match auth.checked_session(&parts.headers).await {
        Ok(session) => Ok(Arc::clone(session)),
        Err(denied) => {
            Err(auth.guard().deny(&parts.method, parts.uri.path(), &parts.headers, denied))
        }
    }
}

fn auth(parts: &Parts) -> Result<&RequestAuth, Problem> {
    let auth = Context::of(&parts.extensions)?.auth.as_deref();
    auth.filter(|auth| auth.guard().sessions.is_some())
        .ok_or_else(|| Problem::internal(NO_SESSIONS))
}

/// An anti-forgery token of the session, for a form or a script of ours.
///
/// What changes something by a session carries it, as the header `x-csrf-token` or as the form
/// field `csrf_token`. There is none without a session, and none is needed: then the origin of
/// the request is what decides. The answer is not cached.
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
/// # assert!(app.build().is_ok());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct CsrfToken(Option<String>);

impl CsrfToken {
    /// The text; none where there is no session.
    pub fn text(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// A hidden field for a form in HTML; nothing where there is no session.
    pub fn field(&self) -> String {
        // The alphabet of base64url needs no escapes in HTML.
        self.text().map_or_else(String::new, |token| {
            format!("<input type=\"hidden\" name=\"csrf_token\" value=\"{token}\">")
        })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for CsrfToken {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Response> {
        let session = auth(parts)
            .map_err(IntoResponse::into_response)?
            .session(&parts.headers)
            .map_err(Denied::into_response)?;
        session.load().await.map_err(|_logged| Denied::unchecked().into_response())?;
        let token = session.csrf_token().map_err(IntoResponse::into_response)?;
        Ok(Self(token))
    }
}

/// What `GET /csrf` answers a page that runs by scripts: `{"token": ".."}`.
impl IntoResponse for CsrfToken {
    fn into_response(self) -> Response {
        super::Json(serde_json::json!({ "token": self.0 })).into_response()
    }
}

/// Nobody sees it in a log.
impl std::fmt::Debug for CsrfToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CsrfToken")
    }
}

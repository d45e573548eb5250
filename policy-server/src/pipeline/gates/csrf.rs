//! Gate 8: CSRF.

use axum_core::body::Body;
use http::request::Parts;

use super::authenticate::{Authenticated, RequestView};
use crate::auth::{Denied, RequestAuth};

/// Checks requests with an ambient credential: the origin must be ours, and the session's CSRF
/// token must be present where there is a session.
pub(crate) fn check(
    auth: &RequestAuth,
    view: RequestView<'_>,
    caller: Option<&Authenticated>,
) -> Result<(), Denied> {
    match caller.filter(|caller| caller.is_ambient) {
        Some(caller) => auth.check_forgery(view.headers, caller.principal.record()),
        None => Ok(()),
    }
}

/// Looks for the token in a form body; runs last, after all checks that need no body.
pub(crate) async fn read_form(
    auth: &RequestAuth,
    parts: &Parts,
    body: &mut Body,
) -> Result<(), Denied> {
    if let Some(form) = auth.form(&parts.headers)
        && let Some(token) = form.token(body).await.map_err(Denied::from)?
    {
        auth.set_form_token(token);
    }
    Ok(())
}

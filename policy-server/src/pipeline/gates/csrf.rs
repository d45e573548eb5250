//! Gate 8 for a CSRF token in a form.

use axum_core::body::Body;
use http::request::Parts;

use crate::auth::{Denial, RequestAuth};

/// Looks for the token in a form body; runs last, after all checks that need no body.
pub(crate) async fn read_form(
    auth: &RequestAuth,
    parts: &Parts,
    body: &mut Body,
) -> Result<(), Denial> {
    if let Some(form) = auth.form(&parts.headers)
        && let Some(token) = form.token(body).await.map_err(Denial::from)?
    {
        auth.set_form_token(token);
    }
    Ok(())
}

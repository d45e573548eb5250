//! Gate 8 for a CSRF token in a form.

use axum_core::body::Body;
use http::request::Parts;

use crate::auth::{Denied, RequestAuth};

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

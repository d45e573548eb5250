//! Gate 8: whether whoever sent a credential that browsers send by themselves meant to.

use axum_core::body::Body;
use http::request::Parts;

use super::authenticate::{Authenticated, RequestView};
use crate::auth::{Denied, RequestAuth};

/// Asks where the credential was ambient: a page of ours sent this, with the token of the session
/// if there is one.
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

/// Looks for the token in the body of a form, once nothing else is left to refuse before.
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

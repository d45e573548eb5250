//! The one form of a request, before anything reads it.

use http::{Method, Request, Uri, uri::PathAndQuery};
use policy_core::{
    Refusal,
    head::{NormalPath, join_cookie_lines},
    reverse_proxy,
};

use super::compiled_app::CompiledApp;
use crate::base::sent_target::SentTarget;

/// Removes the fields of the client's connection, if a proxy of the app may forward the request.
/// This comes before the app adds a field, which a client could otherwise name in `Connection`.
pub(super) fn remove_connection_fields<B>(app: &CompiledApp, request: &mut Request<B>) {
    if app.forwards {
        reverse_proxy::remove_connection_fields(request);
    }
}

/// Joins the lines of `Cookie`, brings the path into its normal form, and says whether it has
/// encoded slashes. TRACE returns what it got (RFC 9110 9.3.8), and keeps the path that it has.
///
/// # Errors
///
/// The refusal, which gate 1 reports.
pub(super) fn normalize<B>(request: &mut Request<B>) -> Result<bool, Refusal> {
    join_cookie_lines(request);
    let uri = request.uri();
    // `*`, and the authority of CONNECT, have no path.
    if !uri.path().starts_with('/') {
        return Ok(false);
    }
    let path = NormalPath::parse(uri.path())?;
    let has_encoded_slash = path.has_encoded_slash();
    if path.is_changed() && *request.method() != Method::TRACE {
        let target = match uri.query() {
            Some(query) => format!("{}?{query}", path.as_str()),
            None => path.as_str().to_owned(),
        };
        let mut parts = uri.clone().into_parts();
        let target = PathAndQuery::try_from(target).map_err(|_too_long| Refusal::TargetForm)?;
        parts.path_and_query = Some(target);
        let normal = Uri::from_parts(parts).map_err(|_no_target| Refusal::TargetForm)?;
        let sent = std::mem::replace(request.uri_mut(), normal);
        let sent = SentTarget::uri(request.extensions()).unwrap_or(&sent).clone();
        request.extensions_mut().insert(SentTarget(sent));
    }
    Ok(has_encoded_slash)
}

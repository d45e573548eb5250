//! The target of a request as it was sent.

use std::convert::Infallible;

use axum_core::extract::FromRequestParts;
use http::{Extensions, Uri, request::Parts};

/// The target of a request as the client sent it. Everything else sees its path in the
/// [normal form](policy_core::head::NormalPath) (RFC 3986 6.2.2); this is for what verifies a
/// signature over the target, byte for byte. Never decide by it who may see what: `%61` and `a` are
/// one resource.
///
/// ```
/// use policy_server::{extract::SentTarget, http::Uri, prelude::*};
///
/// #[get("/reports/{name}")]
/// #[auth(public)]
/// async fn report(name: String, uri: Uri, SentTarget(sent): SentTarget) -> String {
///     format!("{name}, {uri}, sent as {sent}")
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![report]).test();
/// let response = client.get("/reports/m%61y").send().await;
/// assert_eq!(response.text(), "may, /reports/may, sent as /reports/m%61y");
/// # });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentTarget(pub Uri);

impl SentTarget {
    /// The target as it was sent, if its form differs from that of the request now.
    pub(crate) fn uri(extensions: &Extensions) -> Option<&Uri> {
        extensions.get::<Self>().map(|Self(uri)| uri)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for SentTarget {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self(Self::uri(&parts.extensions).unwrap_or(&parts.uri).clone()))
    }
}

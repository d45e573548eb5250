//! Authentication schemes of an application: API keys, signed webhooks, Basic.

use std::{any::TypeId, collections::HashMap, fmt, pin::Pin, sync::Arc};

use axum_core::body::Body;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Uri, request::Parts};
use policy_core::session::Identity;

use crate::{
    auth::{CredentialError, sent_credentials::SentCredentials},
    base::{
        body::{BodyRejection, collect},
        sent_target::SentTarget,
    },
    store::StoreError,
};

/// An authentication scheme of the application.
///
/// A route names it as `#[auth(scheme = ApiKeys)]`, and the app registers it with
/// [`App::scheme`](crate::App::scheme). It runs before any extractor, and never for a preflight.
///
/// ```
/// use policy_server::{AuthError, Identity, Scheme, SchemeRequest, prelude::*};
///
/// struct ApiKeys;
///
/// impl Scheme for ApiKeys {
///     // A page has to put the key into a header itself.
///     const AMBIENT: bool = false;
///
///     async fn authenticate(
///         &self,
///         request: &mut SchemeRequest<'_>,
///     ) -> Result<Option<Identity>, AuthError> {
///         match request.headers().get("x-api-key") {
///             None => Ok(None),
///             // A real implementation looks up a hash of the key.
///             Some(key) if key == "k-7f3a" => Ok(Some(Identity::new("partner-7"))),
///             Some(_) => Err(AuthError::Invalid),
///         }
///     }
/// }
///
/// #[get("/prices")]
/// #[auth(scheme = ApiKeys)]
/// async fn prices(me: Principal) -> String {
///     me.subject().to_owned()
/// }
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).scheme(ApiKeys).routes(routes![prices]).test();
/// assert_eq!(client.get("/prices").send().await.status(), 401);
/// let response = client.get("/prices").header("x-api-key", "k-7f3a").send().await;
/// assert_eq!(response.text(), "partner-7");
/// # });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}`: this is not an authentication scheme (auth.not-a-scheme)",
    label = "`Scheme` is not implemented",
    note = "implement `policy_server::Scheme`, which authenticates requests"
)]
pub trait Scheme: Send + Sync + 'static {
    /// Whether browsers attach the credential automatically, as they do with cookies, Basic and
    /// client certificates. Other sites can then make them send it, so CSRF, CORS and caching treat
    /// it like a session.
    const AMBIENT: bool;

    /// The value of `WWW-Authenticate` for a missing or invalid credential, such as `Basic
    /// realm="orders"` (RFC 9110 11.6.1). An OpenAPI document describes the scheme by what it names.
    fn challenge(&self) -> Option<HeaderValue> {
        None
    }

    /// Authenticates a request; `None` if it has no credential of this scheme. An identity with an
    /// invalid [tenant](Identity::tenant()) is refused with 503, and the log says why.
    fn authenticate(
        &self,
        request: &mut SchemeRequest<'_>,
    ) -> impl Future<Output = Result<Option<Identity>, AuthError>> + Send;
}

/// Why authentication failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum AuthError {
    /// There is a credential, and it is invalid: 401.
    Invalid,
    /// The credential could not be checked: 503.
    Unavailable(StoreError),
    /// The body that the credential depends on could not be read.
    Body(BodyRejection),
}

/// The request to authenticate.
#[derive(Debug)]
pub struct SchemeRequest<'a> {
    parts: &'a Parts,
    body: &'a mut Body,
}

impl SchemeRequest<'_> {
    /// The method.
    pub fn method(&self) -> &Method {
        &self.parts.method
    }

    /// The request target.
    pub fn uri(&self) -> &Uri {
        &self.parts.uri
    }

    /// The request target as it was sent, for a signature over it:
    /// [`SentTarget`](crate::extract::SentTarget).
    pub fn sent_target(&self) -> &Uri {
        SentTarget::uri(&self.parts.extensions).unwrap_or(&self.parts.uri)
    }

    /// The headers as the client sent them, without changes by layers of the app.
    pub fn headers(&self) -> &HeaderMap {
        let sent = self.parts.extensions.get::<SentCredentials>();
        sent.map_or(&self.parts.headers, SentCredentials::fields)
    }

    /// The whole body, up to the body limit of the app. The handler gets it too.
    ///
    /// # Errors
    ///
    /// The body is over the limit, or the connection failed.
    pub async fn body(&mut self) -> Result<Bytes, AuthError> {
        // No layer has changed the body, so the limit of its route still applies.
        let body = std::mem::take(self.body);
        let bytes = collect(body, u64::MAX).await.map_err(AuthError::Body)?;
        *self.body = Body::from(bytes.clone());
        Ok(bytes)
    }
}

/// The schemes of an app, by type.
#[derive(Clone, Default)]
pub(crate) struct Schemes(HashMap<TypeId, SharedScheme>);

/// A type-erased scheme.
#[derive(Clone)]
pub(crate) struct SharedScheme {
    /// Its type.
    pub(crate) id: TypeId,
    scheme: Arc<dyn AnyScheme>,
}

impl Schemes {
    pub(crate) fn add<T: Scheme>(&mut self, scheme: T) {
        self.0.insert(TypeId::of::<T>(), SharedScheme::new(scheme));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, id: TypeId) -> Option<&SharedScheme> {
        self.0.get(&id)
    }
}

impl SharedScheme {
    pub(crate) fn new<T: Scheme>(scheme: T) -> Self {
        Self { id: TypeId::of::<T>(), scheme: Arc::new(scheme) }
    }

    pub(crate) fn challenge(&self) -> Option<HeaderValue> {
        self.scheme.challenge()
    }

    pub(crate) async fn authenticate(
        &self,
        parts: &Parts,
        body: &mut Body,
    ) -> Result<Option<Identity>, AuthError> {
        let identity = self.scheme.authenticate(SchemeRequest { parts, body }).await?;
        let checked = identity.as_ref().map_or(Ok(()), CredentialError::check);
        checked.map_err(|error| AuthError::Unavailable(StoreError::new(error)))?;
        Ok(identity)
    }
}

type IdentityFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Option<Identity>, AuthError>> + Send + 'a>>;

/// [`Scheme`] as a trait object.
trait AnyScheme: Send + Sync {
    fn challenge(&self) -> Option<HeaderValue>;

    fn authenticate<'a>(&'a self, request: SchemeRequest<'a>) -> IdentityFuture<'a>;
}

impl<T: Scheme> AnyScheme for T {
    fn challenge(&self) -> Option<HeaderValue> {
        Scheme::challenge(self)
    }

    fn authenticate<'a>(&'a self, mut request: SchemeRequest<'a>) -> IdentityFuture<'a> {
        Box::pin(async move { Scheme::authenticate(self, &mut request).await })
    }
}

impl fmt::Debug for Schemes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schemes").field("count", &self.0.len()).finish()
    }
}

impl fmt::Debug for SharedScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedScheme")
    }
}

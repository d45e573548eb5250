//! Services without attributes.

use std::{
    any::type_name,
    convert::Infallible,
    fmt,
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

use axum_core::{
    BoxError,
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use http::Uri;
use policy_core::conditional::weaken_coded;
use tower_layer::Layer;
use tower_service::Service;

use super::BoxFuture;
use crate::base::{body::MessageBody, problem::Problem};

/// A service that an app can hold, such as a `tower` service or an axum router.
///
/// It is a name for these bounds. It is implemented for all types that satisfy them, so there can be
/// no other implementation.
pub trait HttpService:
    Service<
        Request,
        Response = http::Response<Self::ResponseBody>,
        Error: Into<BoxError>,
        Future: Send,
    > + Clone
    + Send
    + Sync
    + 'static
{
    /// The body of its responses.
    type ResponseBody: MessageBody;
}

impl<T, B> HttpService for T
where
    T: Service<Request, Response = http::Response<B>, Error: Into<BoxError>, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static,
    B: MessageBody,
{
    type ResponseBody = B;
}

/// A type-erased service, called from many connections concurrently; layers wrap it.
#[derive(Clone)]
pub struct SharedService(Arc<dyn Fn(Request) -> BoxFuture + Send + Sync>);

/// A layer of an app, a group or the fallback.
pub(crate) struct Wrap {
    #[cfg_attr(not(feature = "manifest"), expect(dead_code, reason = "for manifests"))]
    pub(crate) type_name: &'static str,
    wrap: Box<dyn FnOnce(SharedService) -> SharedService + Send>,
}

impl Wrap {
    pub(crate) fn new<L: RouteLayer + Send + 'static>(layer: L) -> Self {
        let type_name = type_name::<L>();
        Self { type_name, wrap: Box::new(move |inner| layer.wrap(inner)) }
    }

    /// The layer around a service.
    pub(crate) fn around(self, inner: SharedService) -> SharedService {
        (self.wrap)(inner)
    }
}

/// A layer around a handler: every `tower` layer for a [`SharedService`] whose responses have a body
/// that this server can send.
///
/// It is implemented for such layers, and for tuples of them, of which the first is the outermost.
#[diagnostic::on_unimplemented(
    message = "`{Self}`: this is not a layer for a handler (handler.not-a-layer)",
    label = "not a layer for a handler",
    note = "a layer is a `tower::Layer<SharedService>` whose service takes a `Request` and is `Clone + Send + Sync`",
    note = "an `async fn(Request, Next)` becomes one by `axum::middleware::from_fn`"
)]
pub trait RouteLayer {
    /// Wraps a service.
    fn wrap(self, inner: SharedService) -> SharedService;
}

#[diagnostic::do_not_recommend]
impl<L> RouteLayer for L
where
    L: Layer<SharedService, Service: HttpService>,
{
    fn wrap(self, inner: SharedService) -> SharedService {
        SharedService::new(self.layer(inner))
    }
}

impl SharedService {
    /// Makes the `ETag` of an encoded response weak: a layer may have encoded it after the tag was
    /// stated.
    pub(crate) fn new(service: impl HttpService) -> Self {
        Self(Arc::new(move |request| {
            let service = service.clone();
            Box::pin(async move {
                let mut response = respond(service, request).await;
                weaken_coded(response.headers_mut());
                response
            })
        }))
    }

    /// Keeps the `ETag` of an encoded response: the service evaluates conditions and cuts parts
    /// itself.
    pub(crate) fn with_own_tags(service: impl HttpService) -> Self {
        Self(Arc::new(move |request| Box::pin(respond(service.clone(), request))))
    }

    /// A service from a function that returns a boxed future.
    pub(crate) fn boxed(function: impl Fn(Request) -> BoxFuture + Send + Sync + 'static) -> Self {
        Self(Arc::new(function))
    }

    /// A service from a function.
    pub(crate) fn from_fn<F, Fut>(function: F) -> Self
    where
        F: Fn(Request) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output: IntoResponse> + Send + 'static,
    {
        Self(Arc::new(move |request| {
            let function = function.clone();
            Box::pin(async move { function(request).await.into_response() })
        }))
    }

    /// The service without the first `segments` segments of its paths.
    pub(crate) fn below(self, segments: usize) -> Self {
        Self(Arc::new(move |mut request| {
            let prefix = prefix_of(request.uri().path(), segments).to_owned();
            if let Some(uri) = without_prefix(request.uri(), &prefix) {
                #[cfg(any(feature = "files", feature = "openapi_page"))]
                if request.uri().path() == prefix {
                    request.extensions_mut().insert(RemovedPath(prefix));
                }
                *request.uri_mut() = uri;
            }
            self.run(request)
        }))
    }

    pub(crate) fn run(&self, request: Request) -> BoxFuture {
        (self.0)(request)
    }
}

/// The response of a service; an error becomes a 500.
async fn respond(mut service: impl HttpService, request: Request) -> Response {
    if let Err(error) = poll_fn(|context| service.poll_ready(context)).await {
        return Problem::internal(error.into()).into_response();
    }
    match service.call(request).await {
        Ok(response) => response.map(Body::new),
        Err(error) => Problem::internal(error.into()).into_response(),
    }
}

/// The path of a request that was a prefix and nothing else, not even a slash; an extension of the
/// request without it. Relative links of a page that is served there would miss the prefix.
#[cfg(any(feature = "files", feature = "openapi_page"))]
#[derive(Clone, Debug)]
pub(crate) struct RemovedPath(pub(crate) String);

/// The first `segments` segments of a path.
fn prefix_of(path: &str, segments: usize) -> &str {
    let end = path.match_indices('/').nth(segments).map_or(path.len(), |(end, _)| end);
    path.get(..end).unwrap_or(path)
}

/// A URI without this prefix of its path, which is `/` if nothing is left.
fn without_prefix(uri: &Uri, prefix: &str) -> Option<Uri> {
    let mut parts = uri.clone().into_parts();
    let rest = match uri.path().strip_prefix(prefix)? {
        "" => "/",
        rest => rest,
    };
    let rest = match uri.query() {
        Some(query) => format!("{rest}?{query}"),
        None => rest.to_owned(),
    };
    parts.path_and_query = Some(rest.parse().ok()?);
    Uri::from_parts(parts).ok()
}

impl Service<Request> for SharedService {
    type Response = Response;
    type Error = Infallible;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let response = self.run(request);
        Box::pin(async move { Ok(response.await) })
    }
}

impl fmt::Debug for SharedService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedService")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_as_many_segments() {
        for (uri, segments, rest) in [
            ("/files/a/b", 1, "/a/b"),
            ("/files/a?b=/c", 1, "/a?b=/c"),
            ("/files", 1, "/"),
            ("/files?a", 1, "/?a"),
            ("/files/", 1, "/"),
            ("/files/a/", 1, "/a/"),
            ("/one/two/a%2Fb", 2, "/a%2Fb"),
            ("/one/two", 2, "/"),
            ("https://api.example/files/a", 1, "https://api.example/a"),
        ] {
            let uri: Uri = uri.parse().unwrap();
            let prefix = prefix_of(uri.path(), segments);
            assert_eq!(without_prefix(&uri, prefix).unwrap(), rest, "{uri}");
        }
    }
}

//! Services that are no annotated handlers, under the same policies.

use std::{
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
use bytes::Bytes;
use http::Method;
use tower_service::Service;

use crate::{
    app::defaults::{Defaults, policy_methods},
    base::problem::Problem,
    handler::BoxFuture,
};

/// A `tower` service below a prefix: files, a proxy, another framework's router.
///
/// It gets the requests for the prefix and for every path below it, with the whole path. Its
/// answers carry the policy that is stated here, or the app's default.
///
/// ```
/// use policy_server::{http, prelude::*};
/// use std::convert::Infallible;
///
/// const EVERYBODY: CorsPolicy = CorsPolicy::origins(&["*"]).build();
///
/// let echo = tower::service_fn(async |request: http::Request<_>| {
///     let _: &policy_server::Body = request.body();
///     Ok::<_, Infallible>(http::Response::new(request.uri().path().to_owned()))
/// });
/// let app = App::new(()).mount("/echo", Mount::new(echo).cors(EVERYBODY));
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let response = app.test().get("/echo/x").origin("https://a.example").send().await;
/// assert_eq!(response.text(), "/echo/x");
/// assert_eq!(response.header("access-control-allow-origin"), Some("*"));
/// # });
/// ```
#[derive(Clone, Debug)]
#[must_use = "a mount does nothing outside of an app"]
pub struct Mount {
    pub(crate) service: SharedService,
    pub(crate) methods: Vec<Method>,
    pub(crate) defaults: Defaults,
}

impl Mount {
    /// Mounts a service for GET and HEAD.
    pub fn new<T, B>(service: T) -> Self
    where
        T: Service<Request, Response = http::Response<B>, Error: Into<BoxError>>
            + Clone
            + Send
            + Sync
            + 'static,
        T::Future: Send,
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        Self {
            service: SharedService::new(service),
            methods: vec![Method::GET, Method::HEAD],
            defaults: Defaults::default(),
        }
    }

    /// The methods that the service gets, in place of GET and HEAD.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.methods = methods.into_iter().collect();
        self
    }

    policy_methods!(defaults, "its answers");
}

/// A service without its type, called from many connections at once: what a layer around an app
/// wraps.
#[derive(Clone)]
pub struct SharedService(Arc<dyn Fn(Request) -> BoxFuture + Send + Sync>);

/// A layer, as what it makes of the service inside of it.
pub(crate) type Wrap = Box<dyn FnOnce(SharedService) -> SharedService + Send>;

impl SharedService {
    pub(crate) fn new<T, B>(service: T) -> Self
    where
        T: Service<Request, Response = http::Response<B>, Error: Into<BoxError>>
            + Clone
            + Send
            + Sync
            + 'static,
        T::Future: Send,
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        Self(Arc::new(move |request| {
            let mut service = service.clone();
            Box::pin(async move {
                if let Err(error) = poll_fn(|context| service.poll_ready(context)).await {
                    return Problem::internal(error.into()).into_response();
                }
                match service.call(request).await {
                    Ok(response) => response.map(Body::new),
                    Err(error) => Problem::internal(error.into()).into_response(),
                }
            })
        }))
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

    pub(crate) fn run(&self, request: Request) -> BoxFuture {
        (self.0)(request)
    }
}

impl Service<Request> for SharedService {
    type Response = Response;
    type Error = Infallible;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let answer = self.run(request);
        Box::pin(async move { Ok(answer.await) })
    }
}

impl fmt::Debug for SharedService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedService")
    }
}

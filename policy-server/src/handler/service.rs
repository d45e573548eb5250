//! Services without attributes.

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
use tower_service::Service;

use super::BoxFuture;
use crate::base::{message_body::MessageBody, problem::Problem};

/// A type-erased service, called from many connections concurrently; layers wrap it.
#[derive(Clone)]
pub struct SharedService(Arc<dyn Fn(Request) -> BoxFuture + Send + Sync>);

/// A layer, as a function from the service inside it to the wrapped one.
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
        B: MessageBody,
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
        let response = self.run(request);
        Box::pin(async move { Ok(response.await) })
    }
}

impl fmt::Debug for SharedService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedService")
    }
}

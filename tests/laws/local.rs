//! Services in the same process, which get requests without a socket.

use http::{HeaderMap, HeaderValue, Method, Request, Response, header::HOST};
use http_body_util::BodyExt;
use policy_browser::ServerResponse;
use policy_server::{AppService, Body};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

thread_local! {
    static RUNTIME: Runtime =
        Builder::new_current_thread().enable_all().build().expect("a runtime");
}

/// A response with its whole body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl From<Reply> for ServerResponse {
    fn from(reply: Reply) -> Self {
        Self::new(reply.status, reply.headers, reply.body.into_bytes())
    }
}

/// Runs a future on the runtime of this thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    RUNTIME.with(|runtime| runtime.block_on(future))
}

/// Does something that may start tasks on the runtime of this thread.
pub(crate) fn within<T>(what: impl FnOnce() -> T) -> T {
    RUNTIME.with(|runtime| {
        let _entered = runtime.enter();
        what()
    })
}

/// A request, for the own host unless it names another one.
pub(crate) fn build_request(
    method: &Method,
    target: &str,
    headers: &HeaderMap,
    body: impl Into<Body>,
) -> Request<Body> {
    let mut sent = Request::new(body.into());
    *sent.method_mut() = method.clone();
    *sent.uri_mut() = target.parse().expect("a target");
    *sent.headers_mut() = headers.clone();
    sent.headers_mut().entry(HOST).or_insert(HeaderValue::from_static("api.shop.example"));
    sent
}

pub(crate) fn send(service: &AppService, request: Request<Body>) -> Reply {
    let answered = service.clone().oneshot(request);
    block_on(async { read(answered.await.unwrap_or_else(|never| match never {})).await })
}

/// Reads the whole body of a response.
pub(crate) async fn read(response: Response<Body>) -> Reply {
    let (head, body) = response.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    Reply {
        status: head.status.as_u16(),
        headers: head.headers,
        body: String::from_utf8(body.into()).expect("a text"),
    }
}

//! Handlers that panic, never return, or respond with a status that is not final.

use std::panic::panic_any;

use axum_core::extract::FromRequestParts;
use http_body_util::StreamBody;
use policy_server::{Body, http::request::Parts};
use policy_tests::handlers::{never, status};

use super::*;

#[get("/text")]
#[auth(public)]
async fn text() -> &'static str {
    panic!("a panic on purpose")
}

#[get("/formatted")]
#[auth(public)]
async fn formatted() -> &'static str {
    tokio::task::yield_now().await;
    panic!("a panic on purpose, number {}", 2)
}

#[get("/any")]
#[auth(public)]
async fn any() -> &'static str {
    panic_any(7)
}

#[derive(Debug)]
struct Unlucky;

impl std::str::FromStr for Unlucky {
    type Err = std::convert::Infallible;

    fn from_str(_text: &str) -> Result<Self, Self::Err> {
        panic!("a panic on purpose, in a parameter")
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Unlucky {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(_parts: &mut Parts, _state: &S) -> Result<Self, Self::Rejection> {
        panic!("a panic on purpose, in an extractor")
    }
}

impl IntoResponse for Unlucky {
    fn into_response(self) -> Response {
        panic!("a panic on purpose, in a response")
    }
}

#[get("/parameter/{unlucky}")]
#[auth(public)]
async fn parameter(unlucky: Unlucky) -> String {
    format!("{unlucky:?}")
}

#[get("/extractor")]
#[auth(public)]
async fn extractor(unlucky: Unlucky) -> String {
    format!("{unlucky:?}")
}

#[get("/response")]
#[auth(public)]
async fn response() -> Unlucky {
    Unlucky
}

#[get("/stream")]
#[auth(public)]
async fn stream() -> Response {
    let frames = futures_util::stream::poll_fn(
        |_context| -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
            panic!("a panic on purpose, in a stream")
        },
    );
    Response::new(Body::new(StreamBody::new(frames)))
}

fn app() -> App<()> {
    let routes =
        routes![hello, text, formatted, any, parameter, extractor, response, stream, never, status];
    App::new(()).policies(Policies::new().cors(SHOP)).routes(routes)
}

#[tokio::test]
async fn handlers_that_panic_are_answered_for() {
    let server = Running::start(app()).await;
    let mut connection = server.connect().await;
    let paths = ["/text", "/formatted", "/any", "/extractor", "/response", "/parameter/7"];
    for (count, path) in paths.into_iter().enumerate() {
        // All on one connection, which stays usable.
        connection.send(request(&format!("GET {path}"), &[ORIGIN])).await;
        let response = connection.response().await;
        assert_eq!(response.line, "HTTP/1.1 500 Internal Server Error");
        assert_eq!(response.problem().1, "handler.failed", "{path}");
        assert_eq!(response.sharing(), SHARING);
        assert!(!response.text().contains("purpose"), "{response:?}");
        assert_eq!(server.panics(), count + 1);
        assert_eq!(server.response(request("GET /hello", &[])).await.text(), "hello");
    }
}

#[tokio::test]
async fn handlers_whose_stream_panics_break_their_response_off() {
    let server = Running::start(app()).await;
    let mut connection = server.connect().await;
    connection.send(request("GET /stream", &[ORIGIN])).await;
    let rest = connection.rest().await;
    assert!(!rest.ends_with(b"0\r\n\r\n"), "`{}`", rest.escape_ascii());
    assert_eq!(server.response(request("GET /hello", &[])).await.text(), "hello");
}

#[tokio::test]
async fn handlers_outside_of_routes_are_answered_for_too() {
    let mount = Mount::new(tower::service_fn(|_request: policy_server::Request| {
        assert!(_request.uri().path().is_empty(), "a panic on purpose, in a service");
        std::future::ready(Ok::<_, std::convert::Infallible>(Response::new(Body::empty())))
    }))
    .public();
    let fallback = async |request: policy_server::Request| -> &'static str {
        if request.uri().path() == "/slow" {
            pending::<()>().await;
        }
        panic!("a panic on purpose, in a fallback")
    };
    let app = app().mount("/mount", mount).fallback(Fallback::handler(fallback).public());
    let limits = Limits::NONE.timeout(Duration::from_millis(200));
    let server = Running::start(app.policies(Policies::new().limits(limits))).await;
    for (path, status, code) in [
        ("/mount/x", 500, "handler.failed"),
        ("/nowhere", 500, "handler.failed"),
        ("/slow", 503, "handler.timed-out"),
    ] {
        let response = server.response(request(&format!("GET {path}"), &[ORIGIN])).await;
        assert_eq!(response.problem(), (status, code.to_owned()), "{path}");
        assert_eq!(response.sharing(), SHARING);
    }
}

#[tokio::test]
async fn handlers_whose_status_is_not_final_are_answered_for() {
    let server = Running::start(app()).await;
    for status in [100, 101, 103] {
        let request = request(&format!("GET /status/{status}"), &[ORIGIN]);
        let response = server.response(request).await;
        assert_eq!(response.problem(), (500, "handler.failed".to_owned()), "{status}");
        assert_eq!(response.sharing(), SHARING);
    }
}

#[tokio::test]
async fn handlers_that_never_return_are_answered_for() {
    let server = Running::start(
        app().policies(Policies::new().limits(Limits::NONE.timeout(Duration::from_millis(100)))),
    )
    .await;
    let mut connection = server.connect().await;
    for _ in 0..2 {
        connection.send(request("GET /never", &[ORIGIN])).await;
        let response = connection.response().await;
        assert_eq!(response.line, "HTTP/1.1 503 Service Unavailable");
        assert_eq!(response.problem().1, "handler.timed-out");
        assert_eq!(response.sharing(), SHARING);
        // A cache that stored it would prolong the failure.
        assert_eq!(response.header("cache-control"), Some("no-store"));
    }
    assert_serving(&server).await;
}

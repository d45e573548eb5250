//! HTTP/2 as raw frames: invalid frames are refused, and floods end their own connection and
//! nothing else.

mod clients;
mod floods;
mod heads;
#[cfg(target_os = "linux")]
mod memory;
mod windows;

use std::{convert::Infallible, future::pending, time::Duration};

use bytes::Bytes;
use futures_util::stream;
use policy_server::{Body, ServerSettings, prelude::*};
use policy_tests::{
    frames,
    http::{self, Running, StoppedTime, request},
    process,
};

#[get("/hello")]
#[auth(public)]
async fn hello() -> &'static str {
    "hello"
}

/// The Cookie lines as the handler sees them.
#[get("/cookies")]
#[auth(public)]
async fn cookies(headers: ::http::HeaderMap) -> String {
    let lines: Vec<_> =
        headers.get_all("cookie").iter().map(|line| line.to_str().expect("text")).collect();
    lines.join("|")
}

#[get("/path")]
#[auth(public)]
async fn path(uri: ::http::Uri) -> String {
    uri.path_and_query().map(ToString::to_string).unwrap_or_default()
}

#[post("/upload")]
#[auth(public)]
async fn upload(body: Bytes) -> Bytes {
    body
}

/// Takes a body and does not read it.
#[post("/ignore")]
#[auth(public)]
async fn ignore(body: Body) -> &'static str {
    pending::<()>().await;
    drop(body);
    "never"
}

#[get("/never")]
#[auth(public)]
async fn never() -> &'static str {
    pending().await
}

const LARGE: usize = 1 << 20;

#[get("/large")]
#[auth(public)]
async fn large() -> Bytes {
    Bytes::from(vec![b'x'; LARGE])
}

/// Never ends.
#[get("/stream")]
#[auth(public)]
async fn endless() -> Body {
    let chunk = Bytes::from(vec![b'x'; 16 * 1024]);
    Body::from_stream(stream::repeat(Ok::<_, Infallible>(chunk)))
}

fn app() -> App<()> {
    App::new(()).routes(routes![hello, cookies, path, upload, ignore, never, large, endless])
}

/// Asserts that a server under attack still serves others, and that none of its tasks panicked.
async fn assert_serving(server: &Running) {
    let response = server.response(request("GET /hello", &[])).await;
    assert_eq!((response.status, response.text()), (200, "hello"));
    assert_eq!(server.panics(), 0);
}

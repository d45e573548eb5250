//! HTTP/2 as raw frames: what no proper client sends is refused, and floods end the connection
//! that they came over, and nothing else.
#![expect(clippy::expect_used, clippy::panic, reason = "what a test cannot do without fails it")]
#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]

#[path = "http2/clients.rs"]
mod clients;
#[path = "http2/floods.rs"]
mod floods;
#[path = "support/frames.rs"]
mod frames;
#[path = "http2/heads.rs"]
mod heads;
#[path = "support/http.rs"]
mod http;
#[cfg(target_os = "linux")]
#[path = "http2/memory.rs"]
mod memory;
#[path = "support/process.rs"]
mod process;
#[path = "http2/windows.rs"]
mod windows;

use std::{convert::Infallible, future::pending, time::Duration};

use bytes::Bytes;
use futures_util::stream;
use policy_server::{Body, Settings, prelude::*};

use http::{Running, StoppedTime, request};

#[get("/hello")]
#[auth(public)]
async fn hello() -> &'static str {
    "hello"
}

/// The lines of the cookies, as the handler sees them.
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

/// Takes a body and reads none of it.
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

/// Without end.
#[get("/stream")]
#[auth(public)]
async fn endless() -> Body {
    let chunk = Bytes::from(vec![b'x'; 16 * 1024]);
    Body::from_stream(stream::repeat(Ok::<_, Infallible>(chunk)))
}

fn app() -> App<()> {
    App::new(()).routes(routes![hello, cookies, path, upload, ignore, never, large, endless])
}

/// Asks a server that was tried: others are served, and none of its tasks panicked.
async fn assert_serving(server: &Running) {
    let answer = server.answer(request("GET /hello", &[])).await;
    assert_eq!((answer.status, answer.text()), (200, "hello"));
    assert_eq!(server.panics(), 0);
}

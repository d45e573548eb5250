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
    handlers::{hello, never, upload},
    http::{self, Running, StoppedTime},
    process,
};

use super::assert_serving;

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

/// Takes a body and does not read it.
#[post("/ignore")]
#[auth(public)]
async fn ignore(body: Body) -> &'static str {
    pending::<()>().await;
    drop(body);
    "never"
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

//! HTTP/3: the same app over QUIC, with an independent client, with invalid streams, and with other
//! programs.

mod announced;
mod browser;
pub(crate) mod client;
mod connections;
mod early;
mod floods;
mod given_up;
mod malformed;
mod peer;
mod requests;
mod unread;

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::BodyExt;
use policy_server::{Body, ServerSettings, prelude::*, tokens::SecretKey};
use policy_tests::{
    handlers::{hello, panics, status},
    http as sockets,
    http::soon,
};
use tokio::sync::{Semaphore, mpsc};

use client::{Server, Session, request};

const SHOP: CorsPolicy =
    CorsPolicy::origins(&["https://shop.example"]).credentials().expose(&["etag"]).build();

/// State that handlers share with the test.
#[derive(Clone)]
struct Site {
    /// Handlers that wait take one permit each, which the test adds.
    gate: Arc<Semaphore>,
    events: mpsc::UnboundedSender<&'static str>,
    chunks: Arc<AtomicUsize>,
}

/// Reports its creation and its drop.
struct Guard(Site);

impl Guard {
    fn new(site: &Site) -> Self {
        // The test may be over.
        let _ = site.events.send("begun");
        Self(site.clone())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.events.send("dropped");
    }
}

#[post("/echo")]
#[auth(public)]
#[limit(body = "4 MiB")]
async fn echo(body: Bytes) -> Bytes {
    body
}

/// Returns the body, and the number of trailers as a trailer.
#[post("/trailers")]
#[auth(public)]
async fn trailers(body: Body) -> Result<Response, StatusCode> {
    let whole = body.collect().await.or(Err(StatusCode::BAD_REQUEST))?;
    let trailers = whole.trailers().cloned().unwrap_or_default();
    let frames = [http_body::Frame::data(whole.to_bytes()), http_body::Frame::trailers(trailers)];
    let frames = stream::iter(frames.map(Ok::<_, Infallible>));
    Ok(Response::new(Body::new(http_body_util::StreamBody::new(frames))))
}

#[get("/cookies")]
#[auth(public)]
async fn cookies(headers: http::HeaderMap) -> String {
    let lines: Vec<_> =
        headers.get_all("cookie").iter().map(|line| line.to_str().unwrap()).collect();
    format!("{lines:?}")
}

/// Fields that HTTP/3 forbids.
#[get("/fields")]
#[auth(public)]
async fn fields() -> [(&'static str, &'static str); 4] {
    [
        ("connection", "close, x-named"),
        ("x-named", "a"),
        ("keep-alive", "timeout=5"),
        ("x-kept", "b"),
    ]
}

#[get("/wait")]
#[auth(public)]
async fn wait(State(site): State<Site>) -> &'static str {
    let _guard = Guard::new(&site);
    site.gate.acquire().await.expect("a gate").forget();
    "waited"
}

/// Responds when the test allows it, with more than is sent before the client has acknowledged some.
#[get("/wait/large")]
#[auth(public)]
async fn wait_large(State(site): State<Site>) -> Bytes {
    let _guard = Guard::new(&site);
    site.gate.acquire().await.expect("a gate").forget();
    Bytes::from_static(&[b'x'; LARGE])
}

const LARGE: usize = 512 * 1024;

/// Never ends and never pauses.
#[get("/endless")]
#[auth(public)]
async fn endless(State(site): State<Site>) -> Body {
    let guard = Guard::new(&site);
    Body::from_stream(stream::unfold(guard, async |guard| {
        guard.0.chunks.fetch_add(1, Ordering::Relaxed);
        Some((Ok::<_, Infallible>(Bytes::from_static(&[b'x'; CHUNK])), guard))
    }))
}

const CHUNK: usize = 16 * 1024;

/// Breaks off.
#[get("/broken")]
#[auth(public)]
async fn broken() -> Body {
    let parts = [Ok(Bytes::from_static(b"half")), Err(std::io::Error::other("on purpose"))];
    Body::from_stream(stream::iter(parts))
}

/// Reads nothing until the test allows it, and then everything.
#[post("/later")]
#[auth(public)]
#[limit(body = "64 MiB")]
async fn later(State(site): State<Site>, body: Body) -> Result<String, StatusCode> {
    let _guard = Guard::new(&site);
    site.gate.acquire().await.expect("a gate").forget();
    let whole = body.collect().await.or(Err(StatusCode::BAD_REQUEST))?;
    Ok(whole.to_bytes().len().to_string())
}

#[get("/early")]
#[auth(public)]
async fn early_field(headers: http::HeaderMap) -> String {
    format!("{:?}", headers.get("early-data"))
}

/// A public route that changes something.
#[put("/flag")]
#[auth(public)]
async fn flag() {}

#[get("/mine")]
#[auth(token)]
async fn mine() -> &'static str {
    "mine"
}

#[get("/rated")]
#[auth(public)]
#[limit(rate = "1000/min")]
async fn rated() -> &'static str {
    "rated"
}

#[get("/peer")]
#[auth(public)]
async fn address(PeerAddr(address): PeerAddr) -> String {
    address.to_string()
}

fn site() -> (Site, mpsc::UnboundedReceiver<&'static str>) {
    let (events, seen) = mpsc::unbounded_channel();
    (Site { gate: Arc::new(Semaphore::new(0)), events, chunks: Arc::default() }, seen)
}

fn app_with(site: &Site) -> App<Site> {
    let keys = Tokens::hs256([("k1", SecretKey::from_bytes([7; 32]))]).expect("a key");
    App::new(site.clone()).policies(Policies::new().cors(SHOP)).tokens(keys).routes(routes![
        hello,
        echo,
        trailers,
        cookies,
        panics,
        fields,
        wait,
        wait_large,
        endless,
        broken,
        later,
        early_field,
        flag,
        mine,
        rated,
        address,
        status,
    ])
}

fn app() -> App<Site> {
    app_with(&site().0)
}

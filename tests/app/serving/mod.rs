//! Serving over real sockets: connections and their ends, HTTP/1.1 and HTTP/2, WebSockets, and the
//! headers of every response.

mod addresses;
mod connections;
mod http2;
mod logs;
mod responses;
mod shutdown;
mod socket_limits;
mod timeouts;
#[cfg(unix)]
mod unix_sockets;
mod unread;
mod websockets;

use std::{convert::Infallible, future::pending, io, sync::Arc, time::Duration};

use axum::response::{Redirect, Sse, sse::Event};
use bytes::Bytes;
use futures_util::{Stream, stream};
use policy_server::{Body, ListenAddress, ServerSettings, prelude::*};
use policy_tests::{
    handlers::{echo, never, peer},
    http::{Connection, Running, StoppedTime, request, soon, until},
};
use serde::Deserialize;
use tokio::net::TcpSocket;

use super::handlers::{Gate, gate, hello, missing, panics, wait};

const ORIGIN: &str = "origin: https://shop.example";

const SHOP: CorsPolicy =
    CorsPolicy::origins(&["https://shop.example"]).credentials().expose(&["etag"]).build();

/// What every response of the app's routes carries for [`ORIGIN`].
const SHARING: [&str; 3] = [
    "access-control-allow-credentials: true",
    "access-control-allow-origin: https://shop.example",
    "access-control-expose-headers: etag",
];

#[derive(Deserialize)]
struct Order {
    lamps: u32,
}

#[post("/orders")]
#[auth(public)]
async fn order(Json(order): Json<Order>) -> (StatusCode, String) {
    (StatusCode::CREATED, order.lamps.to_string())
}

#[get("/orders")]
#[auth(public)]
async fn orders(Query(order): Query<Order>) -> Json<u32> {
    Json(order.lamps)
}

#[get("/moved")]
#[auth(public)]
async fn moved() -> Redirect {
    Redirect::to("/hello")
}

#[get("/unchanged")]
#[auth(public)]
async fn unchanged() -> impl IntoResponse {
    (StatusCode::NOT_MODIFIED, [("etag", "\"1\""), ("vary", "accept")])
}

#[get("/nothing")]
#[delete("/hello")]
#[auth(public)]
async fn remove() -> StatusCode {
    StatusCode::NO_CONTENT
}

/// One event whenever the test allows it.
#[get("/events")]
#[auth(public)]
async fn events(State(gate): State<Gate>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    Sse::new(stream::unfold(gate, async |gate| {
        gate.acquire().await.expect("a gate").forget();
        Some((Ok(Event::default().data("tick")), gate))
    }))
}

#[get("/stream")]
#[auth(public)]
async fn chunks() -> Body {
    Body::from_stream(stream::iter(["a", "bc"].map(Ok::<_, Infallible>)))
}

/// More than the buffers of two sockets hold.
const LARGE: usize = 24 << 20;

#[get("/large")]
#[auth(public)]
async fn large() -> Bytes {
    Bytes::from(vec![b'x'; LARGE])
}

#[get("/large-stream")]
#[auth(public)]
async fn large_stream() -> Body {
    let chunk = Bytes::from(vec![b'x'; 1 << 20]);
    Body::from_stream(stream::repeat(Ok::<_, Infallible>(chunk)))
}

fn app_with(gate: &Gate) -> App<Gate> {
    App::new(Arc::clone(gate)).policies(Policies::new().cors(SHOP)).routes(routes![
        hello,
        echo,
        order,
        orders,
        moved,
        unchanged,
        remove,
        missing,
        panics,
        never,
        wait,
        events,
        chunks,
        large,
        large_stream,
        peer,
    ])
}

fn app() -> App<Gate> {
    app_with(&gate())
}

fn get(path: &str) -> String {
    request(&format!("GET {path}"), &[ORIGIN])
}

fn post(path: &str, media_type: &str, body: &str) -> String {
    let fields = [
        ORIGIN,
        &format!("content-length: {}", body.len()),
        &format!("content-type: {media_type}"),
    ];
    request(&format!("POST {path}"), &fields) + body
}

async fn assert_hello(connection: &mut Connection) {
    connection.send(get("/hello")).await;
    assert_eq!(connection.response().await.text(), "hello");
}

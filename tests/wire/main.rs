//! Invalid input on real sockets: each kind gets the expected response, and the server goes on.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what a test cannot do without fails it"
)]

mod bodies;
mod clients_that_go_away;
mod expectations;
mod framing;
mod handlers;
mod heads;
mod hosts;
mod http2;
#[cfg(target_os = "linux")]
mod idle_connections;
mod origins;
mod paths;
mod preflights;
mod resting;
mod slow_clients;
mod smuggling;
mod status_lines;
mod targets;
mod trailers;

use std::{future::pending, time::Duration};

use bytes::Bytes;
use policy_server::{ServerSettings, prelude::*};
use policy_tests::{
    handlers::{hello, upload},
    http::{self, PATIENCE, RawResponse, Running, StoppedTime, request, soon},
};
use serde::Deserialize;
use tokio::sync::mpsc;

const ORIGIN: &str = "origin: https://shop.example";

/// What every response of the app's routes carries for [`ORIGIN`].
const SHARING: [&str; 2] =
    ["access-control-allow-credentials: true", "access-control-allow-origin: https://shop.example"];

const SHOP: CorsPolicy = CorsPolicy::origins(&["https://shop.example"])
    .credentials()
    .headers(&["x-lamp"])
    .max_age(600)
    .build();

#[get("/names/{name:slashes}")]
#[auth(public)]
async fn name(name: String) -> String {
    name
}

#[get("/files/{*path:slashes}")]
#[auth(public)]
async fn file(path: String) -> String {
    path
}

#[derive(Deserialize)]
struct Order {
    lamps: u32,
}

#[post("/orders")]
#[auth(public)]
async fn order(Json(order): Json<Order>) -> String {
    order.lamps.to_string()
}

fn app() -> App<()> {
    App::new(())
        .policies(Policies::new().cors(SHOP))
        .routes(routes![hello, name, file, upload, order])
}

async fn assert_hello(connection: &mut http::Connection) {
    connection.send(request("GET /hello", &[])).await;
    assert_eq!(connection.response().await.text(), "hello");
}

/// Asserts that a server under attack still serves a valid request, and that none of its tasks
/// panicked.
async fn assert_serving(server: &Running) {
    let response = server.response(request("GET /hello", &[])).await;
    assert_eq!((response.status, response.text()), (200, "hello"));
    assert_eq!(server.panics(), 0);
}

/// Sends these bytes, and returns the response of a server that still works afterwards.
async fn send(bytes: impl AsRef<[u8]>) -> RawResponse {
    send_with(app(), bytes).await
}

async fn send_with(app: App<()>, bytes: impl AsRef<[u8]>) -> RawResponse {
    let server = Running::start(app).await;
    let response = server.response(bytes).await;
    assert_serving(&server).await;
    response
}

fn preflight(fields: &[&str]) -> String {
    let fields = [&["access-control-request-method: PUT"], fields].concat();
    request("OPTIONS /hello", &fields)
}

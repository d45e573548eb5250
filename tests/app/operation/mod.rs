//! What operators rely on: probes, drain, request ids, logs without secrets, and one runtime for
//! each core.

mod access_log;
mod candidates;
mod cores;
mod decision_records;
mod development;
mod documents;
mod probes;
mod request_ids;
mod secrets;
mod traces;

use std::{convert::Infallible, sync::Arc, thread, time::Duration};

use futures_util::{StreamExt, stream};
use policy_server::{Body, RequestId, ServerSettings, prelude::*};
use policy_tests::{
    http::{Connection, RawResponse, Running, StoppedTime, request, soon},
    http2,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UnixStream},
};

use super::handlers::{Gate, gate, hello, missing, panics, wait};

#[get("/users/{id}")]
#[auth(public)]
async fn user(id: u64) -> String {
    id.to_string()
}

#[get("/id")]
#[auth(public)]
async fn id(id: RequestId) -> String {
    id.to_string()
}

/// Asserts that a line has these words.
fn assert_parts(line: &str, parts: &[&str]) {
    for part in parts {
        assert!(format!("{line} ").contains(&format!(" {part} ")), "no `{part}` in `{line}`");
    }
}

/// Sends one event, and nothing more until the test allows it.
#[get("/stream")]
#[auth(public)]
async fn slow_stream(State(gate): State<Gate>) -> Body {
    let rest = stream::once(async move {
        gate.acquire().await.expect("a gate").forget();
        "rest"
    });
    Body::from_stream(stream::iter(["begun"]).chain(rest).map(Ok::<_, Infallible>))
}

/// The thread of the handler, and that of a task that it spawns.
#[get("/thread")]
#[auth(public)]
async fn on_thread() -> String {
    let name = || thread::current().name().unwrap_or_default().to_owned();
    let of_child = tokio::spawn(async move { name() }).await.expect("a task");
    format!("{} {of_child}", name())
}

fn app_with(gate: &Gate) -> App<Gate> {
    App::new(Arc::clone(gate)).health("/healthz").readiness("/readyz").routes(routes![
        hello,
        user,
        missing,
        panics,
        id,
        wait,
        slow_stream,
        on_thread,
    ])
}

fn app() -> App<Gate> {
    app_with(&gate())
}

fn get(path: &str) -> String {
    request(&format!("GET {path}"), &[])
}

/// The response to a GET request over HTTP/2.
async fn get_h2(client: &mut http2::Client, path: &str) -> RawResponse {
    http2::send(client, http2::request("GET", &format!("http://localhost{path}"), &[]), "").await
}

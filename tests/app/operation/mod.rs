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

use ::http::Request;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use h2::client::SendRequest;
use policy_server::{Body, RequestId, ServerSettings, prelude::*};
use policy_tests::http::{Connection, Running, StoppedTime, request, soon};
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

/// An HTTP/2 connection with prior knowledge.
async fn connect_h2(server: &Running) -> SendRequest<Bytes> {
    let stream = soon(TcpStream::connect(server.address)).await.expect("a server");
    let (client, connection) = soon(h2::client::handshake(stream)).await.expect("HTTP/2");
    tokio::spawn(connection);
    client
}

/// Status, header and body of a response over HTTP/2.
async fn h2_response(
    client: &SendRequest<Bytes>,
    path: &str,
    header: &str,
) -> (u16, String, String) {
    let request = Request::get(format!("http://localhost{path}")).body(()).expect("a request");
    let mut client = soon(client.clone().ready()).await.expect("a connection");
    let (response, _) = client.send_request(request, true).expect("a request");
    let response = soon(response).await.expect("a response");
    let value = response.headers().get(header).map(|value| value.to_str().expect("ASCII"));
    let (status, value) = (response.status().as_u16(), value.unwrap_or_default().to_owned());
    let mut body = response.into_body();
    let mut text = String::new();
    while let Some(data) = soon(body.data()).await {
        text.push_str(str::from_utf8(&data.expect("a body")).expect("a text"));
    }
    (status, value, text)
}

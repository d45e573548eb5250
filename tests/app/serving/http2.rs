//! HTTP/2 with prior knowledge (RFC 9113 3.3).

use ::http::Request;
pub(super) use policy_tests::http2::{
    Client, connect, connect_with, for_websockets, opening, send,
};

use super::*;

pub(super) fn get(path: &str) -> Request<()> {
    build_request("GET", path, &[("origin", "https://shop.example")])
}

fn build_request(method: &str, path: &str, fields: &[(&str, &str)]) -> Request<()> {
    policy_tests::http2::request(method, &format!("http://localhost{path}"), fields)
}

#[tokio::test]
async fn http2_has_many_requests_at_once() {
    let gate = gate();
    let server = Running::start(app_with(&gate)).await;
    let (mut client, _connection) = connect(&server).await;
    let waiting: Vec<_> =
        (0..50).map(|_| client.send_request(get("/wait"), true).expect("a request").0).collect();
    // They wait without delaying this one.
    assert_eq!(send(&mut client, get("/hello"), "").await.text(), "hello");
    gate.add_permits(waiting.len());
    for response in waiting {
        assert_eq!(soon(response).await.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn http2_names_its_host_as_every_request() {
    let server = Running::start(app()).await;
    let (mut client, _connection) = connect(&server).await;
    for (uri, host, status, code) in [
        ("http://a.example/hello", None, 421, "origin.host-not-loopback"),
        ("http://localhost/hello", Some("a.example"), 400, "wire.host-malformed"),
        ("http://localhost/files/%", None, 400, "wire.path-encoding"),
        ("http://localhost/..", None, 400, "wire.path-dot-segment"),
    ] {
        let mut request = Request::builder().uri(uri);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let response = send(&mut client, request.body(()).unwrap(), "").await;
        assert_eq!(response.problem(), (status, code.to_owned()), "{uri}");
    }
    let connect = Request::builder().method("CONNECT").uri("localhost:80").body(()).unwrap();
    assert_eq!(send(&mut client, connect, "").await.problem().1, "wire.target-form");
}

#[tokio::test]
async fn http2_has_the_limit_for_heads_too() {
    let server = Running::start(app()).await;
    let (mut client, _connection) = connect(&server).await;
    let long = "x".repeat(70_000);
    let request = build_request("GET", "/hello", &[("x-long", &long)]);
    assert_eq!(send(&mut client, request, "").await.status, 431);
    assert_eq!(send(&mut client, get("/hello"), "").await.text(), "hello");
}

#[tokio::test]
async fn http2_drops_the_handler_of_a_stream_that_is_reset() {
    let gate = gate();
    let server = Running::start(app_with(&gate)).await;
    let (mut client, _connection) = connect(&server).await;
    let (response, mut sending) = client.send_request(get("/wait"), true).unwrap();
    assert_eq!(send(&mut client, get("/hello"), "").await.text(), "hello");
    // Waiting handlers hold a reference to the state.
    let held = Arc::strong_count(&gate);
    sending.send_reset(h2::Reason::CANCEL);
    assert!(soon(response).await.is_err());
    until(async || Arc::strong_count(&gate) < held).await;
}

//! `x-request-id`: on every response, and never the client's own.

use policy_server::TrustedProxies;
use policy_tests::log::Log;

use super::*;

fn assert_drawn(id: Option<&str>) {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    assert!(id.is_some_and(|id| id.len() == 32 && id.bytes().all(is_hex)), "{id:?}");
}

#[tokio::test]
async fn every_response_has_a_request_id() {
    let server = Running::start(app().request_ids()).await;
    let foreign = "GET /hello HTTP/1.1\r\nhost: evil.example\r\n\r\n".to_owned();
    for (bytes, status) in [
        (get("/hello"), 200),
        (get("/healthz"), 200),
        (request("OPTIONS *", &[]), 204),
        (get("/users/x"), 404),
        (get("/nowhere"), 404),
        (request("DELETE /hello", &[]), 405),
        (foreign, 421),
        (get("/panic"), 500),
    ] {
        let response = server.response(&bytes).await;
        if status != 404 {
            assert_eq!(response.status, status, "{bytes}");
        }
        assert_drawn(response.header("x-request-id"));
    }
    let (mut client, _ended) = http2::connect(&server).await;
    let first = get_h2(&mut client, "/id").await;
    let id = first.header("x-request-id");
    assert_eq!(
        (first.status, id),
        (200, Some(first.text())),
        "the handler has that of the response"
    );
    assert_drawn(id);
    let second = get_h2(&mut client, "/id").await;
    assert_drawn(second.header("x-request-id"));
    assert_ne!(id, second.header("x-request-id"));
}

#[tokio::test]
async fn the_request_id_of_a_stranger_is_replaced() {
    let server = Running::start(app().request_ids()).await;
    let forged = request("GET /id", &["x-request-id: 0123456789abcdef"]);
    let response = server.response(forged).await;
    assert_drawn(response.header("x-request-id"));
    assert_eq!(response.header("x-request-id"), Some(response.text()));
}

#[tokio::test]
async fn request_ids_are_off_by_default() {
    let server = Running::start(app()).await;
    assert_eq!(server.response(get("/hello")).await.header("x-request-id"), None);
    let response = server.response(get("/id")).await;
    assert_eq!(response.status, 500, "a handler that wants one is an error of the app");
}

/// A request through a proxy of the app passes on its id and the address of its client.
#[tokio::test]
async fn a_proxy_of_the_apps_brings_its_own_request_id() {
    let (log, _guard) = Log::start("policy::access");
    let proxies = TrustedProxies::new(["127.0.0.0/8"]).x_forwarded();
    let app = app().public_origin("https://api.example").behind(proxies);
    let server = Running::start(app.request_ids().access_log()).await;
    let sent = "GET /id HTTP/1.1\r\nhost: api.example\r\nx-forwarded-proto: https\r\n\
                x-forwarded-for: 203.0.113.7\r\nx-request-id: front-17\r\n\r\n";
    let response = server.response(sent).await;
    assert_eq!((response.status, response.text()), (200, "front-17"));
    assert_eq!(response.header("x-request-id"), Some("front-17"));
    let line = log.until(|log| log.with("status_code=200").pop()).await;
    for part in ["client.address=203.0.113.7", "policy.request_id=\"front-17\""] {
        assert!(line.contains(part), "no `{part}` in `{line}`");
    }
    let malformed = sent.replace("front-17", "two words");
    assert_drawn(server.response(malformed).await.header("x-request-id"));
}

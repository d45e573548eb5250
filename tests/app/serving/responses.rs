//! The policy on responses of every class.

use policy_server::http::HeaderValue;

use super::*;

#[tokio::test]
async fn responses_of_every_class_carry_the_policy() {
    let server = Running::start(app().policies(
        Policies::new().limits(Limits::NONE.timeout(Duration::from_millis(200)).body(100)),
    ))
    .await;
    let json = "application/json";
    let long = "x".repeat(200);
    let chunked = request(
        "POST /orders",
        &[ORIGIN, "transfer-encoding: chunked", "content-type: application/json"],
    );
    for (bytes, status) in [
        (get("/hello"), 200),
        (post("/orders", json, "{\"lamps\":3}"), 201),
        (request("DELETE /hello", &[ORIGIN]), 204),
        (get("/moved"), 303),
        (get("/unchanged"), 304),
        (get("/orders"), 400),
        (get("/orders?lamps=many"), 400),
        (post("/orders", json, "{"), 400),
        (get("/missing"), 404),
        (get("/nowhere"), 404),
        (request("PUT /hello", &[ORIGIN]), 405),
        (
            request(
                "POST /orders",
                &[ORIGIN, "content-length: 5", "content-type: application/json"],
            ),
            408,
        ),
        (post("/orders", json, &long), 413),
        (format!("{chunked}c8\r\n{long}\r\n0\r\n\r\n"), 413),
        (post("/orders", "text/plain", "{}"), 415),
        (post("/orders", json, "[]"), 422),
        (get("/panic"), 500),
        (get("/never"), 503),
    ] {
        let response = server.response(&bytes).await;
        assert_eq!(response.status, status, "{bytes} {response:?}");
        assert_eq!(response.sharing(), SHARING, "{bytes}");
        let vary: Vec<_> = response
            .headers
            .iter()
            .filter(|header| header.0 == "vary")
            .map(|header| &*header.1)
            .collect();
        assert!(vary.join(",").contains("origin"), "{bytes} {response:?}");
    }
}

#[tokio::test]
async fn responses_that_stream_carry_the_policy_from_their_first_byte() {
    let gate = gate();
    let server = Running::start(app_with(&gate)).await;
    let mut connection = server.connect().await;
    connection.send(get("/events")).await;
    let head = connection.head().await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(head.sharing(), SHARING);
    for _ in 0..3 {
        gate.add_permits(1);
        assert_eq!(connection.chunk().await.unwrap(), b"data: tick\n\n");
    }
}

#[tokio::test]
async fn the_server_header_is_off_by_default_and_configurable() {
    let named = ServerSettings::default().server_header(HeaderValue::from_static("shop"));
    let fallback = || Fallback::handler(async |_| ([("server", "own")], "a fallback")).public();
    for (settings, of_app) in [(named, Some("shop")), (ServerSettings::default(), None)] {
        let server = Running::start(app().fallback(fallback()).settings(settings)).await;
        for (bytes, status, want) in [
            (get("/hello"), 200, of_app),
            (request("PUT /hello", &[]), 405, of_app),
            (get("/panic"), 500, of_app),
            (get("/nowhere"), 200, Some("own")),
        ] {
            let response = server.response(&bytes).await;
            assert_eq!((response.status, response.header("server")), (status, want), "{bytes}");
        }
    }
}

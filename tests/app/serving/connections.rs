//! How long a connection lives, and what it carries.

use super::*;

#[tokio::test]
async fn connections_end_when_the_client_says_so() {
    let server = Running::start(app()).await;
    let mut connection = server.connect().await;
    connection.send(request("GET /hello", &["connection: close"])).await;
    let response = connection.response().await;
    assert_eq!(response.header("connection"), Some("close"));
    connection.wait_for_close().await;
}

#[tokio::test]
async fn connections_end_after_one_request_if_the_app_says_so() {
    let app = app().settings(ServerSettings::default().one_request_per_connection());
    let server = Running::start(app).await;
    for path in ["/hello", "/stream", "/nowhere"] {
        let mut connection = server.connect().await;
        connection.send(get(path) + &get("/hello")).await;
        let response = connection.response().await;
        assert_eq!(response.header("connection"), Some("close"), "{path}");
        connection.wait_for_close().await;
    }
    let (mut client, _connection) = http2::connect(&server).await;
    for _ in 0..2 {
        assert_eq!(http2::send(&mut client, http2::get("/hello"), "").await.status, 200);
    }
}

#[tokio::test]
async fn connections_of_http_1_0_end_after_one_request() {
    let server = Running::start(app()).await;
    let mut connection = server.connect().await;
    connection.send("GET /hello HTTP/1.0\r\nhost: localhost\r\n\r\n").await;
    let response = connection.response().await;
    assert_eq!((&*response.line, response.text()), ("HTTP/1.0 200 OK", "hello"));
    connection.wait_for_close().await;
}

#[tokio::test]
async fn connections_of_http_1_0_stay_if_the_client_says_so() {
    let server = Running::start(app()).await;
    let mut connection = server.connect().await;
    for _ in 0..2 {
        let fields = "host: localhost\r\nconnection: keep-alive\r\n";
        connection.send(format!("GET /hello HTTP/1.0\r\n{fields}\r\n")).await;
        let response = connection.response().await;
        assert_eq!((response.header("connection"), response.text()), (Some("keep-alive"), "hello"));
    }
}

#[tokio::test]
async fn connections_of_http_1_0_get_streams_up_to_their_end() {
    let server = Running::start(app()).await;
    let mut connection = server.connect().await;
    connection.send("GET /stream HTTP/1.0\r\nhost: localhost\r\n\r\n").await;
    let head = connection.head().await;
    assert_eq!((head.header("transfer-encoding"), head.header("content-length")), (None, None));
    assert_eq!(connection.rest().await, b"abc");
}

#[tokio::test]
async fn connections_know_the_address_of_the_client() {
    let server = Running::start(app()).await;
    let mut connection = server.connect().await;
    connection.send(get("/peer")).await;
    let own = connection.stream.local_addr().unwrap().to_string();
    assert_eq!(connection.response().await.text(), own);
}

#[tokio::test]
async fn connections_over_the_limit_wait_for_their_turn() {
    let server = Running::start(app().settings(ServerSettings::default().max_connections(2))).await;
    let mut first = server.connect().await;
    let mut second = server.connect().await;
    assert_hello(&mut first).await;
    assert_hello(&mut second).await;
    let mut third = server.connect().await;
    third.send(get("/hello")).await;
    // The connection is idle while others are used: the server sends it nothing.
    for _ in 0..10 {
        assert_hello(&mut first).await;
    }
    assert!(third.stream.try_read(&mut [0]).is_err());
    drop(second);
    assert_eq!(third.response().await.text(), "hello");
    assert_hello(&mut first).await;
}

#[tokio::test]
async fn connections_have_a_limit_for_their_heads() {
    let server =
        Running::start(app().settings(ServerSettings::default().header_limit(8 * 1024))).await;
    let response =
        server.response(request("GET /hello", &[&format!("x: {}", "y".repeat(6_000))])).await;
    assert_eq!(response.status, 200);
    let response =
        server.response(request("GET /hello", &[&format!("x: {}", "y".repeat(60_000))])).await;
    assert_eq!(response.line, "HTTP/1.1 431 Request Header Fields Too Large");
}

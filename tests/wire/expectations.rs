//! `Expect: 100-continue` (RFC 9110 10.1.1).

use super::*;

const EXPECT: &str = "expect: 100-continue";

#[tokio::test]
async fn a_100_continue_is_sent_when_a_handler_reads_the_body() {
    let server = Running::start(app()).await;
    for fields in [[EXPECT, "content-length: 5"], ["expect: 100-Continue", "content-length: 5"]] {
        let mut connection = server.connect().await;
        connection.send(request("POST /upload", &fields)).await;
        assert_eq!(connection.head().await.line, "HTTP/1.1 100 Continue");
        connection.send("hello").await;
        assert_eq!(connection.response().await.text(), "hello");
    }
    let mut connection = server.connect().await;
    connection.send(request("POST /upload", &[EXPECT, "transfer-encoding: chunked"])).await;
    assert_eq!(connection.head().await.line, "HTTP/1.1 100 Continue");
    connection.send("5\r\nhello\r\n0\r\n\r\n").await;
    assert_eq!(connection.response().await.text(), "hello");
}

#[tokio::test]
async fn no_100_continue_is_sent_for_unread_bodies() {
    let server = Running::start(app()).await;
    for (line, status) in [
        ("GET /hello", 200),
        ("POST /nowhere", 404),
        ("DELETE /hello", 405),
        ("POST /upload%", 400),
    ] {
        let mut connection = server.connect().await;
        connection.send(request(line, &[EXPECT, "content-length: 5"])).await;
        // There is no interim response before the final one.
        assert_eq!(connection.response().await.status, status, "{line}");
        // It is unknown whether the body is still sent.
        connection.wait_for_close().await;
    }
}

#[tokio::test]
async fn unknown_expectations_are_refused() {
    for expected in ["miracles", "100-continue, miracles", "100-continue=1", ""] {
        let response = send(request("GET /hello", &[&format!("expect: {expected}")])).await;
        assert_eq!(response.problem(), (417, "wire.expectation-unknown".to_owned()), "{expected}");
    }
    let twice = send(request("GET /hello", &[EXPECT, EXPECT])).await;
    assert_eq!(twice.problem(), (417, "wire.expectation-unknown".to_owned()));
}

/// HTTP/1.0 has no interim responses.
#[tokio::test]
async fn expectations_of_http_1_0_are_passed_over() {
    let server = Running::start(app()).await;
    let mut connection = server.connect().await;
    let head = "POST /upload HTTP/1.0\r\nhost: localhost\r\ncontent-length: 5\r\n";
    connection.send(format!("{head}{EXPECT}\r\n\r\n")).await;
    connection.send("hello").await;
    let response = connection.response().await;
    assert_eq!((&*response.line, response.text()), ("HTTP/1.0 200 OK", "hello"));
}

//! Lengths, chunks and trailers: invalid ones, and truncated ones.

use super::*;

const CHUNKED: &str = "transfer-encoding: chunked";

/// Appends a body to a head.
fn with(head: String, body: &str) -> String {
    head + body
}

/// The limit of an app that states none.
#[tokio::test]
async fn bodies_over_the_limit_are_not_waited_for() {
    for length in ["2097153", "10000000000", "9223372036854775807"] {
        let field = format!("content-length: {length}");
        for fields in [&[ORIGIN, &*field][..], &[ORIGIN, &*field, "expect: 100-continue"]] {
            let response = send(request("POST /upload", fields)).await;
            assert_eq!(response.problem(), (413, "request.body-too-large".to_owned()), "{length}");
            assert_eq!(response.sharing(), SHARING);
        }
    }
}

#[tokio::test]
async fn bodies_sent_anyway_do_not_block_the_response() {
    let server = Running::start(app()).await;
    let mut connection = server.connect().await;
    let body = "x".repeat(3_000_000);
    let head = request("POST /upload", &[ORIGIN, "content-length: 3000000"]);
    connection.try_send(with(head, &body)).await;
    let response = connection.response().await;
    assert_eq!(response.problem(), (413, "request.body-too-large".to_owned()));
    assert_eq!(connection.rest().await, b"");
    assert_serving(&server).await;
}

#[tokio::test]
async fn bodies_of_no_valid_length_are_no_requests() {
    for length in ["99999999999999999999999", "-1", "+5", "5x", "0x5", "", "5, 6", "5 5", "5.0"] {
        let head = request("POST /upload", &[&format!("content-length: {length}")]);
        assert_eq!(send(with(head, "hello")).await.status, 400, "{length}");
    }
    let head = request("POST /upload", &["content-length: 5", "content-length: 6"]);
    assert_eq!(send(with(head, "hello!")).await.status, 400);
}

/// RFC 9112 6.3, 5: a recipient may accept several equal lengths.
#[tokio::test]
async fn repeated_equal_content_lengths_are_accepted() {
    let head = request("POST /upload", &["content-length: 5", "content-length: 5"]);
    assert_eq!(send(with(head, "hello")).await.text(), "hello");
}

/// RFC 9112 6.1: the connection is closed, since the end of the request is ambiguous.
#[tokio::test]
async fn bodies_with_a_length_and_chunks_end_the_connection() {
    for fields in [["content-length: 4", CHUNKED], [CHUNKED, "content-length: 4"]] {
        let server = Running::start(app()).await;
        let mut connection = server.connect().await;
        let smuggled = request("GET /names/smuggled", &[]);
        let body = format!("5\r\nhello\r\n0\r\n\r\n{smuggled}");
        connection.send(with(request("POST /upload", &fields), &body)).await;
        let response = connection.response().await;
        assert_eq!((response.status, response.text()), (200, "hello"));
        assert_eq!(connection.rest().await, b"");
        assert_serving(&server).await;
    }
}

#[tokio::test]
async fn bodies_of_another_coding_than_chunked_are_no_requests() {
    for field in [
        "transfer-encoding: identity",
        "transfer-encoding: chunked, identity",
        "transfer-encoding: xchunked",
        "transfer-encoding : chunked",
        "transfer-encoding:",
    ] {
        let head = request("POST /upload", &[field]);
        assert_eq!(send(with(head, "0\r\n\r\n")).await.status, 400, "{field}");
    }
    let old = format!("POST /upload HTTP/1.0\r\nhost: localhost\r\n{CHUNKED}\r\n\r\n0\r\n\r\n");
    assert_eq!(send(old).await.status, 400);
}

#[tokio::test]
async fn bodies_in_chunks_may_have_trailers() {
    let server = Running::start(app()).await;
    let mut connection = server.connect().await;
    let body = "3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nx-sum: 1\r\norigin: https://shop.example\r\n\r\n";
    connection.send(with(request("POST /upload", &[CHUNKED]), body)).await;
    let response = connection.response().await;
    assert_eq!((response.text(), response.sharing()), ("hello", vec![]));
    assert_hello(&mut connection).await;
    assert_serving(&server).await;
}

#[tokio::test]
async fn bodies_with_endless_trailers_or_chunk_extensions_are_given_up() {
    let trailers = format!("0\r\n{}", "x-sum: 1\r\n".repeat(20_000));
    let extension = format!("5;{}", "x".repeat(200_000));
    for body in [trailers, extension] {
        let server = Running::start(app()).await;
        let mut connection = server.connect().await;
        connection.try_send(with(request("POST /upload", &[ORIGIN, CHUNKED]), &body)).await;
        let response = connection.response().await;
        assert_eq!(
            (response.status, response.sharing()),
            (400, SHARING.map(str::to_owned).to_vec())
        );
        assert_eq!(connection.rest().await, b"");
        assert_serving(&server).await;
    }
}

#[tokio::test]
async fn bodies_without_an_end_are_not_kept() {
    let server =
        Running::start(app().policies(Policies::new().limits(Limits::NONE.body(1000)))).await;
    let mut connection = server.connect().await;
    connection.send(request("POST /upload", &[CHUNKED])).await;
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let mut taken = 0;
    while connection.try_send(&chunk).await {
        taken += chunk.len();
        // At most what the buffers of two sockets hold.
        assert!(taken < 64 << 20);
    }
    assert_serving(&server).await;
}

#[tokio::test]
async fn bodies_in_chunks_of_no_valid_size_are_refused() {
    for body in [
        "zz\r\nhello\r\n",
        "-1\r\nx\r\n",
        "5hello",
        "fffffffffffffffff\r\nx",
        "\r\n",
        "3\r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
    ] {
        let server = Running::start(app()).await;
        let mut connection = server.connect().await;
        let fields = [ORIGIN, CHUNKED, "content-type: application/json"];
        connection.send(with(request("POST /orders", &fields), body)).await;
        let response = connection.response().await;
        assert_eq!(response.problem(), (400, "request.body-incomplete".to_owned()), "{body:?}");
        assert_eq!(response.sharing(), SHARING);
        assert_eq!(connection.rest().await, b"");
        assert_serving(&server).await;
    }
}

#[tokio::test]
async fn bodies_that_break_off_are_incomplete() {
    let server = Running::start(app()).await;
    let mut connection = server.connect().await;
    let fields = ["content-length: 50", "content-type: application/json"];
    connection.send(with(request("POST /orders", &fields), "{")).await;
    drop(connection);
    assert_serving(&server).await;
}

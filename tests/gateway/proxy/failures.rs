//! Upstreams that are unreachable, slow, broken or hostile.

use std::time::Duration;

use policy_server::{ReverseProxy, prelude::*};
use policy_tests::port::Port;
use tokio::time::Instant;

use super::{
    Running, Upstream, begin_request,
    http::{Connection, RawResponse, StoppedTime, request, soon},
    send, start, stripping,
};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

fn problem(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

#[tokio::test]
async fn an_unreachable_upstream_is_502_with_the_policy() {
    let port = Port::reserve();
    let address = port.address;
    let proxy = ReverseProxy::new("/api", format!("http://{address}"))
        .public()
        .policies(Policies::new().cors(CorsPolicy::origins(&["https://app.example"]).build()));
    let server = start(proxy).await;
    let response = server.response(request("GET /api", &["origin: https://app.example"])).await;
    assert_eq!(response.problem(), problem(502, "proxy.unreachable"));
    assert_eq!(response.sharing(), ["access-control-allow-origin: https://app.example"]);
    assert!(!response.text().contains(&address.port().to_string()), "{response:?}");
}

#[tokio::test]
async fn no_response_in_time_is_504() {
    let (time, upstream) = (StoppedTime::begin(), Upstream::start().await);
    let proxy = ReverseProxy::new("/api", upstream.origin())
        .public()
        .answer_timeout(Duration::from_millis(200));
    let server = start(proxy).await;
    let begun = Instant::now();
    let (mut connection, mut line) = begin_request(&server, &upstream).await;
    let response = time.until(connection.response()).await;
    assert_eq!(response.problem(), problem(504, "proxy.timed-out"));
    assert!(begun.elapsed() >= Duration::from_millis(200));
    // The proxy closes the connection to the upstream.
    assert_eq!(line.rest().await, b"");
}

#[tokio::test]
async fn the_longest_duration_is_no_timeout() {
    let upstream = Upstream::start().await;
    let proxy = ReverseProxy::new("/api", upstream.origin())
        .public()
        .connect_timeout(Duration::MAX)
        .answer_timeout(Duration::MAX)
        .idle_timeout(Duration::MAX);
    let server = start(proxy).await;
    let (mut connection, mut line) = begin_request(&server, &upstream).await;
    line.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n").await;
    assert_eq!(connection.head().await.status, 200);
    line.send("ok").await;
    assert_eq!(connection.exactly(2).await, b"ok");
}

/// A listener with a full queue neither accepts nor refuses connections.
#[tokio::test]
async fn no_connection_in_time_is_504() {
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
    let listener = socket.listen(1).expect("a listener");
    let address = listener.local_addr().expect("an address");
    let mut waiting = Vec::new();
    // Until the queue is full.
    while let Ok(Ok(stream)) =
        tokio::time::timeout(Duration::from_secs(3), tokio::net::TcpStream::connect(address)).await
    {
        waiting.push(stream);
        assert!(waiting.len() < 100, "the queue never fills");
    }
    let proxy = ReverseProxy::new("/api", format!("http://{address}"))
        .public()
        .connect_timeout(Duration::from_millis(200));
    let response = start(proxy).await.response(request("GET /api", &[])).await;
    assert_eq!(response.problem(), problem(504, "proxy.timed-out"));
}

/// The time-out for a response starts when the upstream has the whole request.
#[tokio::test]
async fn a_slow_upload_is_not_a_slow_upstream() {
    let (time, upstream) = (StoppedTime::begin(), Upstream::start().await);
    let proxy = ReverseProxy::new("/api", upstream.origin())
        .public()
        .answer_timeout(Duration::from_millis(300))
        .idle_timeout(Duration::from_millis(1500));
    let server = start(proxy).await;
    let upload = || request("PUT /api", &["content-length: 8"]);
    let (mut connection, mut line, _) = send(&server, &upstream, upload()).await;
    for _ in 0..8 {
        time.pass(Duration::from_millis(100)).await;
        connection.send("x").await;
    }
    line.exactly(8).await;
    line.send(OK).await;
    assert_eq!(connection.response().await.text(), "ok");

    // The client stopped sending, so the time-out is the client's.
    connection.send(upload()).await;
    line.request().await;
    let response = time.until(connection.response()).await;
    assert_eq!(response.problem(), problem(408, "request.timed-out"));
    assert_eq!(line.rest().await, b"");
}

/// Invalid responses of hostile or broken servers.
#[tokio::test]
async fn an_invalid_response_becomes_502() {
    let huge = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(200_000));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(5000));
    for bytes in [
        "",
        "garbage\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx",
        "HTTP/1.1 99999 OK\r\n\r\n",
        "HTTP/3.7 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nbad name: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\n folded: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx: \0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        // Others may read the same length twice, or not at all.
        "HTTP/1.1 200 OK\r\ncontent-length: 5, 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 5\r\n\r\nhello",
        // No client would decode it.
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: xchunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked, identity\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        // The status belongs to no class.
        "HTTP/1.1 600 What\r\ncontent-length: 2\r\n\r\nok",
        "HTTP/1.1 999 What\r\ncontent-length: 2\r\n\r\nok",
        // The content is broken before the client has been sent anything.
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n",
        // The request did not ask for another protocol.
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        &huge,
        &many,
    ] {
        let upstream = Upstream::start().await;
        let server = stripping(&upstream).await;
        let (mut connection, mut line) = begin_request(&server, &upstream).await;
        // The proxy may close before everything is sent.
        let _ = tokio::io::AsyncWriteExt::write_all(&mut line.stream, bytes.as_bytes()).await;
        let _ = tokio::io::AsyncWriteExt::shutdown(&mut line.stream).await;
        let prefix = bytes.get(..60).unwrap_or(bytes);
        assert_eq!(
            connection.response().await.problem(),
            problem(502, "proxy.bad-answer"),
            "{prefix}"
        );
        assert_eq!(server.panics(), 0);
        // The server is unaffected.
        drop(line);
        connection.send(request("GET /api", &[])).await;
        let (mut line, _) = upstream.accept_request().await;
        line.send(OK).await;
        assert_eq!(connection.response().await.text(), "ok", "{prefix}");
    }
}

/// RFC 9110 15.2: any number of interim responses, within a limit.
#[tokio::test]
async fn a_flood_of_interim_responses_ends() {
    let (time, upstream) = (StoppedTime::begin(), Upstream::start().await);
    let proxy = ReverseProxy::new("/api", upstream.origin())
        .public()
        .answer_timeout(Duration::from_millis(500));
    let server = start(proxy).await;
    let (mut connection, mut line) = begin_request(&server, &upstream).await;
    let flood = tokio::spawn(async move {
        let many = "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n".repeat(100);
        let mut sent = 0_usize;
        while tokio::io::AsyncWriteExt::write_all(&mut line.stream, many.as_bytes()).await.is_ok() {
            sent += 100;
            tokio::task::yield_now().await;
        }
        sent
    });
    let response = time.until(connection.response()).await;
    assert_eq!(response.problem(), problem(504, "proxy.timed-out"));
    assert!(soon(flood).await.expect("an end") > 0);
}

#[tokio::test]
async fn interim_responses_are_passed_over() {
    let upstream = Upstream::start().await;
    let server = stripping(&upstream).await;
    let (mut connection, mut line) = begin_request(&server, &upstream).await;
    line.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n").await;
    line.send(OK).await;
    assert_eq!(connection.response().await.text(), "ok");
}

/// Opens a client, and a connection to the upstream that is kept after its first request.
async fn open_idle(server: &Running, upstream: &Upstream) -> (Connection, Connection) {
    let (mut connection, mut line) = begin_request(server, upstream).await;
    line.send(OK).await;
    assert_eq!(connection.response().await.text(), "ok");
    (connection, line)
}

/// The connection was kept, and is lost with the next request on it. Returns the response to that
/// request, or an error for 502.
async fn response_to_lost(next: &str) -> Result<RawResponse, ()> {
    let upstream = Upstream::start().await;
    let server = stripping(&upstream).await;
    let (mut connection, mut line) = open_idle(&server, &upstream).await;
    connection.send(next).await;
    line.request().await;
    drop(line);
    // A second attempt uses a new connection.
    tokio::select! {
        mut line = upstream.accept() => {
            line.request().await;
            line.send(OK).await;
            Ok(connection.response().await)
        }
        response = connection.response() => {
            assert_eq!(response.problem(), problem(502, "proxy.bad-answer"));
            Err(())
        }
    }
}

#[tokio::test]
async fn repeatable_requests_are_sent_again_over_a_live_connection() {
    for (next, is_repeated) in [
        (request("GET /api", &[]), true),
        (request("DELETE /api", &[]), true),
        (request("PUT /api", &["content-length: 0"]), true),
        (request("POST /api", &["content-length: 0"]), false),
        (request("PATCH /api", &[]), false),
        // The body was consumed.
        (request("PUT /api", &["content-length: 1"]) + "x", false),
    ] {
        assert_eq!(response_to_lost(&next).await.is_ok(), is_repeated, "{next}");
    }
}

#[tokio::test]
async fn nothing_is_sent_three_times_and_nothing_once_a_response_began() {
    // A new connection that fails was not kept.
    let upstream = Upstream::start().await;
    let server = stripping(&upstream).await;
    let (mut connection, line) = begin_request(&server, &upstream).await;
    drop(line);
    assert_eq!(connection.response().await.problem(), problem(502, "proxy.bad-answer"));

    // A kept connection fails, and so does the second attempt.
    let (mut connection, mut line) = open_idle(&server, &upstream).await;
    connection.send(request("GET /api", &[])).await;
    line.request().await;
    drop(line);
    drop(upstream.accept_request().await);
    assert_eq!(connection.response().await.problem(), problem(502, "proxy.bad-answer"));

    // One byte of a response arrived.
    let (mut connection, mut line) = open_idle(&server, &upstream).await;
    connection.send(request("GET /api", &[])).await;
    line.request().await;
    line.send("H").await;
    drop(line);
    assert_eq!(connection.response().await.problem(), problem(502, "proxy.bad-answer"));
}

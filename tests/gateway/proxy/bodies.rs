//! Bodies through the proxy: backpressure, and bodies that break off.

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use bytes::Bytes;
use http::Request;
use policy_server::{ReverseProxy, prelude::*};
use policy_tests::http2;
use tokio::{io::AsyncWriteExt, net::TcpListener};

use super::{
    Running, Upstream, begin_request,
    http::{StoppedTime, request, soon},
    send, start, stripping,
};

/// More than two ends buffer if both use HTTP/2, with its stream windows, or if one does and the
/// other has small buffers. Sockets without a limit buffer megabytes.
const AHEAD: usize = 2 << 20;

/// The length of a body, if it is read completely.
const ALL: usize = 1 << 30;

/// Waits until a number stops growing.
async fn settled(number: &AtomicUsize) -> usize {
    let mut before = number.load(Relaxed);
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let now = number.load(Relaxed);
        if now == before && now > 0 {
            return now;
        }
        before = now;
    }
}

fn to(server: &Running, method: &str) -> Request<()> {
    http2::request(method, &format!("http://{}/api", server.address), &[])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_stops_the_upstream() {
    let upstream = Upstream::with_small_buffers();
    let server = stripping(&upstream).await;
    // It receives at most 64 KiB before it grants more.
    let (mut client, _ended) = http2::connect(&server).await;
    let (response, _) = client.send_request(to(&server, "GET"), true).expect("a stream");
    let (mut line, _) = upstream.accept_request().await;
    line.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {ALL}\r\n\r\n")).await;
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let writer = tokio::spawn(async move {
        let chunk = vec![b'x'; 64 * 1024];
        while let Ok(length) = line.stream.write(&chunk).await {
            count.fetch_add(length, Relaxed);
        }
    });
    let mut body = soon(response).await.expect("a response").into_body();
    let first = settled(&sent).await;
    println!("{first} bytes ahead of a client that takes nothing");
    assert!(first < AHEAD, "{first} bytes are on their way to a client that takes nothing");
    // The transfer continues where it stopped.
    let mut taken = 0;
    while taken < 8 << 20 {
        let data = soon(body.data()).await.expect("more").expect("data");
        body.flow_control().release_capacity(data.len()).expect("a window");
        taken += data.len();
    }
    let second = settled(&sent).await;
    assert!(second > taken && second - taken < AHEAD, "{second} bytes when {taken} are taken");
    // The client disconnects in the middle, and the upstream notices.
    drop((body, client));
    soon(writer).await.expect("an end");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_does_not_read_stops_the_client() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let proxy = ReverseProxy::new("/api", format!("http://{address}")).public().http2().policies(
        Policies::new().limits(Limits::NONE.body(ALL as u64).timeout(Duration::from_secs(60))),
    );
    let server = start(proxy).await;
    let (mut client, _ended) = http2::connect(&server).await;
    let (response, mut body) = client.send_request(to(&server, "PUT"), false).expect("a stream");
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let writing = tokio::spawn(async move {
        loop {
            body.reserve_capacity(16 * 1024);
            let Some(Ok(room)) = poll_fn(|context| body.poll_capacity(context)).await else {
                return;
            };
            if body.send_data(Bytes::from(vec![b'x'; room]), false).is_err() {
                return;
            }
            count.fetch_add(room, Relaxed);
        }
    });
    let (stream, _) = soon(listener.accept()).await.expect("a connection");
    let mut upstream = h2::server::handshake(stream).await.expect("a handshake");
    let (request, respond) = soon(upstream.accept()).await.expect("a request").expect("a request");
    let driver = tokio::spawn(async move { while upstream.accept().await.is_some() {} });
    let first = settled(&sent).await;
    println!("{first} bytes ahead of an upstream that takes nothing");
    assert!(first < AHEAD, "{first} bytes are on their way to an upstream that takes nothing");
    // It reads a part.
    let (mut taken, mut body) = (0, request.into_body());
    while taken < 4 << 20 {
        let data = soon(body.data()).await.expect("more").expect("data");
        body.flow_control().release_capacity(data.len()).expect("a window");
        taken += data.len();
    }
    let second = settled(&sent).await;
    assert!(second > taken && second - taken < AHEAD, "{second} bytes when {taken} are taken");
    // The upstream disconnects, and the client notices.
    driver.abort();
    drop((body, respond));
    assert_eq!(soon(response).await.expect("a response").status(), 502);
    writing.abort();
}

/// A body is forwarded as it arrives, not when it is complete.
#[tokio::test]
async fn chunks_arrive_before_the_next_one_is_sent() {
    let upstream = Upstream::start().await;
    let server = stripping(&upstream).await;
    let head = request("POST /api", &["transfer-encoding: chunked"]);
    let (mut connection, mut line, _) = send(&server, &upstream, head).await;
    for _ in 0..3 {
        connection.send("2\r\nup\r\n").await;
        assert_eq!(line.exactly(7).await, b"2\r\nup\r\n");
    }
    // The response begins before the request is complete (RFC 9112 9.3).
    line.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
    assert_eq!(connection.head().await.status, 200);
    for _ in 0..3 {
        line.send("4\r\ndown\r\n").await;
        assert_eq!(connection.chunk().await.expect("a chunk"), b"down");
        connection.send("2\r\nup\r\n").await;
        assert_eq!(line.exactly(7).await, b"2\r\nup\r\n");
    }
    connection.send("0\r\n\r\n").await;
    assert_eq!(line.exactly(5).await, b"0\r\n\r\n");
    line.send("0\r\n\r\n").await;
    assert_eq!(connection.chunk().await, None);
}

#[tokio::test]
async fn a_response_that_breaks_off_never_looks_complete() {
    const CHUNKED: &str = "transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n";
    // A body that is broken already when the head arrives gives 502.
    for (head, later, is_chunked) in [
        ("content-length: 10\r\n\r\nabc", "", false),
        (CHUNKED, "", true),
        (CHUNKED, "5\r\nde", true),
        (CHUNKED, "xyz\r\n", true),
    ] {
        let upstream = Upstream::start().await;
        let server = stripping(&upstream).await;
        let (mut connection, mut line) = begin_request(&server, &upstream).await;
        line.send(format!("HTTP/1.1 200 OK\r\n{head}")).await;
        assert_eq!(connection.head().await.status, 200);
        let first = if is_chunked { "3\r\nabc\r\n" } else { "abc" };
        assert_eq!(connection.exactly(first.len()).await, first.as_bytes());
        line.send(later).await;
        drop(line);
        let rest = connection.rest().await;
        assert!(!rest.ends_with(b"0\r\n\r\n"), "{head}: {}", rest.escape_ascii());
        assert!(rest.len() <= b"2\r\nde\r\n".len(), "{head}: {}", rest.escape_ascii());
    }
}

#[tokio::test]
async fn an_upstream_that_says_nothing_more_breaks_the_response_off() {
    let (time, upstream) = (StoppedTime::begin(), Upstream::start().await);
    let proxy = ReverseProxy::new("/api", upstream.origin())
        .public()
        .idle_timeout(Duration::from_millis(300));
    let (log, _guard) = policy_tests::log::Log::start("policy_server");
    let server = start(proxy).await;
    let (mut connection, mut line) = begin_request(&server, &upstream).await;
    line.send("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n").await;
    connection.head().await;
    // Slow, but never longer than the time-out.
    for _ in 0..5 {
        time.pass(Duration::from_millis(100)).await;
        line.send("x").await;
    }
    assert_eq!(time.until(connection.rest()).await, b"xxxxx");
    assert_eq!(log.with_code("proxy.response-broken-off").len(), 1, "{:?}", log.with("code="));
    assert_eq!(line.rest().await, b"");
}

#[tokio::test]
async fn a_download_of_known_length_takes_a_place_until_it_ends() {
    let upstream = Upstream::start().await;
    let proxy = ReverseProxy::new("/api", upstream.origin())
        .public()
        .policies(Policies::new().limits(Limits::NONE.concurrency(1)));
    let server = start(proxy).await;
    let (mut connection, mut line) = begin_request(&server, &upstream).await;
    line.send("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhal").await;
    assert_eq!(connection.head().await.status, 200);
    assert_eq!(server.response(request("GET /api", &[])).await.status, 503);
    line.send("f").await;
    assert_eq!(connection.exactly(4).await, b"half");
}

/// Bytes after a response do not become part of the next one.
#[tokio::test]
async fn bytes_after_a_response_are_dropped() {
    let upstream = Upstream::start().await;
    let server = stripping(&upstream).await;
    let first = request("GET /api/1", &[]);
    let (mut connection, mut line, _) = send(&server, &upstream, first).await;
    line.send(
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil",
    )
    .await;
    assert_eq!(connection.response().await.text(), "ok");
    connection.send(request("GET /api/2", &[])).await;
    let (mut line, got) = upstream.accept_request().await;
    assert_eq!(got.path(), "/2");
    line.send("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood").await;
    assert_eq!(connection.response().await.text(), "good");
}

#[tokio::test]
async fn a_disconnecting_client_cancels_its_request() {
    // While it waits for a response.
    let upstream = Upstream::start().await;
    let server = stripping(&upstream).await;
    let (connection, mut line) = begin_request(&server, &upstream).await;
    drop(connection);
    assert_eq!(line.rest().await, b"");

    // While it receives the response.
    let (mut connection, mut line) = begin_request(&server, &upstream).await;
    line.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n").await;
    connection.head().await;
    connection.chunk().await;
    drop(connection);
    assert_eq!(line.rest().await, b"");

    // While it sends: what arrived does not look like a complete request.
    let part = request("POST /api", &["transfer-encoding: chunked"]) + "1\r\nx\r\n";
    let (connection, mut line, _) = send(&server, &upstream, part).await;
    assert_eq!(line.exactly(6).await, b"1\r\nx\r\n");
    drop(connection);
    assert_eq!(line.rest().await, b"");
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_and_never_looks_complete() {
    let upstream = Upstream::start().await;
    let proxy = ReverseProxy::new("/api", upstream.origin())
        .public()
        .policies(Policies::new().limits(Limits::NONE.body(10)));
    let server = start(proxy).await;
    let stated = server.response(request("PUT /api", &["content-length: 11"])).await;
    assert_eq!(stated.problem(), (413, "request.body-too-large".to_owned()));
    let part = request("PUT /api", &["transfer-encoding: chunked"]) + "8\r\n12345678\r\n";
    let (mut connection, mut line, _) = send(&server, &upstream, part).await;
    line.exactly(13).await;
    connection.send("8\r\n12345678\r\n0\r\n\r\n").await;
    let response = connection.response().await;
    assert_eq!(response.problem(), (413, "request.body-too-large".to_owned()));
    let rest = line.rest().await;
    assert!(!rest.ends_with(b"0\r\n\r\n"), "{}", rest.escape_ascii());
}

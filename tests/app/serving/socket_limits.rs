//! Limits of WebSockets, and the Close frames that their clients get, for handlers, mounted
//! services and fallbacks, over HTTP/1.1 and HTTP/2.

use axum::extract::{WebSocketUpgrade, ws::Message};
use axum_core::extract::FromRequestParts;
use futures_util::{FutureExt, SinkExt, StreamExt};
use policy_server::Request;
use policy_tests::websocket::{HANDSHAKE, assert_closed, close, frame, reply_with_kinds, text};
use tokio::{io::AsyncWriteExt, sync::Semaphore};

use super::*;

#[get("/live")]
#[limit(message = "1 KiB", silence = "10s", sockets_per_caller = 3, sockets = 4)]
#[auth(public)]
async fn live(State(ends): State<Arc<Semaphore>>, upgrade: WebSocketUpgrade) -> Response {
    reply_with_kinds(upgrade, ends)
}

/// Has the default limits.
#[get("/usual")]
#[auth(public)]
async fn usual(State(ends): State<Arc<Semaphore>>, upgrade: WebSocketUpgrade) -> Response {
    reply_with_kinds(upgrade, ends)
}

/// Sends more than fits into the buffers of a connection.
#[get("/flood")]
#[limit(silence = "10s")]
#[auth(public)]
async fn flood(State(ends): State<Arc<Semaphore>>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(async move |socket| {
        let (mut sending, mut receiving) = socket.split();
        let part = Bytes::from(vec![0; 1 << 20]);
        let write = async { while sending.send(Message::Binary(part.clone())).await.is_ok() {} };
        let read = async {
            while let Some(Ok(message)) = receiving.next().await {
                if let Message::Close(Some(frame)) = message {
                    assert!(["limit.unread", "server.stopping"].contains(&frame.reason.as_str()));
                    ends.add_permits(1);
                }
            }
        };
        tokio::join!(write, read);
        ends.add_permits(1);
    })
}

/// Sends without end, and never looks at what its client sends.
#[get("/blind")]
#[auth(public)]
async fn blind(State(ends): State<Arc<Semaphore>>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(async move |mut socket| {
        let part = Bytes::from(vec![0; 1 << 20]);
        while socket.send(Message::Binary(part.clone())).await.is_ok() {}
        ends.add_permits(1);
    })
}

#[get("/page")]
#[auth(public)]
async fn page() -> &'static str {
    "a page"
}

fn app(ends: &Arc<Semaphore>) -> App<Arc<Semaphore>> {
    let (of_mount, of_fallback) = (Arc::clone(ends), Arc::clone(ends));
    let router = axum::Router::new().route(
        "/mounted/live",
        axum::routing::any(async move |upgrade: WebSocketUpgrade| {
            reply_with_kinds(upgrade, of_mount)
        }),
    );
    let limits = Limits::NONE.message(1 << 10);
    App::new(Arc::clone(ends))
        .routes(routes![live, usual, flood, blind, page])
        .mount("/mounted", Mount::new(router).public().policies(Policies::new().limits(limits)))
        .fallback(
            Fallback::handler(move |request: Request| {
                let ends = Arc::clone(&of_fallback);
                async move {
                    let (mut parts, _body) = request.into_parts();
                    if parts.uri.query() == Some("page") {
                        return "a page".into_response();
                    }
                    match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
                        Ok(upgrade) => reply_with_kinds(upgrade, ends),
                        Err(_) => "a fallback".into_response(),
                    }
                }
            })
            .public()
            .policies(Policies::new().limits(limits)),
        )
}

async fn start() -> (Running, Arc<Semaphore>) {
    let ends = Arc::new(Semaphore::new(0));
    (Running::start(app(&ends)).await, ends)
}

async fn open(server: &Running, path: &str) -> Connection {
    let mut connection = server.connect().await;
    connection.send(request(&format!("GET {path}"), &HANDSHAKE)).await;
    assert_eq!(connection.head().await.status, 101);
    connection
}

#[tokio::test]
async fn a_message_over_the_limit_closes_its_socket_and_reaches_no_handler() {
    let (server, ends) = start().await;
    for path in ["/live", "/mounted/live", "/elsewhere"] {
        let mut connection = open(&server, path).await;
        connection.send(frame(0x82, &[7; 1024])).await;
        assert_eq!(connection.exactly(13).await, text("binary 1024"), "{path}");
        // Fragments with a control frame between them.
        let parts = [frame(0x01, &[b'a'; 512]), frame(0x89, b""), frame(0x80, &[b'a'; 512])];
        connection.send(parts.concat()).await;
        assert_eq!(connection.exactly(2).await, b"\x8a\x00");
        assert_eq!(connection.exactly(11).await, text("text 1024"), "{path}");
        let parts = [frame(0x02, &[7; 512]), frame(0x00, &[7; 512]), frame(0x80, b"7")];
        connection.send(parts.concat()).await;
        assert_closed(&mut connection, 1009, "limit.message").await;
        // The length in the frame header suffices, before any payload arrives.
        let mut connection = open(&server, path).await;
        connection.send(&frame(0x82, &[0; 1025])[..14]).await;
        let close = close(1009, "limit.message");
        assert_eq!(connection.exactly(close.len()).await, close);
    }
    let _handlers = soon(ends.acquire_many(6)).await.expect("each handler is told");
}

/// The response of a handler that writes frames itself.
fn to_websocket() -> Response {
    let mut response = StatusCode::SWITCHING_PROTOCOLS.into_response();
    for (name, value) in [("connection", "upgrade"), ("upgrade", "websocket")] {
        response.headers_mut().insert(name, value.parse().expect("a value"));
    }
    response
}

/// Libraries such as fastwebsockets find `websocket` among other offers (RFC 9110 7.8).
#[tokio::test]
async fn the_limits_hold_for_a_websocket_that_is_one_of_several_offers() {
    let fallback = Fallback::handler(|mut request: Request| {
        let upgrade = ::hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            let mut stream = hyper_util::rt::TokioIo::new(upgrade.await.expect("a stream"));
            let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
        });
        std::future::ready(to_websocket())
    });
    let limits = Policies::new().limits(Limits::NONE.message(1 << 10));
    let server = Running::start(App::new(()).fallback(fallback.public().policies(limits))).await;
    for offers in ["upgrade: other, websocket", "upgrade: other\r\nupgrade: websocket"] {
        let mut connection = server.connect().await;
        let fields = [&[offers][..], &HANDSHAKE[1..]].concat();
        connection.send(request("GET /any", &fields)).await;
        assert_eq!(connection.head().await.status, 101, "{offers}");
        connection.send(&frame(0x82, &[0; 1025])[..14]).await;
        assert_closed(&mut connection, 1009, "limit.message").await;
    }
}

/// Without a limit, anybody could send unfinished messages of 60 MiB.
#[tokio::test]
async fn without_a_stated_limit_a_message_has_256_kibibytes() {
    let (server, _ends) = start().await;
    let mut sockets = Vec::new();
    for _ in 0..8 {
        sockets.push(open(&server, "/usual").await);
    }
    for connection in &mut sockets {
        connection.send(frame(0x02, &[0; 128 << 10])).await;
        connection.send(frame(0x00, &[0; 128 << 10])).await;
        connection.send(frame(0x80, b"0")).await;
        assert_closed(connection, 1009, "limit.message").await;
    }
}

#[tokio::test]
async fn a_silent_client_is_pinged_and_closed_unless_it_replies() {
    let time = StoppedTime::begin();
    let (server, _ends) = start().await;
    let mut there = open(&server, "/live").await;
    let mut gone = open(&server, "/live").await;
    for _ in 0..3 {
        assert_eq!(time.until(there.exactly(8)).await, b"\x89\x06policy");
        // The handler, which would reply to a pong, does not see it.
        there.send(b"\x8a\x86\0\0\0\0policy").await;
    }
    assert_eq!(gone.exactly(8).await, b"\x89\x06policy");
    assert_closed(&mut gone, 1001, "limit.silence").await;
    there.send(frame(0x8a, b"own")).await;
    assert_eq!(there.exactly(6).await, text("pong"));
    there.send(frame(0x81, b"hi")).await;
    assert_eq!(there.exactly(8).await, text("text 2"));
}

/// The stream begins behind the content of the request, which its client keeps back and the handler holds.
#[tokio::test]
async fn a_socket_that_does_not_open_ends_after_the_silence() {
    let time = StoppedTime::begin();
    let holding = Fallback::handler(|request: Request| async move {
        let (mut parts, body) = request.into_parts();
        let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &()).await;
        upgrade.expect("an upgrade").on_upgrade(async move |mut socket| {
            while let Some(Ok(_)) = socket.recv().await {}
            drop(body);
        })
    });
    let limits = Limits::NONE.silence(Duration::from_secs(10)).sockets(1);
    let holding = holding.public().policies(Policies::new().limits(limits));
    let server = Running::start(App::new(()).fallback(holding)).await;
    let mut connection = server.connect().await;
    let fields = [&HANDSHAKE[..], &["content-length: 1"]].concat();
    connection.send(request("GET /live", &fields)).await;
    assert_eq!(connection.head().await.status, 101);
    assert_eq!(time.until(connection.rest()).await, b"");
    // Its place is free.
    open(&server, "/live").await;
}

#[tokio::test]
async fn sockets_are_of_a_number_of_each_caller_and_of_all() {
    let ends = Arc::new(Semaphore::new(0));
    let proxies = policy_server::TrustedProxies::new(["127.0.0.1"]).x_forwarded();
    let server = Running::start(app(&ends).behind(proxies)).await;
    let ask = async |address: &str| {
        let mut connection = server.connect().await;
        let from = format!("x-forwarded-for: {address}");
        let fields = [&HANDSHAKE[..], &[&from]].concat();
        connection.send(request("GET /live", &fields)).await;
        let head = connection.head().await;
        (head.status == 101).then_some(connection).ok_or(head.status)
    };
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(ask("192.0.2.1").await.expect("an open socket"));
    }
    assert_eq!(ask("192.0.2.1").await.err(), Some(429));
    open.push(ask("192.0.2.2").await.expect("an open socket"));
    assert_eq!(ask("192.0.2.3").await.err(), Some(503));
    drop(open.pop());
    soon(async { while ask("192.0.2.3").await.is_err() {} }).await;
}

/// Reads frames of a server until a Close frame, and returns that.
async fn close_behind_messages(connection: &mut Connection) -> Vec<u8> {
    loop {
        let [first, length] = connection.exactly(2).await[..] else { unreachable!() };
        let length = match length {
            126 => connection.exactly(2).await,
            127 => connection.exactly(8).await,
            length => vec![length],
        };
        let length = length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        let payload = connection.exactly(length).await;
        if first == 0x88 {
            return payload;
        }
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_is_closed_and_cut_off() {
    let time = StoppedTime::begin();
    let (server, ends) = start().await;
    let mut late = open(&server, "/flood").await;
    soon(time.until(ends.acquire())).await.expect("the handler is told").forget();
    // A client that reads within the grace period gets the reason.
    assert_eq!(close_behind_messages(&mut late).await, [&[3, 0xe9], &b"limit.unread"[..]].concat());
    late.send(b"\x88\x80\0\0\0\0").await;
    assert_eq!(soon(late.rest()).await, b"");
    soon(ends.acquire()).await.expect("the handler ends").forget();
    let never = open(&server, "/flood").await;
    let _ended = soon(time.until(ends.acquire_many(2))).await.expect("the handler is told");
    drop(never);
}

/// Libraries buffer a pong to each ping, whether or not it can be sent.
#[tokio::test]
async fn a_client_that_does_not_read_is_not_read_either() {
    const MOST: usize = 64 << 20;
    let time = StoppedTime::begin();
    let (server, _ends) = start().await;
    let mut connection = open(&server, "/live").await;
    let pings = frame(0x89, &[b'p'; 125]).repeat(1 << 10);
    let mut taken = 0;
    let flood = async {
        while taken < MOST && connection.stream.write_all(&pings).await.is_ok() {
            taken += pings.len();
        }
    };
    soon(time.until(flood)).await;
    assert!(taken < MOST, "{taken} bytes were taken");
}

/// A handler whose messages no client reads does not block its thread.
#[tokio::test]
async fn a_handler_that_never_stops_sending_ends_with_its_socket() {
    let (server, ends) = start().await;
    let mut connection = open(&server, "/blind").await;
    let stopped = server.stop();
    let close = close_behind_messages(&mut connection).await;
    assert_eq!(close, [&[3, 0xe9], &b"server.stopping"[..]].concat());
    connection.send(b"\x88\x80\0\0\0\0").await;
    assert_eq!(soon(connection.rest()).await, b"");
    soon(stopped).await.expect("an end");
    soon(ends.acquire()).await.expect("the handler ends").forget();
}

#[tokio::test]
async fn the_end_of_the_server_closes_sockets_with_1001_and_waits_for_their_clients() {
    let (server, _ends) = start().await;
    let mut one = open(&server, "/usual").await;
    let mut other = open(&server, "/mounted/live").await;
    let stopped = server.stop();
    for connection in [&mut one, &mut other] {
        assert_closed(connection, 1001, "server.stopping").await;
    }
    soon(stopped).await.expect("an end");
}

/// A handler that writes frames itself is in the middle of one.
#[tokio::test]
async fn the_close_frame_is_behind_the_frame_that_has_begun() {
    let steps = Arc::new(Semaphore::new(0));
    let handler_steps = Arc::clone(&steps);
    let fallback = Fallback::handler(move |mut request: Request| {
        let upgrade = ::hyper::upgrade::on(&mut request);
        let steps = Arc::clone(&handler_steps);
        tokio::spawn(async move {
            let mut stream = hyper_util::rt::TokioIo::new(upgrade.await.expect("a stream"));
            stream.write_all(b"\x01\x05he").await.expect("open");
            stream.flush().await.expect("open");
            steps.acquire().await.expect("a step").forget();
            // Bytes after the frame are discarded.
            let _ = stream.write_all(b"llo\x80\x01!").await;
            let _ = stream.flush().await;
            std::future::pending::<()>().await;
        });
        std::future::ready(to_websocket())
    });
    let server = Running::start(App::new(()).fallback(fallback.public())).await;
    let mut connection = open(&server, "/raw").await;
    assert_eq!(connection.exactly(4).await, b"\x01\x05he");
    let stopped = server.stop();
    steps.add_permits(1);
    // Either the next frame was written before the server stopped, or the Close frame follows this
    // one.
    assert_eq!(connection.exactly(3).await, b"llo");
    let rest = [&b"\x80\x01!"[..], &close(1001, "server.stopping")].concat();
    let first = connection.exactly(2).await;
    let rest = if first == b"\x80\x01" { &rest[2..] } else { &rest[5..] };
    assert_eq!(connection.exactly(rest.len()).await, rest);
    connection.send(b"\x88\x80\0\0\0\0").await;
    soon(stopped).await.expect("an end");
}

#[tokio::test]
async fn the_same_limits_and_ends_hold_over_http_2() {
    let (server, _ends) = start().await;
    let mut client = http2::for_websockets(&server).await;
    let mut open = async |path: &str| {
        let (response, sending) =
            client.send_request(http2::opening(path, "websocket", &[]), false).expect("a stream");
        let response = soon(response).await.expect("a response");
        assert_eq!(response.status(), 200, "{path}");
        (response.into_body(), sending)
    };
    let mut streams = Vec::new();
    for path in ["/live", "/mounted/live", "/elsewhere"] {
        let (mut body, mut sending) = open(path).await;
        sending.send_data(frame(0x81, b"hi").into(), false).expect("a stream");
        assert_eq!(soon(body.data()).await.expect("more").expect("data"), text("text 2"));
        let parts = [frame(0x02, &[7; 1000]), frame(0x80, &[7; 25])];
        sending.send_data(parts.concat().into(), false).expect("a stream");
        let closed = soon(body.data()).await.expect("more").expect("data");
        assert_eq!(closed, close(1009, "limit.message"), "{path}");
        sending.send_data(Bytes::from_static(b"\x88\x80\0\0\0\0"), true).expect("a stream");
        while let Some(Ok(data)) = soon(body.data()).await {
            assert!(data.is_empty(), "{path} {data:?}");
        }
        streams.push(open(path).await);
    }
    let stopped = server.stop();
    for (mut body, mut sending) in streams {
        let closed = soon(body.data()).await.expect("more").expect("data");
        assert_eq!(closed, close(1001, "server.stopping"));
        let _ = sending.send_data(Bytes::from_static(b"\x88\x80\0\0\0\0"), true);
    }
    soon(stopped).await.expect("an end");
}

/// The server does not hold what a handler writes either, however much it writes at once.
#[tokio::test]
async fn unread_messages_stay_with_the_handler() {
    const LARGE: u32 = 64 << 20;
    let (report, mut reports) = tokio::sync::mpsc::unbounded_channel();
    let fallback = Fallback::handler(move |mut request: Request| {
        let (upgrade, report) = (::hyper::upgrade::on(&mut request), report.clone());
        tokio::spawn(async move {
            let mut stream = hyper_util::rt::TokioIo::new(upgrade.await.expect("a stream"));
            let head = [&[0x82, 127, 0, 0, 0, 0][..], &LARGE.to_be_bytes()].concat();
            stream.write_all(&head).await.expect("open");
            let bytes = vec![0; 64 << 20];
            let (mut taken, mut refusals) = (0, 0);
            // The task that takes the writes runs in between.
            while refusals < 1_000 && taken < bytes.len() {
                match stream.write(&bytes[taken..]).now_or_never() {
                    Some(written) => (taken, refusals) = (taken + written.expect("open"), 0),
                    None => refusals += 1,
                }
                tokio::task::yield_now().await;
            }
            report.send(taken).expect("a test");
            std::future::pending::<()>().await;
        });
        std::future::ready(StatusCode::OK)
    });
    let server = Running::start(App::new(()).fallback(fallback.public())).await;
    let mut client = http2::for_websockets(&server).await;
    let (response, _sending) =
        client.send_request(http2::opening("/raw", "websocket", &[]), false).expect("a stream");
    let _unread = soon(response).await.expect("a response").into_body();
    let taken = soon(reports.recv()).await.expect("a number");
    assert!(taken < 1 << 20, "{taken} bytes were taken");
}

/// RFC 8441 5, RFC 9110 9.3.6: a 2xx would say that there is a WebSocket.
#[tokio::test]
async fn an_extended_connect_needs_a_websocket_route() {
    let ends = Arc::new(Semaphore::new(0));
    let router = axum::Router::new().route("/pages/one", axum::routing::any(async || "a page"));
    let app = app(&ends).mount("/pages", Mount::new(router).public());
    let server = Running::start(app).await;
    let mut client = http2::for_websockets(&server).await;
    for path in ["/page", "/pages/one", "/elsewhere?page"] {
        let (response, _sending) =
            client.send_request(http2::opening(path, "websocket", &[]), false).expect("a stream");
        let response = soon(response).await.expect("a response");
        assert_eq!(response.status(), 501, "{path}");
        let mut body = response.into_body();
        let problem = soon(body.data()).await.expect("a problem").expect("data");
        let problem = String::from_utf8_lossy(&problem).into_owned();
        assert!(problem.contains("route.protocol-not-served"), "{path} {problem}");
    }
}

//! WebSockets through the proxy.

use std::{net::TcpListener, time::Duration};

use policy_server::{ReverseProxy, prelude::*};
use policy_tests::http2;
use tokio::task::yield_now;
use tungstenite::{Message, accept, handshake::derive_accept_key};

use super::{
    Running, Upstream,
    http::{Connection, StoppedTime, request, soon},
    send, start, stripping,
};

const SWITCHED: &str = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\
                        connection: Upgrade\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// The response of a server with this field.
fn switched(accept: &str) -> String {
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n{accept}\r\n"
    )
}

/// The opening handshake with the key of RFC 6455 1.3.
fn opening(fields: &[&str]) -> String {
    let own = [
        "upgrade: websocket",
        "connection: keep-alive, Upgrade",
        "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
        "sec-websocket-version: 13",
    ];
    request("GET /api/live", &[&own, fields].concat())
}

/// An echo server by another library.
fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let Ok(mut socket) = accept(stream) else { return };
                while let Ok(message) = socket.read() {
                    if matches!(message, Message::Text(_)) && socket.send(message).is_err() {
                        return;
                    }
                }
            });
        }
    });
    format!("http://{address}")
}

async fn open(server: &Running, fields: &[&str]) -> Connection {
    let mut connection = server.connect().await;
    connection.send(opening(fields)).await;
    let response = connection.head().await;
    assert_eq!(response.status, 101, "{response:?}");
    assert_eq!(response.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    assert_eq!(response.header("upgrade"), Some("websocket"));
    assert_eq!(response.header("connection"), Some("upgrade"));
    connection
}

/// Requests a WebSocket. Returns the client, and the connection on which the upstream has the
/// request.
async fn begin_handshake(server: &Running, upstream: &Upstream) -> (Connection, Connection) {
    let (connection, line, _) = send(server, upstream, opening(&[])).await;
    (connection, line)
}

#[tokio::test]
async fn messages_go_both_ways() {
    let server = start(ReverseProxy::new("/api", echo()).public().strip_prefix()).await;
    let mut connection = open(&server, &[]).await;
    // Masked with zeros.
    connection.send(b"\x81\x82\0\0\0\0hi").await;
    assert_eq!(connection.exactly(4).await, b"\x81\x02hi");
    connection.send(b"\x81\x82\0\0\0\0yo").await;
    assert_eq!(connection.exactly(4).await, b"\x81\x02yo");
    // The close handshake works in both directions too.
    connection.send(b"\x88\x82\0\0\0\0\x03\xe8").await;
    assert_eq!(connection.rest().await, b"\x88\x02\x03\xe8");
}

#[tokio::test]
async fn the_upstream_gets_the_handshake_and_the_end_of_the_client() {
    let upstream = Upstream::start().await;
    let server = stripping(&upstream).await;
    let handshake = opening(&["cookie: a=1"]);
    let (mut connection, mut line, got) = send(&server, &upstream, handshake).await;
    assert_eq!(got.line, "GET /live HTTP/1.1");
    for (name, value) in [
        ("upgrade", "websocket"),
        ("connection", "upgrade"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("cookie", "a=1"),
    ] {
        assert_eq!(got.header(name), Some(value));
    }
    line.send(SWITCHED).await;
    assert_eq!(connection.head().await.status, 101);
    connection.send("up").await;
    assert_eq!(line.exactly(2).await, b"up");
    line.send("down").await;
    assert_eq!(connection.exactly(4).await, b"down");
    drop(connection);
    assert_eq!(line.rest().await, b"");
}

#[tokio::test]
async fn the_client_gets_the_end_of_the_upstream() {
    let upstream = Upstream::start().await;
    let server = stripping(&upstream).await;
    let (mut connection, mut line) = begin_handshake(&server, &upstream).await;
    line.send(SWITCHED).await;
    line.send("last").await;
    drop(line);
    assert_eq!(connection.head().await.status, 101);
    assert_eq!(connection.rest().await, b"last");
}

/// RFC 6455 10.2: the policy of the proxy decides which pages may open one.
#[tokio::test]
async fn pages_of_others_cannot_open_websockets() {
    let policy = CorsPolicy::origins(&["https://app.example"]).build();
    let server =
        start(ReverseProxy::new("/api", echo()).public().policies(Policies::new().cors(policy)))
            .await;
    open(&server, &["origin: https://app.example"]).await;
    open(&server, &["origin: http://localhost"]).await;
    let foreign = server.response(opening(&["origin: https://evil.example"])).await;
    assert_eq!(foreign.problem(), (403, "cors.websocket-origin-not-granted".to_owned()));
}

/// Browsers add the credentials of their user to every WebSocket, and the upstream may know them.
#[tokio::test]
async fn pages_without_credentials_open_websockets_without_cookies() {
    const PAGE: &str = "origin: https://app.example";
    const CREDENTIALS: [&str; 2] = ["cookie: a=1", "authorization: Basic YTpi"];
    let with = async |policy: CorsPolicy| {
        let proxy = ReverseProxy::new("/api", echo()).public();
        start(proxy.policies(Policies::new().cors(policy))).await
    };
    for policy in [CorsPolicy::origins(&["*"]), CorsPolicy::origins(&["https://app.example"])] {
        let server = with(policy.build()).await;
        open(&server, &[PAGE]).await;
        for credential in CREDENTIALS {
            open(&server, &[credential]).await;
            open(&server, &["origin: http://localhost", credential]).await;
            let refused = server.response(opening(&[PAGE, credential])).await;
            assert_eq!(refused.problem(), (403, "cors.websocket-origin-not-granted".to_owned()));
        }
    }
    let trusting = CorsPolicy::origins(&["https://app.example"]).credentials().build();
    let server = with(trusting).await;
    for credential in CREDENTIALS {
        open(&server, &[PAGE, credential]).await;
    }
}

#[tokio::test]
async fn an_upstream_may_decline() {
    let upstream = Upstream::start().await;
    let server = stripping(&upstream).await;
    let (mut connection, mut line) = begin_handshake(&server, &upstream).await;
    line.send("HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno").await;
    let response = connection.response().await;
    assert_eq!((response.status, response.text()), (403, "no"));
}

#[tokio::test]
async fn an_upstream_switches_to_nothing_else() {
    for switched in [
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: Upgrade\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    ] {
        let upstream = Upstream::start().await;
        let server = stripping(&upstream).await;
        let (mut connection, mut line) = begin_handshake(&server, &upstream).await;
        line.send(switched).await;
        let response = connection.response().await;
        assert_eq!(response.problem(), (502, "proxy.bad-answer".to_owned()));
        assert_eq!(soon(line.rest()).await, b"");
    }
}

/// An upgrade to HTTP/2 would let requests bypass every gate.
#[tokio::test]
async fn no_other_protocol_is_requested() {
    let upstream = Upstream::start().await;
    let server = stripping(&upstream).await;
    let mut arrived = upstream.answering("HTTP/1.1 204 No Content\r\n\r\n");
    for upgrade in ["h2c", "websocket, h2c", "TLS/1.3", "HTTP/2.0"] {
        let fields = [
            "connection: Upgrade, HTTP2-Settings",
            &format!("upgrade: {upgrade}"),
            "http2-settings: AAMAAABkAARAAAAAAAIAAAAA",
        ];
        assert_eq!(server.response(request("GET /api", &fields)).await.status, 204);
        let got = arrived.recv().await.expect("a request");
        for name in ["connection", "upgrade", "http2-settings"] {
            assert_eq!(got.header(name), None, "{upgrade}");
        }
    }
}

/// Some servers read what follows the head of a handshake as frames, whatever its length, and no limit
/// would count these. If the client kept the content back, its WebSocket would neither open nor end.
#[tokio::test]
async fn a_handshake_with_content_opens_none() {
    for (field, content) in [
        ("content-length: 5", "hello"),
        ("content-length: 5", ""),
        ("transfer-encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"),
    ] {
        let upstream = Upstream::start().await;
        let server = stripping(&upstream).await;
        let handshake = opening(&[field]) + content;
        let (mut connection, mut line, got) = send(&server, &upstream, handshake).await;
        assert_eq!((got.header("upgrade"), got.header("connection")), (None, None), "{field}");
        assert_eq!(line.exactly(content.len()).await, content.as_bytes(), "{field}");
        line.send("HTTP/1.1 426 Upgrade Required\r\ncontent-length: 0\r\n\r\n").await;
        assert_eq!(connection.response().await.status, 426, "{field}");
    }
    let server = start(ReverseProxy::new("/api", echo()).public().strip_prefix()).await;
    open(&server, &["content-length: 0"]).await;
}

#[tokio::test]
async fn no_more_than_stated_are_open_at_once() {
    let proxy = ReverseProxy::new("/api", echo())
        .public()
        .strip_prefix()
        .policies(Policies::new().limits(Limits::NONE.sockets(2)));
    let server = start(proxy).await;
    let first = open(&server, &[]).await;
    let mut second = open(&server, &[]).await;
    let refused = server.response(opening(&[])).await;
    assert_eq!(refused.problem(), (503, "limit.sockets".to_owned()));
    // Other requests are not counted.
    assert_ne!(server.response(request("GET /api/live", &[])).await.status, 503);
    drop(first);
    let third = async {
        loop {
            let mut connection = server.connect().await;
            connection.send(opening(&[])).await;
            if connection.head().await.status == 101 {
                return connection;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    for connection in [&mut soon(third).await, &mut second] {
        connection.send(b"\x81\x82\0\0\0\0hi").await;
        assert_eq!(connection.exactly(4).await, b"\x81\x02hi");
    }
}

#[tokio::test]
async fn a_silent_one_ends_and_a_busy_one_stays() {
    let silence = Limits::NONE.silence(Duration::from_millis(400));
    let proxy = ReverseProxy::new("/api", echo())
        .public()
        .strip_prefix()
        .policies(Policies::new().limits(silence));
    let server = start(proxy).await;
    let (mut silent, mut busy) = (open(&server, &[]).await, open(&server, &[]).await);
    let mut end = tokio::spawn(async move { silent.rest().await });
    while !end.is_finished() {
        busy.send(b"\x81\x82\0\0\0\0hi").await;
        assert_eq!(busy.exactly(4).await, b"\x81\x02hi");
    }
    let ended = (&mut end).await.expect("it ended");
    // The client got a ping first, which the upstream does not see.
    assert_eq!(ended.escape_ascii().to_string(), r"\x89\x06policy\x88\x0f\x03\xe9limit.silence");
    busy.send(b"\x81\x82\0\0\0\0yo").await;
    assert_eq!(busy.exactly(4).await, b"\x81\x02yo");
}

/// No limit of the route counts the connection to the upstream.
#[tokio::test]
async fn an_upstream_that_does_not_end_is_left_with_its_client() {
    let time = StoppedTime::begin();
    let upstream = Upstream::start().await;
    let limits = Limits::NONE.silence(Duration::from_secs(4));
    let proxy = ReverseProxy::new("/api", upstream.origin()).public();
    let server = start(proxy.policies(Policies::new().limits(limits))).await;
    let (mut connection, mut line) = begin_handshake(&server, &upstream).await;
    line.send(SWITCHED).await;
    assert_eq!(connection.head().await.status, 101);
    drop(connection);
    assert_eq!(line.rest().await, b"");
    time.pass(Duration::from_secs(20)).await;
    // A connection that is closed on the other side is reset when something arrives there.
    line.send("x").await;
    let reset = async {
        while line.stream.take_error().expect("a socket").is_none() {
            yield_now().await;
        }
    };
    time.until(soon(reset)).await;
}

/// RFC 8441: a WebSocket over an HTTP/2 stream becomes one over HTTP/1.1 behind the proxy.
#[tokio::test]
async fn a_stream_of_http2_becomes_one() {
    let upstream = Upstream::start().await;
    let server = stripping(&upstream).await;
    let mut client = http2::for_websockets(&server).await;
    let connect = || http2::opening("/api/live", "websocket", &[]);
    let (response, mut sender) = client.send_request(connect(), false).expect("a stream");
    let (mut line, got) = upstream.accept_request().await;
    assert_eq!(got.line, "GET /live HTTP/1.1");
    assert_eq!(
        (got.header("upgrade"), got.header("connection")),
        (Some("websocket"), Some("upgrade"))
    );
    let key = got.header("sec-websocket-key").expect("a key");
    let bytes = data_encoding::BASE64.decode(key.as_bytes());
    assert_eq!(bytes.expect("base64").len(), 16);
    line.send(switched(&format!(
        "sec-websocket-accept: {}\r\n",
        derive_accept_key(key.as_bytes())
    )))
    .await;
    let response = soon(response).await.expect("a response");
    assert_eq!(response.status(), 200);
    for name in ["sec-websocket-accept", "upgrade", "connection"] {
        assert!(!response.headers().contains_key(name), "{response:?}");
    }
    sender.send_data("up".into(), false).expect("a stream");
    assert_eq!(line.exactly(2).await, b"up");
    line.send("down").await;
    let mut body = response.into_body();
    assert_eq!(soon(body.data()).await.expect("more").expect("data"), "down");
    drop((sender, body));
    assert_eq!(line.rest().await, b"");

    // An ordinary page is refused, since forwarding its 200 would open a WebSocket, and so is a
    // server that has not read the key (RFC 6455 4.1).
    let page = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\npage".to_owned();
    for refused in [page, switched(""), switched("sec-websocket-accept: AAAA\r\n"), SWITCHED.into()]
    {
        let (response, _sender) = client.send_request(connect(), false).expect("a stream");
        let (mut line, _) = upstream.accept_request().await;
        line.send(&refused).await;
        assert_eq!(soon(response).await.expect("a response").status(), 502, "{refused}");
    }
}

#[tokio::test]
async fn a_message_that_is_too_large_does_not_reach_the_upstream() {
    let upstream = Upstream::start().await;
    let proxy = ReverseProxy::new("/api", upstream.origin())
        .public()
        .policies(Policies::new().limits(Limits::NONE.message(4)));
    let server = start(proxy).await;
    let (mut connection, mut line) = begin_handshake(&server, &upstream).await;
    line.send(SWITCHED).await;
    assert_eq!(connection.head().await.status, 101);
    connection.send(b"\x81\x82\0\0\0\0hi\x01\x83\0\0\0\0abc\x80\x82\0\0\0\0de").await;
    let close = b"\x88\x0f\x03\xf1limit.message";
    assert_eq!(connection.exactly(close.len()).await, close);
    connection.send(b"\x88\x80\0\0\0\0").await;
    assert_eq!(soon(connection.rest()).await, b"");
    // The upstream gets a Close frame with the same reason, masked with zeros.
    let got = soon(line.rest()).await.escape_ascii().to_string();
    let close = r"\x88\x8f\x00\x00\x00\x00\x03\xf1limit.message";
    let first = r"\x81\x82\x00\x00\x00\x00hi\x01\x83\x00\x00\x00\x00abc";
    assert_eq!(got, format!("{first}{close}"));
}

//! WebSockets as streams of HTTP/2 (RFC 8441).

use ::http::{HeaderMap, Request, StatusCode};
use axum::extract::WebSocketUpgrade;
use bytes::Bytes;
use h2::{RecvStream, SendStream};
use policy_server::{Clock, tokens::SecretKey};
use policy_tests::{
    handlers::cut_off,
    http2::{Client, for_websockets, opening},
    websocket::echo,
};

use super::*;

#[get("/socket/{name}")]
#[cors(origins = ["https://shop.example"])]
#[auth(public)]
async fn socket(name: String, upgrade: WebSocketUpgrade) -> Response {
    assert_eq!(name, "ada");
    echo(upgrade)
}

#[get("/mine")]
#[auth(token)]
async fn mine(upgrade: WebSocketUpgrade) -> Response {
    echo(upgrade)
}

#[post("/posted")]
#[auth(public)]
async fn posted() {}

#[get("/token")]
#[auth(public)]
async fn token(tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.issue(&Identity::new("ada"))?.access_token)
}

fn app() -> App<()> {
    super::app().routes(routes![socket, posted])
}

struct Socket {
    sending: SendStream<Bytes>,
    receiving: RecvStream,
    received: Vec<u8>,
}

async fn ask(client: &mut Client, request: Request<()>) -> (StatusCode, HeaderMap, Socket) {
    *client = soon(client.clone().ready()).await.expect("a connection");
    let (response, sending) = client.send_request(request, false).expect("a request");
    let (head, receiving) = soon(response).await.expect("a response").into_parts();
    (head.status, head.headers, Socket { sending, receiving, received: Vec::new() })
}

async fn open(client: &mut Client, request: Request<()>) -> Socket {
    let (status, headers, socket) = ask(client, request).await;
    assert_eq!(status, 200);
    // RFC 8441 5.1: these belong to the handshake of HTTP/1.1.
    for name in ["sec-websocket-accept", "upgrade", "connection", "content-length"] {
        assert!(!headers.contains_key(name), "{headers:?}");
    }
    socket
}

impl Socket {
    /// Sends `hi`, masked with zeros, and reads it back.
    async fn assert_echo(&mut self) {
        let frame = Bytes::from_static(b"\x81\x82\0\0\0\0hi");
        self.sending.send_data(frame, false).expect("a stream");
        while self.received.len() < 4 {
            let data = soon(self.receiving.data()).await.expect("a stream").expect("data");
            self.receiving.flow_control().release_capacity(data.len()).expect("its window");
            self.received.extend_from_slice(&data);
        }
        assert_eq!(std::mem::take(&mut self.received), b"\x81\x02hi");
    }

    /// Waits for the Close frame, replies, and waits for the end of the stream.
    async fn assert_ended(&mut self, close: &[u8]) {
        let sent = soon(self.receiving.data()).await.expect("a stream").expect("data");
        assert_eq!(sent.escape_ascii().to_string(), close.escape_ascii().to_string());
        let _ = self.sending.send_data(Bytes::from_static(b"\x88\x80\0\0\0\0"), false);
        while let Some(Ok(data)) = soon(self.receiving.data()).await {
            assert!(data.is_empty(), "before the end: `{}`", data.escape_ascii());
        }
    }
}

async fn problem(mut socket: Socket) -> String {
    let mut body = Vec::new();
    while let Some(data) = soon(socket.receiving.data()).await {
        body.extend_from_slice(&data.expect("data"));
    }
    let problem: serde_json::Value = serde_json::from_slice(&body).expect("a problem");
    problem["code"].as_str().expect("a code").to_owned()
}

#[tokio::test]
async fn websockets_open_on_the_route_that_serves_get() {
    let time = StoppedTime::begin();
    let settings = ServerSettings::default().idle_timeout(Duration::from_millis(100));
    let server = Running::start(app().settings(settings)).await;
    let mut client = for_websockets(&server).await;
    assert!(client.is_extended_connect_protocol_enabled());
    for fields in
        [&[][..], &[("origin", "https://shop.example")], &[("origin", "http://localhost")]]
    {
        let request = opening("/socket/ada", "websocket", fields);
        let mut first = open(&mut client, request.clone()).await;
        let mut second = open(&mut client, request).await;
        first.assert_echo().await;
        second.assert_echo().await;
        // A connection with an open stream is not idle.
        time.pass(Duration::from_millis(250)).await;
        first.assert_echo().await;
        // One stream ends with a close frame, and the other goes on.
        first.sending.send_data(Bytes::new(), true).expect("a stream");
        second.assert_echo().await;
    }
    let get = Request::builder().uri("http://localhost/client").body(()).expect("a request");
    assert_eq!(ask(&mut client, get).await.0, 200);
}

/// RFC 6455 10.2; the same check as over HTTP/1.1.
#[tokio::test]
async fn websockets_do_not_open_for_other_origins_protocols_or_routes() {
    let server = Running::start(app()).await;
    let mut client = for_websockets(&server).await;
    for (path, protocol, fields, status, code) in [
        (
            "/socket/ada",
            "websocket",
            &[("origin", "https://evil.example")][..],
            403,
            "cors.websocket-origin-not-granted",
        ),
        (
            "/socket/ada",
            "websocket",
            &[("origin", "null")],
            403,
            "cors.websocket-origin-not-granted",
        ),
        ("/socket/ada", "connect-udp", &[], 501, "route.protocol-unknown"),
        ("/socket/ada", "WebSocket", &[], 501, "route.protocol-unknown"),
        ("/posted", "websocket", &[], 405, "route.method-not-allowed"),
        ("/nowhere", "websocket", &[], 404, "route.not-found"),
        ("/socket/../ada", "websocket", &[], 400, "wire.path-dot-segment"),
    ] {
        let (found, _, socket) = ask(&mut client, opening(path, protocol, fields)).await;
        assert_eq!((found.as_u16(), &*problem(socket).await), (status, code), "{path} {protocol}");
    }
    // A handler for WebSockets that receives a GET.
    let get = Request::builder().uri("http://localhost/socket/ada").body(()).expect("a request");
    assert!(ask(&mut client, get).await.0.is_client_error());
}

#[tokio::test]
async fn websockets_end_with_their_token_and_leave_the_connection() {
    let clock = Clock::at(1_800_000_000);
    let tokens = Tokens::hs256([("k1", SecretKey::from_bytes([7; 32]))]).expect("keys");
    let app = app().clock(clock.clone()).tokens(tokens).routes(routes![mine, token, cut_off]);
    let server = Running::start(app).await;
    let token = server.response(request("GET /token", &[])).await.text().to_owned();
    let mut client = for_websockets(&server).await;
    let request = |token: &str| {
        opening("/mine", "websocket", &[("authorization", &format!("Bearer {token}"))])
    };
    let (status, _, socket) = ask(&mut client, request("no.to.ken")).await;
    assert_eq!((status.as_u16(), &*problem(socket).await), (401, "auth.token-invalid"));
    let mut public = open(&mut client, opening("/socket/ada", "websocket", &[])).await;
    let mut mine = open(&mut client, request(&token)).await;
    mine.assert_echo().await;
    clock.advance(Duration::from_secs(2));
    let cut_off = http::request("POST /cut-off", &["content-length: 0"]);
    assert_eq!(server.response(cut_off).await.status, 200);
    mine.assert_ended(b"\x88\x17\x03\xf0auth.credential-ended").await;
    public.assert_echo().await;
    let get = Request::builder().uri("http://localhost/client").body(()).expect("a request");
    assert_eq!(ask(&mut client, get).await.0, 200);
}

/// The server stops reading from a client that reads nothing.
#[tokio::test]
async fn websockets_hold_no_more_than_their_windows() {
    let server = Running::start(app()).await;
    let mut client = for_websockets(&server).await;
    let mut greedy = open(&mut client, opening("/socket/ada", "websocket", &[])).await;
    // A binary message of 64 KiB, whose echo is not read.
    let mut frame = b"\x82\xff\0\0\0\0\0\x01\0\0\0\0\0\0".to_vec();
    frame.resize(frame.len() + (64 << 10), b'x');
    let frame = Bytes::from(frame);
    let mut taken = 0;
    while taken < (16 << 20) {
        greedy.sending.reserve_capacity(frame.len());
        let limit = Duration::from_millis(500);
        let has_room = std::future::poll_fn(|context| greedy.sending.poll_capacity(context));
        let Ok(room) = tokio::time::timeout(limit, has_room).await else { break };
        let room = room.expect("a stream").expect("room").min(frame.len());
        // Frames may be split anywhere: it is a stream of bytes.
        let start = taken % frame.len();
        let part = frame.slice(start..(start + room).min(frame.len()));
        taken += part.len();
        greedy.sending.send_data(part, false).expect("a stream");
    }
    assert!(taken < (16 << 20), "{taken} bytes were taken");
    let get = Request::builder().uri("http://localhost/client").body(()).expect("a request");
    assert_eq!(ask(&mut client, get).await.0, 200);
}

//! Every way to carry a stream, and every reason to end it: the client is told the reason, and
//! nothing hangs or breaks off.

use h2::{RecvStream, SendStream, ext::Protocol};
use policy_server::{Limits, PolicyLayer, ReverseProxy};
use policy_tests::{http::StoppedTime, http2};
use tower::Layer;

use super::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Carrier {
    Events,
    EventsOverHttp2,
    Socket,
    /// An extended CONNECT (RFC 8441).
    SocketOverHttp2,
    ProxiedSocket,
    SocketBelowLayer,
}

const CARRIERS: [Carrier; 6] = [
    Carrier::Events,
    Carrier::EventsOverHttp2,
    Carrier::Socket,
    Carrier::SocketOverHttp2,
    Carrier::ProxiedSocket,
    Carrier::SocketBelowLayer,
];

impl Carrier {
    fn path(self) -> &'static str {
        match self {
            Self::Events | Self::EventsOverHttp2 => "/events",
            Self::Socket | Self::SocketOverHttp2 => "/socket",
            Self::ProxiedSocket => "/proxied",
            Self::SocketBelowLayer => "/layered",
        }
    }

    fn is_socket(self) -> bool {
        !matches!(self, Self::Events | Self::EventsOverHttp2)
    }

    fn is_http2(self) -> bool {
        matches!(self, Self::EventsOverHttp2 | Self::SocketOverHttp2)
    }
}

#[derive(Clone, Copy, Debug)]
enum Reason {
    Logout,
    SessionRevoked,
    SessionExpired,
    StoreUnreachable,
    TokenExpired,
    TokenRevoked,
    UserCutOff,
    AllCutOff,
    Shutdown,
    Silence,
    MessageTooLarge,
}

const REASONS: [Reason; 11] = [
    Reason::Logout,
    Reason::SessionRevoked,
    Reason::SessionExpired,
    Reason::StoreUnreachable,
    Reason::TokenExpired,
    Reason::TokenRevoked,
    Reason::UserCutOff,
    Reason::AllCutOff,
    Reason::Shutdown,
    Reason::Silence,
    Reason::MessageTooLarge,
];

impl Reason {
    /// Whether the reason is a message of the client, or the lack of one.
    fn is_of_sockets(self) -> bool {
        matches!(self, Self::Silence | Self::MessageTooLarge)
    }

    fn is_of_token(self) -> bool {
        matches!(self, Self::TokenExpired | Self::TokenRevoked | Self::UserCutOff | Self::AllCutOff)
    }

    /// The status of the Close frame (RFC 6455 7.4.1), and the code.
    fn expected(self) -> (u16, &'static str) {
        match self {
            Self::Shutdown => (1001, "server.stopping"),
            Self::Silence => (1001, "limit.silence"),
            Self::MessageTooLarge => (1009, "limit.message"),
            _ => (1008, "auth.credential-ended"),
        }
    }
}

/// A stream that has begun.
enum Line {
    Http1(Connection),
    Http2(SendStream<Bytes>, RecvStream, Vec<u8>),
}

impl Line {
    async fn open(site: &Site, carrier: Carrier, credential: &str) -> Self {
        if !carrier.is_http2() {
            let path = carrier.path();
            return Self::Http1(match carrier.is_socket() {
                true => site.socket(path, credential).await,
                false => site.events(path, credential).await,
            });
        }
        let mut client = http2::for_websockets(&site.server).await;
        let mut fields = vec![credential.split_once(": ").unwrap()];
        let target = format!("http://api.example{}", carrier.path());
        let request = if carrier.is_socket() {
            fields.extend([("origin", OWN), ("sec-websocket-version", "13")]);
            let mut request = http2::request("CONNECT", &target, &fields);
            request.extensions_mut().insert(Protocol::from_static("websocket"));
            request
        } else {
            http2::request("GET", &target, &fields)
        };
        let (response, sending) = client.send_request(request, !carrier.is_socket()).unwrap();
        let response = soon(response).await.unwrap();
        assert_eq!(response.status(), 200, "{carrier:?}");
        let mut line = Self::Http2(sending, response.into_body(), Vec::new());
        if carrier.is_socket() {
            line.send(b"\x81\x82\0\0\0\0hi").await;
            assert_eq!(line.exactly(4).await, b"\x81\x02hi");
        } else {
            site.shared.ticks.send_modify(|ticks| *ticks += 1);
            let event = format!("data: {}\n\n", *site.shared.ticks.borrow());
            assert_eq!(line.exactly(event.len()).await, event.as_bytes());
        }
        line
    }

    async fn send(&mut self, bytes: &'static [u8]) {
        match self {
            Self::Http1(connection) => connection.send(bytes).await,
            Self::Http2(sending, ..) => {
                sending.send_data(Bytes::from_static(bytes), false).unwrap();
            }
        }
    }

    async fn exactly(&mut self, length: usize) -> Vec<u8> {
        match self {
            Self::Http1(connection) => connection.exactly(length).await,
            Self::Http2(_, receiving, received) => {
                while received.len() < length {
                    let data = soon(receiving.data()).await;
                    received.extend_from_slice(&data.expect("more").expect("data"));
                }
                received.drain(..length).collect()
            }
        }
    }

    /// Reads everything until the end, which must not be an abort.
    async fn rest(self, is_chunked: bool) -> Vec<u8> {
        match self {
            Self::Http1(mut connection) if is_chunked => {
                let mut rest = Vec::new();
                while let Some(chunk) = connection.chunk().await {
                    rest.extend(chunk);
                }
                rest
            }
            Self::Http1(mut connection) => soon(connection.rest()).await,
            Self::Http2(_sending, mut receiving, mut received) => {
                while let Some(data) = soon(receiving.data()).await {
                    received.extend_from_slice(&data.expect("an orderly end"));
                }
                received
            }
        }
    }

    async fn assert_end(mut self, carrier: Carrier, reason: Reason) {
        let (status, code) = reason.expected();
        let what = format!("{carrier:?} {reason:?}");
        if !carrier.is_socket() {
            let rest = self.rest(true).await;
            let last = format!("event: end\ndata: {{\"code\":\"{code}\"}}\n\n");
            assert_eq!(String::from_utf8_lossy(&rest), last, "{what}");
            return;
        }
        let head = [0x88, u8::try_from(code.len()).unwrap() + 2];
        let close = [&head[..], &status.to_be_bytes(), code.as_bytes()].concat();
        let sent = self.exactly(close.len()).await;
        assert_eq!(sent.escape_ascii().to_string(), close.escape_ascii().to_string(), "{what}");
        self.send(b"\x88\x80\0\0\0\0").await;
        assert_eq!(self.rest(false).await, b"", "{what}");
    }
}

/// A server with all carriers.
async fn site() -> Site {
    let router = || {
        let socket = axum::routing::any(async |upgrade: WebSocketUpgrade| echo(upgrade));
        axum::Router::new().route("/proxied", socket.clone()).route("/layered", socket)
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = ReverseProxy::new("/proxied", format!("http://{}", listener.local_addr().unwrap()));
    tokio::spawn(axum::serve(listener, router()).into_future());
    let silence = Duration::from_secs(20);
    let limits = |times| Limits::NONE.message(u64::from(times) << 18).silence(silence * times);
    let layer = PolicyLayer::builder().policies(Policies::new().limits(limits(1))).build().unwrap();
    let callers = AuthRequirement::session().or_token();
    let mount =
        Mount::new(layer.layer(router())).auth(callers).policies(Policies::new().limits(limits(2)));
    Site::with(|app| {
        app.proxy(proxy.auth(callers).policies(Policies::new().limits(limits(1))))
            .mount("/layered", mount)
    })
    .await
}

async fn ends_as_expected(carrier: Carrier, reason: Reason) {
    let time = matches!(reason, Reason::Silence).then(StoppedTime::begin);
    let site = site().await;
    let session = site.login("ada").await;
    let token = site.token().await;
    let credential = if reason.is_of_token() { &token } else { &session[0] };
    let mut line = Line::open(&site, carrier, credential).await;
    let own = std::slice::from_ref(&token);
    match reason {
        Reason::Logout => drop(site.post("/logout", &session, "").await),
        Reason::SessionRevoked => drop(site.post("/revoke-all", &session, "").await),
        Reason::SessionExpired => site.clock.advance(minutes(15)),
        Reason::StoreUnreachable => {
            site.store.fail();
            site.clock.advance(Duration::from_secs(61));
        }
        Reason::TokenExpired => site.clock.advance(minutes(6)),
        Reason::TokenRevoked => drop(site.post("/revoke", own, "").await),
        Reason::UserCutOff => drop(site.post("/cut-off", &[], "").await),
        Reason::AllCutOff => drop(site.post("/cut-off-all", &[], "").await),
        Reason::Shutdown => {
            let stopped = site.server.stop();
            line.assert_end(carrier, reason).await;
            return soon(stopped).await.unwrap();
        }
        Reason::Silence => {
            let time = time.as_ref().unwrap();
            assert_eq!(time.until(line.exactly(8)).await, b"\x89\x06policy");
            return time.until(line.assert_end(carrier, reason)).await;
        }
        // The length of a frame, one byte over 256 KiB.
        Reason::MessageTooLarge => {
            line.send(b"\x82\xff\0\0\0\0\0\x04\0\x01\0\0\0\0").await;
        }
    }
    line.assert_end(carrier, reason).await;
}

/// Runs each reason that there is for a carrier, and returns how many.
fn tells_its_reasons(carrier: Carrier) -> usize {
    let reasons = REASONS.into_iter();
    let reasons = reasons.filter(|reason| carrier.is_socket() || !reason.is_of_sockets());
    let run = |reason| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // The message of a panic contains this name.
        let thread = std::thread::Builder::new().name(format!("{carrier:?}, {reason:?}"));
        let run = move || runtime.block_on(ends_as_expected(carrier, reason));
        thread.spawn(run).unwrap().join().unwrap();
    };
    reasons.map(run).count()
}

#[test]
fn each_carrier_tells_each_reason() {
    let threads = CARRIERS.map(|carrier| std::thread::spawn(move || tells_its_reasons(carrier)));
    let pairs: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    // Streams of events have two reasons fewer.
    assert_eq!(pairs, CARRIERS.len() * REASONS.len() - 2 * 2);
}

//! WebSockets below a layer, over real sockets: in axum's own server, and in an app around the
//! layer.

use std::sync::Arc;

use axum::extract::WebSocketUpgrade;
use policy_server::PolicyLayerBuilder;
use policy_tests::{
    http::{Connection, Running, StoppedTime, request, soon},
    websocket::{HANDSHAKE, assert_closed, frame, reply_with_kinds, text},
};
use tokio::{net::TcpListener, sync::Semaphore};

use super::*;

fn nobody() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(0))
}

/// Counts messages that are too long.
fn live(ends: &Arc<Semaphore>) -> Router {
    let ends = Arc::clone(ends);
    let live = async move |upgrade: WebSocketUpgrade| reply_with_kinds(upgrade, ends);
    Router::new().route("/live", axum::routing::any(live))
}

fn peer(of: &Extensions) -> Option<SocketAddr> {
    of.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0)
}

fn with(limits: Limits) -> PolicyLayerBuilder {
    PolicyLayer::builder().policies(Policies::new().limits(limits)).peer(peer)
}

/// A router below the layer, served by axum's own server.
async fn serve(limits: Limits, router: Router) -> SocketAddr {
    let layer = with(limits).build().expect("a layer");
    let service = Router::new().fallback_service(layer.layer(router));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let service = service.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(axum::serve(listener, service).into_future());
    address
}

async fn handshake(address: SocketAddr) -> (u16, Connection) {
    let mut connection = Connection::open(address).await;
    connection.send(request("GET /live", &HANDSHAKE)).await;
    (connection.head().await.status, connection)
}

async fn open(address: SocketAddr) -> Connection {
    let (status, connection) = handshake(address).await;
    assert_eq!(status, 101);
    connection
}

#[tokio::test]
async fn a_message_over_the_limit_of_a_layer_closes_its_socket() {
    let ends = Arc::new(Semaphore::new(0));
    let address = serve(Limits::NONE.message(1 << 10), live(&ends)).await;
    let mut connection = open(address).await;
    connection.send(frame(0x82, &[7; 1024])).await;
    assert_eq!(connection.exactly(13).await, text("binary 1024"));
    connection.send([frame(0x02, &[7; 1024]), frame(0x80, b"7")].concat()).await;
    assert_closed(&mut connection, 1009, "limit.message").await;
    let _handler = soon(ends.acquire()).await.expect("it is told");
}

/// Limits that a layer does not state stay as the service has them.
#[tokio::test]
async fn a_layer_that_states_no_limit_of_sockets_has_none() {
    let time = StoppedTime::begin();
    let address = serve(Limits::NONE.body(1), live(&nobody())).await;
    let mut connection = open(address).await;
    connection.send(frame(0x82, &[7; 300 << 10])).await;
    assert_eq!(connection.exactly(15).await, text("binary 307200"));
    time.pass(Duration::from_secs(600)).await;
    connection.send(frame(0x81, b"hi")).await;
    // Without a ping before it.
    assert_eq!(connection.exactly(8).await, text("text 2"));
}

#[tokio::test]
async fn a_silent_client_of_a_layer_is_pinged_and_closed_unless_it_replies() {
    let time = StoppedTime::begin();
    let limits = Limits::NONE.silence(Duration::from_secs(10));
    let address = serve(limits, live(&nobody())).await;
    let (mut there, mut gone) = (open(address).await, open(address).await);
    for _ in 0..3 {
        assert_eq!(time.until(there.exactly(8)).await, b"\x89\x06policy");
        there.send(b"\x8a\x86\0\0\0\0policy").await;
    }
    assert_eq!(gone.exactly(8).await, b"\x89\x06policy");
    assert_closed(&mut gone, 1001, "limit.silence").await;
    there.send(frame(0x81, b"hi")).await;
    assert_eq!(there.exactly(8).await, text("text 2"));
}

/// Each limit that counts sockets counts them until they end.
#[tokio::test]
async fn a_layer_counts_the_sockets_that_are_open() {
    for (limits, refused) in [
        (Limits::NONE.sockets(2), 503),
        (Limits::NONE.sockets_per_caller(2), 429),
        (Limits::NONE.concurrency(2), 503),
    ] {
        let address = serve(limits, live(&nobody())).await;
        let first = open(address).await;
        let mut second = open(address).await;
        assert_eq!(handshake(address).await.0, refused, "{limits:?}");
        drop(first);
        let next = async {
            loop {
                match handshake(address).await {
                    (101, connection) => return connection,
                    (status, _) => assert_eq!(status, refused, "{limits:?}"),
                }
            }
        };
        for connection in [&mut second, &mut soon(next).await] {
            connection.send(frame(0x81, b"hi")).await;
            assert_eq!(connection.exactly(8).await, text("text 2"));
        }
    }
}

/// A client may reply to the last of two pings only (RFC 6455 5.5.3).
#[tokio::test]
async fn of_an_app_and_a_layer_in_it_one_asks_the_client() {
    let time = StoppedTime::begin();
    let silence = |seconds| Limits::NONE.silence(Duration::from_secs(seconds));
    for (of_app, of_layer) in [(10, 10), (60, 10), (10, 60)] {
        let layer = with(silence(of_layer)).build().expect("a layer");
        let mount = Mount::new(layer.layer(live(&nobody()))).strip_prefix().public();
        let app =
            App::new(()).mount("/app", mount.policies(Policies::new().limits(silence(of_app))));
        let server = Running::start(app).await;
        let mut connection = server.connect().await;
        connection.send(request("GET /app/live", &HANDSHAKE)).await;
        assert_eq!(connection.head().await.status, 101);
        for _ in 0..4 {
            assert_eq!(time.until(connection.exactly(8)).await, b"\x89\x06policy");
            connection.send(b"\x8a\x86\0\0\0\0policy").await;
        }
        connection.send(frame(0x81, b"hi")).await;
        assert_eq!(connection.exactly(8).await, text("text 2"));
        assert_eq!(time.until(connection.exactly(8)).await, b"\x89\x06policy");
        time.until(assert_closed(&mut connection, 1001, "limit.silence")).await;
    }
}

//! Early data arrives before the handshake is complete, and can be replayed (RFC 8470).

use std::net::SocketAddr;

use tokio::{net::UdpSocket, sync::watch, task::JoinHandle};

use super::*;

/// Forwards packets. While it holds, it delays the client's packets after the server's first
/// handshake packet, except early data. So the handshake stays incomplete for as long as a test
/// needs.
struct Relay {
    address: SocketAddr,
    hold: watch::Sender<bool>,
    passing: JoinHandle<()>,
}

impl Relay {
    async fn start(server: SocketAddr) -> Self {
        let front = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let back = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        back.connect(server).await.unwrap();
        let address = front.local_addr().unwrap();
        let (hold, mut held) = watch::channel(false);
        let passing = tokio::spawn(async move {
            let (mut from_client, mut from_server) = (vec![0; 2048], vec![0; 2048]);
            let mut client = None;
            let mut waiting: Vec<Vec<u8>> = Vec::new();
            let mut has_answered = false;
            loop {
                tokio::select! {
                    Ok((length, sender)) = front.recv_from(&mut from_client) => {
                        client = Some(sender);
                        let packet = &from_client[..length];
                        if *held.borrow() && has_answered && !is_early_data(packet) {
                            waiting.push(packet.to_vec());
                        } else {
                            let _ = back.send(packet).await;
                        }
                    }
                    Ok(length) = back.recv(&mut from_server) => {
                        // The previous connection may still send packets.
                        has_answered |= is_of_handshake(&from_server[..length]);
                        if let Some(client) = client {
                            let _ = front.send_to(&from_server[..length], client).await;
                        }
                    }
                    Ok(()) = held.changed() => {
                        has_answered = false;
                        for packet in waiting.drain(..) {
                            let _ = back.send(&packet).await;
                        }
                    }
                }
            }
        });
        Self { address, hold, passing }
    }
}

/// Whether a packet has a long header, as all have until the handshake is complete (RFC 9000 17.2).
fn is_of_handshake(packet: &[u8]) -> bool {
    packet[0] & 0x80 != 0
}

/// Whether a datagram begins with early data (RFC 9000 17.2.3).
fn is_early_data(packet: &[u8]) -> bool {
    packet[0] & 0xb0 == 0x90
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.passing.abort();
    }
}

/// A returning client, which can send early data; its handshake is held back.
async fn early(server: &Server, relay: &Relay) -> (quinn::Connection, quinn::ZeroRttAccepted) {
    let client = server.client();
    let quic = client.connect(relay.address, "localhost").unwrap();
    let mut session = Session::over(soon(quic).await.unwrap()).await;
    // With the first response, the session tickets have arrived.
    assert_eq!(session.response(request("GET", "/early"), "").await.text(), "None");
    session.quic.close(0x100_u32.into(), b"");
    relay.hold.send(true).unwrap();
    let connecting = client.connect(relay.address, "localhost").unwrap();
    connecting.into_0rtt().expect("a session to resume")
}

/// RFC 8470 5.1: a handler can see it, and a proxy must forward it.
#[tokio::test]
async fn handlers_see_that_a_request_was_early_data() {
    let server = Server::start(App::new(()).routes(routes![early_field])).await;
    let relay = Relay::start(server.address()).await;
    let (quic, accepted) = early(&server, &relay).await;
    let get = client::head(&client::lines("GET", "/early"));
    let response = client::exchange(&quic, &get).await.unwrap();
    assert!(response.ends_with(b"Some(\"1\")"), "{}", response.escape_ascii());
    relay.hold.send(false).unwrap();
    assert!(soon(accepted).await, "early data was taken");
    assert!(client::exchange(&quic, &get).await.unwrap().ends_with(b"None"));
}

#[tokio::test]
async fn only_replayable_requests_are_served_before_the_handshake_completes() {
    let server = Server::start(app()).await;
    let relay = Relay::start(server.address()).await;
    let (quic, accepted) = early(&server, &relay).await;
    let raw = |method: &'static str, path: &'static str| {
        let quic = quic.clone();
        async move { client::exchange(&quic, &client::head(&client::lines(method, path))).await }
    };
    let (early, posted, owned, asking, rated, missing) = tokio::join!(
        raw("GET", "/hello"),
        raw("POST", "/echo"),
        raw("GET", "/mine"),
        raw("GET", "/early"),
        raw("GET", "/rated"),
        raw("GET", "/nowhere"),
    );
    let text =
        |response: Result<Vec<u8>, u64>| String::from_utf8_lossy(&response.unwrap()).into_owned();
    assert!(text(early).ends_with("hello"), "a safe method in public");
    let (posted, owned, asking, rated) = (text(posted), text(owned), text(asking), text(rated));
    assert!(posted.contains("wire.too-early"), "an unsafe method: {posted}");
    assert!(owned.contains("wire.too-early"), "of somebody's own: {owned}");
    assert!(asking.contains("wire.too-early"), "where it might be asked who it is: {asking}");
    assert!(rated.contains("wire.too-early"), "by an address that may be forged: {rated}");
    assert!(text(missing).contains("route.not-found"));

    // The same requests after the handshake.
    relay.hold.send(false).unwrap();
    assert!(soon(accepted).await, "early data was taken");
    let mut session = Session::over(quic).await;
    let posted = session.response(request("POST", "/echo"), "again").await;
    assert_eq!((posted.status, posted.text()), (200, "again"));
    let owned = session.response(request("GET", "/mine"), "").await;
    assert_eq!(owned.problem(), (401, "auth.credentials-missing".to_owned()));
    assert_eq!(session.response(request("GET", "/early"), "").await.text(), "None");
    assert_eq!(session.response(request("GET", "/rated"), "").await.text(), "rated");
}

/// RFC 8470 5.1: a proxy's `Early-Data` counts in every version.
#[tokio::test]
async fn early_data_of_a_proxy_counts_in_every_version() {
    let server = sockets::Running::start(app()).await;
    for (what, status) in [
        ("GET /hello", 200),
        ("POST /echo", 425),
        ("PUT /flag", 425),
        ("GET /mine", 425),
        ("GET /rated", 425),
        ("DELETE /hello", 405),
        ("OPTIONS /echo", 204),
    ] {
        let fields = ["early-data: 1", "content-length: 0"];
        let response = server.response(sockets::request(what, &fields)).await;
        assert_eq!(response.status, status, "{what}");
    }
}

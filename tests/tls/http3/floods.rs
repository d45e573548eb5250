//! Excessive numbers of everything.

use std::collections::HashSet;

use tokio::net::UdpSocket;

use super::*;

const EXCESSIVE_LOAD: u64 = 0x107;

#[tokio::test]
async fn requests_that_are_given_up_again_and_again_end_the_connection() {
    let server = Server::start(app()).await;
    let quic = server.raw().await;
    let head = client::head(&client::lines("GET", "/wait"));
    let mut sent = 0;
    let ended = loop {
        match soon(quic.open_bi()).await {
            Ok((mut send, mut receive)) => {
                // The connection may be closed already.
                let _ = send.write_all(&head).await;
                let _ = (send.reset(0x10c_u32.into()), receive.stop(0x10c_u32.into()));
                sent += 1;
                assert!(sent < 5000, "it goes on");
            }
            Err(error) => break error,
        }
    };
    assert_eq!(client::close_code(&ended), EXCESSIVE_LOAD);
    assert!(sent > 300, "{sent} requests");
    assert_eq!(server.response("GET", "/hello").await.text(), "hello", "others go on");
}

/// A client that opens its window for one response and cancels others now and then is no flood.
#[tokio::test]
async fn a_client_that_cancels_some_requests_continues() {
    let server = Server::start(app()).await;
    let quic = server.raw().await;
    let hello = client::head(&client::lines("GET", "/hello"));
    let wait = client::head(&client::lines("GET", "/wait"));
    for _ in 0..300 {
        for _ in 0..2 {
            assert!(client::exchange(&quic, &hello).await.is_ok());
        }
        for _ in 0..2 {
            let (mut send, mut receive) = quic.open_bi().await.unwrap();
            send.write_all(&wait).await.unwrap();
            let _ = (send.reset(0x10c_u32.into()), receive.stop(0x10c_u32.into()));
        }
    }
    assert!(client::exchange(&quic, &hello).await.is_ok());
}

/// Initial packets of clients as QUIC writes them, to send from any address.
async fn first_packets(server: &Server, count: usize) -> Vec<Vec<u8>> {
    let catcher = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let client = server.client();
    let mut connecting = Vec::new();
    let mut packets: Vec<Vec<u8>> = Vec::new();
    let mut clients = HashSet::new();
    while packets.len() < count {
        connecting.push(client.connect(catcher.local_addr().unwrap(), "localhost").unwrap());
        let mut packet = vec![0; 2048];
        let length = soon(catcher.recv(&mut packet)).await.unwrap();
        packet.truncate(length);
        // A retransmission has the same connection id.
        if clients.insert(packet[6..14].to_vec()) {
            packets.push(packet);
        }
    }
    packets
}

/// Whether it is a Retry: a long header of type 3 (RFC 9000 17.2.5).
fn is_retry(packet: &[u8]) -> bool {
    packet[0] & 0b1111_0000 == 0b1111_0000
}

#[tokio::test]
async fn a_flood_of_first_packets_costs_no_places() {
    const FLOOD: usize = 300;

    let settings =
        ServerSettings::default().max_connections(80).header_timeout(Duration::from_secs(600));
    let server = Server::start(app().settings(settings)).await;
    let mut retries = 0;
    let mut response = vec![0; 2048];
    for packet in first_packets(&server, FLOOD).await {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.send_to(&packet, server.address()).await.unwrap();
        let length = soon(socket.recv(&mut response)).await.unwrap();
        retries += usize::from(is_retry(&response[..length]));
    }
    // From the sixty-fifth on, clients must prove their address.
    assert_eq!(retries, FLOOD - 64);
    // A client that does is accepted: there are free slots.
    assert_eq!(server.response("GET", "/hello").await.text(), "hello");
}

/// The resources of a thousand abandoned handshakes are released.
#[tokio::test]
async fn abandoned_handshakes_leave_nothing() {
    let settings =
        ServerSettings::default().max_connections(64).header_timeout(Duration::from_millis(300));
    let server = Server::start(app().settings(settings)).await;
    for packet in first_packets(&server, 1000).await {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.send_to(&packet, server.address()).await.unwrap();
    }
    // All slots are free again: that many connections can be opened at once.
    let client = server.client();
    let mut sessions = Vec::new();
    while sessions.len() < 64 {
        match soon(client.connect(server.address(), "localhost").unwrap()).await {
            Ok(quic) => sessions.push(quic),
            Err(_refused) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

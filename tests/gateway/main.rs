//! A server between other hosts, over real sockets: behind proxies, in front of upstreams, and with
//! tunnels and WebSockets inside of its connections.
#![expect(clippy::expect_used, clippy::panic, reason = "what a test cannot do without fails it")]
#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]

mod fields;
mod header;
mod peers;
mod proxy;
mod tunnels;
mod websockets;

use std::{net::SocketAddr, time::Duration};

use ::http::HeaderMap;
use policy_server::{ServerSettings, TrustedProxies, prelude::*};
use policy_tests::{
    http::{self, Connection, Running, StoppedTime, request, soon, until},
    port::Port,
};
use tokio::net::{TcpSocket, TcpStream};

/// The networks of the trusted proxies in these tests, which include the test's own address.
const PROXIES: [&str; 2] = ["127.0.0.1", "10.0.0.0/8"];

/// An address of this machine that is no proxy's.
const STRANGER: [u8; 4] = [127, 0, 0, 2];

/// The client, the peer, and the remaining fields of proxies.
#[get("/client")]
#[auth(public)]
async fn client(
    ClientAddr(client): ClientAddr,
    PeerAddr(peer): PeerAddr,
    fields: HeaderMap,
) -> String {
    let mut left: Vec<_> = fields
        .iter()
        .filter(|(name, _)| name.as_str().contains("forwarded"))
        .map(|(name, value)| format!("{name}={}", value.as_bytes().escape_ascii()))
        .collect();
    left.sort_unstable();
    format!("{client} over {}, {}", peer.ip(), left.join(" "))
}

#[get("/once")]
#[limit(rate = "1/min per address")]
#[auth(public)]
async fn once() {}

fn app() -> App<()> {
    App::new(()).routes(routes![client, once])
}

/// Sends one request on its own connection.
async fn ask_from(
    address: [u8; 4],
    server: &Running,
    bytes: &(impl AsRef<[u8]> + ?Sized),
) -> http::RawResponse {
    let mut connection = Connection::open_from(address, server.address).await;
    connection.send(bytes).await;
    connection.response().await
}

//! Ports that nobody else takes.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

/// A port of this machine on which nobody listens: for as long as this is there, the system gives
/// it to nobody else. A server that is told its number can listen on it all the same, since both
/// allow that (`SO_REUSEADDR`, which servers set) and this one never listens.
#[derive(Debug)]
pub struct Port {
    pub address: SocketAddr,
    _socket: TcpSocket,
}

impl Port {
    pub fn reserve() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_reuseaddr(true).expect("a socket");
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a port");
        let address = socket.local_addr().expect("an address");
        Self { address, _socket: socket }
    }
}

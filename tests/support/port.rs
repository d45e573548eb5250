//! Ports that nothing else uses.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

/// A port of this machine on which nothing listens. While this value exists, the system assigns the
/// port to nothing else. A server can still listen on it by number, since both sockets set
/// `SO_REUSEADDR` and this one never listens.
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

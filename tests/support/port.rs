//! Ports that nothing else uses.

use std::{
    io::{self, ErrorKind},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use tokio::net::TcpSocket;

/// A port of this machine on which nothing listens. While this value exists, the system assigns the
/// port to nothing else, neither on `127.0.0.1` nor on `::1`. A server can still listen on it by
/// number, since both sockets set `SO_REUSEADDR` and this one never listens.
#[derive(Debug)]
pub struct Port {
    pub address: SocketAddr,
    _sockets: (TcpSocket, Option<TcpSocket>),
}

impl Port {
    pub fn reserve() -> Self {
        loop {
            let ipv4 = bound(TcpSocket::new_v4(), Ipv4Addr::LOCALHOST.into(), 0).expect("a port");
            let address = ipv4.local_addr().expect("an address");
            let ipv6 = bound(TcpSocket::new_v6(), Ipv6Addr::LOCALHOST.into(), address.port());
            match ipv6 {
                // Another process has the port there: another one is taken.
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                // A machine without IPv6 has nothing to reserve there.
                ipv6 => return Self { address, _sockets: (ipv4, ipv6.ok()) },
            }
        }
    }
}

fn bound(socket: io::Result<TcpSocket>, address: IpAddr, port: u16) -> io::Result<TcpSocket> {
    let socket = socket?;
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::new(address, port))?;
    Ok(socket)
}

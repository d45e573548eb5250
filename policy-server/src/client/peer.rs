//! The peer of a connection.

use std::net::SocketAddr;

use policy_core::forwarded::ProxyReport;

/// The properties of a connection below HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    /// The address of the client, or of a proxy in front of this server; `None` on a Unix socket.
    pub(crate) address: Option<SocketAddr>,
    /// The client that a trusted proxy reported by the PROXY protocol.
    pub(crate) client: ProxyReport,
    /// Whether the connection uses TLS.
    pub(crate) is_tls: bool,
}

/// Whether no other machine can read what is sent from or to an address: it is on loopback, or `None`,
/// that of a Unix socket.
pub(crate) fn is_of_this_machine(address: Option<SocketAddr>) -> bool {
    address.is_none_or(|address| address.ip().to_canonical().is_loopback())
}

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

impl Peer {
    /// Whether no other machine can read the connection: it is over loopback, or a Unix socket.
    pub(crate) fn is_of_this_machine(self) -> bool {
        self.address.is_none_or(|address| address.ip().to_canonical().is_loopback())
    }
}

//! The other end of a connection.

use std::net::SocketAddr;

/// What is known of a connection below HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    /// Its address: the client's, or that of a proxy in front of this server.
    pub(crate) address: SocketAddr,
    /// The client's, where a trusted proxy says it in a header of the PROXY protocol.
    pub(crate) client: Option<SocketAddr>,
    /// Whether TLS is spoken with it.
    pub(crate) is_tls: bool,
}

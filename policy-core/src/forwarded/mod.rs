//! The statements of proxies in front of a server about their clients. They are trusted only if
//! they come from configured networks.
//!
//! - [`IpNetwork`]: the networks of trusted proxies
//! - [`forwarded`] and [`x_forwarded`]: the headers of a request (RFC 7239, and its predecessors)
//! - [`proxy_protocol`]: the preamble of a connection (the PROXY protocol of HAProxy)

mod element;
mod fields;
mod network;
pub mod proxy_protocol;

pub use fields::{
    Hosts, Node, ProxyReport, Statement, UriScheme, forwarded, is_forwarding, x_forwarded,
};
pub use network::{IpNetwork, any_contains};

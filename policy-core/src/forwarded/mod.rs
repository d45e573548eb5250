//! What proxies in front of a server say about its clients: read here, and believed only from
//! networks that were configured.
//!
//! - [`Network`]: whom to believe
//! - [`forwarded`] and [`x_forwarded`]: what a request says (RFC 7239, and what came before it)
//! - [`proxy_protocol`]: what a connection says before its first byte (the PROXY protocol of
//!   HAProxy)

mod element;
mod fields;
mod network;
pub mod proxy_protocol;

pub use fields::{Hosts, Node, Scheme, Statement, forwarded, is_forwarding, x_forwarded};
pub use network::{Network, any_contains};

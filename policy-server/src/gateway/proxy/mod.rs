//! The reverse proxy.

mod begun;
mod body;
mod client;
mod connection;
mod exchange;
mod gateway;
mod outgoing;
mod websocket;

pub(crate) use exchange::{Serving, forward};
pub(crate) use gateway::Gateway;

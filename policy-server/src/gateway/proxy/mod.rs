//! The reverse proxy.

mod begun;
mod body;
mod connection;
mod connector;
mod exchange;
mod gateway;
mod outgoing;
mod pool;
mod websocket;

pub(crate) use exchange::{Serving, forward};
pub(crate) use gateway::Gateway;

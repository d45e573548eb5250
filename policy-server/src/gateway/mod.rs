//! Intermediary roles: reverse proxy, CONNECT and TRACE.

#[cfg(feature = "proxy")]
pub(crate) mod proxy;
pub(crate) mod relay;
pub(crate) mod trace;
pub(crate) mod tunnel;

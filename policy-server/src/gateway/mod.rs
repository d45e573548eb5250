//! Intermediary roles: reverse proxy, CONNECT and TRACE.

pub(crate) mod proxy;
pub(crate) mod trace;
pub(crate) mod tunnel;

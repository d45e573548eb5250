//! The gateway declarations of an app: other servers below a prefix, tunnels, and TRACE.

use super::{App, proxy::ReverseProxy, tunnel::Tunnel};

/// The part of an app that forwards messages of others.
#[derive(Default)]
pub(crate) struct GatewayParts {
    pub(crate) upstreams: Vec<ReverseProxy>,
    pub(crate) tunnel: Option<Tunnel>,
    pub(crate) traces: bool,
}

/// Forwarding of messages (feature `gateway`).
impl<S> App<S> {
    /// Proxies a prefix and every path below it to another server.
    pub fn proxy(mut self, proxy: ReverseProxy) -> Self {
        self.parts.gateway.upstreams.push(proxy);
        self
    }

    /// Opens CONNECT tunnels to a list of hosts for authorised callers (RFC 9110 9.3.6). Without
    /// this, CONNECT gets 400.
    pub fn tunnel(mut self, tunnel: Tunnel) -> Self {
        self.parts.gateway.tunnel = Some(tunnel);
        self
    }

    /// Responds to TRACE on every path with the request as it arrived (RFC 9110 9.3.8), which shows
    /// what proxies changed. Without this, TRACE gets 405.
    ///
    /// The response omits possible credentials: every header whose name contains `auth`, `cookie`,
    /// `token`, `key`, `secret`, `password`, `credential`, `session` or `signature`, and all
    /// forwarding headers. No page of another origin can read it. A notice at start reports that
    /// TRACE is on.
    pub fn trace(mut self) -> Self {
        self.parts.gateway.traces = true;
        self
    }
}

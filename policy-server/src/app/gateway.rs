//! What an app declares of its gateway: other servers below a prefix, tunnels, and TRACE.

use super::{App, proxy::ReverseProxy, tunnel::Tunnel};

/// The part of an app that passes messages of others on.
#[derive(Default)]
pub(crate) struct GatewayParts {
    pub(crate) upstreams: Vec<ReverseProxy>,
    pub(crate) tunnel: Option<Tunnel>,
    pub(crate) traces: bool,
}

/// Passing messages of others on (feature `gateway`).
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
    /// The response omits what could be a credential: every header whose name contains `auth`,
    /// `cookie`, `token`, `key`, `secret`, `password`, `credential`, `session` or `signature`, and
    /// all forwarding headers. No page of another origin can read it. A notice at start reports
    /// that TRACE is on.
    pub fn trace(mut self) -> Self {
        self.parts.gateway.traces = true;
        self
    }
}

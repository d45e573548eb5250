//! The client of a request, determined in one place.

pub(crate) mod peer;
pub(crate) mod trusted_proxies;

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use policy_core::{
    Refusal,
    forwarded::{ProxyReport, UriScheme, is_forwarding},
    head::{Head, OwnOrigin},
    headers::groups::is_about_sender,
};

use crate::client::{
    peer::Peer,
    trusted_proxies::{CompiledProxies, remove_untrusted},
};

/// The client of a request: the peer of the connection, or the client that a trusted proxy reports.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    /// The peer of the connection; `None` without a connection, as in tests.
    peer: Option<Peer>,
    /// The report of a trusted proxy about the request; if it cannot be read, the request is
    /// refused.
    forwarded: Option<Result<Box<ForwardedInfo>, Refusal>>,
    /// Whether an untrusted peer sent forwarding headers.
    is_forged: bool,
    /// Whether the headers of the request were read.
    is_resolved: bool,
}

#[derive(Clone, Debug)]
struct ForwardedInfo {
    client: ProxyReport,
    scheme: Option<UriScheme>,
    host: Option<Box<str>>,
}

impl Client {
    /// The client of a request whose headers are not read yet.
    pub(crate) fn new(peer: Option<Peer>) -> Self {
        Self { peer, forwarded: None, is_forged: false, is_resolved: false }
    }

    /// Reads what trusted proxies report in the headers, and removes those headers from all other
    /// peers. Call it once, and only if such a header is present; few requests have one.
    pub(crate) fn resolve_forwarded(
        &mut self,
        headers: &mut HeaderMap,
        proxies: Option<&CompiledProxies>,
    ) {
        let believed = proxies.filter(|_| self.is_proxied(proxies));
        self.forwarded = believed.map(|proxies| {
            let statement = proxies.read(headers)?;
            let host = statement.host.map(Into::into);
            Ok(Box::new(ForwardedInfo { client: statement.client, scheme: statement.scheme, host }))
        });
        self.is_forged = believed.is_none() && headers.keys().any(is_forwarding);
        self.is_resolved = true;
        remove_untrusted(headers, believed);
    }

    /// Resolves forwarding headers, if the request has any.
    pub(crate) fn with_forwarded(
        mut self,
        headers: &mut HeaderMap,
        proxies: Option<&CompiledProxies>,
    ) -> Self {
        if !self.is_resolved && headers.keys().any(|name| is_about_sender(name.as_str())) {
            self.resolve_forwarded(headers, proxies);
        }
        self.is_resolved = true;
        self
    }

    /// Whether a request with this head still has forwarding headers to resolve.
    pub(crate) fn needs_forwarded(&self, head: &Head<'_>) -> bool {
        head.is_forwarded && !self.is_resolved
    }

    /// Whether the forwarding headers of the request come from a trusted proxy.
    pub(crate) fn is_proxied(&self, proxies: Option<&CompiledProxies>) -> bool {
        let Some((proxies, peer)) = proxies.zip(self.peer) else { return false };
        proxies.write_fields() && proxies.has(peer.address.map(|address| address.ip()))
    }

    /// Copies the resolved client data into the parsed head.
    pub(crate) fn note<'a>(&'a self, head: &mut Head<'a>, own: &OwnOrigin) {
        head.is_forwarded = self.is_forged;
        head.is_secure = self.is_secure(own);
        head.is_connection_secure = self.peer.map(|peer| peer.is_tls);
        head.forwarded_host = self.report().and_then(|info| info.host.as_deref());
    }

    /// Refuses a request if its proxy's report cannot be read, or states another scheme than that
    /// of the public origin.
    pub(crate) fn admit(&self, own: &OwnOrigin) -> Result<(), Refusal> {
        if let Some(Err(refusal)) = self.forwarded {
            return Err(refusal);
        }
        match (own, self.scheme()) {
            (OwnOrigin::Public(_), Some(UriScheme::Other)) => Err(Refusal::PlainHttp),
            _ => Ok(()),
        }
    }

    /// The address of the peer, if it has one.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.peer.and_then(|peer| peer.address)
    }

    /// The address of the client, if known. The address of a proxy that hides its client is not used.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        let of_peer = |peer: Peer| Some(peer.client.or(peer.address)?.ip().to_canonical());
        let reported = match &self.forwarded {
            None => ProxyReport::Nothing,
            Some(Ok(info)) => info.client,
            Some(Err(_)) => ProxyReport::Hidden,
        };
        match reported {
            ProxyReport::Node(node) => Some(node.address),
            ProxyReport::Hidden => None,
            ProxyReport::Nothing => self.peer.and_then(of_peer),
        }
    }

    /// Whether the client uses `https`. An app inside another server takes that from its public
    /// origin.
    pub(crate) fn is_secure(&self, own: &OwnOrigin) -> bool {
        match (self.scheme(), self.peer) {
            _ if matches!(self.forwarded, Some(Err(_))) => false,
            (Some(scheme), _) => scheme == UriScheme::Https,
            (None, Some(peer)) => peer.is_tls,
            (None, None) => *own != OwnOrigin::Development,
        }
    }

    fn scheme(&self) -> Option<UriScheme> {
        self.report().and_then(|info| info.scheme)
    }

    /// The report of a trusted proxy, if it can be read.
    fn report(&self) -> Option<&ForwardedInfo> {
        self.forwarded.as_ref()?.as_deref().ok()
    }
}

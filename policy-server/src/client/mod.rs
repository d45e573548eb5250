//! The client of a request, determined in one place.

pub(crate) mod peer;
pub(crate) mod trusted_proxies;

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use policy_core::{
    Refusal,
    forwarded::{Node, Scheme, is_forwarding},
    gate::{Head, OwnOrigin},
};

use crate::client::{
    peer::Peer,
    trusted_proxies::{TrustedProxies, remove_untrusted},
};

/// The client of a request: the peer of the connection, or the client that a trusted proxy reports.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    /// The peer of the connection; `None` without a connection, as in tests.
    peer: Option<Peer>,
    /// What a trusted proxy reports about the request.
    said: Option<Box<ForwardedInfo>>,
    /// Whether an untrusted peer sent forwarding headers.
    is_forged: bool,
    /// Whether the headers of the request were read.
    is_resolved: bool,
}

#[derive(Clone, Debug)]
struct ForwardedInfo {
    node: Option<Node>,
    scheme: Option<Scheme>,
    host: Option<Box<str>>,
}

impl Client {
    /// The client of a request whose headers are not read yet.
    pub(crate) fn new(peer: Option<Peer>) -> Self {
        Self { peer, said: None, is_forged: false, is_resolved: false }
    }

    /// Reads what trusted proxies report in the headers, and removes those headers from all other
    /// peers. Call it once, and only if such a header is present; few requests have one.
    pub(crate) fn resolve_forwarded(
        &mut self,
        headers: &mut HeaderMap,
        proxies: Option<&TrustedProxies>,
    ) {
        let believed = proxies.filter(|_| self.is_proxied(proxies));
        self.said = believed.map(|proxies| {
            let said = proxies.read(headers);
            let host = said.host.map(Into::into);
            Box::new(ForwardedInfo { node: said.client, scheme: said.scheme, host })
        });
        self.is_forged = believed.is_none();
        self.is_resolved = true;
        remove_untrusted(headers, believed);
    }

    /// Resolves forwarding headers, if the request has any.
    pub(crate) fn with_forwarded(
        mut self,
        headers: &mut HeaderMap,
        proxies: Option<&TrustedProxies>,
    ) -> Self {
        if !self.is_resolved && headers.keys().any(is_forwarding) {
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
    pub(crate) fn is_proxied(&self, proxies: Option<&TrustedProxies>) -> bool {
        let Some((proxies, peer)) = proxies.zip(self.peer) else { return false };
        proxies.write_fields() && proxies.has(peer.address.ip())
    }

    /// Copies the resolved client data into the parsed head.
    pub(crate) fn note<'a>(&'a self, head: &mut Head<'a>, own: &OwnOrigin) {
        head.is_forwarded = self.is_forged;
        head.is_secure = self.is_secure(own);
        head.forwarded_host = self.said.as_ref().and_then(|said| said.host.as_deref());
    }

    /// Refuses a request whose scheme, as the proxy reports it, is not that of the public origin.
    pub(crate) fn admit(&self, own: &OwnOrigin) -> Result<(), Refusal> {
        match (own, self.scheme()) {
            (OwnOrigin::Public(_), Some(Scheme::Other)) => Err(Refusal::PlainHttp),
            _ => Ok(()),
        }
    }

    /// The address of the peer.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.peer.map(|peer| peer.address)
    }

    /// The address of the client, if known.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        let of_peer = |peer: Peer| peer.client.unwrap_or(peer.address).ip().to_canonical();
        let said = self.said.as_ref().and_then(|said| said.node);
        said.map(|node| node.address).or(self.peer.map(of_peer))
    }

    /// Whether the client uses `https`. An app inside another server takes that from its public
    /// origin.
    pub(crate) fn is_secure(&self, own: &OwnOrigin) -> bool {
        match (self.scheme(), self.peer) {
            (Some(scheme), _) => scheme == Scheme::Https,
            (None, Some(peer)) => peer.is_tls,
            (None, None) => *own != OwnOrigin::Development,
        }
    }

    fn scheme(&self) -> Option<Scheme> {
        self.said.as_ref().and_then(|said| said.scheme)
    }
}

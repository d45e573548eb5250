//! Who sent a request: one answer for everything that asks.

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

/// The client of a request: whoever holds the other end of the connection, or for whom a trusted
/// proxy speaks.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    /// The other end of the connection; none where there is no connection, as in tests.
    peer: Option<Peer>,
    /// What a trusted proxy says of the request.
    said: Option<Box<ForwardedInfo>>,
    /// Whether somebody else says something.
    is_forged: bool,
    /// Whether the fields of the request were looked at.
    is_resolved: bool,
}

#[derive(Clone, Debug)]
struct ForwardedInfo {
    node: Option<Node>,
    scheme: Option<Scheme>,
    host: Option<Box<str>>,
}

impl Client {
    /// The client of a request that nobody has looked at.
    pub(crate) fn new(peer: Option<Peer>) -> Self {
        Self { peer, said: None, is_forged: false, is_resolved: false }
    }

    /// Takes what the proxies say in the fields of the request, and removes what anybody else
    /// does. To be asked once, and only where there is such a field: few requests have one.
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

    /// The same client, and what the fields say of it taken, if they say anything.
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

    /// Whether a request with this head is to be heard still.
    pub(crate) fn needs_forwarded(&self, head: &Head<'_>) -> bool {
        head.is_forwarded && !self.is_resolved
    }

    /// Whether the fields of the request are those of a proxy that is believed.
    pub(crate) fn is_proxied(&self, proxies: Option<&TrustedProxies>) -> bool {
        let Some((proxies, peer)) = proxies.zip(self.peer) else { return false };
        proxies.write_fields() && proxies.has(peer.address.ip())
    }

    /// Leaves in a head what gates ask of it.
    pub(crate) fn note<'a>(&'a self, head: &mut Head<'a>, own: &OwnOrigin) {
        head.is_forwarded = self.is_forged;
        head.is_secure = self.is_secure(own);
        head.forwarded_host = self.said.as_ref().and_then(|said| said.host.as_deref());
    }

    /// Whether the request came in the scheme of the public origin, as far as a proxy says.
    pub(crate) fn admit(&self, own: &OwnOrigin) -> Result<(), Refusal> {
        match (own, self.scheme()) {
            (OwnOrigin::Public(_), Some(Scheme::Other)) => Err(Refusal::PlainHttp),
            _ => Ok(()),
        }
    }

    /// The other end of the connection.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.peer.map(|peer| peer.address)
    }

    /// Who sent the request, as far as that is known.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        let of_peer = |peer: Peer| peer.client.unwrap_or(peer.address).ip().to_canonical();
        let said = self.said.as_ref().and_then(|said| said.node);
        said.map(|node| node.address).or(self.peer.map(of_peer))
    }

    /// Whether the client asked over `https`. An app that another server has is asked so, if
    /// anything is to be right about its origin.
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

//! The client of a request, determined in one place.

pub(crate) mod peer;
pub(crate) mod trusted_proxies;

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, HeaderValue};
use policy_core::{
    Refusal,
    forwarded::{ProxyReport, UriScheme, is_forwarding},
    head::{Head, OwnOrigin},
    headers::groups::is_about_sender,
};

use crate::client::{
    peer::{Peer, is_of_this_machine},
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

impl ForwardedInfo {
    /// Replaces fields with several entries by what was read of them: a client may have written the
    /// first ones.
    fn replace_lists(&self, headers: &mut HeaderMap) {
        for name in ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"] {
            let mut lines = headers.get_all(name).iter();
            let is_list = lines.next().is_some_and(|line| line.as_bytes().contains(&b','))
                || lines.next().is_some();
            if !is_list {
                continue;
            }
            let text = match name {
                "forwarded" => self.element(),
                "x-forwarded-for" => self.node(),
                "x-forwarded-host" => self.host.as_deref().map(str::to_owned),
                _ => self.scheme_name().map(str::to_owned),
            };
            match text.and_then(|text| HeaderValue::try_from(text).ok()) {
                Some(value) => drop(headers.insert(name, value)),
                None => drop(headers.remove(name)),
            }
        }
    }

    /// The client in `X-Forwarded-For`, if there is a report.
    fn node(&self) -> Option<String> {
        match self.client {
            ProxyReport::Nothing => None,
            ProxyReport::Hidden => Some("unknown".to_owned()),
            ProxyReport::Node(node) => Some(node.address.to_string()),
        }
    }

    fn scheme_name(&self) -> Option<&'static str> {
        self.scheme.map(|scheme| if scheme == UriScheme::Https { "https" } else { "http" })
    }

    /// An element of `Forwarded` (RFC 7239 4), if there is a report.
    fn element(&self) -> Option<String> {
        let node = self.node()?;
        let node = if node.contains(':') { format!("\"[{node}]\"") } else { node };
        let host = self.host.iter().map(|host| format!(";host=\"{host}\""));
        let scheme = self.scheme_name().into_iter().map(|scheme| format!(";proto={scheme}"));
        Some([format!("for={node}")].into_iter().chain(host).chain(scheme).collect())
    }
}

impl Client {
    /// The client of a request whose headers are not read yet.
    pub(crate) fn new(peer: Option<Peer>) -> Self {
        Self { peer, forwarded: None, is_forged: false, is_resolved: false }
    }

    /// Reads what trusted proxies report in the headers, and removes those headers from all other
    /// peers. What a client wrote in front of a report is removed as well. Call it once, and only if
    /// such a header is present; few requests have one.
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
        // Layers see a request before it is refused for a report that cannot be read.
        remove_untrusted(headers, believed.filter(|_| self.report().is_some()));
        if let Some(info) = self.report() {
            info.replace_lists(headers);
        }
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
        head.forwarded_host = self.host();
    }

    /// Refuses a request if its proxy's report cannot be read, or states another scheme than that
    /// of the public origin. Where requests may carry credentials, one from another machine has to
    /// have come over TLS, or with a report that it did.
    pub(crate) fn admit(&self, own: &OwnOrigin, has_credentials: bool) -> Result<(), Refusal> {
        if let Some(Err(refusal)) = self.forwarded {
            return Err(refusal);
        }
        let is_exposed = |peer: Peer| !peer.is_tls && !is_of_this_machine(peer.address);
        let is_plain = match self.scheme() {
            Some(scheme) => scheme == UriScheme::Other,
            None => has_credentials && self.peer.is_some_and(is_exposed),
        };
        match own {
            OwnOrigin::Public(_) if is_plain => Err(Refusal::PlainHttp),
            _ => Ok(()),
        }
    }

    /// Why a request is refused with [`Refusal::PlainHttp`], for logs.
    pub(crate) fn plain_detail(&self) -> &'static str {
        match self.scheme() {
            Some(_) => "a proxy reports another scheme than https",
            None => "no trusted proxy reports that the request came over https",
        }
    }

    /// The address of the peer, if it has one.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.peer.and_then(|peer| peer.address)
    }

    /// The address of the client, if known. The address of a proxy that hides its client is not used.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        let of_peer = |peer: Peer| Some(peer.address?.ip().to_canonical());
        let reported = match &self.forwarded {
            None => self.peer.map_or(ProxyReport::Nothing, |peer| peer.client),
            Some(Ok(info)) => info.client,
            Some(Err(_)) => ProxyReport::Hidden,
        };
        match reported {
            ProxyReport::Node(node) => Some(node.address),
            ProxyReport::Hidden => None,
            ProxyReport::Nothing => self.peer.and_then(of_peer),
        }
    }

    /// The host that the client requested, if a trusted proxy states it.
    pub(crate) fn host(&self) -> Option<&str> {
        self.report().and_then(|info| info.host.as_deref())
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

#[cfg(test)]
mod tests {
    use policy_core::head::PublicOrigin;

    use super::{trusted_proxies::TrustedProxies, *};

    #[test]
    fn credentials_of_other_machines_need_tls_or_its_report() {
        let own = OwnOrigin::Public(PublicOrigin::parse("https://api.example").unwrap());
        let proxies = TrustedProxies::new(["10.0.0.0/8"]).x_forwarded().check().unwrap();
        let is_admitted = |address: &str, is_tls, scheme: &str, has_credentials| {
            let address = address.parse().ok();
            let mut headers = HeaderMap::new();
            headers.insert("x-forwarded-for", HeaderValue::from_static("192.0.2.1"));
            if !scheme.is_empty() {
                headers.insert("x-forwarded-proto", scheme.parse().unwrap());
            }
            let client = ProxyReport::Nothing;
            let client = Client::new(Some(Peer { address, client, is_tls }));
            let client = client.with_forwarded(&mut headers, Some(&proxies));
            assert_eq!(client.admit(&OwnOrigin::Development, has_credentials), Ok(()));
            client.admit(&own, has_credentials) == Ok(())
        };
        for (address, is_tls, scheme, without, with) in [
            ("10.0.0.1:1", false, "https", true, true),
            ("10.0.0.1:1", false, "http", false, false),
            ("10.0.0.1:1", false, "", true, false),
            ("203.0.113.9:1", false, "https", true, false),
            ("203.0.113.9:1", true, "", true, true),
            ("127.0.0.2:1", false, "", true, true),
            ("[::ffff:127.0.0.1]:1", false, "", true, true),
            ("a Unix socket", false, "", true, true),
        ] {
            assert_eq!(is_admitted(address, is_tls, scheme, false), without, "{address} {scheme}");
            assert_eq!(is_admitted(address, is_tls, scheme, true), with, "{address} {scheme}");
        }
        assert_eq!(Client::new(None).admit(&own, true), Ok(()));
    }

    #[test]
    fn fields_of_proxies_are_left_without_the_entries_of_a_client() {
        let networks = || TrustedProxies::new(["10.0.0.0/8"]);
        let left = |proxies: TrustedProxies, fields: &[(&'static str, &str)]| {
            let address = Some(SocketAddr::from(([10, 0, 0, 1], 4711)));
            let peer = Peer { address, client: ProxyReport::Nothing, is_tls: false };
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.append(*name, value.parse().unwrap());
            }
            let proxies = proxies.check().unwrap();
            Client::new(Some(peer)).resolve_forwarded(&mut headers, Some(&proxies));
            let lines = headers.iter();
            let lines = lines.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
            lines.collect::<Vec<_>>()
        };
        for (sent, is_left) in [
            (
                &["for=6.6.6.6, for=\"[2001:db8::1]:47\";proto=https;host=\"a.example:8\""][..],
                "forwarded: for=\"[2001:db8::1]\";host=\"a.example:8\";proto=https",
            ),
            (&["for=6.6.6.6;host=evil.example", "for=192.0.2.1"], "forwarded: for=192.0.2.1"),
            (&["for=6.6.6.6, proto=http"], "forwarded: for=unknown;proto=http"),
            (&["for=\"192.0.2.1:47\";by=x"], "forwarded: for=\"192.0.2.1:47\";by=x"),
        ] {
            let fields: Vec<_> = sent.iter().map(|value| ("forwarded", *value)).collect();
            assert_eq!(left(networks().forwarded(), &fields), [is_left]);
        }
        let fields = [
            ("x-forwarded-for", "6.6.6.6, 192.0.2.1:47, 10.0.0.2"),
            ("x-forwarded-proto", "http, https"),
            ("x-forwarded-host", "evil.example"),
            ("x-forwarded-host", "a.example"),
        ];
        assert_eq!(
            left(networks().x_forwarded_with_host(), &fields),
            [
                "x-forwarded-for: 192.0.2.1",
                "x-forwarded-proto: https",
                "x-forwarded-host: a.example"
            ]
        );
        assert_eq!(left(networks().x_forwarded(), &[("x-forwarded-for", " , ")]), [""; 0]);
        let malformed = [("forwarded", "for=6.6.6.6, for=\"")];
        assert_eq!(left(networks().forwarded(), &malformed), [""; 0]);
    }
}

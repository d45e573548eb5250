//! The trusted proxies in front of a server.

use std::{fmt, net::IpAddr};

use http::{HeaderMap, HeaderName};
use policy_core::{
    Refusal, Rule,
    forwarded::{Hosts, IpNetwork, Statement, any_contains, forwarded, x_forwarded},
    headers::groups::is_about_sender,
};

use crate::base::error::StartProblem;

/// The name of the peers of Unix sockets, among the networks of proxies.
const UNIX: &str = "unix";

/// The proxies in front of a server: their networks, and how they report the client of a request.
/// Pass it to [`App::behind`](crate::App::behind).
///
/// ```
/// use policy_server::{TrustedProxies, prelude::*};
///
/// #[get("/whoami")]
/// #[auth(public)]
/// async fn whoami(client: Option<ClientAddr>) -> String {
///     client.map_or_else(|| "somebody".to_owned(), |ClientAddr(address)| address.to_string())
/// }
///
/// let app = App::new(())
///     .public_origin("https://api.shop.example")
///     .behind(TrustedProxies::new(["10.0.0.0/8"]).x_forwarded())
///     .routes(routes![whoami]);
/// # assert!(app.check().is_ok());
/// ```
///
/// A connection from one of these networks is a proxy's. What it reports is used for rate limits by
/// address, logs, [`ClientAddr`](crate::handler::extract::ClientAddr), and for whether a request
/// came over https. Only the one format named here is trusted, since a proxy that writes one header
/// passes on the others as its client wrote them.
///
/// All other headers that state the sender of a request are removed before a handler sees them, from
/// trusted proxies too: `Forwarded`, `X-Forwarded-*`, others such as `X-Real-IP` and those of content
/// delivery networks, and those with `_` for `-` ([`is_about_sender`]). Of several entries in a
/// trusted header, only the one that was read is left. A client cannot affect anything with them.
///
/// A report that cannot be read is refused with 400 (`wire.forwarded-malformed`). If a proxy hides
/// its client (`unknown`) or does not know it (`UNKNOWN` in the PROXY protocol), there is no address:
/// that of the proxy is not used.
///
/// | format | client | scheme | host |
/// |---|---|---|---|
/// | [`forwarded`](Self::forwarded) (RFC 7239) | `for` | `proto` | `host` |
/// | [`x_forwarded`](Self::x_forwarded) | `X-Forwarded-For` | `X-Forwarded-Proto` | `Host` |
/// | [`x_forwarded_with_host`](Self::x_forwarded_with_host) | `X-Forwarded-For` | `X-Forwarded-Proto` | `X-Forwarded-Host` |
/// | [`proxy_protocol`](Self::proxy_protocol) | its header | whether TLS reaches this server | `Host` |
///
/// If several addresses are listed, the client is the first one from the right that is in none of
/// the networks.
///
/// # Set-up
///
/// A proxy must write these headers itself and replace what its client sent. For nginx and
/// `x_forwarded`:
///
/// ```text
/// proxy_set_header Host $host;
/// proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
/// proxy_set_header X-Forwarded-Proto $scheme;
/// ```
///
/// If the app has a public origin and a proxy reports another scheme than `https`, the request gets
/// 421 (RFC 9110 7.4): any credential in it has travelled unencrypted. Redirecting `http` to
/// `https` is the job of the proxy, which listens there. If the app also has sessions, tokens or
/// schemes, a request without TLS and without any such report gets 421, too: it comes from a proxy
/// that does not report the scheme, or from a client that connects past it. Peers on loopback and on
/// Unix sockets, and requests of probes, need no report.
///
/// Without a public origin an app stays on loopback and refuses forwarding headers, unless the
/// networks include the peer that sends them: `TrustedProxies::new(["127.0.0.1", "::1"])`.
#[derive(Clone, Debug)]
#[must_use = "proxies are given to `App::behind`"]
pub struct TrustedProxies {
    networks: Vec<String>,
    way: Option<ForwardedFormat>,
    everybody: bool,
}

/// How proxies report the client of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ForwardedFormat {
    Forwarded,
    XForwarded(Hosts),
    ProxyProtocol,
}

impl TrustedProxies {
    /// Proxies in these networks, such as `10.0.0.0/8`, `2001:db8::/32` or `192.0.2.1`. `unix` is
    /// every process that can connect to a [Unix socket](crate::ListenAddress#unix-sockets) of this
    /// server; the permissions of its file decide which can.
    pub fn new<T: Into<String>>(networks: impl IntoIterator<Item = T>) -> Self {
        let networks = networks.into_iter().map(Into::into).collect();
        Self { networks, way: None, everybody: false }
    }

    /// They write `Forwarded` (RFC 7239). Its `host` is trusted too, since it is in the element
    /// that the proxy wrote.
    pub fn forwarded(mut self) -> Self {
        self.way = Some(ForwardedFormat::Forwarded);
        self
    }

    /// They write `X-Forwarded-For` and `X-Forwarded-Proto`, and leave `Host` unchanged.
    pub fn x_forwarded(mut self) -> Self {
        self.way = Some(ForwardedFormat::XForwarded(Hosts::Ignored));
        self
    }

    /// They also write `X-Forwarded-Host`, which is used in place of `Host`. This is a separate
    /// choice, since a proxy that does not write it passes on whatever a client sends.
    pub fn x_forwarded_with_host(mut self) -> Self {
        self.way = Some(ForwardedFormat::XForwarded(Hosts::Believed));
        self
    }

    /// They begin each connection with a header of the [PROXY
    /// protocol](https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt), version 1 or 2. A
    /// connection from them without one is closed, as is one over QUIC, which has none; connections
    /// from other peers are not searched for one.
    pub fn proxy_protocol(mut self) -> Self {
        self.way = Some(ForwardedFormat::ProxyProtocol);
        self
    }

    /// Accepts `0.0.0.0/0` and `::/0`, so that every peer is trusted. Use it only where the
    /// addresses of the proxies are unknown and no one else can connect, such as behind a load
    /// balancer in a private network.
    pub fn dangerous_everybody(mut self) -> Self {
        self.everybody = true;
        self
    }

    /// The proxies in a manifest: the format, then the networks.
    #[cfg(feature = "manifest")]
    pub(crate) fn facts(&self) -> Vec<String> {
        let format = match self.way {
            None => return Vec::new(),
            Some(ForwardedFormat::Forwarded) => "forwarded",
            Some(ForwardedFormat::XForwarded(Hosts::Ignored)) => "x-forwarded",
            Some(ForwardedFormat::XForwarded(Hosts::Believed)) => "x-forwarded with host",
            Some(ForwardedFormat::ProxyProtocol) => "proxy protocol",
        };
        self.networks.iter().map(|network| format!("{format} {network}")).collect()
    }

    /// Whether proxies that connect by TCP report for each request if it came over https, so that this
    /// server need not use TLS.
    pub(crate) fn say_scheme(&self) -> bool {
        self.networks.iter().any(|network| network != UNIX)
            && matches!(self.way, Some(ForwardedFormat::Forwarded | ForwardedFormat::XForwarded(_)))
    }

    /// Whether the peers of Unix sockets are among them.
    pub(crate) fn name_sockets(&self) -> bool {
        self.networks.iter().any(|network| network == UNIX)
    }

    /// The checked proxies, or all problems.
    pub(crate) fn check(self) -> Result<CompiledProxies, Vec<StartProblem>> {
        let mut problems = Vec::new();
        let mut problem = |rule, value: &str| {
            problems.push(StartProblem::new(rule, "App::behind", value));
        };
        if self.networks.is_empty() {
            problem(Rule::ProxiesMissing, "[]");
        }
        let mut networks = Vec::with_capacity(self.networks.len());
        for text in self.networks.iter().filter(|text| *text != UNIX) {
            match IpNetwork::parse(text) {
                Ok(network) if network.is_everybody() && !self.everybody => {
                    problem(Rule::ProxiesEverybody, text);
                }
                Ok(network) => networks.push(network),
                Err(rule) => problem(rule, text),
            }
        }
        let sockets = self.name_sockets();
        let Some(way) = self.way else {
            problem(Rule::ProxiesUnsaid, &self.networks.join(", "));
            return Err(problems);
        };
        if problems.is_empty() {
            Ok(CompiledProxies { networks, sockets, way })
        } else {
            Err(problems)
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct CompiledProxies {
    networks: Vec<IpNetwork>,
    /// Whether the peers of Unix sockets are among them.
    sockets: bool,
    way: ForwardedFormat,
}

impl CompiledProxies {
    /// Whether this peer is one of them; that of a Unix socket has no address.
    pub(crate) fn has(&self, peer: Option<IpAddr>) -> bool {
        peer.map_or(self.sockets, |address| any_contains(&self.networks, address))
    }

    /// Whether a connection from this peer begins with a header of the PROXY protocol.
    pub(crate) fn sends_header(&self, peer: Option<IpAddr>) -> bool {
        self.way == ForwardedFormat::ProxyProtocol && self.has(peer)
    }

    /// Whether they parse requests and report the scheme of each one. The connection to this server
    /// may then be unencrypted. Behind proxies of the PROXY protocol, requests arrive as their
    /// clients wrote them.
    pub(crate) fn write_fields(&self) -> bool {
        self.way != ForwardedFormat::ProxyProtocol
    }

    /// The report of one of them about a request.
    pub(crate) fn read<'a>(&self, headers: &'a HeaderMap) -> Result<Statement<'a>, Refusal> {
        match self.way {
            ForwardedFormat::Forwarded => forwarded(headers, &self.networks),
            ForwardedFormat::XForwarded(hosts) => x_forwarded(headers, &self.networks, hosts),
            ForwardedFormat::ProxyProtocol => Ok(Statement::default()),
        }
    }

    /// Whether this header is trusted when one of them writes it.
    fn believe(&self, name: &HeaderName) -> bool {
        match self.way {
            ForwardedFormat::Forwarded => name == "forwarded",
            ForwardedFormat::XForwarded(hosts) => match name.as_str() {
                "x-forwarded-for" | "x-forwarded-proto" => true,
                "x-forwarded-host" => hosts == Hosts::Believed,
                _ => false,
            },
            ForwardedFormat::ProxyProtocol => false,
        }
    }
}

/// Removes all forwarding headers except those that these proxies are trusted to write.
pub(crate) fn remove_untrusted(headers: &mut HeaderMap, believed: Option<&CompiledProxies>) {
    let is_believed = |name: &HeaderName| believed.is_some_and(|proxies| proxies.believe(name));
    let forged: Vec<_> = (headers.keys())
        .filter(|name| is_about_sender(name.as_str()) && !is_believed(name))
        .cloned()
        .collect();
    for name in forged {
        headers.remove(name);
    }
}

impl fmt::Display for CompiledProxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let networks = self.networks.iter().map(ToString::to_string);
        let networks: Vec<_> = networks.chain(self.sockets.then(|| UNIX.to_owned())).collect();
        let way = match self.way {
            ForwardedFormat::Forwarded => "Forwarded",
            ForwardedFormat::XForwarded(Hosts::Ignored) => "X-Forwarded-For and -Proto",
            ForwardedFormat::XForwarded(Hosts::Believed) => "X-Forwarded-For, -Proto and -Host",
            ForwardedFormat::ProxyProtocol => "the PROXY protocol",
        };
        write!(f, "{way} of {}", networks.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn all_errors_are_reported_together() {
        let problems = |proxies: TrustedProxies| {
            let problems = proxies.check().err().unwrap_or_default();
            problems.iter().map(StartProblem::code).collect::<Vec<_>>()
        };
        assert_eq!(problems(TrustedProxies::new(["10.0.0.0/8", "::1"]).forwarded()), [""; 0]);
        assert_eq!(problems(TrustedProxies::new([""; 0]).forwarded()), ["proxies.missing"]);
        assert_eq!(problems(TrustedProxies::new(["10.0.0.0/8"])), ["proxies.unsaid"]);
        assert_eq!(
            problems(TrustedProxies::new(["10.0.0.1/8", "0.0.0.0/0", "::/0", "proxy.example"])),
            [
                "proxies.network-host-bits",
                "proxies.everybody",
                "proxies.everybody",
                "proxies.network",
                "proxies.unsaid"
            ]
        );
        assert_eq!(problems(TrustedProxies::new(["unix"]).x_forwarded()), [""; 0]);
        assert_eq!(problems(TrustedProxies::new(["unix"])), ["proxies.unsaid"]);
        let everybody = TrustedProxies::new(["0.0.0.0/0"]).dangerous_everybody().proxy_protocol();
        assert_eq!(problems(everybody), [""; 0]);
    }

    #[test]
    fn peers_of_unix_sockets_are_proxies_where_they_are_named() {
        let address = Some(IpAddr::from([10, 0, 0, 1]));
        for (names, by_socket, by_address) in [
            (&["unix"][..], true, false),
            (&["10.0.0.0/8"], false, true),
            (&["unix", "10.0.0.1"], true, true),
        ] {
            let proxies = TrustedProxies::new(names.iter().copied()).forwarded();
            // Without TLS, a connection by TCP is a proxy's only if its network is named.
            assert_eq!(proxies.say_scheme(), by_address, "{names:?}");
            assert_eq!(proxies.name_sockets(), by_socket, "{names:?}");
            let proxies = proxies.check().unwrap();
            assert_eq!(
                (proxies.has(None), proxies.has(address)),
                (by_socket, by_address),
                "{names:?}"
            );
        }
    }

    #[test]
    fn untrusted_forwarding_fields_are_removed() {
        let all = [
            "forwarded",
            "x-forwarded-for",
            "x-forwarded-host",
            "x-forwarded-proto",
            "x-forwarded-user",
            "x_forwarded_for",
            "x-real-ip",
            "true-client-ip",
            "cf-connecting-ip",
            "cloudfront-viewer-address",
            "do-connecting-ip",
            "fly-client-ip",
            "front-end-https",
            "incap-client-ip",
            "x-original-uri",
            "x-original-url",
            "x-scheme",
            "x-forwarder",
            "host",
        ];
        let left = |proxies: Option<TrustedProxies>| {
            let proxies = proxies.map(|proxies| proxies.check().unwrap());
            let mut headers = HeaderMap::new();
            for name in all {
                headers.append(name, HeaderValue::from_static("1"));
                headers.append(name, HeaderValue::from_static("2"));
            }
            remove_untrusted(&mut headers, proxies.as_ref());
            all.into_iter().filter(|name| headers.contains_key(*name)).collect::<Vec<_>>()
        };
        let proxies = || TrustedProxies::new(["10.0.0.0/8"]);
        let always = ["x-forwarder", "host"];
        assert_eq!(left(None), always);
        assert_eq!(left(Some(proxies().proxy_protocol())), always);
        assert_eq!(left(Some(proxies().forwarded())), [&["forwarded"], &always[..]].concat());
        assert_eq!(
            left(Some(proxies().x_forwarded())),
            [&["x-forwarded-for", "x-forwarded-proto"], &always[..]].concat()
        );
        assert_eq!(
            left(Some(proxies().x_forwarded_with_host())),
            [&["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"], &always[..]].concat()
        );
    }
}

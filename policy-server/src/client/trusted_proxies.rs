//! The proxies in front of a server, and what is believed of them.

use std::{fmt, net::IpAddr};

use http::{HeaderMap, HeaderName};
use policy_core::{
    Rule,
    forwarded::{Hosts, Network, Statement, any_contains, forwarded, is_forwarding, x_forwarded},
};

use crate::base::error::StartProblem;

/// The proxies in front of a server: which machines they are, and how they say who sent a
/// request. [`App::behind`](crate::App::behind) takes them.
///
/// ```
/// use policy_server::{Proxies, prelude::*};
///
/// #[get("/whoami")]
/// #[auth(public)]
/// async fn whoami(client: Option<ClientAddr>) -> String {
///     client.map_or_else(|| "somebody".to_owned(), |ClientAddr(address)| address.to_string())
/// }
///
/// let app = App::new(())
///     .public_origin("https://api.shop.example")
///     .behind(Proxies::new(["10.0.0.0/8"]).x_forwarded())
///     .routes(routes![whoami]);
/// # assert!(app.build().is_ok());
/// ```
///
/// A connection from one of these networks is a proxy's, and what it says counts: for rate
/// limits by address, logs, [`ClientAddr`](crate::handler::extract::ClientAddr), and for whether a request
/// came over https. Exactly one way of saying it is believed, the one that is named here, since a
/// proxy that writes one field passes on the others as its client wrote them.
///
/// `Forwarded` and `X-Forwarded-*` of anybody else are removed before any handler sees them, and
/// so are those of the ways that are not believed: nothing that a client writes into them has an
/// effect.
///
/// | way | client | scheme | host |
/// |---|---|---|---|
/// | [`forwarded`](Self::forwarded) (RFC 7239) | `for` | `proto` | `host` |
/// | [`x_forwarded`](Self::x_forwarded) | `X-Forwarded-For` | `X-Forwarded-Proto` | `Host` |
/// | [`x_forwarded_with_host`](Self::x_forwarded_with_host) | `X-Forwarded-For` | `X-Forwarded-Proto` | `X-Forwarded-Host` |
/// | [`proxy_protocol`](Self::proxy_protocol) | its header | whether TLS reaches this server | `Host` |
///
/// Of several addresses the first from the right counts that is in none of the networks.
///
/// # Set-up
///
/// A proxy has to write the fields itself, over what its client sent. For nginx and `x_forwarded`:
///
/// ```text
/// proxy_set_header Host $host;
/// proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
/// proxy_set_header X-Forwarded-Proto $scheme;
/// ```
///
/// A request of which a proxy says that it came over another scheme than `https` is answered with
/// 421 (RFC 9110 7.4) where the app has a public origin, which is `https`: whatever credential it
/// carries was read by everybody on the way. To send people from `http` to `https` is for the
/// proxy, which listens there.
///
/// Without a public origin an app stays on loopback and refuses forwarded fields, unless the
/// networks have the peer in them that sends them: `Proxies::new(["127.0.0.1", "::1"])`.
#[derive(Clone, Debug)]
#[must_use = "proxies are given to `App::behind`"]
pub struct Proxies {
    networks: Vec<String>,
    way: Option<ForwardedFormat>,
    everybody: bool,
}

/// How proxies say who sent a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ForwardedFormat {
    Forwarded,
    XForwarded(Hosts),
    ProxyProtocol,
}

impl Proxies {
    /// Proxies in these networks, such as `10.0.0.0/8`, `2001:db8::/32` or `192.0.2.1`.
    pub fn new<T: Into<String>>(networks: impl IntoIterator<Item = T>) -> Self {
        let networks = networks.into_iter().map(Into::into).collect();
        Self { networks, way: None, everybody: false }
    }

    /// They write `Forwarded` (RFC 7239). Its `host` counts, too: it stands in the element that
    /// the proxy wrote.
    pub fn forwarded(mut self) -> Self {
        self.way = Some(ForwardedFormat::Forwarded);
        self
    }

    /// They write `X-Forwarded-For` and `X-Forwarded-Proto`, and leave `Host` as it is.
    pub fn x_forwarded(mut self) -> Self {
        self.way = Some(ForwardedFormat::XForwarded(Hosts::Ignored));
        self
    }

    /// They write `X-Forwarded-Host`, too, in place of `Host`. A proxy that does not would pass
    /// on whatever host a client puts there, so this is said apart.
    pub fn x_forwarded_with_host(mut self) -> Self {
        self.way = Some(ForwardedFormat::XForwarded(Hosts::Believed));
        self
    }

    /// They begin each connection with a header of the
    /// [PROXY protocol](https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt), version 1 or
    /// 2. A connection of theirs without one is closed; one of anybody else is not looked at for
    /// it.
    pub fn proxy_protocol(mut self) -> Self {
        self.way = Some(ForwardedFormat::ProxyProtocol);
        self
    }

    /// Takes `0.0.0.0/0` and `::/0`: whoever reaches the server is believed. For where the
    /// addresses of the proxies are not known and nobody else can connect, such as behind a load
    /// balancer in a network of its own.
    pub fn dangerous_everybody(mut self) -> Self {
        self.everybody = true;
        self
    }

    /// Whether they say of each request if it came over https, so that nobody but they has to
    /// speak TLS.
    pub(crate) fn say_scheme(&self) -> bool {
        matches!(self.way, Some(ForwardedFormat::Forwarded | ForwardedFormat::XForwarded(_)))
    }

    /// What is believed, or everything that is wrong.
    pub(crate) fn check(self) -> Result<TrustedProxies, Vec<StartProblem>> {
        let mut problems = Vec::new();
        let mut problem = |rule, value: &str| {
            problems.push(StartProblem::new(rule, "App::behind", value));
        };
        if self.networks.is_empty() {
            problem(Rule::ProxiesMissing, "[]");
        }
        let mut networks = Vec::with_capacity(self.networks.len());
        for text in &self.networks {
            match Network::parse(text) {
                Ok(network) if network.is_everybody() && !self.everybody => {
                    problem(Rule::ProxiesEverybody, text);
                }
                Ok(network) => networks.push(network),
                Err(rule) => problem(rule, text),
            }
        }
        let Some(way) = self.way else {
            problem(Rule::ProxiesUnsaid, &self.networks.join(", "));
            return Err(problems);
        };
        if problems.is_empty() { Ok(TrustedProxies { networks, way }) } else { Err(problems) }
    }
}

/// Proxies that passed every check.
#[derive(Clone, Debug)]
pub(crate) struct TrustedProxies {
    networks: Vec<Network>,
    way: ForwardedFormat,
}

impl TrustedProxies {
    /// Whether this end of a connection is one of them.
    pub(crate) fn has(&self, peer: IpAddr) -> bool {
        any_contains(&self.networks, peer)
    }

    /// Whether a connection from there begins with a header of the PROXY protocol.
    pub(crate) fn sends_header(&self, peer: IpAddr) -> bool {
        self.way == ForwardedFormat::ProxyProtocol && self.has(peer)
    }

    /// Whether they read requests, and say of each one if it came over https: then the connection
    /// to this server may be a plain one. Behind those of the PROXY protocol, requests are as
    /// their clients wrote them.
    pub(crate) fn write_fields(&self) -> bool {
        self.way != ForwardedFormat::ProxyProtocol
    }

    /// What one of them says in a request.
    pub(crate) fn read<'a>(&self, headers: &'a HeaderMap) -> Statement<'a> {
        match self.way {
            ForwardedFormat::Forwarded => forwarded(headers, &self.networks),
            ForwardedFormat::XForwarded(hosts) => x_forwarded(headers, &self.networks, hosts),
            ForwardedFormat::ProxyProtocol => Statement::default(),
        }
    }

    /// Whether what one of them writes into this field is believed.
    fn believe(&self, name: &HeaderName) -> bool {
        match self.way {
            ForwardedFormat::Forwarded => name == "forwarded",
            ForwardedFormat::XForwarded(_) => name != "forwarded",
            ForwardedFormat::ProxyProtocol => false,
        }
    }
}

/// Removes all fields in which proxies say who sent a request, but for those that these proxies
/// are believed.
pub(crate) fn remove_untrusted(headers: &mut HeaderMap, believed: Option<&TrustedProxies>) {
    let is_believed = |name: &HeaderName| believed.is_some_and(|proxies| proxies.believe(name));
    let forged: Vec<_> =
        headers.keys().filter(|name| is_forwarding(name) && !is_believed(name)).cloned().collect();
    for name in forged {
        headers.remove(name);
    }
}

impl fmt::Display for TrustedProxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let networks: Vec<_> = self.networks.iter().map(ToString::to_string).collect();
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
    fn every_mistake_is_told_at_once() {
        let problems = |proxies: Proxies| {
            let problems = proxies.check().err().unwrap_or_default();
            problems.iter().map(StartProblem::code).collect::<Vec<_>>()
        };
        assert_eq!(problems(Proxies::new(["10.0.0.0/8", "::1"]).forwarded()), [""; 0]);
        assert_eq!(problems(Proxies::new([""; 0]).forwarded()), ["proxies.missing"]);
        assert_eq!(problems(Proxies::new(["10.0.0.0/8"])), ["proxies.unsaid"]);
        assert_eq!(
            problems(Proxies::new(["10.0.0.1/8", "0.0.0.0/0", "::/0", "proxy.example"])),
            [
                "proxies.network-host-bits",
                "proxies.everybody",
                "proxies.everybody",
                "proxies.network",
                "proxies.unsaid"
            ]
        );
        let everybody = Proxies::new(["0.0.0.0/0"]).dangerous_everybody().proxy_protocol();
        assert_eq!(problems(everybody), [""; 0]);
    }

    #[test]
    fn what_is_not_believed_is_removed() {
        let all = ["forwarded", "x-forwarded-for", "x-forwarded-user", "x-forwarder", "host"];
        let left = |proxies: Option<Proxies>| {
            let proxies = proxies.map(|proxies| proxies.check().unwrap());
            let mut headers = HeaderMap::new();
            for name in all {
                headers.append(name, HeaderValue::from_static("1"));
                headers.append(name, HeaderValue::from_static("2"));
            }
            remove_untrusted(&mut headers, proxies.as_ref());
            all.into_iter().filter(|name| headers.contains_key(*name)).collect::<Vec<_>>()
        };
        let proxies = || Proxies::new(["10.0.0.0/8"]);
        let always = ["x-forwarder", "host"];
        assert_eq!(left(None), always);
        assert_eq!(left(Some(proxies().proxy_protocol())), always);
        assert_eq!(left(Some(proxies().forwarded())), [&["forwarded"], &always[..]].concat());
        assert_eq!(
            left(Some(proxies().x_forwarded())),
            [&["x-forwarded-for", "x-forwarded-user"], &always[..]].concat()
        );
    }
}

//! The address of an upstream: read from configuration, never from a request.

use std::net::IpAddr;

use http::uri::{Authority, Scheme};

use crate::{catalogue::Rule, origin::OriginPattern, path::PathTemplate};

/// The server that a proxy passes requests on to.
///
/// ```
/// use policy_core::{Rule, reverse_proxy::Upstream};
///
/// let upstream = Upstream::parse("http://127.0.0.1:9000/v1")?;
/// assert_eq!((upstream.host(), upstream.port(), upstream.base()), ("127.0.0.1", 9000, "/v1"));
/// assert_eq!(Upstream::parse("ftp://127.0.0.1"), Err(Rule::UpstreamScheme));
/// assert_eq!(Upstream::parse("http://127.0.0.1/a/../b"), Err(Rule::UpstreamPath));
/// # Ok::<(), Rule>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    scheme: Scheme,
    authority: Authority,
    host: Box<str>,
    port: u16,
    base: Box<str>,
}

impl Upstream {
    /// Parses `http://` or `https://`, a host, and optionally a port and a path.
    ///
    /// # Errors
    ///
    /// The rule that the address breaks.
    pub fn parse(text: &str) -> Result<Self, Rule> {
        let (scheme, default_port, rest) = if let Some(rest) = text.strip_prefix("http://") {
            (Scheme::HTTP, 80, rest)
        } else if let Some(rest) = text.strip_prefix("https://") {
            (Scheme::HTTPS, 443, rest)
        } else {
            return Err(Rule::UpstreamScheme);
        };
        if rest.contains(['?', '#']) {
            return Err(Rule::UpstreamQuery);
        }
        let at = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(at).ok_or(Rule::UpstreamHost)?;
        if authority.contains('@') {
            return Err(Rule::UpstreamUserInfo);
        }
        // An origin omits the default port; an address may state it.
        let default = format!(":{default_port}");
        let authority = authority.strip_suffix(&default).unwrap_or(authority);
        let origin = format!("{scheme}://{authority}");
        let origin = OriginPattern::parse(&origin).map_err(|_rule| Rule::UpstreamHost)?;
        let base = path.strip_suffix('/').unwrap_or(path);
        if !base.is_empty() {
            PathTemplate::parse_prefix(base).map_err(|_rule| Rule::UpstreamPath)?;
        }
        let authority: Authority = authority.parse().map_err(|_not_one| Rule::UpstreamHost)?;
        if !origin.is_single() {
            return Err(Rule::UpstreamHost);
        }
        Ok(Self {
            host: origin.host().trim_start_matches('[').trim_end_matches(']').into(),
            port: authority.port_u16().unwrap_or(default_port),
            base: base.into(),
            scheme,
            authority,
        })
    }

    /// `http` or `https`.
    pub const fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// Whether the upstream is reached over TLS.
    pub fn has_tls(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// The `Host` value: the host, and the port unless it is the default one.
    pub const fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The host, without the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, explicit or default.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The common prefix of all paths: empty, or segments without a `/` at the end.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether requests stay on this machine or in a private network, judged by the name: a
    /// loopback or private address (RFC 1918, RFC 4193, RFC 3927), a name without dots, or one
    /// under a reserved suffix.
    pub fn is_nearby(&self) -> bool {
        let private = |address: IpAddr| match address {
            IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
            IpAddr::V6(v6) => {
                v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local()
            }
        };
        match self.host.parse::<IpAddr>() {
            Ok(address) => private(address.to_canonical()),
            Err(_) => {
                let ends = [".localhost", ".internal", ".local", ".home.arpa", ".test"];
                !self.host.contains('.') || ends.iter().any(|end| self.host.ends_with(end))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_say_where_and_nothing_else() {
        for (text, host, port, base, authority) in [
            ("http://127.0.0.1:9000", "127.0.0.1", 9000, "", "127.0.0.1:9000"),
            ("http://127.0.0.1:80/", "127.0.0.1", 80, "", "127.0.0.1"),
            ("https://api.example/v1/", "api.example", 443, "/v1", "api.example"),
            ("https://api.example:443/a/b", "api.example", 443, "/a/b", "api.example"),
            ("http://[::1]:9000", "::1", 9000, "", "[::1]:9000"),
            ("http://api", "api", 80, "", "api"),
        ] {
            let upstream = Upstream::parse(text).unwrap();
            assert_eq!((upstream.host(), upstream.port(), upstream.base()), (host, port, base));
            assert_eq!(upstream.authority().as_str(), authority);
            assert_eq!(upstream.has_tls(), text.starts_with("https"));
        }
        for (text, rule) in [
            ("", Rule::UpstreamScheme),
            ("127.0.0.1:9000", Rule::UpstreamScheme),
            ("ftp://127.0.0.1", Rule::UpstreamScheme),
            ("HTTP://127.0.0.1", Rule::UpstreamScheme),
            ("http://user@127.0.0.1", Rule::UpstreamUserInfo),
            ("http://user:secret@127.0.0.1/x", Rule::UpstreamUserInfo),
            ("http://127.0.0.1/x?y", Rule::UpstreamQuery),
            ("http://127.0.0.1#x", Rule::UpstreamQuery),
            ("http://", Rule::UpstreamHost),
            ("http:///x", Rule::UpstreamHost),
            ("http://*.example", Rule::UpstreamHost),
            ("http://127.0.0.1:*", Rule::UpstreamHost),
            ("http://127.0.0.1:99999", Rule::UpstreamHost),
            ("http://a b", Rule::UpstreamHost),
            ("http://127.0.0.1//", Rule::UpstreamPath),
            ("http://127.0.0.1/../x", Rule::UpstreamPath),
            ("http://127.0.0.1/a//b", Rule::UpstreamPath),
            ("http://127.0.0.1/%2e%2e", Rule::UpstreamPath),
            ("http://127.0.0.1/{x}", Rule::UpstreamPath),
        ] {
            assert_eq!(Upstream::parse(text), Err(rule), "{text}");
        }
    }

    #[test]
    fn names_and_addresses_tell_whether_an_upstream_is_local() {
        for (text, nearby) in [
            ("http://localhost:1", true),
            ("http://127.9.9.9", true),
            ("http://10.1.2.3", true),
            ("http://192.168.1.1", true),
            ("http://172.15.0.1", false),
            ("http://[::1]", true),
            ("http://[fd00::1]", true),
            ("http://[2001:db8::1]", false),
            ("http://api", true),
            ("http://api.cluster.internal", true),
            ("http://api.example.com", false),
            ("http://8.8.8.8", false),
        ] {
            assert_eq!(Upstream::parse(text).unwrap().is_nearby(), nearby, "{text}");
        }
    }
}

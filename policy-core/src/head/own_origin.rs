//! The server's own origin: the only source for the names under which it serves.

use std::{fmt, net::Ipv6Addr};

use http::{Version, uri::Authority};

use super::read::{Head, Single};
use crate::{
    catalogue::{Refusal, Rule},
    origin::{OriginPattern, Port},
};

/// The `https` origin that browsers see, such as `https://api.example.com`.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicOrigin {
    text: String,
    /// The Host value for it: without the default port.
    authority: String,
}

impl PublicOrigin {
    /// Parses and validates an own origin.
    ///
    /// # Errors
    ///
    /// The rule that it breaks.
    ///
    /// ```
    /// use policy_core::{Rule, head::PublicOrigin};
    ///
    /// assert!(PublicOrigin::parse("https://api.example.com").is_ok());
    /// assert_eq!(PublicOrigin::parse("http://api.example.com"), Err(Rule::PublicOriginInsecure));
    /// assert_eq!(PublicOrigin::parse("https://*.example.com"), Err(Rule::PublicOrigin));
    /// assert_eq!(PublicOrigin::parse("https://api.example.com/"), Err(Rule::OriginPath));
    /// ```
    pub fn parse(text: &str) -> Result<Self, Rule> {
        let pattern = OriginPattern::parse(text).map_err(|rule| match rule {
            // The texts of these rules are about the origins of pages.
            Rule::NullOrigin | Rule::FileOrigin | Rule::OriginScheme | Rule::OriginWildcard => {
                Rule::PublicOrigin
            }
            rule => rule,
        })?;
        if pattern.is_wildcard() || pattern.port() == Port::Any {
            return Err(Rule::PublicOrigin);
        }
        let authority = text.strip_prefix("https://").ok_or(Rule::PublicOriginInsecure)?.to_owned();
        Ok(Self { text: text.to_owned(), authority })
    }

    /// The origin as browsers serialise it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Host, and port unless it is the default one.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The host, without a port; an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        let port = self.authority.rfind(':').filter(|_| !self.authority.ends_with(']'));
        port.and_then(|at| self.authority.get(..at)).unwrap_or(&self.authority)
    }

    /// Whether it names this machine, as in a test.
    pub fn is_loopback(&self) -> bool {
        crate::origin::is_loopback_host(self.host().as_bytes())
    }
}

impl fmt::Debug for PublicOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PublicOrigin").field(&self.text).finish()
    }
}

/// The names under which a server serves requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnOrigin {
    /// The development profile: no public origin. Only requests to loopback hosts are served, and
    /// none that came through a proxy, so neither DNS rebinding nor a forgotten development setup
    /// behind a public proxy reaches a handler.
    Development,
    /// A deployment.
    Public(PublicOrigin),
}

impl OwnOrigin {
    /// Checks the host that a request names, and the scheme of an absolute target (RFC 9110 7.4, RFC
    /// 9112 3.2). HTTP/1.0 requests must name a host, too: without it the server cannot know whether
    /// the request is meant for it. Health probes are exempt.
    ///
    /// # Errors
    ///
    /// The reason to refuse the request.
    pub fn admit(&self, head: &Head<'_>) -> Result<(), Refusal> {
        self.admit_host(head)?;
        head.check_scheme()
    }

    fn admit_host(&self, head: &Head<'_>) -> Result<(), Refusal> {
        let host = public_host(head)?;
        match self {
            Self::Development => match is_loopback(host)? {
                // A malformed host is refused as malformed, whatever the own origin is.
                _ if head.is_forwarded => Err(Refusal::ForwardedInDevelopment),
                true => Ok(()),
                false => Err(Refusal::HostNotLoopback),
            },
            Self::Public(own) if host.eq_ignore_ascii_case(own.authority.as_bytes()) => Ok(()),
            Self::Public(own) => {
                let (name, port) = split(host)?;
                let same = port == Some(443) && name.eq_ignore_ascii_case(own.authority.as_bytes());
                if same { Ok(()) } else { Err(Refusal::HostUnknown) }
            }
        }
    }

    /// Whether an Origin value is the server's own; in development, the loopback host that the
    /// request names.
    pub fn is_own(&self, head: &Head<'_>, origin: &[u8]) -> bool {
        match self {
            Self::Public(own) => origin == own.text.as_bytes(),
            Self::Development => {
                let scheme: &[u8] = if head.is_secure { b"https://" } else { b"http://" };
                let named = origin.strip_prefix(scheme);
                named.is_some_and(|named| public_host(head).is_ok_and(|host| named == host))
            }
        }
    }
}

impl<'a> Head<'a> {
    /// The authority that the request names.
    ///
    /// # Errors
    ///
    /// The host is missing or repeated.
    pub fn authority(&self) -> Result<&'a [u8], Refusal> {
        requested_host(self)
    }

    /// Whether a health probe with this head is served despite this refusal of its host, its scheme
    /// or its forwarded headers. Orchestrators and load balancers send the IP address of the
    /// process or the path of its Unix socket as `Host`, or HTTP/1.0 without `Host`. The response
    /// is the same for all of them.
    ///
    /// HTTP/1.1 without `Host`, and more than one in any version, are still refused (RFC 9112 3.2).
    pub(crate) fn admits_probe(&self, refusal: Refusal) -> bool {
        match refusal {
            Refusal::HostRepeated => false,
            Refusal::HostMissing => self.version != Version::HTTP_11,
            _ => true,
        }
    }
}

/// The host that the client requested, if a trusted proxy states it. The request itself must name
/// one anyway.
fn public_host<'a>(head: &Head<'a>) -> Result<&'a [u8], Refusal> {
    let named = requested_host(head)?;
    Ok(head.forwarded_host.map_or(named, str::as_bytes))
}

/// The authority of the request: from an absolute target if there is one, otherwise from the Host
/// header.
fn requested_host<'a>(head: &Head<'a>) -> Result<&'a [u8], Refusal> {
    let authority = head.uri.authority().map(Authority::as_str);
    match (head.host, authority) {
        (Single::Repeated, _) => Err(Refusal::HostRepeated),
        // RFC 9112 3.2.2: an absolute target overrides Host. A request whose Host differs is
        // refused as an attempt at confusion.
        (Single::One(host), Some(authority))
            if !host.as_bytes().eq_ignore_ascii_case(authority.as_bytes()) =>
        {
            Err(Refusal::HostMalformed)
        }
        (Single::One(_), Some(authority)) => Ok(authority.as_bytes()),
        // HTTP/2 and later have `:authority` instead of Host; earlier versions always require Host.
        (Single::Absent, Some(authority)) if head.version >= Version::HTTP_2 => {
            Ok(authority.as_bytes())
        }
        (Single::One(host), None) => Ok(host.as_bytes()),
        (Single::Absent, _) => Err(Refusal::HostMissing),
    }
}

fn is_loopback(host: &[u8]) -> Result<bool, Refusal> {
    // Fast path: nearly every request names one of these, so compare before parsing.
    for known in [&b"127.0.0.1"[..], b"localhost"] {
        match host.strip_prefix(known) {
            Some([]) => return Ok(true),
            Some([b':', port @ ..]) if parse_port(port).is_some() => return Ok(true),
            _ => (),
        }
    }
    let (name, _) = split(host)?;
    Ok(crate::origin::is_loopback_host(&name.to_ascii_lowercase()))
}

/// Name and port of a Host value: `uri-host [ ":" port ]` (RFC 9110 7.2).
fn split(host: &[u8]) -> Result<(&[u8], Option<u16>), Refusal> {
    let malformed = Refusal::HostMalformed;
    let end = if host.first() == Some(&b'[') { b']' } else { b':' };
    let at = host.iter().position(|byte| *byte == end);
    let name_len = match (at, end) {
        (Some(at), b':') => at,
        (Some(at), _) => at + 1,
        (None, b':') => host.len(),
        (None, _) => return Err(malformed),
    };
    let (name, port) = host.split_at_checked(name_len).ok_or(malformed)?;
    if !is_name(name) {
        return Err(malformed);
    }
    match port {
        [] => Ok((name, None)),
        [b':', digits @ ..] => parse_port(digits).map(|port| (name, Some(port))).ok_or(malformed),
        _ => Err(malformed),
    }
}

/// A DNS name or an address.
fn is_name(name: &[u8]) -> bool {
    if let [b'[', address @ .., b']'] = name {
        return str::from_utf8(address).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok());
    }
    let is_valid = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    !name.is_empty() && name.iter().all(is_valid)
}

/// `*DIGIT` (RFC 3986 3.2.3) up to 65535; an empty port is refused.
fn parse_port(digits: &[u8]) -> Option<u16> {
    let add = |port: u16, digit: &u8| {
        let digit = digit.is_ascii_digit().then(|| u16::from(digit - b'0'))?;
        port.checked_mul(10)?.checked_add(digit)
    };
    if digits.is_empty() { None } else { digits.iter().try_fold(0, add) }
}

#[cfg(test)]
mod tests {
    use http::{Request, Uri};

    use super::*;

    fn admit(own: &OwnOrigin, uri: &str, fields: &[(&str, &str)]) -> Result<(), Refusal> {
        let mut request = Request::builder().uri(uri.parse::<Uri>().unwrap());
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        own.admit(&Head::read(&request.body(()).unwrap()))
    }

    #[test]
    fn probes_name_any_host_or_none_where_the_version_allows_it() {
        let own = OwnOrigin::Public(PublicOrigin::parse("https://api.example").unwrap());
        let admits = |version, hosts: &[&str]| {
            let request = Request::get("/healthz").version(version);
            let request = hosts.iter().fold(request, |request, host| request.header("host", *host));
            let request = request.body(()).unwrap();
            let head = Head::read(&request);
            own.admit(&head).or_else(|refusal| match head.admits_probe(refusal) {
                true => Ok(()),
                false => Err(refusal),
            })
        };
        for version in [Version::HTTP_10, Version::HTTP_11, Version::HTTP_2] {
            for host in
                ["10.244.0.5:8000", "[fd00::5]:8000", "", "%2Frun%2Fapp.sock", "/run/app.sock"]
            {
                assert_eq!(admits(version, &[host]), Ok(()), "{version:?} {host}");
            }
            let twice = admits(version, &["api.example", "10.244.0.5"]);
            assert_eq!(twice, Err(Refusal::HostRepeated), "{version:?}");
        }
        assert_eq!(admits(Version::HTTP_10, &[]), Ok(()));
        assert_eq!(admits(Version::HTTP_11, &[]), Err(Refusal::HostMissing));
    }

    #[test]
    fn development_answers_loopback_hosts_only() {
        let own = OwnOrigin::Development;
        for host in
            ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "127.1.2.3", "[::1]:80", "a.localhost"]
        {
            assert_eq!(admit(&own, "/", &[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "evil.test",
            "localhost.evil.test",
            "127.0.0.1.evil.test",
            "192.168.0.1",
            "[::2]",
            "localhostevil",
        ] {
            assert_eq!(
                admit(&own, "/", &[("host", host)]),
                Err(Refusal::HostNotLoopback),
                "{host}"
            );
        }
        for host in [
            "",
            ":80",
            "localhost:",
            "localhost:x",
            "localhost:99999",
            "local host",
            "a@localhost",
            "[::1",
            "[localhost]",
            "[::1]]",
            "[]",
            "a]b",
            "local%68ost",
        ] {
            assert_eq!(
                admit(&own, "/", &[("host", host)]),
                Err(Refusal::HostMalformed),
                "{host:?}"
            );
        }
        assert_eq!(admit(&own, "/", &[]), Err(Refusal::HostMissing));
        assert_eq!(
            admit(&own, "/", &[("host", "localhost"), ("host", "localhost")]),
            Err(Refusal::HostRepeated)
        );
        for name in ["forwarded", "x-forwarded-for", "x-forwarded-host"] {
            let fields = [("host", "localhost"), (name, "x")];
            assert_eq!(admit(&own, "/", &fields), Err(Refusal::ForwardedInDevelopment), "{name}");
            let malformed = [("host", "local host"), (name, "x")];
            assert_eq!(admit(&own, "/", &malformed), Err(Refusal::HostMalformed), "{name}");
        }
    }

    #[test]
    fn in_development_the_own_origin_has_the_host_and_scheme_of_the_request() {
        let own = OwnOrigin::Development;
        let request = Request::builder().header("host", "localhost:8443").body(()).unwrap();
        for is_secure in [false, true] {
            let head = Head { is_secure, ..Head::read(&request) };
            assert_eq!(own.is_own(&head, b"http://localhost:8443"), !is_secure);
            assert_eq!(own.is_own(&head, b"https://localhost:8443"), is_secure);
            assert!(!own.is_own(&head, b"https://localhost"));
        }
    }

    #[test]
    fn hosts_and_which_of_them_are_this_machine() {
        for (origin, host, is_loopback) in [
            ("https://api.example", "api.example", false),
            ("https://api.example:8443", "api.example", false),
            ("https://localhost:8443", "localhost", true),
            ("https://127.0.0.1", "127.0.0.1", true),
            ("https://[::1]:8443", "[::1]", true),
            ("https://[2001:db8::1]", "[2001:db8::1]", false),
        ] {
            let own = PublicOrigin::parse(origin).unwrap();
            assert_eq!((own.host(), own.is_loopback()), (host, is_loopback), "{origin}");
        }
    }

    #[test]
    fn a_deployment_answers_its_own_name_only() {
        let own = OwnOrigin::Public(PublicOrigin::parse("https://api.example").unwrap());
        assert_eq!(admit(&own, "/", &[("host", "api.example")]), Ok(()));
        assert_eq!(admit(&own, "/", &[("host", "API.example:443")]), Ok(()));
        assert_eq!(admit(&own, "https://api.example/", &[("host", "api.example")]), Ok(()));
        assert_eq!(admit(&own, "https://api.example/", &[]), Err(Refusal::HostMissing));
        for host in ["api.example:8443", "localhost", "evil.example", "api.example.evil"] {
            assert_eq!(admit(&own, "/", &[("host", host)]), Err(Refusal::HostUnknown), "{host}");
        }
        let differs = admit(&own, "https://api.example/", &[("host", "evil.example")]);
        assert_eq!(differs, Err(Refusal::HostMalformed));
    }
}

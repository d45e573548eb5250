//! The headers in which proxies state the client of a request.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, header::FORWARDED};

use super::{
    element::{Element, elements_from_right},
    network::{IpNetwork, any_contains},
};
use crate::catalogue::Refusal;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// The statements of trusted proxies about a request that they forwarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statement<'a> {
    /// The client: the first address from the right outside the trusted networks, or the last one
    /// inside.
    pub client: ProxyReport,
    /// The scheme of the client's request.
    pub scheme: Option<UriScheme>,
    /// The host of the client's request, not validated yet.
    pub host: Option<&'a str>,
}

/// The report of proxies about a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProxyReport {
    /// They report none: the peer may be the client.
    #[default]
    Nothing,
    /// They hide it: `unknown`, an obfuscated identifier (RFC 7239 6.3), or an element without `for`.
    Hidden,
    /// Its address.
    Node(Node),
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Node {
    /// Its address. An IPv4-mapped IPv6 address is stored as IPv4.
    pub address: IpAddr,
    /// Its port, if stated.
    pub port: Option<u16>,
}

/// The scheme of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UriScheme {
    /// `https`
    Https,
    /// `http`, and everything else that is not `https`.
    Other,
}

/// Whether proxies use this header to state the client of a request: `Forwarded`, and every name
/// that begins with `X-Forwarded-`.
pub fn is_forwarding(name: &HeaderName) -> bool {
    *name == FORWARDED || name.as_str().starts_with("x-forwarded-")
}

/// Reads `Forwarded` (RFC 7239) of a request that came from one of the trusted networks.
///
/// The last element was written by the peer, so it is trusted; it names the sender that the peer
/// saw. If that sender is a trusted proxy as well, the element before it is trusted, too. The walk
/// ends at the first address that is not trusted, or that is hidden.
///
/// # Errors
///
/// An element that a trusted proxy wrote breaks the grammar.
///
/// ```
/// use http::{HeaderMap, HeaderValue, header::FORWARDED};
/// use policy_core::forwarded::{IpNetwork, ProxyReport, UriScheme, forwarded};
///
/// let mut headers = HeaderMap::new();
/// let line = "for=203.0.113.7, for=192.0.2.1;proto=https;host=a.example, for=10.0.0.1;proto=http";
/// headers.insert(FORWARDED, HeaderValue::from_static(line));
/// let statement = forwarded(&headers, &[IpNetwork::parse("10.0.0.0/8")?]).unwrap();
/// // The client wrote the element in front of it.
/// let ProxyReport::Node(client) = statement.client else { panic!("{statement:?}") };
/// assert_eq!(client.address.to_string(), "192.0.2.1");
/// assert_eq!(statement.scheme, Some(UriScheme::Https));
/// assert_eq!(statement.host, Some("a.example"));
/// # Ok::<(), policy_core::Rule>(())
/// ```
pub fn forwarded<'a>(
    headers: &'a HeaderMap,
    trusted: &[IpNetwork],
) -> Result<Statement<'a>, Refusal> {
    let mut statement = Statement::default();
    let lines = headers.get_all(FORWARDED).iter().rev();
    for text in lines.flat_map(|line| elements_from_right(line.as_bytes())) {
        // The author of this element is trusted: it is the peer, or named by a trusted element.
        let element = Element::read(text).ok_or(Refusal::ForwardedMalformed)?;
        statement.scheme = element.proto.map(UriScheme::parse);
        statement.host = element.host;
        statement.client = match element.r#for {
            None => ProxyReport::Hidden,
            Some(text) => ProxyReport::parse(text, Node::parse_forwarded)?,
        };
        if !statement.client.is_in(trusted) {
            break;
        }
    }
    Ok(statement)
}

/// Reads `X-Forwarded-For` and `X-Forwarded-Proto` of a request that came from one of the trusted
/// networks, and `X-Forwarded-Host` if `hosts` allows it.
///
/// The addresses are walked as in [`forwarded`]. The other two are separate headers whose values
/// are not tied to an address: of several values, the last one counts, since the peer itself wrote
/// it.
///
/// # Errors
///
/// An address that a trusted proxy wrote is invalid, or the host is not text.
///
/// ```
/// use http::{HeaderMap, HeaderValue};
/// use policy_core::forwarded::{Hosts, IpNetwork, ProxyReport, UriScheme, x_forwarded};
///
/// let mut headers = HeaderMap::new();
/// headers.insert("x-forwarded-for", HeaderValue::from_static("203.0.113.7, 192.0.2.1, 10.0.0.1"));
/// headers.insert("x-forwarded-proto", HeaderValue::from_static("https"));
/// let statement = x_forwarded(&headers, &[IpNetwork::parse("10.0.0.0/8")?], Hosts::Ignored).unwrap();
/// let ProxyReport::Node(client) = statement.client else { panic!("{statement:?}") };
/// assert_eq!(client.address.to_string(), "192.0.2.1");
/// assert_eq!(statement.scheme, Some(UriScheme::Https));
/// # Ok::<(), policy_core::Rule>(())
/// ```
pub fn x_forwarded<'a>(
    headers: &'a HeaderMap,
    trusted: &[IpNetwork],
    hosts: Hosts,
) -> Result<Statement<'a>, Refusal> {
    let host = match hosts {
        Hosts::Ignored => None,
        Hosts::Believed => {
            from_right(headers, &X_FORWARDED_HOST).next().map(text_of).transpose()?
        }
    };
    let scheme = from_right(headers, &X_FORWARDED_PROTO).next();
    // A value that is not text is not `https`.
    let scheme = scheme.map(|scheme| text_of(scheme).map_or(UriScheme::Other, UriScheme::parse));
    let mut statement = Statement { client: ProxyReport::Nothing, scheme, host };
    for entry in from_right(headers, &X_FORWARDED_FOR) {
        statement.client = ProxyReport::parse(text_of(entry)?, Node::parse_x_forwarded)?;
        if !statement.client.is_in(trusted) {
            break;
        }
    }
    Ok(statement)
}

/// Whether `X-Forwarded-Host` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// Many proxies pass the client's own value on, so it is ignored.
    Ignored,
    /// The proxies write it themselves.
    Believed,
}

/// The entries of a list that may be in several lines (RFC 9110 5.3), the last first. Each is read
/// on its own, so that bytes which a client wrote in front of an entry do not make it unreadable.
fn from_right<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
    headers.get_all(name).into_iter().rev().flat_map(|line| {
        let entries = line.as_bytes().rsplit(|byte| *byte == b',');
        // RFC 9110 5.6.1: empty elements of a list are ignored.
        entries.map(<[u8]>::trim_ascii).filter(|entry| !entry.is_empty())
    })
}

fn text_of(entry: &[u8]) -> Result<&str, Refusal> {
    let text = str::from_utf8(entry).ok().filter(|text| text.is_ascii());
    text.ok_or(Refusal::ForwardedMalformed)
}

impl ProxyReport {
    fn parse(text: &str, read: impl Fn(&str) -> Option<Node>) -> Result<Self, Refusal> {
        let name = text.split(':').next().unwrap_or_default();
        if name.eq_ignore_ascii_case("unknown") || name.starts_with('_') {
            return Ok(Self::Hidden);
        }
        read(text).map(Self::Node).ok_or(Refusal::ForwardedMalformed)
    }

    fn is_in(self, trusted: &[IpNetwork]) -> bool {
        matches!(self, Self::Node(node) if any_contains(trusted, node.address))
    }
}

impl UriScheme {
    fn parse(text: &str) -> Self {
        if text.eq_ignore_ascii_case("https") { Self::Https } else { Self::Other }
    }
}

impl Node {
    /// Reads a node of `Forwarded` (RFC 7239 6): `IPv4address` or `"[" IPv6address "]"`, and a
    /// port; an obfuscated node is not an address.
    fn parse_forwarded(text: &str) -> Option<Self> {
        let (address, port) = match text.strip_prefix('[') {
            Some(bracketed) => {
                let (address, behind) = bracketed.split_once(']')?;
                (IpAddr::V6(address.parse().ok()?), behind)
            }
            None => {
                let end = text.find(':').unwrap_or(text.len());
                let (address, behind) = text.split_at_checked(end)?;
                (IpAddr::V4(address.parse().ok()?), behind)
            }
        };
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => None,
            None => return None,
            // An obfuscated port hides only the port.
            Some(hidden) if hidden.starts_with('_') => None,
            Some(digits) if digits.starts_with('+') => return None,
            Some(digits) => Some(digits.parse().ok()?),
        };
        Some(Self { address: address.to_canonical(), port })
    }

    /// Reads a node of `X-Forwarded-For`, also IPv6 without brackets, as most proxies write it.
    fn parse_x_forwarded(text: &str) -> Option<Self> {
        match text.parse::<IpAddr>() {
            Ok(address) => Some(Self { address: address.to_canonical(), port: None }),
            Err(_) => Self::parse_forwarded(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use http::HeaderValue;

    use super::*;

    fn trusted() -> Vec<IpNetwork> {
        ["10.0.0.0/8", "2001:db8:1::/48"].map(|text| IpNetwork::parse(text).unwrap()).to_vec()
    }

    fn lines(name: &'static str, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        headers
    }

    fn describe(client: ProxyReport) -> String {
        match client {
            ProxyReport::Nothing => "nothing".to_owned(),
            ProxyReport::Hidden => "hidden".to_owned(),
            ProxyReport::Node(Node { address, port: None }) => address.to_string(),
            ProxyReport::Node(Node { address, port: Some(port) }) => {
                SocketAddr::new(address, port).to_string()
            }
        }
    }

    #[test]
    fn the_client_is_the_first_untrusted_address_from_the_right() {
        for (values, client) in [
            (&[][..], "nothing"),
            (&["192.0.2.1"], "192.0.2.1"),
            (&["192.0.2.1:4711"], "192.0.2.1:4711"),
            (&["203.0.113.9, 192.0.2.1"], "192.0.2.1"),
            (&["203.0.113.9,192.0.2.1 ,10.0.0.1"], "192.0.2.1"),
            (&["203.0.113.9", "192.0.2.1", "10.0.0.1,10.0.0.2"], "192.0.2.1"),
            (&["2001:db8::1, 2001:db8:1::1"], "2001:db8::1"),
            (&["[2001:db8::1]:443"], "[2001:db8::1]:443"),
            (&["::ffff:192.0.2.1, ::ffff:10.0.0.1"], "192.0.2.1"),
            // All addresses are trusted proxies.
            (&["10.0.0.1, 10.0.0.2"], "10.0.0.1"),
            // RFC 9110 5.6.1.
            (&[", 192.0.2.1, ,"], "192.0.2.1"),
            // A proxy hides its client. The address of the proxy is not the client's.
            (&["192.0.2.1, unknown"], "hidden"),
            (&["192.0.2.1, unknown, 10.0.0.1"], "hidden"),
            // Any bytes of a client in front are ignored.
            (&["\u{e9}, 192.0.2.1"], "192.0.2.1"),
            (&["\u{e9}", "\", 192.0.2.1, 10.0.0.1"], "192.0.2.1"),
            // An entry of a proxy that cannot be read.
            (&["192.0.2.1, 192.0.2.2.3, 10.0.0.1"], "refused"),
            (&["192.0.2.1", "\u{e9}"], "refused"),
            (&["192.0.2.1:99999"], "refused"),
            (&["192.0.2.1:+80"], "refused"),
            (&["192.0.2.1:"], "refused"),
            (&["[192.0.2.1]"], "refused"),
            (&["[2001:db8::1]443"], "refused"),
        ] {
            let headers = lines("x-forwarded-for", values);
            let statement = x_forwarded(&headers, &trusted(), Hosts::Ignored);
            let found =
                statement.map_or("refused".to_owned(), |statement| describe(statement.client));
            assert_eq!(found, client, "{values:?}");
        }
    }

    #[test]
    fn elements_of_forwarded_are_walked_the_same_way() {
        for (values, client, scheme, host) in [
            (&[][..], "nothing", None, None),
            (&["for=192.0.2.1;proto=https"], "192.0.2.1", Some(UriScheme::Https), None),
            (&["for=\"192.0.2.1:80\";proto=HTTPS"], "192.0.2.1:80", Some(UriScheme::Https), None),
            (&["for=\"192.0.2.1:_port\""], "192.0.2.1", None, None),
            (
                &["for=\"[2001:db8::1]:443\";proto=http"],
                "[2001:db8::1]:443",
                Some(UriScheme::Other),
                None,
            ),
            // The statement of the outermost trusted proxy counts, not those of inner ones.
            (
                &["for=192.0.2.1;proto=https;host=a", "for=10.0.0.1;proto=http;host=b"],
                "192.0.2.1",
                Some(UriScheme::Https),
                Some("a"),
            ),
            // Nor that of the client itself.
            (
                &["for=203.0.113.9;proto=https;host=evil", "for=192.0.2.1;proto=http;host=a"],
                "192.0.2.1",
                Some(UriScheme::Other),
                Some("a"),
            ),
            (
                &["for=192.0.2.1;proto=https", "for=10.0.0.1"],
                "192.0.2.1",
                Some(UriScheme::Https),
                None,
            ),
            // Hidden, but by a trusted proxy.
            (
                &["for=192.0.2.1", "for=_a;proto=https;host=a"],
                "hidden",
                Some(UriScheme::Https),
                Some("a"),
            ),
            (&["for=192.0.2.1, for=unknown, for=10.0.0.1"], "hidden", None, None),
            (&["for=192.0.2.1, proto=https"], "hidden", Some(UriScheme::Https), None),
            // A client cannot swallow what its proxy adds to the line.
            (
                &["for=203.0.113.9;x=\", for=192.0.2.1;proto=http"],
                "192.0.2.1",
                Some(UriScheme::Other),
                None,
            ),
            (&["\u{e9}, for=192.0.2.1"], "192.0.2.1", None, None),
            (&["for=\"2001:db8::1\""], "refused", None, None),
            (&["for=192.0.2.1, \u{e9}"], "refused", None, None),
        ] {
            let headers = lines("forwarded", values);
            let found = match forwarded(&headers, &trusted()) {
                Ok(statement) => (describe(statement.client), statement.scheme, statement.host),
                Err(_) => ("refused".to_owned(), None, None),
            };
            assert_eq!(found, (client.to_owned(), scheme, host), "{values:?}");
        }
    }

    #[test]
    fn of_several_schemes_and_hosts_the_last_counts() {
        let mut headers = lines("x-forwarded-proto", &["https", "https, http"]);
        headers.extend(lines("x-forwarded-host", &["evil.example, a.example"]));
        let statement = x_forwarded(&headers, &trusted(), Hosts::Believed).unwrap();
        assert_eq!((statement.scheme, statement.host), (Some(UriScheme::Other), Some("a.example")));
        assert_eq!(x_forwarded(&headers, &trusted(), Hosts::Ignored).unwrap().host, None);
        let broken = lines("x-forwarded-proto", &["https", "\u{e9}"]);
        let statement = x_forwarded(&broken, &trusted(), Hosts::Ignored).unwrap();
        assert_eq!(statement.scheme, Some(UriScheme::Other));
        let broken = lines("x-forwarded-host", &["\u{e9}"]);
        let refused = x_forwarded(&broken, &trusted(), Hosts::Believed);
        assert_eq!(refused, Err(Refusal::ForwardedMalformed));
    }
}

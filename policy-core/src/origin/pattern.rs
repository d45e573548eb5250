//! One entry of a list of origins.

use std::fmt;

#[cfg(feature = "engine")]
use http::HeaderValue;

use super::{MAX_ORIGIN_LEN, host};
use crate::{
    catalogue::Rule,
    grammar::{contains, eq, len_until, strip_prefix},
};

/// The port of an origin or of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Port {
    /// The default port of the scheme, which is never written.
    Default,
    /// This port.
    Number(u16),
    /// Any port, including the default one: `:*`, in patterns only.
    Any,
}

/// Which names a pattern matches: its host, or names below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostPattern<'a> {
    /// The host itself.
    One,
    /// Every name below the host, with one or more additional labels: `*.example.com`.
    Below,
    /// Names with one additional label, which has this prefix and suffix and at least one character
    /// between the two: `shop-*-acme.example.com`.
    Label {
        /// The text before the `*`; it may be empty.
        prefix: &'a str,
        /// The text after the `*`: a `-`, and at least one more character.
        suffix: &'a str,
    },
}

/// An origin, or a family of origins, that a policy names: `https://app.example.com`,
/// `https://*.example.com` (one label or more in front), `https://shop-*-acme.example.com` (a part of
/// the first label), `http://localhost:*` (any port).
///
/// `*` alone is not a pattern but a kind of policy, see [`CorsSpec`](crate::cors::CorsSpec).
///
/// ```
/// use policy_core::{Rule, origin::{OriginPattern, Port}};
///
/// const PARTNER: OriginPattern<'_> = match OriginPattern::parse("https://*.partner.example") {
///     Ok(pattern) => pattern,
///     Err(rule) => panic!("{}", rule.message()),
/// };
/// assert_eq!(PARTNER.host(), "partner.example");
/// assert!(PARTNER.is_wildcard());
/// assert_eq!(PARTNER.port(), Port::Default);
/// assert_eq!(OriginPattern::parse("https://app.example/"), Err(Rule::OriginPath));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OriginPattern<'a> {
    scheme: &'a str,
    host: &'a str,
    hosts: HostPattern<'a>,
    port: Port,
}

impl<'a> OriginPattern<'a> {
    /// Reads a pattern exactly as browsers serialise origins (HTML, 7.1.1; Fetch, 3.2).
    ///
    /// # Errors
    ///
    /// The rule that the text breaks: it could never equal an origin that a browser sends, or
    /// it would grant more than it seems to.
    pub const fn parse(text: &'a str) -> Result<Self, Rule> {
        let bytes = text.as_bytes();
        if bytes.len() > MAX_ORIGIN_LEN {
            return Err(Rule::OriginTooLong);
        }
        if eq(bytes, b"null") {
            return Err(Rule::NullOrigin);
        }
        if let Err(rule) = check_bytes(bytes) {
            return Err(rule);
        }
        let (scheme, rest) = match split_scheme(text) {
            Ok(parts) => parts,
            Err(rule) => return Err(rule),
        };
        let (name, port) = rest.split_at(host_len(rest.as_bytes()));
        let (hosts, host) = split_hosts(name);
        if let Err(rule) = host::check(host, &hosts) {
            return Err(rule);
        }
        match parse_port(scheme, port.as_bytes()) {
            Ok(port) => Ok(Self { scheme, host, hosts, port }),
            Err(rule) => Err(rule),
        }
    }

    /// The scheme, without `://`.
    pub const fn scheme(&self) -> &'a str {
        self.scheme
    }

    /// The host, without the label that has a `*`; an IPv6 address keeps its brackets.
    pub const fn host(&self) -> &'a str {
        self.host
    }

    /// Which names the pattern matches: its host, or names below it.
    pub const fn hosts(&self) -> HostPattern<'a> {
        self.hosts
    }

    /// Whether the pattern matches names below its host, and not the host itself.
    pub const fn is_wildcard(&self) -> bool {
        !matches!(self.hosts, HostPattern::One)
    }

    /// The port.
    pub const fn port(&self) -> Port {
        self.port
    }

    /// Whether the pattern is one origin.
    pub const fn is_single(&self) -> bool {
        !self.is_wildcard() && !matches!(self.port, Port::Any)
    }

    /// Whether the host is this machine: `localhost`, a name below it, or a loopback address.
    pub const fn is_loopback(&self) -> bool {
        host::is_loopback(self.host.as_bytes())
    }
}

/// The owned form of a pattern, for sets.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct OwnedPattern {
    /// As written in a policy; for a single origin, the text that a request has.
    text: Box<str>,
    /// The text as the value of a header.
    #[cfg(feature = "engine")]
    value: HeaderValue,
    scheme_len: u8,
    host_len: u8,
    shape: Shape,
    port: Port,
}

/// Where the host begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    One,
    Below,
    Label { prefix_len: u8, suffix_len: u8 },
}

impl OwnedPattern {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    #[cfg(feature = "engine")]
    pub(super) fn value(&self) -> &HeaderValue {
        &self.value
    }

    pub(super) fn is_single(&self) -> bool {
        self.shape == Shape::One && self.port != Port::Any
    }

    pub(super) fn borrow(&self) -> OriginPattern<'_> {
        let (scheme, rest) = self.text.split_at(usize::from(self.scheme_len));
        let (_, rest) = rest.split_at("://".len());
        let (hosts, rest) = match self.shape {
            Shape::One => (HostPattern::One, rest),
            Shape::Below => (HostPattern::Below, rest.split_at("*.".len()).1),
            Shape::Label { prefix_len, suffix_len } => {
                let (prefix, rest) = rest.split_at(usize::from(prefix_len));
                let (suffix, rest) = rest.split_at("*".len()).1.split_at(usize::from(suffix_len));
                (HostPattern::Label { prefix, suffix }, rest.split_at(".".len()).1)
            }
        };
        let (host, _) = rest.split_at(usize::from(self.host_len));
        OriginPattern { scheme, host, hosts, port: self.port }
    }
}

impl From<&OriginPattern<'_>> for OwnedPattern {
    fn from(pattern: &OriginPattern<'_>) -> Self {
        let text = pattern.to_string();
        Self {
            #[cfg(feature = "engine")]
            // Patterns are visible ASCII, which is valid in a header value.
            value: HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("null")),
            text: text.into(),
            // A scheme has at most 64 bytes, a host 253, a label 63.
            scheme_len: pattern.scheme.len() as u8,
            host_len: pattern.host.len() as u8,
            shape: match pattern.hosts {
                HostPattern::One => Shape::One,
                HostPattern::Below => Shape::Below,
                HostPattern::Label { prefix, suffix } => {
                    Shape::Label { prefix_len: prefix.len() as u8, suffix_len: suffix.len() as u8 }
                }
            },
            port: pattern.port,
        }
    }
}

impl fmt::Debug for OwnedPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.borrow().fmt(f)
    }
}

/// The pattern as it is written in a policy.
impl fmt::Display for OriginPattern<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme)?;
        match self.hosts {
            HostPattern::One => (),
            HostPattern::Below => f.write_str("*.")?,
            HostPattern::Label { prefix, suffix } => write!(f, "{prefix}*{suffix}.")?,
        }
        f.write_str(self.host)?;
        match self.port {
            Port::Default => Ok(()),
            Port::Number(port) => write!(f, ":{port}"),
            Port::Any => f.write_str(":*"),
        }
    }
}

/// Refuses bytes that occur nowhere in a pattern, with the most helpful rule.
const fn check_bytes(bytes: &[u8]) -> Result<(), Rule> {
    let mut rest = bytes;
    let mut upper_case = false;
    while let [byte, tail @ ..] = rest {
        match *byte {
            b' ' | b'\t' | b'\r' | b'\n' => return Err(Rule::OriginSpace),
            0x80.. => return Err(Rule::OriginNotAscii),
            b'A'..=b'Z' => upper_case = true,
            _ => (),
        }
        rest = tail;
    }
    if upper_case { Err(Rule::OriginUpperCase) } else { Ok(()) }
}

const fn split_scheme(text: &str) -> Result<(&str, &str), Rule> {
    let mut rest = text.as_bytes();
    let mut len = 0;
    while let [byte, tail @ ..] = rest {
        let letter = byte.is_ascii_lowercase();
        if !(letter || (len > 0 && (byte.is_ascii_digit() || contains(b"+-.", *byte)))) {
            break;
        }
        len += 1;
        rest = tail;
    }
    if len == 0 || len > 64 {
        return Err(Rule::OriginScheme);
    }
    let (scheme, behind) = text.split_at(len);
    if eq(scheme.as_bytes(), b"file") {
        return Err(Rule::FileOrigin);
    }
    match strip_prefix(behind.as_bytes(), b"://") {
        Some(_) => Ok((scheme, behind.split_at(3).1)),
        None => Err(Rule::OriginScheme),
    }
}

/// Where the host ends: at the colon before the port, or after the bracket of an IPv6 address.
const fn host_len(text: &[u8]) -> usize {
    if !matches!(text, [b'[', ..]) {
        return len_until(text, b":");
    }
    let len = len_until(text, b"]");
    if len < text.len() { len + 1 } else { len }
}

/// Splits the text of a host at the dot after a first label with a `*`. A text without such a label
/// is the host as a whole, whose check then refuses a `*`.
const fn split_hosts(text: &str) -> (HostPattern<'_>, &str) {
    if strip_prefix(text.as_bytes(), b"*.").is_some() {
        return (HostPattern::Below, text.split_at(2).1);
    }
    let (prefix, rest) = text.split_at(len_until(text.as_bytes(), b"*"));
    if rest.is_empty() || contains(prefix.as_bytes(), b'.') {
        return (HostPattern::One, text);
    }
    let rest = rest.split_at(1).1;
    let (suffix, rest) = rest.split_at(len_until(rest.as_bytes(), b"."));
    if rest.is_empty() {
        return (HostPattern::One, text);
    }
    (HostPattern::Label { prefix, suffix }, rest.split_at(1).1)
}

/// Reads the text after the host.
const fn parse_port(scheme: &str, text: &[u8]) -> Result<Port, Rule> {
    let digits = match text {
        [] => return Ok(Port::Default),
        [b':', b'*'] => return Ok(Port::Any),
        [b':', digits @ ..] => digits,
        _ => return Err(host::rule_of_stray(text)),
    };
    match port_number(digits) {
        Some(port) if is_default_port(scheme.as_bytes(), port) => Err(Rule::OriginDefaultPort),
        Some(port) => Ok(Port::Number(port)),
        None => match host::rule_of_stray(digits) {
            Rule::OriginHost => Err(Rule::OriginPort),
            rule => Err(rule),
        },
    }
}

/// A port as browsers write it: decimal, no leading zero, 1 to 65535.
pub(super) const fn port_number(digits: &[u8]) -> Option<u16> {
    if digits.is_empty() || digits.len() > 5 || matches!(digits, [b'0', ..]) {
        return None;
    }
    let mut number = 0_u32;
    let mut rest = digits;
    while let [digit, tail @ ..] = rest {
        if !digit.is_ascii_digit() {
            return None;
        }
        number = number * 10 + (*digit - b'0') as u32;
        rest = tail;
    }
    if number <= u16::MAX as u32 { Some(number as u16) } else { None }
}

const fn is_default_port(scheme: &[u8], port: u16) -> bool {
    (eq(scheme, b"http") && port == 80) || (eq(scheme, b"https") && port == 443)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_the_error() {
        for (text, rule) in [
            ("", Rule::OriginScheme),
            ("null", Rule::NullOrigin),
            ("example.com", Rule::OriginScheme),
            ("https:example.com", Rule::OriginScheme),
            ("HTTPS://example.com", Rule::OriginUpperCase),
            ("https://Example.com", Rule::OriginUpperCase),
            ("https://example.com/", Rule::OriginPath),
            ("https://example.com/path", Rule::OriginPath),
            ("https://example.com?q", Rule::OriginPath),
            ("https://example.com#f", Rule::OriginPath),
            ("https://example.com:80/x", Rule::OriginPath),
            ("https://u:p@example.com", Rule::OriginUserInfo),
            ("https://u@example.com", Rule::OriginUserInfo),
            (" https://example.com", Rule::OriginSpace),
            ("https://exämple.com", Rule::OriginNotAscii),
            ("https://", Rule::OriginHost),
            ("https://.example.com", Rule::OriginHost),
            ("https://example..com", Rule::OriginHost),
            ("https://xn--.com", Rule::OriginPunycode),
            ("https://*", Rule::OriginWildcard),
            ("https://*example.com", Rule::OriginWildcard),
            ("https://a.*.com", Rule::OriginWildcard),
            ("https://example.com:8*", Rule::OriginWildcard),
            // A `*` in a label has to be followed by a hyphen and a fixed suffix.
            ("https://shop-*.example.com", Rule::OriginWildcard),
            ("https://shop-*acme.example.com", Rule::OriginWildcard),
            ("https://shop-*-.example.com", Rule::OriginWildcard),
            ("https://*-*-acme.example.com", Rule::OriginWildcard),
            ("https://*-acme", Rule::OriginWildcard),
            ("https://a.*-acme.example.com", Rule::OriginWildcard),
            ("https://*-acme.*.example.com", Rule::OriginWildcard),
            ("https://*.*-acme.example.com", Rule::OriginWildcard),
            ("https://xn--*-acme.example.com", Rule::OriginWildcard),
            ("https://*-acme.1.2.3.4", Rule::OriginWildcard),
            ("https://*-acme.[::1]", Rule::OriginWildcard),
            ("https://*-acme..example.com", Rule::OriginHost),
            ("https://*-acme.", Rule::OriginHost),
            ("https://*-ac/me.example.com", Rule::OriginPath),
            ("https://*.1.2.3.4", Rule::OriginWildcard),
            ("https://*.[::1]", Rule::OriginWildcard),
            ("*://example.com", Rule::OriginScheme),
            ("https://example.com:", Rule::OriginPort),
            ("https://example.com:0", Rule::OriginPort),
            ("https://example.com:65536", Rule::OriginPort),
            ("https://example.com:0443", Rule::OriginPort),
            ("https://example.com:443", Rule::OriginDefaultPort),
            ("http://example.com:80", Rule::OriginDefaultPort),
            ("https://1.2.3", Rule::OriginAddress),
            ("https://1.2.3.256", Rule::OriginAddress),
            ("https://01.2.3.4", Rule::OriginAddress),
            ("https://[::1", Rule::OriginAddress),
            ("https://[0::1]", Rule::OriginAddress),
            ("https://[::ffff:1.2.3.4]", Rule::OriginMappedAddress),
            ("http://[::ffff:7f7f:7f7f]:90", Rule::OriginMappedAddress),
            ("https://[::1]x", Rule::OriginHost),
            ("file://x", Rule::FileOrigin),
        ] {
            assert_eq!(OriginPattern::parse(text), Err(rule), "{text}");
        }
    }

    #[test]
    fn default_ports_depend_on_the_scheme() {
        assert!(OriginPattern::parse("https://a.example:80").is_ok());
        assert!(OriginPattern::parse("tauri://a.example:443").is_ok());
    }
}

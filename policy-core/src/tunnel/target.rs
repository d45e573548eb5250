//! The target of a tunnel.

use std::{fmt, net::IpAddr};

/// A host and a port: the target of a CONNECT (RFC 9110 9.3.6, `authority-form` of RFC 9112 3.2.3),
/// or an entry of a list of targets. The port is always explicit.
///
/// ```
/// use policy_core::tunnel::TunnelTarget;
///
/// let target = TunnelTarget::parse("DB.internal.example:5432").unwrap();
/// assert_eq!(target.to_string(), "db.internal.example:5432");
/// assert_eq!(TunnelTarget::parse("[2001:db8::1]:443").unwrap().port, 443);
/// for text in ["db.internal.example", "db:0", "https://db:443", "user@db:5432", "*.db:5432"] {
///     assert_eq!(TunnelTarget::parse(text), None, "{text}");
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TunnelTarget {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

/// The host of a target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name to resolve, in lower case.
    Name(Box<str>),
    /// An address. An IPv4-mapped IPv6 address is stored as IPv4.
    Address(IpAddr),
}

impl TunnelTarget {
    /// Parses a target; `None` if it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let is_number = port.bytes().all(|byte| byte.is_ascii_digit()) && !port.starts_with('0');
        let port = port.parse().ok().filter(|_| is_number)?;
        let host = match host.strip_prefix('[').map(|host| host.strip_suffix(']')) {
            Some(address) => Host::Address(IpAddr::V6(address?.parse().ok()?).to_canonical()),
            None => match host.parse() {
                Ok(address) => Host::Address(IpAddr::V4(address)),
                Err(_) => Host::Name(name(host)?),
            },
        };
        Some(Self { host, port })
    }
}

/// Labels of letters, digits, `-` and `_`, the last of which does not begin with a digit: resolvers
/// read a name that ends in a number as an address in an older form (`127.1`, `0x7f.1`).
fn name(host: &str) -> Option<Box<str>> {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let last = host.rsplit('.').next()?;
    let is_name = host.len() <= 253
        && host.split('.').all(is_label)
        && !last.starts_with(|first: char| first.is_ascii_digit());
    is_name.then(|| host.to_ascii_lowercase().into())
}

impl fmt::Display for TunnelTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Name(name) => write!(f, "{name}:{}", self.port),
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}:{}", self.port),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_one_spelling() {
        for (text, want) in [
            ("a:1", "a:1"),
            ("A.Example:65535", "a.example:65535"),
            ("192.0.2.1:22", "192.0.2.1:22"),
            ("[::1]:80", "[::1]:80"),
            ("[0:0::1]:80", "[::1]:80"),
            ("[::ffff:192.0.2.1]:80", "192.0.2.1:80"),
            ("_db._tcp.example:1", "_db._tcp.example:1"),
        ] {
            assert_eq!(TunnelTarget::parse(text).unwrap().to_string(), want);
        }
    }

    #[test]
    fn rejects_malformed_targets() {
        for text in [
            "",
            ":",
            ":80",
            "a:",
            "a",
            "a:0",
            "a:080",
            "a:+80",
            "a:65536",
            "a:80:80",
            "a b:80",
            "a.:80",
            ".a:80",
            "a..b:80",
            "::1:80",
            "[::1]",
            "[::1:80",
            "::1]:80",
            "[192.0.2.1]:80",
            "127.1:80",
            "2130706433:80",
            "0x7f.1:80",
            "0x7f000001:80",
            "192.0.2.1.:80",
            "a/b:80",
            "a@b:80",
            "ä.example:80",
            "[fe80::1%eth0]:80",
        ] {
            assert_eq!(TunnelTarget::parse(text), None, "{text}");
        }
    }
}

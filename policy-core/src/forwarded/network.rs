//! Networks by their prefix.

use std::{fmt, net::IpAddr};

use cidr::{IpCidr, errors::NetworkParseError};

use crate::catalogue::Rule;

/// A network of IP addresses, such as `10.0.0.0/8` or `2001:db8::/32` (RFC 4632 3.1, RFC 4291
/// 2.3); an address alone is a network of one.
///
/// An IPv4-mapped IPv6 address (`::ffff:10.0.0.1`, RFC 4291 2.5.5.2) counts as the IPv4 address,
/// since a dual-stack socket reports it in this form.
///
/// ```
/// use policy_core::{Rule, forwarded::IpNetwork};
///
/// let network = IpNetwork::parse("10.0.0.0/8")?;
/// assert!(network.contains("10.1.2.3".parse().unwrap()));
/// assert!(network.contains("::ffff:10.1.2.3".parse().unwrap()));
/// assert!(!network.contains("11.0.0.0".parse().unwrap()));
/// assert!(network < IpNetwork::parse("10.0.0.0/24")?);
/// assert_eq!(IpNetwork::parse("10.0.0.1/8"), Err(Rule::NetworkHostBits));
/// # Ok::<(), Rule>(())
/// ```
///
/// Networks are ordered by their first address, and a network is before the smaller ones in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpNetwork(IpCidr);

impl IpNetwork {
    /// Reads a network.
    ///
    /// # Errors
    ///
    /// The rule that the text breaks.
    pub fn parse(text: &str) -> Result<Self, Rule> {
        // `cidr` would accept a prefix with a sign or leading zeros.
        let is_other_number = |prefix: &str| prefix != "0" && prefix.starts_with(['0', '+']);
        if text.split_once('/').is_some_and(|(_, prefix)| is_other_number(prefix)) {
            return Err(Rule::NetworkMalformed);
        }
        let network: IpCidr = text.parse().map_err(|error| match error {
            NetworkParseError::InvalidHostPart => Rule::NetworkHostBits,
            _ => Rule::NetworkMalformed,
        })?;
        let first = network.first_address().to_canonical();
        if network.is_ipv4() || first.is_ipv6() {
            return Ok(Self(network));
        }
        // IPv4-mapped IPv6 addresses.
        let prefix = network.network_length().checked_sub(96).ok_or(Rule::NetworkMalformed)?;
        IpCidr::new(first, prefix).map(Self).map_err(|_prefix| Rule::NetworkMalformed)
    }

    /// Whether every address of this network is in the other one.
    pub fn is_within(&self, other: &Self) -> bool {
        let Self(outer) = other;
        outer.network_length() <= self.0.network_length() && outer.contains(&self.0.first_address())
    }

    /// Whether the network contains an address.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }

    /// Whether the network contains every address of its version.
    pub fn is_everybody(&self) -> bool {
        self.0.network_length() == 0
    }
}

/// Whether an address is in one of these networks.
pub fn any_contains(networks: &[IpNetwork], address: IpAddr) -> bool {
    networks.iter().any(|network| network.contains(address))
}

impl fmt::Display for IpNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // With the prefix, also of a single address.
        write!(f, "{:#}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(network: &str, address: &str) -> bool {
        IpNetwork::parse(network).unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn a_network_is_the_addresses_that_share_its_prefix() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", ["10.0.0.0", "10.255.255.255"], ["9.255.255.255", "11.0.0.0"]),
            ("192.0.2.128/25", ["192.0.2.128", "192.0.2.255"], ["192.0.2.127", "192.0.3.0"]),
            ("192.0.2.1", ["192.0.2.1", "::ffff:192.0.2.1"], ["192.0.2.0", "192.0.2.2"]),
            ("2001:db8::/32", ["2001:db8::", "2001:db8:ffff::1"], ["2001:db7::", "10.0.0.1"]),
            ("::1", ["::1", "0:0:0:0:0:0:0:1"], ["::2", "127.0.0.1"]),
            ("fc00::/7", ["fc00::", "fdff::1"], ["fe00::", "fb00::"]),
            ("::ffff:10.0.0.0/104", ["10.1.2.3", "::ffff:10.1.2.3"], ["11.0.0.0", "::10.1.2.3"]),
        ] {
            for address in inside {
                assert!(contains(network, address), "{address} in {network}");
            }
            for address in outside {
                assert!(!contains(network, address), "{address} in {network}");
            }
        }
    }

    #[test]
    fn a_network_that_contains_every_address_is_recognized() {
        for (network, everybody) in [
            ("0.0.0.0/0", true),
            ("::/0", true),
            ("::ffff:0.0.0.0/96", true),
            ("0.0.0.0/1", false),
            ("0.0.0.0", false),
        ] {
            assert_eq!(IpNetwork::parse(network).unwrap().is_everybody(), everybody, "{network}");
        }
        assert!(contains("0.0.0.0/0", "255.255.255.255"));
        // A network of one version has no addresses of the other.
        assert!(!contains("::/0", "192.0.2.1") && !contains("0.0.0.0/0", "2001:db8::1"));
    }

    #[test]
    fn distinguishes_malformed_networks_and_host_bits() {
        for text in [
            "",
            "/",
            "10",
            "10.0.0.0/",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/08",
            "10.0.0.0/+8",
            "10.0.0.0/8/8",
            "10.0.0.0 /8",
            "[::1]",
            "localhost",
            "10.0.0.0/255.0.0.0",
            "010.0.0.0/8",
            "::ffff:0.0.0.0/95",
            "10.0.0.0:80",
        ] {
            let found = IpNetwork::parse(text);
            let is_refused = matches!(found, Err(Rule::NetworkMalformed | Rule::NetworkHostBits));
            assert!(is_refused, "{text}: {found:?}");
        }
        for text in ["10.0.0.1/8", "192.0.2.0/1", "2001:db8::1/32", "::1/0"] {
            assert_eq!(IpNetwork::parse(text), Err(Rule::NetworkHostBits), "{text}");
        }
    }

    #[test]
    fn a_network_is_displayed_as_it_is_written() {
        for text in ["10.0.0.0/8", "2001:db8::/32", "192.0.2.1/32"] {
            assert_eq!(IpNetwork::parse(text).unwrap().to_string(), text);
        }
    }
}

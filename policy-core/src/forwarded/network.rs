//! Networks by their prefix.

use std::{fmt, net::IpAddr};

use crate::catalogue::Rule;

/// A network of IP addresses, such as `10.0.0.0/8` or `2001:db8::/32` (RFC 4632 3.1, RFC 4291
/// 2.3); an address alone is a network of one.
///
/// An IPv4 address that is written as IPv6 (`::ffff:10.0.0.1`, RFC 4291 2.5.5.2) is that IPv4
/// address here, since a socket of both versions shows it so.
///
/// ```
/// use policy_core::{Rule, forwarded::Network};
///
/// let network = Network::parse("10.0.0.0/8")?;
/// assert!(network.contains("10.1.2.3".parse().unwrap()));
/// assert!(network.contains("::ffff:10.1.2.3".parse().unwrap()));
/// assert!(!network.contains("11.0.0.0".parse().unwrap()));
/// assert_eq!(Network::parse("10.0.0.1/8"), Err(Rule::NetworkHostBits));
/// # Ok::<(), Rule>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network {
    /// The first address.
    first: IpAddr,
    /// How many bits all addresses share.
    prefix: u8,
}

impl Network {
    /// Reads a network.
    ///
    /// # Errors
    ///
    /// The rule that the text breaks.
    pub fn parse(text: &str) -> Result<Self, Rule> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let written: IpAddr = address.parse().map_err(|_error| Rule::NetworkMalformed)?;
        let most = bits_of(written);
        let prefix = match prefix {
            None => most,
            Some(digits) if is_number(digits) => digits
                .parse()
                .ok()
                .filter(|prefix| *prefix <= most)
                .ok_or(Rule::NetworkMalformed)?,
            Some(_) => return Err(Rule::NetworkMalformed),
        };
        if first_of(written, prefix) != written {
            return Err(Rule::NetworkHostBits);
        }
        let first = written.to_canonical();
        // Of a network that reaches out of the mapped addresses, these are a part of no interest.
        let prefix = if first.is_ipv4() && most == 128 {
            prefix.checked_sub(96).ok_or(Rule::NetworkMalformed)?
        } else {
            prefix
        };
        Ok(Self { first, prefix })
    }

    /// Whether an address is one of these.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.first.is_ipv4() && first_of(address, self.prefix) == self.first
    }

    /// Whether it is all addresses of its version.
    pub fn is_everybody(&self) -> bool {
        self.prefix == 0
    }
}

/// Whether an address is in one of these networks.
pub fn any_contains(networks: &[Network], address: IpAddr) -> bool {
    networks.iter().any(|network| network.contains(address))
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

/// Digits without a sign and without leading zeros.
fn is_number(digits: &str) -> bool {
    digits == "0" || (!digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn bits_of(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The address with all bits behind the prefix cleared.
fn first_of(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0);
            IpAddr::V4((address.to_bits() & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix.min(128))).unwrap_or(0);
            IpAddr::V6((address.to_bits() & mask).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(network: &str, address: &str) -> bool {
        Network::parse(network).unwrap().contains(address.parse().unwrap())
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
    fn everybody_is_a_network_too_and_says_so() {
        for (network, everybody) in [
            ("0.0.0.0/0", true),
            ("::/0", true),
            ("::ffff:0.0.0.0/96", true),
            ("0.0.0.0/1", false),
            ("0.0.0.0", false),
        ] {
            assert_eq!(Network::parse(network).unwrap().is_everybody(), everybody, "{network}");
        }
        assert!(contains("0.0.0.0/0", "255.255.255.255"));
        // A network of one version has no addresses of the other.
        assert!(!contains("::/0", "192.0.2.1") && !contains("0.0.0.0/0", "2001:db8::1"));
    }

    #[test]
    fn what_is_no_network_is_told_from_an_address_with_too_many_bits() {
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
            let found = Network::parse(text);
            let is_refused = matches!(found, Err(Rule::NetworkMalformed | Rule::NetworkHostBits));
            assert!(is_refused, "{text}: {found:?}");
        }
        for text in ["10.0.0.1/8", "192.0.2.0/1", "2001:db8::1/32", "::1/0"] {
            assert_eq!(Network::parse(text), Err(Rule::NetworkHostBits), "{text}");
        }
    }

    #[test]
    fn a_network_is_displayed_as_it_is_written() {
        for text in ["10.0.0.0/8", "2001:db8::/32", "192.0.2.1/32"] {
            assert_eq!(Network::parse(text).unwrap().to_string(), text);
        }
    }
}

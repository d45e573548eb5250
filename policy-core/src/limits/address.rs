//! Identifying a client by its address.

use std::net::IpAddr;

/// The part of an address that belongs to one client: all of IPv4, also as an IPv4-mapped IPv6
/// address, and the first 64 bits of IPv6, the smallest allocation to one site (RFC 6177).
///
/// ```
/// use policy_core::limits::address_key;
///
/// let key = |text: &str| text.parse().map(address_key);
/// assert_eq!(key("2001:db8::1")?, key("2001:db8::2")?);
/// assert_eq!(key("192.0.2.1")?, key("::ffff:192.0.2.1")?);
/// assert_ne!(key("192.0.2.1")?, key("192.0.2.2")?);
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
pub fn address_key(address: IpAddr) -> [u8; 9] {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            [4, a, b, c, d, 0, 0, 0, 0]
        }
        IpAddr::V6(address) => {
            let [a, b, c, d, e, f, g, h, ..] = address.octets();
            [6, a, b, c, d, e, f, g, h]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_an_ipv4_address_or_64_bits_of_ipv6() {
        let key = |text: &str| address_key(text.parse().unwrap());
        for (one, other, same) in [
            ("2001:db8:0:1::", "2001:db8:0:1:ffff:ffff:ffff:ffff", true),
            ("2001:db8:0:1::", "2001:db8:0:2::", false),
            ("::ffff:192.0.2.255", "192.0.2.255", true),
            ("192.0.2.0", "192.0.2.1", false),
            // No IPv4 address is the key of an IPv6 network.
            ("192.0.2.1", "c000:201::", false),
            ("0.0.0.0", "::", false),
        ] {
            assert_eq!(key(one) == key(other), same, "{one} {other}");
        }
    }
}

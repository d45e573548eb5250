//! Addresses that no publicly reachable machine has.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address has a special purpose (RFC 6890, the registries of IANA for IPv4 and IPv6):
/// loopback, private, link-local, unique local, shared by a carrier, multicast, broadcast,
/// documentation, reserved. To connect to one is to connect to this machine or to its neighbours.
///
/// An IPv6 address that embeds an IPv4 address is judged by that (RFC 4291 2.5.5.2, RFC 6052, RFC
/// 3056).
///
/// ```
/// use policy_core::tunnel::is_special;
///
/// for address in ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd00::1", "::ffff:10.0.0.1"] {
///     assert!(is_special(address.parse().unwrap()), "{address}");
/// }
/// assert!(!is_special("93.184.216.34".parse().unwrap()));
/// ```
pub fn is_special(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_special_v4(address),
        IpAddr::V6(address) => is_special_v6(address),
    }
}

fn is_special_v4(address: Ipv4Addr) -> bool {
    matches!(
        address.octets(),
        // This network, private, shared by a carrier, loopback.
        [0 | 10 | 127, ..] | [100, 64..=127, ..]
        // Link-local, private.
        | [169, 254, ..] | [172, 16..=31, ..] | [192, 168, ..]
        // Protocols, documentation, relays of 6to4, benchmarks.
        | [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18 | 19, ..] | [198, 51, 100, _] | [203, 0, 113, _]
        // Multicast, reserved, broadcast.
        | [224..=255, ..]
    )
}

fn is_special_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| is_special_v4((u32::from(high) << 16 | u32::from(low)).into());
    match [a, b, c, d, e, f] {
        // NAT64 and 6to4: the address that is reached is the one inside.
        [0x64, 0xff9b, 0, 0, 0, 0] => v4(g, h),
        [0x2002, high, low, ..] => v4(high, low),
        // The rest of ::/8 is loopback, unspecified, NAT64 inside a network, or unused. Beyond,
        // only 2000::/3 is allocated.
        [first, ..] if first & 0xe000 != 0x2000 => true,
        // Protocols (Teredo among them), documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registries_of_special_addresses() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.0.0",
            "169.254.169.254",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.0",
            "192.168.255.255",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:1ff:ffff::",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "3fff::1",
            "3fff:fff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "ff0e::1",
        ] {
            assert!(is_special(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn addresses_beside_private_networks_are_public() {
        for address in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2000::1",
            "2001:200::1",
            "2001:db7::1",
            "2001:db9::1",
            "2002:808:808::1",
            "2606:4700::1",
            "3ffe::1",
        ] {
            assert!(!is_special(address.parse().unwrap()), "{address}");
        }
    }
}

//! Hosts as browsers serialise them (URL Standard, host serializing).

use super::HostPattern;
use crate::{
    catalogue::Rule,
    const_text::ConstText,
    grammar::{contains, eq, strip_prefix, strip_suffix},
};

/// Whether `byte` can occur in a host name as browsers serialise it.
pub(super) const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || contains(b"-._", byte)
}

/// Checks the host of a pattern, and the label with a `*` in front of it.
pub(super) const fn check(host: &str, hosts: &HostPattern<'_>) -> Result<(), Rule> {
    let bytes = host.as_bytes();
    let wildcard = !matches!(hosts, HostPattern::One);
    let room = match hosts {
        HostPattern::One => 253,
        HostPattern::Below => 251,
        HostPattern::Label { prefix, suffix } => match check_label(prefix, suffix) {
            // Minus one character for the `*`, and the dot.
            Ok(()) => 251 - prefix.len() - suffix.len(),
            Err(rule) => return Err(rule),
        },
    };
    if let [b'[', inner @ ..] = bytes {
        return if wildcard {
            Err(Rule::OriginWildcard)
        } else if let Some(inner) = strip_suffix(inner, b"]")
            && is_canonical_ipv6(inner)
        {
            Ok(())
        } else if matches!(inner, [b':', b':', b'f', b'f', b'f', b'f', b':', ..]) {
            Err(Rule::OriginMappedAddress)
        } else {
            Err(Rule::OriginAddress)
        };
    }
    if let Err(rule) = check_name_bytes(bytes) {
        return Err(rule);
    }
    let name = match strip_suffix(bytes, b".") {
        Some(name) => name,
        None => bytes,
    };
    if matches!(last_label(name), [b'0'..=b'9', ..]) {
        return if wildcard {
            Err(Rule::OriginWildcard)
        } else if is_canonical_ipv4(bytes) {
            Ok(())
        } else {
            Err(Rule::OriginAddress)
        };
    }
    check_labels(name, room)
}

/// Checks the fixed parts of a label with a `*`. The suffix has to begin with a hyphen: on a shared
/// domain, each user can choose how a name begins, while the account or project determines how it
/// ends. Without the hyphen, the name of another account could have the same suffix.
const fn check_label(prefix: &str, suffix: &str) -> Result<(), Rule> {
    if let Err(rule) = check_name_bytes(prefix.as_bytes()) {
        return Err(rule);
    }
    if let Err(rule) = check_name_bytes(suffix.as_bytes()) {
        return Err(rule);
    }
    let is_anchored = matches!(suffix.as_bytes(), [b'-', _, ..]);
    let is_punycode = strip_prefix(prefix.as_bytes(), b"xn--").is_some();
    if is_anchored && !is_punycode && prefix.len() + suffix.len() < MAX_LABEL_LEN {
        Ok(())
    } else {
        Err(Rule::OriginWildcard)
    }
}

/// The maximum length of a label of a name (RFC 1035 2.3.4).
pub const MAX_LABEL_LEN: usize = 63;

/// The most helpful rule for a byte that is invalid in a host.
pub(super) const fn rule_of_stray(text: &[u8]) -> Rule {
    if contains(text, b'@') {
        return Rule::OriginUserInfo;
    }
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        match *byte {
            b'*' => return Rule::OriginWildcard,
            b'/' | b'?' | b'#' => return Rule::OriginPath,
            _ => rest = tail,
        }
    }
    Rule::OriginHost
}

/// `localhost`, a name below it, 127.0.0.0/8 or ::1 (Secure Contexts, 3.1).
pub(crate) const fn is_loopback(host: &[u8]) -> bool {
    let name = match strip_suffix(host, b".") {
        Some(name) => name,
        None => host,
    };
    eq(name, b"localhost")
        || strip_suffix(name, b".localhost").is_some()
        || eq(host, b"[::1]")
        || (matches!(host, [b'1', b'2', b'7', b'.', ..]) && is_canonical_ipv4(host))
}

/// Whether the host of a pattern is an IP address and not a name.
#[cfg(feature = "engine")]
pub(super) const fn is_address(host: &str) -> bool {
    matches!(host.as_bytes(), [b'[', ..]) || is_canonical_ipv4(host.as_bytes())
}

const fn check_name_bytes(bytes: &[u8]) -> Result<(), Rule> {
    let mut rest = bytes;
    while let [byte, tail @ ..] = rest {
        if !is_name_byte(*byte) {
            return Err(rule_of_stray(rest));
        }
        rest = tail;
    }
    Ok(())
}

const fn last_label(name: &[u8]) -> &[u8] {
    let mut rest = name;
    let mut label = 0;
    while let [head @ .., byte] = rest {
        if *byte == b'.' {
            break;
        }
        label += 1;
        rest = head;
    }
    name.split_at(name.len() - label).1
}

const fn check_labels(name: &[u8], max: usize) -> Result<(), Rule> {
    if name.is_empty() || name.len() > max {
        return Err(Rule::OriginHost);
    }
    let mut rest = name;
    loop {
        let label = last_label(rest);
        if label.is_empty() || label.len() > MAX_LABEL_LEN {
            return Err(Rule::OriginHost);
        }
        // Punycode of an empty text, or of one basic letter, decodes to no international name.
        if matches!(label, [b'x', b'n', b'-', b'-', tail @ ..] if tail.len() <= 1) {
            return Err(Rule::OriginPunycode);
        }
        if label.len() == rest.len() {
            return Ok(());
        }
        rest = rest.split_at(rest.len() - label.len() - 1).0;
    }
}

/// Four decimal numbers of one byte each, without leading zeros.
const fn is_canonical_ipv4(text: &[u8]) -> bool {
    let mut rest = text;
    let mut numbers = 0;
    loop {
        let label = last_label(rest);
        let value = match label {
            [a] if a.is_ascii_digit() => (*a - b'0') as u32,
            [a @ b'1'..=b'9', b] if b.is_ascii_digit() => {
                (*a - b'0') as u32 * 10 + (*b - b'0') as u32
            }
            [a @ b'1'..=b'9', b, c] if b.is_ascii_digit() && c.is_ascii_digit() => {
                (*a - b'0') as u32 * 100 + (*b - b'0') as u32 * 10 + (*c - b'0') as u32
            }
            _ => return false,
        };
        numbers += 1;
        if value > 255 || numbers > 4 {
            return false;
        }
        if label.len() == rest.len() {
            return numbers == 4;
        }
        rest = rest.split_at(rest.len() - label.len() - 1).0;
    }
}

/// Whether an address has the form of RFC 5952 4: the shortest, lower case, `::` for the first
/// longest run of zeros. URLs never have an IPv4 address inside of an IPv6 one.
const fn is_canonical_ipv6(text: &[u8]) -> bool {
    match parse_ipv6(text) {
        None | Some([0, 0, 0, 0, 0, 0xffff, _, _]) => false,
        Some(groups) => eq(text, canonical_ipv6(&groups).as_str().as_bytes()),
    }
}

const fn canonical_ipv6(groups: &[u16; 8]) -> ConstText {
    let (run_start, run_len) = longest_zero_run(groups);
    let mut text = ConstText::new("");
    let mut separator = "";
    let mut index = 0;
    let mut rest: &[u16] = groups;
    while let [group, tail @ ..] = rest {
        if run_len > 1 && index == run_start {
            separator = "::";
        } else if run_len < 2 || index < run_start || index >= run_start + run_len {
            text = text.text(separator).hex(*group);
            separator = ":";
        }
        index += 1;
        rest = tail;
    }
    // The run of zeros may be the end.
    if matches!(separator.as_bytes(), b"::") { text.text(separator) } else { text }
}

/// The eight groups of an address without an IPv4 tail; laxer than the canonical form.
const fn parse_ipv6(text: &[u8]) -> Option<[u16; 8]> {
    let mut groups = [0_u16; 8];
    let mut count = 0;
    let mut gap = None;
    let mut rest = text;
    if let [b':', b':', tail @ ..] = rest {
        gap = Some(0);
        rest = tail;
    }
    while !rest.is_empty() {
        let len = hex_len(rest);
        if len == 0 || len > 4 || count == 8 {
            return None;
        }
        let (digits, tail) = rest.split_at(len);
        groups = set(groups, count, hex_value(digits));
        count += 1;
        rest = match tail {
            [] => tail,
            [b':', b':', after @ ..] if gap.is_none() => {
                gap = Some(count);
                after
            }
            [b':', after @ ..] if !after.is_empty() => after,
            _ => return None,
        };
    }
    match gap {
        None if count == 8 => Some(groups),
        Some(at) if count < 8 => Some(spread(groups, at, count)),
        _ => None,
    }
}

const fn set(groups: [u16; 8], at: usize, value: u16) -> [u16; 8] {
    let mut groups = groups;
    if let Some((_, [slot, ..])) = groups.split_at_mut_checked(at) {
        *slot = value;
    }
    groups
}

/// Moves the groups after the gap to the end.
const fn spread(groups: [u16; 8], gap: usize, count: usize) -> [u16; 8] {
    let mut out = [0; 8];
    let mut index = 0;
    let mut rest: &[u16] = &groups;
    while let [group, tail @ ..] = rest {
        if index < count {
            out = set(out, if index < gap { index } else { index + 8 - count }, *group);
        }
        index += 1;
        rest = tail;
    }
    out
}

const fn longest_zero_run(groups: &[u16; 8]) -> (usize, usize) {
    let (mut best_start, mut best_len) = (0, 0);
    let (mut start, mut len, mut index) = (0, 0, 0);
    let mut rest: &[u16] = groups;
    while let [group, tail @ ..] = rest {
        if *group == 0 {
            if len == 0 {
                start = index;
            }
            len += 1;
            if len > best_len {
                (best_start, best_len) = (start, len);
            }
        } else {
            len = 0;
        }
        index += 1;
        rest = tail;
    }
    (best_start, best_len)
}

const fn hex_len(text: &[u8]) -> usize {
    let mut rest = text;
    while let [b'0'..=b'9' | b'a'..=b'f', tail @ ..] = rest {
        rest = tail;
    }
    text.len() - rest.len()
}

const fn hex_value(digits: &[u8]) -> u16 {
    let mut value = 0;
    let mut rest = digits;
    while let [digit, tail @ ..] = rest {
        let digit = if digit.is_ascii_digit() { *digit - b'0' } else { *digit - b'a' + 10 };
        value = value * 16 + digit as u16;
        rest = tail;
    }
    value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    proptest! {
        /// An IPv6 text is accepted if and only if the standard library prints the address like
        /// this.
        #[test]
        fn ipv6_is_canonical_as_the_standard_library_prints_it(
            groups in prop::array::uniform8(prop_oneof![2 => Just(0), 1 => any::<u16>()]),
            style in 0..4,
        ) {
            let [a, b, c, d, e, f, g, h] = groups;
            let address = Ipv6Addr::new(a, b, c, d, e, f, g, h);
            let canonical = address.to_string();
            let text = match style {
                0 => canonical.clone(),
                1 => canonical.to_uppercase(),
                2 => groups.map(|g| format!("{g:x}")).join(":"),
                _ => groups.map(|g| format!("{g:04x}")).join(":"),
            };
            let want = text == canonical && !canonical.contains('.');
            prop_assert_eq!(is_canonical_ipv6(text.as_bytes()), want, "{}", text);
        }

        /// An IPv4 text is accepted if and only if the standard library reads it and prints it like
        /// this.
        #[test]
        fn ipv4_is_canonical_as_the_standard_library_prints_it(text in r"[0-9]{1,3}(\.[0-9]{1,3}){2,4}\.?") {
            let want = text.parse::<Ipv4Addr>().is_ok_and(|address| address.to_string() == text);
            prop_assert_eq!(is_canonical_ipv4(text.as_bytes()), want, "{}", text);
        }

        #[test]
        fn no_text_panics_the_address_parsers(text in r"[0-9a-f:.]{0,40}") {
            is_canonical_ipv4(text.as_bytes());
            if is_canonical_ipv6(text.as_bytes()) {
                prop_assert_eq!(text.parse::<Ipv6Addr>().unwrap().to_string(), text);
            }
        }
    }

    #[test]
    fn loopback_is_this_machine_only() {
        for host in ["localhost", "a.localhost", "localhost.", "127.0.0.1", "127.9.9.9", "[::1]"] {
            assert!(is_loopback(host.as_bytes()), "{host}");
        }
        for host in ["evillocalhost", "localhost.evil", "127.0.0.1.evil", "127.1", "10.0.0.1", ""] {
            assert!(!is_loopback(host.as_bytes()), "{host}");
        }
    }
}

//! The syntax of the values of a policy: times, scopes, issuers and roles.

use crate::{catalogue::Rule, grammar::every};

/// The number of seconds of a time such as `90s`, `10m`, `8h` or `30d`; a time that does not fit
/// counts as the longest.
///
/// # Errors
///
/// [`Rule::FreshMalformed`].
///
/// ```
/// use policy_core::{Rule, auth::seconds_of};
///
/// assert_eq!(seconds_of("10m"), Ok(600));
/// assert_eq!(seconds_of("10 minutes"), Err(Rule::FreshMalformed));
/// ```
pub fn seconds_of(text: &str) -> Result<u32, Rule> {
    let units = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400_u32)];
    let read = |(name, unit)| Some((text.strip_suffix(name)?, unit));
    let (number, unit) = units.into_iter().find_map(read).ok_or(Rule::FreshMalformed)?;
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Rule::FreshMalformed);
    }
    Ok(number.parse().unwrap_or(u32::MAX).saturating_mul(unit))
}

/// Whether a text is a `scope-token` (RFC 6749 3.3).
///
/// ```
/// use policy_core::auth::is_scope;
///
/// assert!(is_scope("orders:read"));
/// assert!(!is_scope("") && !is_scope("orders read") && !is_scope("\"orders\""));
/// ```
pub const fn is_scope(text: &str) -> bool {
    let is_of_scope =
        every!(text.as_bytes(), byte => matches!(byte, 0x21 | 0x23..=0x5B | 0x5D..=0x7E));
    is_of_scope && !text.is_empty()
}

/// The word for the app itself in a list of issuers.
pub const OWN_ISSUER: &str = "own";

pub(super) const fn is_own_issuer(text: &str) -> bool {
    matches!(text.as_bytes(), b"own")
}

/// Whether a route can name an issuer by this text: `own`, or its `https` URL without a query or a
/// fragment (RFC 8414 2). A loopback issuer, for development, may have an `http` URL.
pub(super) const fn is_issuer(text: &str) -> bool {
    let mut rest = match text.as_bytes() {
        [b'h', b't', b't', b'p', b's', b':', b'/', b'/', rest @ ..] => rest,
        [b'h', b't', b't', b'p', b':', b'/', b'/', rest @ ..] if is_loopback(rest) => rest,
        _ => return is_own_issuer(text),
    };
    if let [] | [b'/' | b':', ..] = rest {
        return false;
    }
    let mut is_host = true;
    while let [byte, tail @ ..] = rest {
        is_host = is_host && *byte != b'/';
        let is_plain = matches!(byte, 0x21..=0x7E)
            && !matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}')
            && !matches!(byte, b'?' | b'#');
        if !is_plain || (is_host && (*byte == b'@' || byte.is_ascii_uppercase())) {
            return false;
        }
        rest = tail;
    }
    true
}

/// Whether what follows `http://` begins with a host of this machine.
const fn is_loopback(rest: &[u8]) -> bool {
    matches!(
        rest,
        [b'l', b'o', b'c', b'a', b'l', b'h', b'o', b's', b't']
            | [b'l', b'o', b'c', b'a', b'l', b'h', b'o', b's', b't', b':' | b'/', ..]
            | [b'1', b'2', b'7', b'.', b'0', b'.', b'0', b'.', b'1']
            | [b'1', b'2', b'7', b'.', b'0', b'.', b'0', b'.', b'1', b':' | b'/', ..]
            | [b'[', b':', b':', b'1', b']']
            | [b'[', b':', b':', b'1', b']', b':' | b'/', ..]
    )
}

/// Not empty, and without the control characters of Unicode (C0, DEL and C1), here in UTF-8.
pub(super) const fn is_role(text: &[u8]) -> bool {
    let mut rest = text;
    while let [_, tail @ ..] = rest {
        if matches!(rest, [0..0x20 | 0x7F, ..] | [0xC2, 0x80..0xA0, ..]) {
            return false;
        }
        rest = tail;
    }
    !text.is_empty()
}

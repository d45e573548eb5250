//! The origin that a request states.

use super::{MAX_ORIGIN_LEN, host, pattern::port_number};
use crate::origin::Port;

/// An origin as a request's header states it (Fetch, 3.2), split into its parts by comparing bytes.
/// Nothing is decoded, trimmed or lower-cased, so a text that no browser sends is not an origin.
///
/// ```
/// use policy_core::origin::{Origin, Port};
///
/// let origin = Origin::parse(b"http://localhost:5173").unwrap();
/// assert_eq!((origin.scheme(), origin.host()), (&b"http"[..], &b"localhost"[..]));
/// assert_eq!(origin.port(), Port::Number(5173));
/// assert!(Origin::parse(b"null").is_none());
/// assert!(Origin::parse(b"https://EXAMPLE.com").is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    scheme: &'a [u8],
    host: &'a [u8],
    port: Port,
}

impl<'a> Origin<'a> {
    /// Splits a header value into scheme, host and port; `None` for anything that is not a tuple
    /// origin, such as `null`, a list, or bytes outside of ASCII.
    pub fn parse(value: &'a [u8]) -> Option<Self> {
        if value.len() > MAX_ORIGIN_LEN {
            return None;
        }
        let (scheme, rest) = split_scheme(value)?;
        let (host, behind) = split_host(rest)?;
        let port = match behind {
            [] => Port::Default,
            [b':', digits @ ..] => Port::Number(port_number(digits)?),
            _ => return None,
        };
        Some(Self { scheme, host, port })
    }

    /// The scheme, without `://`.
    pub fn scheme(&self) -> &'a [u8] {
        self.scheme
    }

    /// The host; an IPv6 address keeps its brackets.
    pub fn host(&self) -> &'a [u8] {
        self.host
    }

    /// The port, never [`Port::Any`].
    pub fn port(&self) -> Port {
        self.port
    }
}

fn split_scheme(value: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(rest) = value.strip_prefix(b"https://") {
        return Some((b"https", rest));
    }
    let end = value.iter().position(|byte| *byte == b':')?;
    let (scheme, rest) = value.split_at_checked(end)?;
    let rest = rest.strip_prefix(b"://")?;
    let known = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let valid = scheme.first().is_some_and(u8::is_ascii_lowercase)
        && scheme.iter().all(|byte| known(byte) || matches!(byte, b'+' | b'-' | b'.'));
    valid.then_some((scheme, rest))
}

/// Splits at the end of the host, which must not be empty or have an empty label.
fn split_host(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    if rest.first() == Some(&b'[') {
        let end = rest.iter().position(|byte| *byte == b']')?;
        let (host, behind) = rest.split_at_checked(end + 1)?;
        let inner = host.strip_prefix(b"[")?.strip_suffix(b"]")?;
        let valid =
            inner.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b':' | b'.'));
        return (valid && !inner.is_empty()).then_some((host, behind));
    }
    let mut len = 0;
    let mut before = b'.';
    for byte in rest {
        match HOST_BYTES.get(usize::from(*byte)) {
            Some(Class::Dot) if before == b'.' => return None,
            Some(Class::Name | Class::Dot) => (),
            _ => break,
        }
        before = *byte;
        len += 1;
    }
    (len > 0).then(|| rest.split_at_checked(len)).flatten()
}

#[derive(Clone, Copy)]
enum Class {
    Other,
    Name,
    Dot,
}

const HOST_BYTES: [Class; 256] = {
    let mut table = [Class::Other; 256];
    let mut byte = 0;
    let mut rest: &mut [Class] = &mut table;
    while let [class, tail @ ..] = rest {
        if host::is_name_byte(byte) {
            *class = if byte == b'.' { Class::Dot } else { Class::Name };
        }
        byte = byte.wrapping_add(1);
        rest = tail;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_origins_as_browsers_send_them_are_accepted() {
        for value in [
            "",
            "null",
            "NULL",
            "*",
            "https://",
            "https:///",
            "https://a.test/",
            "https://a.test ",
            "https://a.test\t",
            "https://a.test, https://b.test",
            "https://a..test",
            "https://.a.test",
            "https://a.test:",
            "https://a.test:0",
            "https://a.test:08080",
            "https://a.test:65536",
            "https://u@a.test",
            "https://A.test",
            "Https://a.test",
            "://a.test",
            "1https://a.test",
            "https://[]",
            "https://[::1",
            "https://[::G]",
            "https://[::1]8",
            "https://a\\.test",
            "https://a.test?.b",
            "https://ä.test",
        ] {
            assert_eq!(Origin::parse(value.as_bytes()), None, "{value}");
        }
        for value in ["https://a.test", "http://[::1]:9", "tauri://localhost", "https://a.test."] {
            assert!(Origin::parse(value.as_bytes()).is_some(), "{value}");
        }
    }

    #[test]
    fn an_origin_has_a_longest_text() {
        for (len, fits) in [(MAX_ORIGIN_LEN, true), (MAX_ORIGIN_LEN + 1, false)] {
            let text = format!("https://{:a<1$}", "", len - "https://".len());
            assert_eq!(Origin::parse(text.as_bytes()).is_some(), fits, "{len}");
        }
    }
}

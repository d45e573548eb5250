//! Valid names, values and attributes.

use super::CookieSpec;

/// The prefixes of cookie names, which promise attributes.
#[derive(Clone, Copy)]
pub(super) enum Prefix {
    Secure,
    HostHttp,
    Host,
    Http,
}

impl Prefix {
    /// The longer of two prefixes comes first.
    const ALL: [Self; 4] = [Self::Secure, Self::HostHttp, Self::Host, Self::Http];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Secure => "__Secure-",
            Self::HostHttp => "__Host-Http-",
            Self::Host => "__Host-",
            Self::Http => "__Http-",
        }
    }

    /// The prefix that a browser sees in `name`.
    pub(super) fn find(name: &str) -> Option<Self> {
        let begins = |prefix: &Self| {
            let prefix = prefix.as_str();
            name.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix))
        };
        Self::ALL.into_iter().find(begins)
    }
}

/// RFC 6265 4.1.1. The excluded characters are those at which other parsers split or unquote.
pub(super) fn is_cookie_octet(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'\\')
}

pub(super) fn is_path(path: &str) -> bool {
    let text = |byte: u8| matches!(byte, b' '..=b'~') && byte != b';';
    path.starts_with('/')
        && path.len() <= CookieSpec::MAX_ATTRIBUTE_LEN
        && path.bytes().all(text)
        // Browsers trim a trailing space.
        && !path.ends_with(' ')
}

/// At least two lower-case labels that are neither an address nor a public suffix, for which
/// browsers ignore cookies.
pub(super) fn is_domain(domain: &str) -> bool {
    let is_label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=63).contains(&label.len())
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_address = domain
        .rsplit('.')
        .next()
        .is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    domain.len() <= 253
        && domain.contains('.')
        && domain.split('.').all(is_label)
        && !is_address
        && psl2::lookup(domain).is_some_and(|name| !name.is_public_suffix())
}

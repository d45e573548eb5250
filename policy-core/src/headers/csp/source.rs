//! The sources of a directive.

use crate::grammar::{any, contains, eq, every, is_token, len_until, strip_prefix};

/// One entry of a directive.
///
/// A host, a scheme, a hash and a word are plain text here; the rules validate them when the policy
/// is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source<'a> {
    /// `'none'`
    None,
    /// `'self'`
    SelfOrigin,
    /// `*`
    Any,
    /// `'nonce-..'`, different in each response. In a policy it is written `'nonce'`.
    Nonce,
    /// `'strict-dynamic'`: allowed scripts may load further scripts.
    StrictDynamic,
    /// `'report-sample'`
    ReportSample,
    /// `'wasm-unsafe-eval'`: WebAssembly may be compiled.
    WasmUnsafeEval,
    /// `'unsafe-hashes'`: hashes also apply to event handlers.
    DangerousUnsafeHashes,
    /// `'unsafe-eval'`: scripts may evaluate text as code.
    DangerousUnsafeEval,
    /// `'unsafe-inline'`: injected markup can run scripts.
    DangerousUnsafeInline,
    /// `'script'`, of `require-trusted-types-for`.
    Script,
    /// `'allow-duplicates'`, of `trusted-types`.
    AllowDuplicates,
    /// A scheme with its colon, such as `data:`.
    Scheme(&'a str),
    /// A host, such as `https://cdn.example` or `*.shop.example`.
    Host(&'a str),
    /// A hash without quotes, such as `sha256-` and 44 characters of base64.
    Hash(&'a str),
    /// A value of directives that have no sources: a flag, a group, an address, a name.
    Word(&'a str),
}

/// The quoted keywords, without their quotes.
const KEYWORDS: [(&str, Source<'static>); 11] = [
    ("none", Source::None),
    ("self", Source::SelfOrigin),
    ("nonce", Source::Nonce),
    ("strict-dynamic", Source::StrictDynamic),
    ("report-sample", Source::ReportSample),
    ("wasm-unsafe-eval", Source::WasmUnsafeEval),
    ("unsafe-hashes", Source::DangerousUnsafeHashes),
    ("unsafe-eval", Source::DangerousUnsafeEval),
    ("unsafe-inline", Source::DangerousUnsafeInline),
    ("script", Source::Script),
    ("allow-duplicates", Source::AllowDuplicates),
];

impl<'a> Source<'a> {
    /// The entry as written in a policy, but without the quotes of a hash.
    pub const fn text(&self) -> &'a str {
        match *self {
            Self::None => "'none'",
            Self::SelfOrigin => "'self'",
            Self::Any => "*",
            Self::Nonce => "'nonce'",
            Self::StrictDynamic => "'strict-dynamic'",
            Self::ReportSample => "'report-sample'",
            Self::WasmUnsafeEval => "'wasm-unsafe-eval'",
            Self::DangerousUnsafeHashes => "'unsafe-hashes'",
            Self::DangerousUnsafeEval => "'unsafe-eval'",
            Self::DangerousUnsafeInline => "'unsafe-inline'",
            Self::Script => "'script'",
            Self::AllowDuplicates => "'allow-duplicates'",
            Self::Scheme(text) | Self::Host(text) | Self::Hash(text) | Self::Word(text) => text,
        }
    }

    /// The keyword in quotes, or a hash.
    pub(super) fn quoted(text: &'a str) -> Self {
        let keyword = KEYWORDS.iter().find(|(keyword, _)| *keyword == text);
        keyword.map_or(Self::Hash(text), |(_, source)| *source)
    }
}

/// Whether a host is really a keyword that lacks its quotes.
pub(super) const fn is_keyword(text: &str) -> bool {
    any!(&KEYWORDS, (keyword, _) => eq(keyword.as_bytes(), text.as_bytes()))
        || strip_prefix(text.as_bytes(), b"nonce-").is_some()
        || is_hash(text)
}

/// Whether this is the name of a digest algorithm followed by a complete digest in base64.
pub(super) const fn is_hash(text: &str) -> bool {
    let (digits, padding) = match text.as_bytes() {
        [b's', b'h', b'a', b'2', b'5', b'6', b'-', digest @ .., b'='] => (digest, 43),
        [b's', b'h', b'a', b'3', b'8', b'4', b'-', digest @ ..] => (digest, 64),
        [b's', b'h', b'a', b'5', b'1', b'2', b'-', digest @ .., b'=', b'='] => (digest, 86),
        _ => return false,
    };
    digits.len() == padding && all(digits, Class::Base64)
}

/// Whether this is a scheme and a colon.
pub(super) const fn is_scheme(text: &str) -> bool {
    match text.as_bytes() {
        [first, rest @ .., b':'] => first.is_ascii_alphabetic() && all(rest, Class::Scheme),
        _ => false,
    }
}

/// Whether this is a host, with or without a scheme in front, a port and a path (Content Security
/// Policy 3, 2.3.1, `host-source`).
pub(in crate::headers) const fn is_host(text: &str) -> bool {
    let Some(host) = behind_scheme(text) else { return false };
    let name = until(host, b":/");
    let (_, mut rest) = host.split_at(name.len());
    let labels = match name {
        [b'*', b'.', labels @ ..] => labels,
        name => name,
    };
    if !(is_labels(labels) || eq(name, b"*")) {
        return false;
    }
    if let [b':', behind @ ..] = rest {
        let port = until(behind, b"/");
        let is_number = !port.is_empty() && port.len() <= 5 && all(port, Class::Digit);
        if !(is_number || eq(port, b"*")) {
            return false;
        }
        (_, rest) = behind.split_at(port.len());
    }
    matches!(rest, [] | [b'/', ..]) && all(rest, Class::Path)
}

/// Whether a host is `*`: every host, over the scheme and the port that it may name.
pub(super) const fn is_any_host(text: &str) -> bool {
    match behind_scheme(text) {
        Some(host) => eq(until(host, b":/"), b"*"),
        None => false,
    }
}

/// The text behind the scheme of a host, or all of it; `None` if what is before `://` is no scheme.
const fn behind_scheme(text: &str) -> Option<&[u8]> {
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        if let [b'/', b'/', behind @ ..] = tail
            && *byte == b':'
        {
            let (scheme, _) = text.as_bytes().split_at(text.len() - tail.len());
            return match core::str::from_utf8(scheme) {
                Ok(scheme) if is_scheme(scheme) => Some(behind),
                _ => None,
            };
        }
        rest = tail;
    }
    Some(text.as_bytes())
}

/// Whether this is a word without characters that would end the value or start another.
pub(super) const fn is_word(text: &str) -> bool {
    !text.is_empty() && all(text.as_bytes(), Class::Word)
}

/// Whether this is a flag of `sandbox`.
pub(super) const fn is_flag(text: &str) -> bool {
    match strip_prefix(text.as_bytes(), b"allow-") {
        Some(flag) => is_token(flag),
        None => false,
    }
}

/// Letters, digits, `-` and `_`, with single dots between.
const fn is_labels(labels: &[u8]) -> bool {
    let mut rest = labels;
    let mut is_label_open = false;
    while let [byte, tail @ ..] = rest {
        let is_dot = *byte == b'.';
        if (is_dot && !is_label_open)
            || !(is_dot || byte.is_ascii_alphanumeric() || contains(b"-_", *byte))
        {
            return false;
        }
        is_label_open = !is_dot;
        rest = tail;
    }
    is_label_open
}

/// The text before the first of these bytes.
const fn until<'a>(text: &'a [u8], ends: &[u8]) -> &'a [u8] {
    text.split_at(len_until(text, ends)).0
}

#[derive(Clone, Copy)]
enum Class {
    Digit,
    Scheme,
    Base64,
    /// Separators of directives, values and policies are percent-encoded in a path.
    Path,
    Word,
}

const fn all(text: &[u8], class: Class) -> bool {
    every!(text, byte => match class {
        Class::Digit => byte.is_ascii_digit(),
        Class::Scheme => byte.is_ascii_alphanumeric() || contains(b"+-.", *byte),
        Class::Base64 => byte.is_ascii_alphanumeric() || contains(b"+/-_", *byte),
        Class::Path => byte.is_ascii_graphic() && !contains(b";,?#'\"<>\\^`{|}", *byte),
        Class::Word => byte.is_ascii_graphic() && !contains(b";,'\"", *byte),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyword_is_found_by_its_text() {
        for (keyword, source) in KEYWORDS {
            assert_eq!(source.text(), format!("'{keyword}'"));
            assert_eq!(Source::quoted(keyword), source);
            assert!(is_keyword(keyword));
        }
        assert!(is_keyword("nonce-r4nd0m") && !is_keyword("cdn.example"));
    }

    #[test]
    fn hosts_have_the_form_of_the_standard() {
        for host in [
            "cdn.example",
            "*.cdn.example",
            "https://cdn.example",
            "https://*.cdn.example:8443",
            "wss://cdn.example:*/socket",
            "localhost:3000",
            "https://*",
            "cdn.example/lib/%3B.js",
        ] {
            assert!(is_host(host), "{host}");
        }
        for host in [
            "",
            "*.",
            ".example",
            "a..b",
            "a.",
            "https://",
            "https:/a",
            "1://a",
            "a:",
            "a:x",
            "a:123456",
            "a b",
            "a;b",
            "a/;",
            "a/,",
            "a?q",
            "a#f",
            "a/?q",
            "ä.example",
            "'self'",
            "a.*.b",
            "*.*",
            "https://a.example\n",
        ] {
            assert!(!is_host(host), "{host}");
        }
    }

    #[test]
    fn a_hash_is_a_whole_digest() {
        let digest = |len| "A".repeat(len);
        assert!(is_hash(&format!("sha256-{}=", digest(43))));
        assert!(is_hash(&format!("sha384-{}", digest(64))));
        assert!(is_hash(&format!("sha512-{}==", digest(86))));
        for hash in ["sha256-abc=", "sha1-AAAA", "sha256-", ""] {
            assert!(!is_hash(hash), "{hash}");
        }
        assert!(!is_hash(&format!("sha256-{}'", digest(43))));
        assert!(!is_hash(&format!("sha256-{};=", digest(42))));
    }

    #[test]
    fn a_scheme_ends_with_a_colon() {
        assert!(is_scheme("data:") && is_scheme("https:") && is_scheme("web+app:"));
        for scheme in ["data", ":", "1a:", "da ta:", "a;:"] {
            assert!(!is_scheme(scheme), "{scheme}");
        }
    }
}

//! The request target: its form, and the normal form of its path that all later code uses.

use std::borrow::Cow;

use http::{Method, uri::Scheme};

use super::read::Head;
use crate::{
    catalogue::Refusal,
    path::is_path_byte,
    percent::{Part, code, parts},
};

impl Head<'_> {
    /// Checks the form of the target (RFC 9112 3.2). [`NormalPath::parse`] checks its path.
    ///
    /// A fragment is not part of a target, and [`http::Uri`] has none: a fragment that a client
    /// sends anyway is cut off before any check.
    ///
    /// # Errors
    ///
    /// The reason to refuse the request.
    pub fn target(&self) -> Result<(), Refusal> {
        if self.uri.scheme().is_some_and(|scheme| !matches!(scheme.as_str(), "http" | "https")) {
            return Err(Refusal::SchemeUnknown);
        }
        if !self.path.starts_with('/') {
            let allowed = self.is_asterisk() && self.method == Method::OPTIONS;
            return if allowed { Ok(()) } else { Err(Refusal::TargetForm) };
        }
        if self.method == Method::CONNECT && self.uri.scheme().is_none() {
            return Err(Refusal::TargetForm);
        }
        Ok(())
    }

    /// Checks that the scheme of an absolute target is the scheme of the connection, or the one
    /// that a trusted proxy reports: a server is not authoritative for `https` resources on a
    /// connection without TLS (RFC 9110 7.4).
    pub(super) fn check_scheme(&self) -> Result<(), Refusal> {
        let (Some(scheme), Some(of_connection)) = (self.uri.scheme(), self.is_connection_secure)
        else {
            return Ok(());
        };
        let is_https = *scheme == Scheme::HTTPS;
        if is_https == of_connection || is_https == self.is_secure {
            Ok(())
        } else {
            Err(Refusal::SchemeMismatch)
        }
    }

    /// Whether the target is `*`, the server as a whole (RFC 9110 9.3.7).
    pub fn is_asterisk(&self) -> bool {
        self.path == "*"
    }
}

/// The path of a request in its normal form (RFC 3986 6.2.2): equivalent paths have the same normal
/// form.
///
/// - Percent codes of unreserved characters are decoded; all others have upper-case digits.
/// - Bytes that browsers send raw although a path cannot have them are percent-encoded: `"`, `[`,
///   `\`, `]`, `^`, `{`, `|`, `}` and UTF-8.
///
/// A path has no normal form, and the request is refused, if it has a malformed percent code, one
/// that decodes to a control character or to invalid UTF-8, a dot segment, or an empty segment
/// before the last one. `/a` and `/a/` are two paths.
///
/// ```
/// use policy_core::{Refusal, head::NormalPath};
///
/// let path = NormalPath::parse("/%7Eada/%e2%82%ac|1")?;
/// assert_eq!(path.as_str(), "/~ada/%E2%82%AC%7C1");
/// assert_eq!(NormalPath::parse("/a//b"), Err(Refusal::PathEmptySegment));
/// assert_eq!(NormalPath::parse("/a/%2e%2e/b"), Err(Refusal::PathDotSegment));
/// # Ok::<(), Refusal>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NormalPath<'a> {
    text: Cow<'a, str>,
    has_encoded_slash: bool,
}

impl<'a> NormalPath<'a> {
    /// Reads a path, which begins with `/`, and normalizes it.
    ///
    /// # Errors
    ///
    /// The reason to refuse a request with this path.
    pub fn parse(path: &'a str) -> Result<Self, Refusal> {
        if is_normal(path) { Ok(Self::unchanged(path)) } else { normalize(path) }
    }

    const fn unchanged(path: &'a str) -> Self {
        Self { text: Cow::Borrowed(path), has_encoded_slash: false }
    }

    /// The path.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the path was sent in another form.
    pub const fn is_changed(&self) -> bool {
        matches!(self.text, Cow::Owned(_))
    }

    /// Whether a segment contains an encoded `/` or `\`: `%2F` or `%5C`. Code that decodes it would
    /// see more segments than the router.
    pub const fn has_encoded_slash(&self) -> bool {
        self.has_encoded_slash
    }
}

/// Whether a quick scan shows that a path is in its normal form, as nearly every path is.
fn is_normal(path: &str) -> bool {
    // Collects the violations without a branch for each byte.
    let (refused, _) = path.bytes().fold((0, 0), |(refused, before), byte| {
        let class = class(byte);
        (refused | class & (CODED | before >> REFUSES), class)
    });
    refused == 0
}

const SLASH: u8 = 1;
const DOT: u8 = 2;
/// A byte that begins a percent code, or should be in one.
const CODED: u8 = 4;
/// The shift of the classes that the next byte must not have.
const REFUSES: u8 = 4;

/// The class of a byte for [`is_normal`]: one of the above, or 0; and the classes that the next
/// byte must not have.
#[expect(clippy::indexing_slicing, reason = "a byte is below 256")]
fn class(byte: u8) -> u8 {
    const CLASSES: [u8; 256] = {
        let mut classes = [CODED; 256];
        let mut byte: u8 = 0;
        loop {
            classes[byte as usize] = match byte {
                // A segment that begins with another slash is empty, and one with a dot may be `..`.
                b'/' => SLASH | (SLASH | DOT) << REFUSES,
                b'.' => DOT,
                _ if is_path_byte(byte) => 0,
                _ => CODED,
            };
            match byte.checked_add(1) {
                Some(next) => byte = next,
                None => break classes,
            }
        }
    };
    CLASSES[usize::from(byte)]
}

fn normalize(path: &str) -> Result<NormalPath<'_>, Refusal> {
    let mut normal = String::with_capacity(path.len());
    let mut has_encoded_slash = false;
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        if segment.is_empty() && segments.peek().is_some() {
            return Err(Refusal::PathEmptySegment);
        }
        let decoded = decode_parameter(segment).ok_or(Refusal::PathEncoding)?;
        if decoded.chars().any(char::is_control) {
            return Err(Refusal::PathEncoding);
        }
        // A segment that hides more segments would lead a file server out of its folder.
        let mut parts = decoded.split(['/', '\\']);
        if parts.any(|part| matches!(part, "." | "..")) {
            return Err(Refusal::PathDotSegment);
        }
        has_encoded_slash |= decoded.contains(['/', '\\']);
        normal.push('/');
        push_normal(&mut normal, segment);
    }
    let text = if normal == path { Cow::Borrowed(path) } else { Cow::Owned(normal) };
    Ok(NormalPath { text, has_encoded_slash })
}

/// Appends a segment whose percent codes are well-formed.
fn push_normal(normal: &mut String, segment: &str) {
    for part in parts(segment.as_bytes()) {
        match part {
            Part::Code(byte) if is_unreserved(byte) => normal.push(char::from(byte)),
            Part::Raw(byte) if is_path_byte(byte) => normal.push(char::from(byte)),
            Part::Code(byte) | Part::Raw(byte) => push_code(normal, byte),
            Part::Stray => (),
        }
    }
}

fn push_code(normal: &mut String, byte: u8) {
    normal.push('%');
    for digit in [byte >> 4, byte & 15] {
        let digit = char::from_digit(digit.into(), 16).unwrap_or('0');
        normal.push(digit.to_ascii_uppercase());
    }
}

/// RFC 3986 2.3.
const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// The text by which a path in its normal form is looked up: percent codes of the reserved
/// characters that a segment may have raw (RFC 3986 3.3, `sub-delims`, `:` and `@`) are decoded.
/// RFC 3986 distinguishes these, file servers do not: the policy of a route for `/a+b` also applies
/// to `/a%2Bb`.
pub(crate) fn lookup_path(path: &str) -> Cow<'_, str> {
    let Some((plain, coded)) = path.split_once('%') else { return Cow::Borrowed(path) };
    let mut found = String::with_capacity(path.len());
    found.push_str(plain);
    for text in coded.split('%') {
        match code(text.as_bytes()).filter(|byte| is_path_byte(*byte)) {
            Some(byte) => {
                found.push(char::from(byte));
                found.push_str(text.get(2..).unwrap_or_default());
            }
            None => {
                found.push('%');
                found.push_str(text);
            }
        }
    }
    Cow::Owned(found)
}

/// Decodes the value of a parameter, once. `None` if a percent code is malformed or NUL, or if the
/// result is not UTF-8.
///
/// ```
/// use policy_core::head::decode_parameter;
///
/// assert_eq!(decode_parameter("a%2Fb").as_deref(), Some("a/b"));
/// assert_eq!(decode_parameter("a+b").as_deref(), Some("a+b"));
/// for text in ["%", "%4", "%zz", "%00", "%ff"] {
///     assert_eq!(decode_parameter(text), None);
/// }
/// ```
pub fn decode_parameter(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    for part in parts(text.as_bytes()) {
        match part {
            Part::Code(0) | Part::Stray => return None,
            Part::Raw(byte) | Part::Code(byte) => decoded.push(byte),
        }
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn target(method: &str, uri: &str) -> Result<(), Refusal> {
        let request = Request::builder().method(method).uri(uri).body(()).unwrap();
        Head::read(&request).target()
    }

    #[test]
    fn targets_of_every_form() {
        for (method, uri, want) in [
            ("GET", "/", Ok(())),
            ("GET", "/a?x=%", Ok(())),
            ("GET", "http://a.test/x", Ok(())),
            ("OPTIONS", "*", Ok(())),
            ("GET", "*", Err(Refusal::TargetForm)),
            ("CONNECT", "a.test:443", Err(Refusal::TargetForm)),
            ("GET", "a.test:443", Err(Refusal::TargetForm)),
            ("GET", "HTTPS://a.test/x", Ok(())),
            ("GET", "ftp://a.test/x", Err(Refusal::SchemeUnknown)),
            ("GET", "wss://a.test/x", Err(Refusal::SchemeUnknown)),
        ] {
            assert_eq!(target(method, uri), want, "{method} {uri}");
        }
    }

    #[test]
    fn the_scheme_comes_from_the_connection_or_a_trusted_proxy() {
        let check = |uri: &str, connection, is_secure| {
            let request = Request::builder().uri(uri).body(()).unwrap();
            let mut head = Head::read(&request);
            (head.is_connection_secure, head.is_secure) = (connection, is_secure);
            head.check_scheme()
        };
        for (connection, is_secure, http, https) in [
            (Some(false), false, true, false),
            (Some(false), true, true, true),
            (Some(true), true, false, true),
            (Some(true), false, true, true),
            (None, false, true, true),
            (None, true, true, true),
        ] {
            for (scheme, is_admitted) in [("http", http), ("https", https), ("HTTPS", https)] {
                let want = if is_admitted { Ok(()) } else { Err(Refusal::SchemeMismatch) };
                let found = check(&format!("{scheme}://a.test/x"), connection, is_secure);
                assert_eq!(found, want, "{scheme} {connection:?} {is_secure}");
            }
            assert_eq!(check("/x", connection, is_secure), Ok(()));
        }
    }

    #[test]
    fn equivalent_paths_have_one_normal_form() {
        for (path, normal) in [
            ("/", "/"),
            ("/...", "/..."),
            ("/reports/%73alaries", "/reports/salaries"),
            ("/%7eada/%41-%5f%2E", "/~ada/A-_."),
            ("/a+b;c=d", "/a+b;c=d"),
            ("/a%2bb%3bc", "/a%2Bb%3Bc"),
            ("/100%25", "/100%25"),
            ("/%2541", "/%2541"),
            ("/caf\u{e9}", "/caf%C3%A9"),
            ("/caf%c3%a9", "/caf%C3%A9"),
            ("/a|b[1]^\"{x}", "/a%7Cb%5B1%5D%5E%22%7Bx%7D"),
            ("/a\\b", "/a%5Cb"),
            ("/a/", "/a/"),
            ("/.well-known/x", "/.well-known/x"),
        ] {
            let found = NormalPath::parse(path).unwrap();
            assert_eq!(found.as_str(), normal, "{path}");
            let again = NormalPath::parse(found.as_str()).unwrap();
            assert_eq!(again, found, "{path}");
        }
    }

    #[test]
    fn slashes_that_are_encoded_are_noticed() {
        for (path, is_hidden) in [
            ("/a%2Fb", true),
            ("/a%5cb", true),
            ("/a\\b", true),
            ("/a%252Fb", false),
            ("/a/b%20", false),
        ] {
            assert_eq!(NormalPath::parse(path).unwrap().has_encoded_slash(), is_hidden, "{path}");
        }
    }

    #[test]
    fn paths_that_are_read_in_two_ways_are_refused() {
        for (path, refusal) in [
            ("/a/../b", Refusal::PathDotSegment),
            ("/a/./b", Refusal::PathDotSegment),
            ("/a/%2e%2E/b", Refusal::PathDotSegment),
            ("/a/..%2fb", Refusal::PathDotSegment),
            ("/a/..%5cb", Refusal::PathDotSegment),
            ("/a/..\\b", Refusal::PathDotSegment),
            ("/..", Refusal::PathDotSegment),
            ("/%", Refusal::PathEncoding),
            ("/%g1", Refusal::PathEncoding),
            ("/%00", Refusal::PathEncoding),
            ("/a%0d%0ab", Refusal::PathEncoding),
            ("/a%7f", Refusal::PathEncoding),
            ("/a%C2%85", Refusal::PathEncoding),
            ("/%c3%28", Refusal::PathEncoding),
            ("//", Refusal::PathEmptySegment),
            ("//a", Refusal::PathEmptySegment),
            ("/a//b", Refusal::PathEmptySegment),
            ("/a//", Refusal::PathEmptySegment),
        ] {
            assert_eq!(NormalPath::parse(path), Err(refusal), "{path}");
        }
    }

    #[test]
    fn reserved_characters_are_looked_up_decoded() {
        for (path, key) in [
            ("/a", "/a"),
            ("/a%2Bb%40", "/a+b@"),
            ("/%21%24%26%27%28%29%2A%2B%2C%3B%3D%3A%40", "/!$&'()*+,;=:@"),
            ("/%25%2B%20%2F", "/%25+%20%2F"),
        ] {
            assert_eq!(lookup_path(path), key);
        }
    }
}

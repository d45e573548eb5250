//! The request target, checked before anything is routed.

use std::borrow::Cow;

use http::Method;

use super::head::Head;
use crate::catalogue::Refusal;

impl Head<'_> {
    /// Checks the form of the target and the encoding of its path (RFC 9112 3.2, RFC 3986 2.1
    /// and 3.3), so that a router may match its bytes.
    ///
    /// A fragment is no part of a target, and [`http::Uri`] has none: one that a client sends all
    /// the same is cut off before anything sees it.
    ///
    /// # Errors
    ///
    /// The reason to refuse the request.
    pub fn target(&self) -> Result<(), Refusal> {
        if !self.path.starts_with('/') {
            let allowed = self.is_asterisk() && self.method == Method::OPTIONS;
            return if allowed { Ok(()) } else { Err(Refusal::TargetForm) };
        }
        if self.method == Method::CONNECT && self.uri.scheme().is_none() {
            return Err(Refusal::TargetForm);
        }
        if is_plain(self.path) { Ok(()) } else { check_path(self.path) }
    }

    /// Whether the target is `*`, the server as a whole (RFC 9110 9.3.7).
    pub fn is_asterisk(&self) -> bool {
        self.path == "*"
    }
}

/// Whether a path has neither percent codes nor dots, as nearly every path: nothing in it needs
/// a closer look, and its parameters are their own decoded form.
fn is_plain(path: &str) -> bool {
    !path.bytes().any(|byte| matches!(byte, b'%' | b'.'))
}

fn check_path(path: &str) -> Result<(), Refusal> {
    for segment in path.split('/') {
        let decoded = decode_parameter(segment).ok_or(Refusal::PathEncoding)?;
        // A segment that hides more segments would lead a file server out of its folder.
        if decoded.split(['/', '\\']).any(|part| matches!(part, "." | "..")) {
            return Err(Refusal::PathDotSegment);
        }
    }
    Ok(())
}

/// Decodes what a parameter took, once; `None` for a percent code that is malformed, that is
/// NUL, or that makes the text no UTF-8.
///
/// ```
/// use policy_core::gate::decode_parameter;
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
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        if *byte != b'%' {
            decoded.push(*byte);
            continue;
        }
        let [high, low, tail @ ..] = tail else { return None };
        let value = hex(*high)? * 16 + hex(*low)?;
        if value == 0 {
            return None;
        }
        decoded.push(value);
        rest = tail;
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
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
            ("GET", "/a.b/c%20d?x=%", Ok(())),
            ("GET", "http://a.test/x", Ok(())),
            ("GET", "/...", Ok(())),
            ("GET", "/a%2Fb", Ok(())),
            ("OPTIONS", "*", Ok(())),
            ("GET", "*", Err(Refusal::TargetForm)),
            ("CONNECT", "a.test:443", Err(Refusal::TargetForm)),
            ("GET", "a.test:443", Err(Refusal::TargetForm)),
            ("GET", "/a/../b", Err(Refusal::PathDotSegment)),
            ("GET", "/a/./b", Err(Refusal::PathDotSegment)),
            ("GET", "/a/%2e%2E/b", Err(Refusal::PathDotSegment)),
            ("GET", "/a/..%2fb", Err(Refusal::PathDotSegment)),
            ("GET", "/a/..%5cb", Err(Refusal::PathDotSegment)),
            ("GET", "/..", Err(Refusal::PathDotSegment)),
            ("GET", "/%", Err(Refusal::PathEncoding)),
            ("GET", "/%g1", Err(Refusal::PathEncoding)),
            ("GET", "/%00", Err(Refusal::PathEncoding)),
            ("GET", "/%c3%28", Err(Refusal::PathEncoding)),
        ] {
            assert_eq!(target(method, uri), want, "{method} {uri}");
        }
    }
}

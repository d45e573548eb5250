//! The Authorization field.

use http::{HeaderMap, header::AUTHORIZATION};

use crate::{grammar::is_token, head::Single};

/// The credentials in the Authorization header of a request (RFC 9110 11.6.2, RFC 6750 2.1).
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Authorization<'a> {
    /// No header.
    None,
    /// Credentials of a scheme other than `Bearer`.
    OtherScheme,
    /// The text of a bearer token, not verified yet.
    Bearer(&'a [u8]),
    /// More than one field, or one that is malformed.
    Invalid,
}

impl std::fmt::Debug for Authorization<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::OtherScheme => "OtherScheme",
            Self::Bearer(_) => "Bearer(..)",
            Self::Invalid => "Invalid",
        })
    }
}

/// Reads the Authorization header. Bearer tokens are read only there: not from the query, a form or
/// a cookie (RFC 6750 2.2 and 2.3 are not supported).
///
/// ```
/// use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
/// use policy_core::auth::{Authorization, authorization};
///
/// let mut headers = HeaderMap::new();
/// headers.insert(AUTHORIZATION, HeaderValue::from_static("bearer abc.def.ghi"));
/// assert_eq!(authorization(&headers), Authorization::Bearer(b"abc.def.ghi"));
/// headers.append(AUTHORIZATION, HeaderValue::from_static("Basic YTpi"));
/// assert_eq!(authorization(&headers), Authorization::Invalid);
/// ```
pub fn authorization(headers: &HeaderMap) -> Authorization<'_> {
    let credentials = match Single::read(headers, &AUTHORIZATION) {
        Single::Absent => return Authorization::None,
        Single::Repeated => return Authorization::Invalid,
        Single::One(value) => value.as_bytes(),
    };
    // Nearly all clients write the scheme like this.
    if let Some(rest) = credentials.strip_prefix(b"Bearer ") {
        return bearer(rest).map_or(Authorization::Invalid, Authorization::Bearer);
    }
    if let Some((scheme, rest)) = credentials.split_at_checked(b"Bearer".len())
        && scheme.eq_ignore_ascii_case(b"Bearer")
        && !rest.first().is_some_and(|byte| is_token(&[*byte]))
    {
        let token = rest.strip_prefix(b" ").and_then(bearer);
        return token.map_or(Authorization::Invalid, Authorization::Bearer);
    }
    let scheme = credentials.split(|byte| *byte == b' ').next().unwrap_or_default();
    if is_token(scheme) { Authorization::OtherScheme } else { Authorization::Invalid }
}

/// `*SP token68` (RFC 9110 11.2), after the first space.
fn bearer(rest: &[u8]) -> Option<&[u8]> {
    let mut token = rest;
    while let [b' ', tail @ ..] = token {
        token = tail;
    }
    let mut text = token;
    while let [head @ .., b'='] = text {
        text = head;
    }
    // Checks every byte without an early exit, so that the loop is vectorised.
    let is_text = text.iter().fold(true, |is_text, byte| is_text & is_token68(*byte));
    (!text.is_empty() && is_text).then_some(token)
}

/// `ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/"`, with few comparisons.
fn is_token68(byte: u8) -> bool {
    (byte | 0x20).is_ascii_lowercase()
        | matches!(byte, b'-'..=b'9')
        | (byte == b'_')
        | (byte == b'~')
        | (byte == b'+')
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read(value: &'static str, check: impl Fn(Authorization<'_>) -> bool) {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static(value));
        assert!(check(authorization(&headers)), "{value}");
    }

    #[test]
    fn the_scheme_has_any_case() {
        for value in ["bearer a-._~+/9Z==", "BEARER a-._~+/9Z==", "bEaReR   a-._~+/9Z=="] {
            read(value, |found| found == Authorization::Bearer(b"a-._~+/9Z=="));
        }
    }

    #[test]
    fn a_scheme_with_the_prefix_bearer_is_another_scheme() {
        for value in ["Bearerx abc", "Bearer-x abc", "Basic YTpi", "Digest a=b, c=d", "Beare"] {
            read(value, |found| found == Authorization::OtherScheme);
        }
    }

    #[test]
    fn every_other_byte_makes_a_token_invalid() {
        for value in [
            "Bearer =",
            "Bearer a=b",
            "Bearer a@b",
            "Bearer a[b",
            "Bearer a`b",
            "Bearer a{",
            "Bearer a,b",
            "Bearer a:b",
            "Bearer=abc",
            "Bearer,abc",
            " Bearer abc",
            "Basic\tabc",
        ] {
            read(value, |found| found == Authorization::Invalid);
        }
    }
}

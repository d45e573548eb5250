//! The Authorization field.

use http::{HeaderMap, header::AUTHORIZATION};

use crate::{gate::Single, grammar::is_token};

/// What the Authorization field of a request presents (RFC 9110 11.6.2, RFC 6750 2.1).
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Authorization<'a> {
    /// There is none.
    None,
    /// Credentials of another scheme than `Bearer`.
    OtherScheme,
    /// The text of a bearer token. Nothing is known about it yet.
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

/// Reads the Authorization field. A bearer token stands nowhere else: not in the query, a form
/// or a cookie (RFC 6750 2.2 and 2.3 are not supported).
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
    let credentials = match Single::of(headers, &AUTHORIZATION) {
        Single::Absent => return Authorization::None,
        Single::Repeated => return Authorization::Invalid,
        Single::One(value) => value.as_bytes(),
    };
    let scheme_len = credentials.iter().position(|byte| !byte.is_ascii_alphabetic());
    let (scheme, rest) =
        credentials.split_at_checked(scheme_len.unwrap_or(credentials.len())).unwrap_or_default();
    if scheme.eq_ignore_ascii_case(b"bearer")
        && !rest.first().is_some_and(|byte| is_token(&[*byte]))
    {
        return bearer(rest).map_or(Authorization::Invalid, Authorization::Bearer);
    }
    let scheme = credentials.split(|byte| *byte == b' ').next().unwrap_or_default();
    if is_token(scheme) { Authorization::OtherScheme } else { Authorization::Invalid }
}

/// `1*SP token68` (RFC 9110 11.2).
fn bearer(rest: &[u8]) -> Option<&[u8]> {
    let mut token = rest.strip_prefix(b" ")?;
    while let [b' ', tail @ ..] = token {
        token = tail;
    }
    let mut text = token;
    while let [head @ .., b'='] = text {
        text = head;
    }
    (!text.is_empty() && text.iter().all(is_token68)).then_some(token)
}

fn is_token68(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/')
}

//! The media type of a request body.

use http::{HeaderMap, header::CONTENT_TYPE};
use policy_core::{head::Single, is_token};

pub(crate) const JSON: &str = "application/json";
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// Whether the body is JSON: `application/json`, or another type that ends with `+json` (RFC 6839
/// 3.1).
///
/// A browser sends these across origins only after a preflight, so this check keeps forms of other
/// sites from reaching handlers that read JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    subtype(headers).is_some_and(|subtype| {
        let suffix = subtype.len().checked_sub(5).and_then(|at| subtype.get(at..));
        subtype.eq_ignore_ascii_case(b"json")
            || suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case(b"+json"))
    })
}

/// Whether the body is a form in the default encoding of HTML.
pub(super) fn is_form(headers: &HeaderMap) -> bool {
    subtype(headers).is_some_and(|subtype| subtype.eq_ignore_ascii_case(b"x-www-form-urlencoded"))
}

/// What follows `application/`, without parameters (RFC 9110 8.3.1); `None` for another type, or if
/// the header is repeated.
fn subtype(headers: &HeaderMap) -> Option<&[u8]> {
    const APPLICATION: &[u8] = b"application/";
    let Single::One(value) = Single::read(headers, &CONTENT_TYPE) else { return None };
    let essence = value.as_bytes().split(|byte| *byte == b';').next()?.trim_ascii();
    let (kind, subtype) = essence.split_at_checked(APPLICATION.len())?;
    (kind.eq_ignore_ascii_case(APPLICATION) && is_token(subtype)).then_some(subtype)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn with(value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(value))])
    }

    #[test]
    fn a_form_has_one_name() {
        assert!(is_form(&with("application/X-WWW-form-urlencoded;charset=utf-8")));
        for value in ["multipart/form-data; boundary=x", "application/json", ""] {
            assert!(!is_form(&with(value)), "{value}");
        }
    }
}

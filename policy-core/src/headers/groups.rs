//! The groups that the standard puts fields into (RFC 9110 6 to 12; RFC 6265).
//!
//! Names are compared whatever their case. What is not in any of these lists belongs to an
//! extension, and nothing is said about it.

use crate::grammar::names_contain;

/// What a request alone has: who asks, how, for what, and under which conditions (RFC 9110 7.2,
/// 10.1, 11.6, 11.7, 12.5, 13.1, 14.2; RFC 6265 5.4; Fetch 3.2).
pub const REQUEST: [&str; 22] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "authorization",
    "cookie",
    "expect",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "max-forwards",
    "origin",
    "proxy-authorization",
    "range",
    "referer",
    "te",
    "upgrade-insecure-requests",
    "user-agent",
];

/// What a response alone has, about the server and what to do next (RFC 9110 10.2, 11.6, 11.7,
/// 12.5.5, 14.3; RFC 9111 5.1; RFC 6265 4.1).
pub const RESPONSE: [&str; 12] = [
    "accept-ranges",
    "age",
    "allow",
    "authentication-info",
    "location",
    "proxy-authenticate",
    "proxy-authentication-info",
    "retry-after",
    "server",
    "set-cookie",
    "vary",
    "www-authenticate",
];

/// What describes the representation, whether its bytes are sent along or not (RFC 9110 8.3 to
/// 8.8). A 304 has of these only what a cache needs to find and to renew what it keeps.
pub const REPRESENTATION: [&str; 7] = [
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-type",
    "etag",
    "last-modified",
];

/// What describes the bytes of one message (RFC 9110 6.4 to 6.6, 8.6, 14.4; RFC 9112 6.1): where
/// the bytes are left out or are others, it is wrong.
pub const PAYLOAD: [&str; 4] = ["content-length", "content-range", "trailer", "transfer-encoding"];

/// What ends at the next hop (RFC 9110 7.6.1), next to what `Connection` names.
pub const HOP_BY_HOP: [&str; 6] =
    ["connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"];

/// What shows who somebody is: never echoed by TRACE (RFC 9110 9.3.8), and never logged.
pub const CREDENTIALS: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "set-cookie"];

/// Whether a field is one of [`REQUEST`].
///
/// ```
/// use policy_core::headers::groups::{is_request, is_response};
///
/// assert!(is_request("If-None-Match") && !is_response("If-None-Match"));
/// ```
pub const fn is_request(name: &str) -> bool {
    names_contain(&REQUEST, name.as_bytes())
}

/// Whether a field is one of [`RESPONSE`].
pub const fn is_response(name: &str) -> bool {
    names_contain(&RESPONSE, name.as_bytes())
}

/// Whether a field is one of [`REPRESENTATION`].
pub const fn is_representation_metadata(name: &str) -> bool {
    names_contain(&REPRESENTATION, name.as_bytes())
}

/// Whether a field is one of [`PAYLOAD`].
pub const fn is_payload(name: &str) -> bool {
    names_contain(&PAYLOAD, name.as_bytes())
}

/// Whether a field is one of [`HOP_BY_HOP`].
pub const fn is_hop_by_hop(name: &str) -> bool {
    names_contain(&HOP_BY_HOP, name.as_bytes())
}

/// Whether a field is one of [`CREDENTIALS`].
pub const fn is_credential(name: &str) -> bool {
    names_contain(&CREDENTIALS, name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_whatever_their_case() {
        assert!(is_hop_by_hop("Keep-Alive") && is_hop_by_hop("KEEP-ALIVE"));
        assert!(is_representation_metadata("ETag") && is_payload("Content-Range"));
        assert!(is_credential("Set-Cookie") && is_response("Set-Cookie"));
        assert!(!is_hop_by_hop("keep-alive ") && !is_hop_by_hop("") && !is_payload("etag"));
    }

    #[test]
    fn no_field_is_of_requests_and_of_responses() {
        for name in REQUEST {
            assert!(!is_response(name), "{name}");
        }
    }

    #[test]
    fn lists_are_sorted_and_lower_case() {
        let lists: [&[&str]; 6] =
            [&REQUEST, &RESPONSE, &REPRESENTATION, &PAYLOAD, &HOP_BY_HOP, &CREDENTIALS];
        for list in lists {
            assert!(list.is_sorted());
            assert!(list.iter().all(|name| **name == name.to_ascii_lowercase()));
        }
    }
}

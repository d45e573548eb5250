//! Method and header names with a special meaning in Fetch.

use crate::grammar::{eq_ignore_case, names_contain};

/// Fetch, 2.2.1: methods that no script can send.
pub(super) const fn is_forbidden_method(name: &[u8]) -> bool {
    names_contain(&["CONNECT", "TRACE", "TRACK"], name)
}

/// Fetch, 2.2.1: the upper-case form of the methods that browsers normalise. `patch` is not one.
#[cfg(feature = "engine")]
pub const fn normalized_method(name: &str) -> &str {
    const NORMALIZED: [&str; 6] = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"];
    let mut rest: &[&'static str] = &NORMALIZED;
    while let [method, tail @ ..] = rest {
        if eq_ignore_case(method.as_bytes(), name.as_bytes()) {
            return method;
        }
        rest = tail;
    }
    name
}

/// Fetch, 2.2.2: request headers that no script can set.
pub(super) const fn is_forbidden_request_header(name: &[u8]) -> bool {
    const NAMES: [&str; 21] = [
        "accept-charset",
        "accept-encoding",
        "access-control-request-headers",
        "access-control-request-method",
        "connection",
        "content-length",
        "cookie",
        "cookie2",
        "date",
        "dnt",
        "expect",
        "host",
        "keep-alive",
        "origin",
        "referer",
        "set-cookie",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "via",
    ];
    names_contain(&NAMES, name) || begins_with(name, b"sec-") || begins_with(name, b"proxy-")
}

/// The response headers of the CORS protocol (Fetch, 3.3.3).
pub(super) const CORS_RESPONSE_HEADERS: [&str; 6] = [
    "access-control-allow-credentials",
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-allow-origin",
    "access-control-expose-headers",
    "access-control-max-age",
];

/// CORS headers that occur only in requests or preflight responses, so exposing them has no effect.
pub(super) const fn is_of_request(name: &[u8]) -> bool {
    const NAMES: [&str; 6] = [
        "access-control-allow-headers",
        "access-control-allow-methods",
        "access-control-max-age",
        "access-control-request-headers",
        "access-control-request-method",
        "origin",
    ];
    names_contain(&NAMES, name)
}

/// Fetch, 2.2.2: response headers that no script can read.
pub(super) const fn is_forbidden_response_header(name: &[u8]) -> bool {
    names_contain(&["set-cookie", "set-cookie2"], name)
}

/// Fetch, 2.2.2: response headers that every permitted page can read.
pub(super) const fn is_safelisted_response_header(name: &[u8]) -> bool {
    const NAMES: [&str; 7] = [
        "cache-control",
        "content-language",
        "content-length",
        "content-type",
        "expires",
        "last-modified",
        "pragma",
    ];
    names_contain(&NAMES, name)
}

/// Fetch, 2.2.2: request headers that every page can send, save for unusual values.
/// `content-type` and `range` are left out: their usual values do need a permission.
pub(super) const fn is_safelisted_request_header(name: &[u8]) -> bool {
    names_contain(&["accept", "accept-language", "content-language"], name)
}

const fn begins_with(name: &[u8], prefix: &[u8]) -> bool {
    match name.split_at_checked(prefix.len()) {
        Some((head, _)) => eq_ignore_case(head, prefix),
        None => false,
    }
}

//! The groups that the standard puts fields into (RFC 9110 6 to 12; RFC 6265).
//!
//! Names are compared without case. Headers that are in none of these lists are extensions, about
//! which this crate makes no statement.

use crate::grammar::names_contain;

/// Headers that occur only in requests: the client, what it asks for, and its conditions (RFC 9110
/// 7.2, 10.1, 11.6, 11.7, 12.5, 13.1, 14.2; RFC 6265 5.4; Fetch 3.2).
const REQUEST: [&str; 22] = [
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

/// Headers that occur only in responses: about the server and the next step (RFC 9110 10.2, 11.6,
/// 11.7, 12.5.5, 14.3; RFC 9111 5.1; RFC 6265 4.1).
const RESPONSE: [&str; 12] = [
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

/// Headers that describe the representation, whether or not its bytes are sent (RFC 9110 8.3 to
/// 8.8). A 304 has only those that a cache needs to select and update its stored response.
const REPRESENTATION: [&str; 7] = [
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-type",
    "etag",
    "last-modified",
];

/// Digests of content (RFC 9530 and its predecessors).
pub(crate) const DIGESTS: [&str; 4] = ["content-digest", "content-md5", "digest", "repr-digest"];

/// Headers that describe the bytes of one message (RFC 9110 6.4 to 6.6, 8.6, 14.4; RFC 9112 6.1).
/// They are wrong if the bytes are left out or replaced.
const PAYLOAD: [&str; 4] = ["content-length", "content-range", "trailer", "transfer-encoding"];

/// Hop-by-hop headers (RFC 9110 7.6.1, 11.7; RFC 7540 3.2.1), in addition to those that `Connection`
/// names.
pub(crate) const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Headers that control caches, browsers and intermediaries, override the method, or name a trace,
/// next to those whose name begins with one of [`CONTROL_PREFIXES`].
const CONTROL: [&str; 38] = [
    "alt-svc",
    "baggage",
    "cache-control",
    "cdn-cache-control",
    "clear-site-data",
    "cross-origin-embedder-policy",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "date",
    "early-data",
    "expires",
    "link",
    "nel",
    "origin-agent-cluster",
    "permissions-policy",
    "pragma",
    "priority",
    "referrer-policy",
    "refresh",
    "report-to",
    "reporting-endpoints",
    "service-worker-allowed",
    "sourcemap",
    "strict-transport-security",
    "surrogate-control",
    "timing-allow-origin",
    "traceparent",
    "tracestate",
    "via",
    "warning",
    "x-content-type-options",
    "x-dns-prefetch-control",
    "x-frame-options",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-robots-tag",
    "x-xss-protection",
];

/// The prefixes of the names of headers that are about a message as a whole.
const CONTROL_PREFIXES: [&str; 5] = ["access-control-", "content-", "if-", "proxy-", "sec-"];

/// Trailers that a standard allows though they are in another list (RFC 9110 8.8.3, RFC 9530 4).
const TRAILERS: [&str; 2] = ["content-digest", "etag"];

/// Headers with credentials.
const CREDENTIALS: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "set-cookie"];

/// Parts of the names of other headers that may carry credentials: schemes of an application may
/// read any header.
const CREDENTIAL_WORDS: [&str; 9] =
    ["auth", "cookie", "credential", "key", "password", "secret", "session", "signature", "token"];

/// Headers that state where a request came from or what it asked for, in addition to `Forwarded`
/// and `X-Forwarded-*`: the fields of proxies, load balancers and content delivery networks. A
/// client can write each of them, so they mean something only where a trusted proxy wrote them.
const SENDER: [&str; 35] = [
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "cf-visitor",
    "client-ip",
    "cloudfront-viewer-address",
    "do-connecting-ip",
    "fastly-client-ip",
    "fly-client-ip",
    "forwarded",
    "forwarded-for",
    "front-end-https",
    "incap-client-ip",
    "proxy-client-ip",
    "true-client-ip",
    "wl-proxy-client-ip",
    "x-appengine-remote-addr",
    "x-appengine-user-ip",
    "x-azure-clientip",
    "x-azure-socketip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-envoy-external-address",
    "x-forwarded",
    "x-host",
    "x-nf-client-connection-ip",
    "x-original-forwarded-for",
    "x-original-host",
    "x-original-uri",
    "x-original-url",
    "x-proxyuser-ip",
    "x-real-ip",
    "x-rewrite-url",
    "x-scheme",
    "x-sucuri-clientip",
    "x-vercel-forwarded-for",
];

/// Whether a field describes the content of a message: its representation, the bytes of one message,
/// or a digest.
pub const fn is_about_content(name: &str) -> bool {
    let name = name.as_bytes();
    names_contain(&REPRESENTATION, name)
        || names_contain(&PAYLOAD, name)
        || names_contain(&DIGESTS, name)
}

/// Whether a field is one of [`HOP_BY_HOP`].
pub(crate) const fn is_hop_by_hop(name: &str) -> bool {
    names_contain(&HOP_BY_HOP, name.as_bytes())
}

/// Whether a field, in lower case, states where a request came from or what it asked for:
/// `Forwarded`, `X-Forwarded-*`, and the fields of proxies, load balancers and content delivery
/// networks; or one that an upstream takes for one of them: CGI and WSGI read `X_Forwarded_For` as
/// `X-Forwarded-For` (RFC 3875 4.1.18).
///
/// ```
/// use policy_core::headers::groups::is_about_sender;
///
/// assert!(is_about_sender("x-forwarded-for") && is_about_sender("x_real_ip"));
/// assert!(!is_about_sender("x-request-id"));
/// ```
#[inline]
pub fn is_about_sender(name: &str) -> bool {
    // Most fields begin differently: the first two bytes of those below.
    let may_be = matches!(
        name.as_bytes(),
        [b'c', b'f' | b'l', ..]
            | [b'd', b'o', ..]
            | [b'f', b'a' | b'l' | b'o' | b'r', ..]
            | [b'i', b'n', ..]
            | [b'p' | b't', b'r', ..]
            | [b'w', b'l', ..]
            | [b'x', b'-' | b'_', ..]
    );
    may_be && is_one_about_sender(name)
}

fn is_one_about_sender(name: &str) -> bool {
    let is_one =
        |name: &str| name.starts_with("x-forwarded-") || SENDER.binary_search(&name).is_ok();
    is_one(name) || (name.contains('_') && is_one(&name.replace('_', "-")))
}

/// Whether a field, in lower case, may be a trailer (RFC 9110 6.5.1): one of [`TRAILERS`], or an
/// extension. A recipient may merge trailers into the headers, so that nothing in them may be about
/// framing, routing, conditions, credentials, caches, or how content is processed.
pub(crate) fn may_be_trailer(name: &str) -> bool {
    let lists: [&[&str]; 7] =
        [&REQUEST, &RESPONSE, &REPRESENTATION, &PAYLOAD, &HOP_BY_HOP, &CREDENTIALS, &CONTROL];
    let is_of_head = || {
        lists.iter().any(|list| list.binary_search(&name).is_ok())
            || CONTROL_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || is_about_sender(name)
    };
    TRAILERS.contains(&name) || !is_of_head()
}

/// Whether a field, in lower case, has credentials, or may have them: its name contains a word such as
/// `key` or `token`. TRACE never echoes such a field (RFC 9110 9.3.8).
///
/// ```
/// use policy_core::headers::groups::may_be_credential;
///
/// assert!(may_be_credential("cookie") && may_be_credential("x-api-key"));
/// assert!(!may_be_credential("accept"));
/// ```
pub fn may_be_credential(name: &str) -> bool {
    CREDENTIALS.contains(&name) || CREDENTIAL_WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The lists that gateways, TRACE and 304 use, as sets.
    #[test]
    fn header_groups_match_the_standards() {
        let lists: [(&[&str], &str); 6] = [
            (
                &REQUEST,
                "accept accept-charset accept-encoding accept-language authorization cookie expect from \
                 host if-match if-modified-since if-none-match if-range if-unmodified-since \
                 max-forwards origin proxy-authorization range referer te upgrade-insecure-requests \
                 user-agent",
            ),
            (
                &RESPONSE,
                "accept-ranges age allow authentication-info location proxy-authenticate \
                 proxy-authentication-info retry-after server set-cookie vary www-authenticate",
            ),
            (
                &REPRESENTATION,
                "content-type content-encoding content-language content-length content-location \
                 last-modified etag",
            ),
            (&PAYLOAD, "content-range trailer transfer-encoding content-length"),
            (
                &HOP_BY_HOP,
                "connection proxy-connection keep-alive te transfer-encoding upgrade \
                 proxy-authenticate proxy-authentication-info proxy-authorization http2-settings",
            ),
            (&CREDENTIALS, "authorization proxy-authorization cookie set-cookie"),
        ];
        for (list, standard) in lists {
            let set: BTreeSet<&str> = list.iter().copied().collect();
            assert_eq!(set, standard.split_whitespace().collect(), "{standard}");
        }
    }

    #[test]
    fn names_are_compared_without_case() {
        assert!(is_hop_by_hop("Keep-Alive") && is_hop_by_hop("KEEP-ALIVE"));
        assert!(is_about_content("ETag") && is_about_content("Content-Range"));
        assert!(is_about_content("Repr-Digest") && !is_about_content("Set-Cookie"));
        assert!(!is_hop_by_hop("keep-alive ") && !is_hop_by_hop(""));
    }

    #[test]
    fn fields_about_the_sender_are_recognized_with_underscores() {
        for name in SENDER.into_iter().chain(["x-forwarded-user", "x-forwarded-"]) {
            assert!(is_about_sender(name), "{name}");
            assert!(is_about_sender(&name.replace('-', "_")), "{name}");
        }
        for name in
            ["x-forwarder", "x-forwardedness", "cookie", "cache-control", "x", "x_request_id", ""]
        {
            assert!(!is_about_sender(name), "{name}");
        }
    }

    #[test]
    fn trailers_are_extension_fields_and_those_a_standard_allows() {
        for name in
            ["grpc-status", "x-sum", "server-timing", "repr-digest", "content-digest", "etag"]
        {
            assert!(may_be_trailer(name), "{name}");
        }
        for name in [
            "content-type",
            "content-encoding",
            "content-security-policy",
            "content-length",
            "transfer-encoding",
            "trailer",
            "host",
            "cookie",
            "set-cookie",
            "authorization",
            "www-authenticate",
            "cache-control",
            "location",
            "vary",
            "if-match",
            "range",
            "x-http-method-override",
            "x-forwarded-for",
            "x_real_ip",
            "access-control-allow-origin",
            "sec-fetch-site",
            "strict-transport-security",
            "connection",
        ] {
            assert!(!may_be_trailer(name), "{name}");
        }
    }

    #[test]
    fn lists_are_sorted_and_lower_case() {
        let lists: [&[&str]; 12] = [
            &REQUEST,
            &RESPONSE,
            &REPRESENTATION,
            &DIGESTS,
            &PAYLOAD,
            &HOP_BY_HOP,
            &CREDENTIALS,
            &CREDENTIAL_WORDS,
            &SENDER,
            &CONTROL,
            &CONTROL_PREFIXES,
            &TRAILERS,
        ];
        for list in lists {
            assert!(list.is_sorted(), "{list:?}");
            assert!(list.iter().all(|name| **name == name.to_ascii_lowercase()));
        }
    }
}

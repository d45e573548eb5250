//! What a 304 carries.

use http::{
    HeaderMap, HeaderName,
    header::{
        CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG,
        LAST_MODIFIED, TRAILER, TRANSFER_ENCODING,
    },
};

/// Makes the fields of an answer those of its 304 (RFC 9110 15.4.5): without what describes the
/// content that is not sent. `Cache-Control`, `Content-Location`, `Date`, `ETag`, `Expires` and
/// `Vary` stay, as do CORS and everything else that is about the exchange; `Last-Modified` stays
/// where there is no `ETag`.
///
/// ```
/// use http::{HeaderMap, header::{CONTENT_TYPE, ETAG, VARY}};
/// use policy_core::conditional::not_modified;
///
/// let mut headers = HeaderMap::new();
/// headers.insert(CONTENT_TYPE, "text/html".parse().unwrap());
/// headers.insert(ETAG, "\"v1\"".parse().unwrap());
/// headers.insert(VARY, "accept".parse().unwrap());
/// not_modified(&mut headers);
/// assert!(!headers.contains_key(CONTENT_TYPE));
/// assert!(headers.contains_key(ETAG) && headers.contains_key(VARY));
/// ```
pub fn not_modified(headers: &mut HeaderMap) {
    for name in OF_CONTENT {
        headers.remove(name);
    }
    if headers.contains_key(ETAG) {
        headers.remove(LAST_MODIFIED);
    }
}

const OF_CONTENT: [HeaderName; 11] = [
    CONTENT_ENCODING,
    CONTENT_LANGUAGE,
    CONTENT_LENGTH,
    CONTENT_RANGE,
    CONTENT_TYPE,
    TRAILER,
    TRANSFER_ENCODING,
    // RFC 9530 and its forerunners.
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("repr-digest"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("content-md5"),
];

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn left(names: &[&'static str]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for name in names {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static("x"));
        }
        not_modified(&mut headers);
        let mut left: Vec<_> = headers.keys().map(|name| name.as_str().to_owned()).collect();
        left.sort_unstable();
        left
    }

    #[test]
    fn what_caches_need_and_what_is_about_the_exchange_stays() {
        let kept = [
            "access-control-allow-credentials",
            "access-control-allow-origin",
            "access-control-expose-headers",
            "cache-control",
            "content-location",
            "content-security-policy",
            "date",
            "etag",
            "expires",
            "set-cookie",
            "vary",
        ];
        let of_content = ["content-type", "content-length", "content-encoding", "last-modified"];
        assert_eq!(left(&[&kept[..], &of_content].concat()), kept);
    }

    #[test]
    fn a_date_stays_where_it_is_the_only_validator() {
        assert_eq!(left(&["content-type", "last-modified"]), ["last-modified"]);
    }
}

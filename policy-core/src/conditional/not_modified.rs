//! The headers of a 304 response.

use http::{
    HeaderMap, HeaderName,
    header::{CONTENT_LOCATION, ETAG, LAST_MODIFIED},
};

use crate::headers::groups::is_about_content;

/// Turns the headers of a response into those of its 304 (RFC 9110 15.4.5): removes those that
/// describe the content. `Cache-Control`, `Content-Location`, `Date`, `ETag`, `Expires` and `Vary`
/// stay, and so do CORS headers and everything else about the exchange; `Last-Modified` stays if
/// there is no `ETag`.
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
    let has_etag = headers.contains_key(ETAG);
    let is_gone = |name: &HeaderName| match *name {
        CONTENT_LOCATION | ETAG => false,
        LAST_MODIFIED => has_etag,
        _ => is_about_content(name.as_str()),
    };
    while let Some(name) = headers.keys().find(|name| is_gone(name)).cloned() {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn remaining_names(names: &[&'static str]) -> Vec<String> {
        let field = |name: &&'static str| {
            (HeaderName::from_static(name), HeaderValue::from_static("anything"))
        };
        let mut headers: HeaderMap = names.iter().map(field).collect();
        not_modified(&mut headers);
        let mut kept: Vec<_> = headers.keys().map(ToString::to_string).collect();
        kept.sort_unstable();
        kept
    }

    /// RFC 9110 15.4.5, and headers that are about the exchange and not about its content.
    #[test]
    fn a_304_has_the_fields_that_caches_and_pages_need() {
        let needed = [
            "access-control-allow-credentials",
            "access-control-allow-origin",
            "access-control-expose-headers",
            "cache-control",
            "content-location",
            "content-security-policy",
            "date",
            "etag",
            "expires",
            "ratelimit",
            "set-cookie",
            "vary",
        ];
        assert_eq!(remaining_names(&needed), needed);
    }

    #[test]
    fn the_date_of_a_change_is_left_where_there_is_no_tag() {
        assert_eq!(remaining_names(&["etag", "last-modified"]), ["etag"]);
        assert_eq!(remaining_names(&["last-modified"]), ["last-modified"]);
    }
}

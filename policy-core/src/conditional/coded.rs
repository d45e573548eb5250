//! The entity tags of responses with a content coding.

use http::{
    HeaderMap,
    header::{CONTENT_ENCODING, ETAG},
};

use super::{EntityTag, single};

/// Makes the strong `ETag` of a response weak if it has a `Content-Encoding`. Call it after a layer
/// added the coding: the handler stated the tag for the unencoded bytes, and a strong tag
/// identifies one sequence of bytes (RFC 9110 8.8.3.3). A client that resumes an encoded response
/// by `If-Range` then gets the whole response instead of a part of other bytes (13.1.5).
///
/// ```
/// use http::{HeaderMap, header::{CONTENT_ENCODING, ETAG}};
/// use policy_core::conditional::weaken_coded;
///
/// let mut headers = HeaderMap::new();
/// headers.insert(ETAG, "\"v1\"".parse().unwrap());
/// weaken_coded(&mut headers);
/// assert_eq!(headers[ETAG], "\"v1\"");
///
/// headers.insert(CONTENT_ENCODING, "gzip".parse().unwrap());
/// weaken_coded(&mut headers);
/// assert_eq!(headers[ETAG], "W/\"v1\"");
/// ```
pub fn weaken_coded(headers: &mut HeaderMap) {
    let mut codings = headers.get_all(CONTENT_ENCODING).iter();
    if codings.any(|coding| !coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity")) {
        weaken(headers);
    }
}

/// Makes the `ETag` of a response weak.
pub(super) fn weaken(headers: &mut HeaderMap) {
    if let Some(tag) = single(headers, &ETAG).and_then(EntityTag::parse)
        && let Some(weak) = tag.weakened()
    {
        headers.insert(ETAG, weak.value());
    }
}

//! Which responses a shared cache may store: RFC 9111 3, for a cache that stores as much as it may.

use http::{HeaderMap, Method};
use policy_core_tests::caching::Field;

/// Cache control fields that some caches prefer to `Cache-Control`.
const OWN_FIELDS: [&str; 4] =
    ["cache-control", "cdn-cache-control", "x-cdn-cache-control", "surrogate-control"];

/// The field whose caches may store a response to such a request, if there is one.
pub(crate) fn stored_by(
    method: &Method,
    request_headers: &HeaderMap,
    status: u16,
    headers: &HeaderMap,
) -> Option<&'static str> {
    let may_store = |field: &&str| may_store(method, request_headers, status, headers, field);
    OWN_FIELDS.into_iter().find(may_store)
}

/// Whether the cache may store a response to such a request. A cache with a field of its own
/// follows that field alone (RFC 9213 2.2).
pub(crate) fn may_store(
    method: &Method,
    request_headers: &HeaderMap,
    status: u16,
    headers: &HeaderMap,
    own_field: &str,
) -> bool {
    let field = if headers.contains_key(own_field) { own_field } else { "cache-control" };
    let directives = Field::read(headers, field).unwrap_or_default();
    let has = |name: &str| directives.has(name);
    // Caches often treat `private` with field names as if it had none; here it restricts nothing.
    let is_private = directives.has_plain("private");
    let is_understood = matches!(*method, Method::GET | Method::HEAD | Method::POST);
    let has_age = has("max-age") || has("s-maxage") || headers.contains_key("expires");
    // The fields of a 304 replace the stored ones (RFC 9111 3.2).
    let is_heuristic = *method != Method::POST
        && matches!(
            status,
            200 | 203 | 204 | 206 | 300 | 301 | 304 | 308 | 404 | 405 | 410 | 414 | 501
        );
    let may_be_reused = !request_headers.contains_key("authorization")
        || has("must-revalidate")
        || has("public")
        || has("s-maxage");
    is_understood
        && status >= 200
        && !has("no-store")
        && !is_private
        && may_be_reused
        && (has("public") || has_age || is_heuristic)
}

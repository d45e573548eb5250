//! Responses without content.

use axum_core::{body::Body, response::Response};
use http::{HeaderMap, HeaderValue, StatusCode, header::CONTENT_LENGTH};
use http_body::Body as _;

/// A response with these headers and no content, such as that to an allowed preflight.
pub(crate) fn without_content(status: StatusCode, headers: HeaderMap) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// The response to HEAD: the response to GET with its length, without the body (RFC 9110 9.3.2). A
/// status that never has content has no length either (RFC 9110 8.6). No length of 0 is added, since
/// services and upstreams remove the body themselves.
pub(super) fn without_body(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let has_content = !parts.status.is_informational()
        && !matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if has_content
        && let Some(length) = body.size_hint().exact().filter(|length| *length > 0)
        && !parts.headers.contains_key(CONTENT_LENGTH)
    {
        parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    Response::from_parts(parts, Body::empty())
}

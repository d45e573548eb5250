//! Responses that support range requests.

use std::convert::Infallible;

use axum_core::response::{IntoResponseParts, ResponseParts};
use http::{HeaderValue, header::ACCEPT_RANGES};

/// `Accept-Ranges: bytes` (RFC 9110 14.3): a client that has a part of the response may request the
/// rest, as media players and resumed downloads do. The handler returns the whole content, and the
/// app cuts out the range.
///
/// Combine it with an [`ETag`](super::ETag) or a [`LastModified`](super::LastModified), so that
/// clients do not combine parts of two different states.
///
/// ```
/// use policy_server::{prelude::*, response::ByteRanges};
///
/// #[get("/lamp.jpeg")]
/// #[auth(public)]
/// async fn picture() -> (ByteRanges, ETag, &'static [u8]) {
///     (ByteRanges, ETag::version(1), b"a picture")
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let response = App::new(()).routes(routes![picture]).test().get("/lamp.jpeg").send().await;
/// assert_eq!(response.header("accept-ranges"), Some("bytes"));
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteRanges;

impl IntoResponseParts for ByteRanges {
    type Error = Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Infallible> {
        parts.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        Ok(parts)
    }
}

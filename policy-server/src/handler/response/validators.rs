//! Validators, which distinguish the states of a resource (RFC 9110 8.8).

use std::{convert::Infallible, time::SystemTime};

use axum_core::response::{IntoResponseParts, ResponseParts};
use http::header::{ETAG, LAST_MODIFIED};
use policy_core::conditional;

/// The `ETag` of a response (RFC 9110 8.8.3): identifies the state that it shows.
///
/// A client that sends it in `If-None-Match` already has the response and gets 304. A client that
/// sends it in `If-Match` wants to change exactly this state: see
/// [`Preconditions`](crate::handler::extract::Preconditions).
///
/// ```
/// use policy_server::prelude::*;
///
/// #[get("/lamps/{id}")]
/// #[auth(public)]
/// async fn lamp(id: u64) -> (ETag, Json<u64>) {
///     let version = 7;
///     (ETag::version(version), Json(id))
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let response = App::new(()).routes(routes![lamp]).test().get("/lamps/1").send().await;
/// assert_eq!(response.header("etag"), Some("\"7\""));
/// # });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ETag(pub(crate) conditional::EntityTag);

impl ETag {
    /// The strong tag of states that have a version number, such as a database column.
    ///
    /// Two representations of one state, such as JSON and HTML, need two tags: use
    /// [`weak`](Self::weak), or [`strong`](Self::strong) with the format in its text.
    #[expect(clippy::expect_used, reason = "a tag may have digits")]
    pub fn version(number: u64) -> Self {
        Self::strong(&number.to_string()).expect("a tag")
    }

    /// The tag of states that are equal byte for byte; `None` if `tag` contains a space, a quote or
    /// a control character.
    pub fn strong(tag: &str) -> Option<Self> {
        conditional::EntityTag::strong(tag).map(Self)
    }

    /// The tag of states that are semantically equal; `None` as in [`strong`](Self::strong). Ranges
    /// are not served by it, and `If-Match` never matches it.
    pub fn weak(tag: &str) -> Option<Self> {
        conditional::EntityTag::weak(tag).map(Self)
    }

    /// The strong tag of this content: a part of its SHA-256.
    pub fn from_content(content: &[u8]) -> Self {
        Self(conditional::EntityTag::from_content(content))
    }
}

impl From<conditional::EntityTag> for ETag {
    fn from(etag: conditional::EntityTag) -> Self {
        Self(etag)
    }
}

impl IntoResponseParts for ETag {
    type Error = Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Infallible> {
        parts.headers_mut().insert(ETAG, self.0.value());
        Ok(parts)
    }
}

/// The `Last-Modified` of a response (RFC 9110 8.8.2), with a precision of one second.
///
/// ```
/// use std::time::{Duration, SystemTime};
///
/// use policy_server::prelude::*;
///
/// #[get("/price-list")]
/// #[auth(public)]
/// async fn price_list() -> (LastModified, &'static str) {
///     let time = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
///     (LastModified::from(time), "a lamp: 5")
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let response = App::new(()).routes(routes![price_list]).test().get("/price-list").send().await;
/// assert_eq!(response.header("last-modified"), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
/// # });
/// ```
///
/// A resource that may change twice within a second also needs an [`ETag`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LastModified(pub(crate) conditional::ModificationDate);

/// Converts a file system's time.
impl From<SystemTime> for LastModified {
    fn from(time: SystemTime) -> Self {
        Self(time.into())
    }
}

impl From<conditional::ModificationDate> for LastModified {
    fn from(date: conditional::ModificationDate) -> Self {
        Self(date)
    }
}

impl IntoResponseParts for LastModified {
    type Error = Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Infallible> {
        parts.headers_mut().insert(LAST_MODIFIED, self.0.value());
        Ok(parts)
    }
}

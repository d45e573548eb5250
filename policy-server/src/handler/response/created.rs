//! Responses whose type states their status.

use axum_core::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header::LOCATION};

/// 201: what the request created, and where it is (RFC 9110 15.3.2).
///
/// `(StatusCode::CREATED, Json(lamp))` responds the same, but its type does not state the status.
/// `Created` does, for the document of an app (feature `openapi`).
///
/// ```
/// use policy_server::{prelude::*, response::Created};
///
/// #[post("/lamps")]
/// #[auth(public)]
/// async fn create() -> Created<&'static str> {
///     Created::at("/lamps/7", "a lamp")
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let response = App::new(()).routes(routes![create]).test().post("/lamps").send().await;
/// assert_eq!(response.status(), 201);
/// assert_eq!(response.header("location"), Some("/lamps/7"));
/// # });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created<T> {
    location: Option<HeaderValue>,
    content: T,
}

impl<T> Created<T> {
    /// What was created, at this URI reference. A text that is not a valid header value is left
    /// out.
    pub fn at(location: impl AsRef<str>, content: T) -> Self {
        Self { location: HeaderValue::from_str(location.as_ref()).ok(), content }
    }

    /// What was created, at the URI of the request.
    pub fn here(content: T) -> Self {
        Self { location: None, content }
    }
}

impl<T: IntoResponse> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        let mut response = self.content.into_response();
        // Content that cannot be serialized responds with an error.
        if response.status() == StatusCode::OK {
            *response.status_mut() = StatusCode::CREATED;
            response.headers_mut().extend(self.location.map(|value| (LOCATION, value)));
        }
        response
    }
}

/// 204: a response without content (RFC 9110 15.3.5).
///
/// ```
/// use policy_server::{prelude::*, response::NoContent};
///
/// #[delete("/lamps/{id}")]
/// #[auth(public)]
/// async fn remove(id: u64) -> Result<NoContent, Problem> {
///     if id == 7 { Ok(NoContent) } else { Err(Problem::not_found()) }
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let response = App::new(()).routes(routes![remove]).test().delete("/lamps/7").send().await;
/// assert_eq!(response.status(), 204);
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoContent;

impl IntoResponse for NoContent {
    fn into_response(self) -> Response {
        StatusCode::NO_CONTENT.into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[test]
    fn what_cannot_be_written_was_not_created() {
        let no_json = std::collections::BTreeMap::from([(vec![1], 2)]);
        let response = Created::at("/lamps/7", Json(no_json)).into_response();
        assert_eq!(response.status(), 500);
        assert!(!response.headers().contains_key("location"));
        let response = Created::at("/a\nb", "content").into_response();
        assert_eq!(response.status(), 201);
        assert!(!response.headers().contains_key("location"));
    }
}

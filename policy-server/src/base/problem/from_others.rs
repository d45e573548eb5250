//! Converts errors of other crates into problems with one method call.

use std::error::Error;

use super::Problem;

/// Turns the errors of other crates into [`Problem`]s, before `?`.
///
/// ```
/// use policy_server::prelude::*;
///
/// fn find(name: &str) -> Result<Option<u32>, std::io::Error> {
///     match name {
///         "lamp" => Ok(Some(12)),
///         "sofa" => Ok(None),
///         _ => Err(std::io::Error::other("disk 3 is gone")),
///     }
/// }
///
/// #[get("/prices/{name}")]
/// #[auth(public)]
/// async fn price(name: String) -> Result<Json<u32>, Problem> {
///     Ok(Json(find(&name).or_internal()?.or_not_found()?))
/// }
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![price]).test();
/// for (name, status) in [("lamp", 200), ("sofa", 404), ("desk", 500)] {
///     assert_eq!(client.get(&format!("/prices/{name}")).send().await.status(), status);
/// }
/// # });
/// ```
pub trait OrInternal {
    /// The value if there is no error.
    type Value;

    /// 500 for an error, which is logged and not shown: [`Problem::internal`].
    ///
    /// # Errors
    ///
    /// The problem.
    fn or_internal(self) -> Result<Self::Value, Problem>;
}

/// Turns a missing value into a [`Problem`], before `?`: see [`OrInternal`].
pub trait OrNotFound {
    /// The value if it is not missing.
    type Value;

    /// 404 for a missing value.
    ///
    /// # Errors
    ///
    /// The problem.
    fn or_not_found(self) -> Result<Self::Value, Problem>;
}

impl<T, E> OrInternal for Result<T, E>
where
    E: Into<Box<dyn Error + Send + Sync>>,
{
    type Value = T;

    fn or_internal(self) -> Result<T, Problem> {
        self.map_err(Problem::internal)
    }
}

impl<T> OrNotFound for Option<T> {
    type Value = T;

    fn or_not_found(self) -> Result<T, Problem> {
        self.ok_or_else(Problem::not_found)
    }
}

/// A form that its client did not send correctly. The text states the part that cannot be read.
#[cfg(feature = "multipart")]
impl From<axum::extract::multipart::MultipartError> for Problem {
    fn from(error: axum::extract::multipart::MultipartError) -> Self {
        use http::StatusCode;
        use policy_core::Refusal;

        match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Self::from(Refusal::BodyTooLarge),
            status if status.is_server_error() => Self::internal(error),
            status => Self::from(Refusal::Rejected).with_status(status).detail(error.body_text()),
        }
    }
}

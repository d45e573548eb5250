//! JSON with the tag of its own bytes.

use axum_core::response::{IntoResponse, Response};
use serde::Serialize;

use super::ETag;
use crate::{
    extract::{Json, json_answer},
    problem::Problem,
};

/// JSON with a strong [`ETag`] of its bytes; [`Json::etag`] makes it.
#[derive(Clone, Copy, Debug)]
pub struct TaggedJson<T>(Json<T>);

impl<T: Serialize> Json<T> {
    /// Gives the answer a strong [`ETag`] of its bytes. A client that has it already gets 304 and
    /// saves the transfer; what makes the value runs all the same.
    ///
    /// ```
    /// use policy_server::{prelude::*, response::TaggedJson};
    ///
    /// #[get("/lamps")]
    /// #[auth(public)]
    /// async fn lamps() -> TaggedJson<[&'static str; 2]> {
    ///     Json(["red", "blue"]).etag()
    /// }
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let response = App::new(()).routes(routes![lamps]).test().get("/lamps").send().await;
    /// assert_eq!(response.header("etag"), Some("\"uYsQPWhzIa8wE-FBrpwV_Q\""));
    /// # });
    /// ```
    pub fn etag(self) -> TaggedJson<T> {
        TaggedJson(self)
    }
}

impl<T: Serialize> IntoResponse for TaggedJson<T> {
    fn into_response(self) -> Response {
        let TaggedJson(Json(value)) = self;
        match serde_json::to_vec(&value) {
            Ok(body) => (ETag::of_content(&body), json_answer(body)).into_response(),
            Err(error) => Problem::internal(error).into_response(),
        }
    }
}

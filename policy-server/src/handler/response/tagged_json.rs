//! JSON with an `ETag` of its own bytes.

use axum_core::response::{IntoResponse, Response};
use serde::Serialize;

use super::ETag;
use crate::{
    base::problem::Problem,
    handler::extract::{Json, json_answer},
};

/// JSON with a strong [`ETag`] of its bytes; created by [`Json::etag`].
#[derive(Clone, Copy, Debug)]
pub struct TaggedJson<T>(Json<T>);

impl<T: Serialize> Json<T> {
    /// Adds a strong [`ETag`] of its bytes to the response. A client that already has it gets 304 and
    /// saves the transfer; the handler still runs.
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
        let tagged = |body: Vec<u8>| (ETag::from_content(&body), json_answer(body));
        serde_json::to_vec(&value).map(tagged).map_err(Problem::internal).into_response()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::prelude::*;

    #[get("/price/{of}")]
    #[auth(public)]
    async fn price(of: u32) -> TaggedJson<u32> {
        Json(of / 2).etag()
    }

    #[tokio::test]
    async fn unchanged_content_gets_304() {
        let client = App::new(()).routes(routes![price]).test();
        let first = client.get("/price/2").send().await;
        let tag = first.header("etag").unwrap();
        for (path, status) in [("/price/2", 304), ("/price/3", 304), ("/price/4", 200)] {
            let again = client.get(path).header("if-none-match", tag).send().await;
            assert_eq!(again.status(), status, "{path}");
            assert_eq!(again.header("etag") == Some(tag), status == 304);
        }
    }

    #[test]
    fn unserializable_values_have_no_tag() {
        let no_json = BTreeMap::from([(vec![1], 2)]);
        let response = Json(no_json).etag().into_response();
        assert_eq!(response.status(), 500);
        assert!(!response.headers().contains_key("etag"));
    }
}

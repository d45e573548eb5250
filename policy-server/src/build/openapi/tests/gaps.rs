//! What a document cannot say.

use std::collections::HashMap;

use super::*;

/// The parameters of a query are the fields of a struct.
#[test]
fn a_query_with_more_than_fields_is_a_gap() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "its schema is read")]
    struct Renamed(Filter);

    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "by")]
    #[expect(dead_code, reason = "its schema is read")]
    enum Search {
        Name { name: String },
        Watts { watts: u32 },
    }

    #[get("/map")]
    #[auth(public)]
    async fn map(_query: Query<HashMap<String, String>>) {}

    #[get("/search")]
    #[auth(public)]
    async fn search(_query: Query<Search>) {}

    #[get("/form")]
    #[post("/form")]
    #[auth(public)]
    async fn form(_form: Form<Search>) {}

    #[get("/renamed")]
    #[auth(public)]
    async fn renamed(_query: Query<Renamed>) {}

    let document = App::new(()).routes(routes![map, search, form, renamed]).openapi().unwrap();
    let gaps = document.gaps().iter().map(|gap| (gap.code(), gap.location()));
    let gaps: Vec<_> =
        gaps.map(|(code, handler)| (code, handler.rsplit("::").next().unwrap())).collect();
    assert_eq!(gaps, ["map", "search", "form"].map(|it| ("openapi.request-unknown", it)));
    let parameters = at(&document, "/paths/~1renamed/get/parameters");
    assert_eq!(parameters.as_array().unwrap().len(), 3, "{parameters}");
}

#[test]
fn an_extractor_without_a_schema_is_a_gap_and_a_method_without_an_operation_is_none() {
    struct Unknown;

    impl<S: Sync> crate::FromRequestParts<S> for Unknown {
        type Rejection = std::convert::Infallible;

        async fn from_request_parts(
            _: &mut http::request::Parts,
            _: &S,
        ) -> Result<Self, Self::Rejection> {
            Ok(Self)
        }
    }

    #[post("/unknown")]
    #[auth(public)]
    async fn unknown(_unknown: Unknown) -> NoContent {
        NoContent
    }

    #[route(HEAD, OPTIONS, PURGE, "/cache")]
    #[auth(public)]
    async fn cache() -> NoContent {
        NoContent
    }

    let document = App::new(()).routes(routes![unknown, cache]).openapi().unwrap();
    let codes: Vec<_> = document.gaps().iter().map(crate::StartProblem::code).collect();
    assert_eq!(codes, ["openapi.request-unknown"]);
    let of_path = at(&document, "/paths/~1cache");
    assert_eq!(of_path.as_object().unwrap().keys().collect::<Vec<_>>(), ["head", "options"]);
}

//! HTML forms in requests and responses.

use std::{error::Error, fmt};

use axum_core::{
    body::Body,
    extract::{FromRequest, Request},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, Method, header::CONTENT_TYPE};
use policy_core::Refusal;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    body,
    media_type::{FORM, is_form},
    mismatch::Mismatch,
    query::{QueryRejection, parse_pairs, parse_query},
};
use crate::{
    base::{
        body::BodyRejection,
        problem::{Problem, rejection},
    },
    handler::extract::wrapper::wrapper,
};

/// A form (`application/x-www-form-urlencoded`): as the last argument of a handler, the form of the
/// request; as a return value, the form of the response.
///
/// As in HTML, a form sent by GET (or HEAD) is in the query, any other in the body. Repeated names
/// and empty values are read as [`Query`](super::Query) reads them, so a `<select multiple>` is
/// read into a `Vec`, and an input that was left empty into an `Option` as `None`. For files use
/// axum's `Multipart`.
///
/// ```
/// use policy_server::prelude::*;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Deserialize, Serialize)]
/// struct Search {
///     words: String,
/// }
///
/// #[get("/search")]
/// #[post("/search")]
/// #[auth(public)]
/// async fn search(Form(search): Form<Search>) -> String {
///     search.words
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![search]).test();
/// let words = Search { words: "red lamp".to_owned() };
/// assert_eq!(client.post("/search").form(&words).send().await.text(), "red lamp");
/// assert_eq!(client.get("/search?words=red+lamp").send().await.text(), "red lamp");
/// # });
/// ```
///
/// A value that cannot be serialized as a form results in 500.
#[derive(Clone, Copy, Debug, Default)]
pub struct Form<T>(pub T);

wrapper!(Form);

/// Why a request is not the expected form.
#[derive(Debug)]
#[non_exhaustive]
pub enum FormRejection {
    /// 400 `request.query-invalid`: the query of a GET or HEAD request does not match the type.
    Query(QueryRejection),
    /// 415 `request.media-type`: `Content-Type` is not the type of a form.
    MediaType,
    /// 422 `request.form-invalid`: the body does not match the type.
    Mismatch(Mismatch),
    /// The body could not be read.
    Body(BodyRejection),
}

impl FormRejection {
    fn problem(&self) -> Problem {
        match self {
            Self::Query(rejection) => rejection.problem(),
            Self::MediaType => Problem::from(Refusal::MediaType)
                .detail("expected a body with content-type `application/x-www-form-urlencoded`"),
            Self::Mismatch(mismatch) => {
                mismatch.fault().in_fields().list_in(Problem::from(Refusal::FormInvalid))
            }
            Self::Body(rejection) => rejection.problem(),
        }
    }
}

rejection!(FormRejection, MediaType => FORM);

impl<T, S> FromRequest<S> for Form<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = FormRejection;

    async fn from_request(request: Request, _state: &S) -> Result<Self, FormRejection> {
        if matches!(*request.method(), Method::GET | Method::HEAD) {
            return parse_query(request.uri()).map(Self).map_err(FormRejection::Query);
        }
        if !is_form(request.headers()) {
            return Err(FormRejection::MediaType);
        }
        let body = body::read(request).await.map_err(FormRejection::Body)?;
        parse_pairs(&body).map(Self).map_err(FormRejection::Mismatch)
    }
}

impl<T: Serialize> IntoResponse for Form<T> {
    fn into_response(self) -> Response {
        serde_html_form::to_string(&self.0).map(answer).map_err(Problem::internal).into_response()
    }
}

/// Not generic, so that it is compiled once for all `T`.
fn answer(body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(FORM));
    response
}

impl fmt::Display for FormRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Query(_) => "the form in the query is invalid",
            Self::MediaType => "the request does not say that its body is a form",
            Self::Mismatch(_) => "the form in the body is invalid",
            Self::Body(_) => "the body could not be read",
        })
    }
}

impl Error for FormRejection {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Query(error) => Some(error),
            Self::MediaType => None,
            Self::Mismatch(error) => Some(error),
            Self::Body(error) => Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize, Serialize)]
    struct Chosen {
        lamp: Vec<String>,
        count: Option<u32>,
    }

    #[tokio::test]
    async fn repeated_names_and_empty_values_are_read_in_query_and_body_alike() {
        let text = "lamp=red&count=&lamp=blue";
        for method in [Method::GET, Method::POST] {
            let request = http::Request::builder()
                .method(method)
                .uri(format!("/?{text}"))
                .header(CONTENT_TYPE, FORM)
                .body(Body::from(text))
                .unwrap();
            let Form(chosen) = Form::<Chosen>::from_request(request, &()).await.unwrap();
            assert_eq!(chosen.lamp, ["red", "blue"]);
            assert_eq!(chosen.count, None);
            let written = Form(chosen).into_response().into_body().collect().await.unwrap();
            assert_eq!(written.to_bytes(), "lamp=red&lamp=blue");
        }
    }

    #[test]
    fn what_is_no_form_is_an_internal_error() {
        assert_eq!(Form(["not a form"]).into_response().status(), 500);
    }
}

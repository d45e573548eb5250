//! JSON bodies in requests and responses.

use std::{error::Error, fmt};

use axum_core::{
    body::Body,
    extract::{FromRequest, OptionalFromRequest, Request},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, header::CONTENT_TYPE};
use policy_core::Refusal;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::error::Category;

use super::{
    body,
    media_type::{JSON, is_json},
    mismatch::Mismatch,
};
use crate::{
    base::{
        body::BodyRejection,
        escape::printable,
        problem::{Problem, rejection},
    },
    handler::extract::wrapper::wrapper,
};

/// A JSON body (RFC 8259): as the last argument of a handler, the body of the request; as a return
/// value, the body of the response.
///
/// The `Content-Type` of the request must be `application/json` or end with `+json`.
/// `Option<Json<T>>` is `None` for a request without `Content-Type`. [`JsonRejection`] lists the
/// errors.
///
/// ```
/// use policy_server::prelude::*;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Deserialize, Serialize)]
/// struct Order {
///     lamps: u32,
/// }
///
/// #[post("/orders")]
/// #[auth(public)]
/// async fn create(Json(order): Json<Order>) -> (StatusCode, Json<Order>) {
///     (StatusCode::CREATED, Json(order))
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![create]).test();
/// let response = client.post("/orders").json(&Order { lamps: 2 }).send().await;
/// assert_eq!(response.text(), r#"{"lamps":2}"#);
///
/// let response = client.post("/orders").json(&["two"]).send().await;
/// assert_eq!(response.status(), 422);
/// # });
/// ```
///
/// A value that cannot be serialized as JSON results in 500.
#[derive(Clone, Copy, Debug, Default)]
pub struct Json<T>(pub T);

wrapper!(Json);

/// Why a body is not the expected JSON.
#[derive(Debug)]
#[non_exhaustive]
pub enum JsonRejection {
    /// 415 `request.media-type`: `Content-Type` is not the type of JSON.
    MediaType,
    /// 400 `request.json-malformed`: the body is not JSON, or empty.
    Malformed(serde_json::Error),
    /// 422 `request.json-mismatch`: the JSON does not match the type.
    Mismatch(Mismatch),
    /// The body could not be read.
    Body(BodyRejection),
}

impl JsonRejection {
    fn problem(&self) -> Problem {
        match self {
            Self::MediaType => Problem::from(Refusal::MediaType)
                .detail("expected a body with content-type `application/json`"),
            Self::Malformed(error) => {
                Problem::from(Refusal::JsonMalformed).detail(printable(&error.to_string()))
            }
            Self::Mismatch(mismatch) => {
                mismatch.fault().list_in(Problem::from(Refusal::JsonMismatch))
            }
            Self::Body(rejection) => rejection.problem(),
        }
    }
}

rejection!(JsonRejection, MediaType => JSON);

impl<T, S> FromRequest<S> for Json<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = JsonRejection;

    async fn from_request(request: Request, _state: &S) -> Result<Self, JsonRejection> {
        if !is_json(request.headers()) {
            return Err(JsonRejection::MediaType);
        }
        let body = body::read(request).await.map_err(JsonRejection::Body)?;
        parse(&body).map(Self)
    }
}

impl<T, S> OptionalFromRequest<S> for Json<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = JsonRejection;

    async fn from_request(request: Request, state: &S) -> Result<Option<Self>, JsonRejection> {
        if request.headers().contains_key(CONTENT_TYPE) {
            <Self as FromRequest<S>>::from_request(request, state).await.map(Some)
        } else {
            Ok(None)
        }
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, JsonRejection> {
    serde_json::from_slice(body).map_err(|error| match error.classify() {
        Category::Data => {
            let mut again = serde_json::Deserializer::from_slice(body);
            JsonRejection::Mismatch(Mismatch::locate::<T, _>(&mut again, &error))
        }
        Category::Io | Category::Syntax | Category::Eof => JsonRejection::Malformed(error),
    })
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        serde_json::to_vec(&self.0).map(answer).map_err(Problem::internal).into_response()
    }
}

/// Not generic, so that it is compiled once for all `T`.
pub(crate) fn answer(body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

impl fmt::Display for JsonRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MediaType => "the request does not say that its body is JSON",
            Self::Malformed(_) => "the body is not JSON",
            Self::Mismatch(_) => "the JSON in the body has another shape",
            Self::Body(_) => "the body could not be read",
        })
    }
}

impl Error for JsonRejection {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::MediaType => None,
            Self::Malformed(error) => Some(error),
            Self::Mismatch(error) => Some(error),
            Self::Body(error) => Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Order {
        items: Vec<Item>,
    }

    #[derive(Debug, serde::Deserialize)]
    struct Item {
        price: u64,
    }

    fn parse_error(body: &str) -> String {
        parse::<Order>(body.as_bytes()).unwrap_err().problem().to_string()
    }

    #[test]
    fn a_good_body_is_read() {
        let order: Order = parse(br#"{"items": [{"price": 5}]}"#).unwrap();
        assert_eq!(order.items[0].price, 5);
    }

    #[test]
    fn malformed_json_is_located_by_line_and_column() {
        for (body, detail) in [
            ("", "EOF while parsing a value at line 1 column 0"),
            ("{\n\"items\": oops}", "expected value at line 2 column 10"),
            ("{\"items\": []} x", "trailing characters at line 1 column 15"),
        ] {
            let code = "400 The body is not valid JSON (request.json-malformed)";
            assert_eq!(parse_error(body), format!("{code}: {detail}"));
        }
        assert!(parse::<String>(b"\"\xff\"").is_err());
    }

    #[test]
    fn a_mismatch_is_located_by_its_path() {
        for (body, detail) in [
            (
                r#"{"items": [{"price": 5}, {"price": "dear"}]}"#,
                "`/items/1/price` invalid type: string \"dear\", expected u64 at line 1 column 41",
            ),
            (r#"{}"#, "missing field `items` at line 1 column 2"),
        ] {
            let code = "422 The JSON in the body does not have the expected shape \
                        (request.json-mismatch)";
            assert_eq!(parse_error(body), format!("{code}: {detail}"));
        }
    }

    #[test]
    fn a_mismatch_has_a_pointer() {
        for (body, pointer) in [
            (r#"{"items": [{"price": 5}, {"price": "dear"}]}"#, "/items/1/price"),
            (r#"{"items": [{}]}"#, "/items/0"),
            ("7", ""),
        ] {
            let Err(JsonRejection::Mismatch(mismatch)) = parse::<Order>(body.as_bytes()) else {
                panic!("{body} is an order");
            };
            assert_eq!(mismatch.pointer(), pointer, "{body}");
        }
        let keys = parse::<std::collections::BTreeMap<String, u8>>(br#"{"a/b~": "x"}"#);
        let Err(JsonRejection::Mismatch(mismatch)) = keys else { panic!("x is a number") };
        assert_eq!(mismatch.pointer(), "/a~1b~0");
    }

    #[test]
    fn a_mismatch_quotes_no_control_characters_and_no_long_text() {
        let message = parse_error(r#"{"\u0000\u000d\u000aset-cookie: a=b": 1}"#);
        assert!(message.contains(r"\0\r\nset-cookie"), "{message}");
        assert!(!message.contains(char::is_control), "{message}");
        let long = format!(r#"{{"items": "{}"}}"#, "x".repeat(100_000));
        assert!(parse_error(&long).len() < 1000);
    }

    #[test]
    fn deep_nesting_is_malformed() {
        let deep = "[".repeat(1_000_000);
        assert!(matches!(
            parse::<serde_json::Value>(deep.as_bytes()),
            Err(JsonRejection::Malformed(_))
        ));
    }
}

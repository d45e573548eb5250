//! Validated values as handler arguments.

use std::{error::Error, fmt, ops::Deref};

use axum_core::{
    extract::{FromRequest, FromRequestParts, Request},
    response::{IntoResponse, Response},
};
use http::request::Parts;

use super::media_type::is_json;
use crate::base::problem::{Invalid, Problem};

/// A type whose values must satisfy rules that the type itself does not express.
///
/// [`Valid`] checks them before a handler runs.
#[diagnostic::on_unimplemented(
    message = "`{Self}`: this type cannot be validated (handler.not-validated)",
    label = "`Validate` is not implemented",
    note = "implement `policy_server::extract::Validate`, or take the extractor without `Valid`"
)]
pub trait Validate {
    /// Reports all errors, each with its location.
    ///
    /// # Errors
    ///
    /// The errors, as [`Invalid::result`] returns them.
    fn validate(&self) -> Result<(), Invalid>;
}

/// An extractor with a validated value: `Valid<Json<T>>`, `Valid<Form<T>>`, `Valid<Query<T>>`, or
/// another one around a `T`.
///
/// A value that breaks rules results in 422 `request.invalid`. All errors are listed: by JSON
/// pointer for a JSON body, by field name otherwise.
///
/// ```
/// use policy_server::prelude::*;
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct NewLamp {
///     name: String,
///     price: u32,
/// }
///
/// impl Validate for NewLamp {
///     fn validate(&self) -> Result<(), Invalid> {
///         Invalid::new()
///             .check(!self.name.is_empty(), "/name", "must not be empty")
///             .check(self.price > 0, "/price", "must be at least 1")
///             .result()
///     }
/// }
///
/// #[post("/lamps")]
/// #[auth(public)]
/// async fn create(Valid(Json(lamp)): Valid<Json<NewLamp>>) -> (StatusCode, String) {
///     (StatusCode::CREATED, lamp.name)
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// # let client = App::new(()).routes(routes![create]).test();
/// let lamp = serde_json::json!({ "name": "", "price": 0 });
/// let response = client.post("/lamps").json(&lamp).send().await;
/// assert_eq!(response.status(), 422);
/// let problem: serde_json::Value = response.json();
/// assert_eq!(
///     problem["errors"],
///     serde_json::json!([
///         { "pointer": "/name", "detail": "must not be empty" },
///         { "pointer": "/price", "detail": "must be at least 1" },
///     ])
/// );
/// # });
/// ```
///
/// Errors before there is a value, such as a body that is not JSON, are reported as without
/// `Valid`. [`Invalid`] shows how to convert the errors of other libraries.
#[derive(Clone, Copy, Debug)]
pub struct Valid<E>(pub E);

impl<E> Deref for Valid<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.0
    }
}

/// Why there is no valid value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ValidRejection<R> {
    /// The inner extractor failed.
    Extract(R),
    /// 422 `request.invalid`: the value breaks rules.
    Invalid(Invalid),
}

impl<E, S> FromRequest<S> for Valid<E>
where
    E: FromRequest<S> + Deref<Target: Validate>,
    S: Send + Sync,
{
    type Rejection = ValidRejection<E::Rejection>;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        let is_json = is_json(request.headers());
        let value = E::from_request(request, state).await.map_err(ValidRejection::Extract)?;
        match value.validate() {
            Ok(()) => Ok(Self(value)),
            Err(invalid) if is_json => Err(ValidRejection::Invalid(invalid)),
            Err(invalid) => Err(ValidRejection::Invalid(invalid.in_fields())),
        }
    }
}

impl<E, S> FromRequestParts<S> for Valid<E>
where
    E: FromRequestParts<S> + Deref<Target: Validate>,
    S: Send + Sync,
{
    type Rejection = ValidRejection<E::Rejection>;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let value = E::from_request_parts(parts, state).await.map_err(ValidRejection::Extract)?;
        match value.validate() {
            Ok(()) => Ok(Self(value)),
            Err(invalid) => Err(ValidRejection::Invalid(invalid.in_fields())),
        }
    }
}

impl<R: Into<Problem>> From<ValidRejection<R>> for Problem {
    fn from(rejection: ValidRejection<R>) -> Self {
        match rejection {
            ValidRejection::Extract(rejection) => rejection.into(),
            ValidRejection::Invalid(invalid) => invalid.into(),
        }
    }
}

impl<R: IntoResponse> IntoResponse for ValidRejection<R> {
    fn into_response(self) -> Response {
        match self {
            Self::Extract(rejection) => rejection.into_response(),
            Self::Invalid(invalid) => invalid.into_response(),
        }
    }
}

impl<R: fmt::Display> fmt::Display for ValidRejection<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Extract(rejection) => rejection.fmt(f),
            Self::Invalid(_) => f.write_str("the value breaks a rule"),
        }
    }
}

impl<R: Error> Error for ValidRejection<R> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Extract(rejection) => rejection.source(),
            Self::Invalid(invalid) => Some(invalid),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{handler::extract::ValidRejection, prelude::*, testing::TestResponse};

    #[derive(serde::Deserialize, serde::Serialize)]
    struct Order {
        lamps: u32,
        name: String,
    }

    impl Validate for Order {
        fn validate(&self) -> Result<(), Invalid> {
            Invalid::new()
                .check(self.lamps > 0, "/lamps", "must be at least 1")
                .check(!self.name.is_empty(), "name", "must not be empty")
                .result()
        }
    }

    #[get("/form")]
    #[post("/form")]
    #[auth(public)]
    async fn form(order: Valid<Form<Order>>) -> String {
        order.name.clone()
    }

    #[post("/query")]
    #[auth(public)]
    async fn query(Valid(Query(order)): Valid<Query<Order>>, body: String) -> String {
        order.name + &body
    }

    #[post("/axum")]
    #[auth(public)]
    async fn axum_json(order: Valid<axum::Json<Order>>) -> String {
        order.name.clone()
    }

    #[post("/result")]
    #[auth(public)]
    async fn result(
        order: Result<Valid<Json<Order>>, ValidRejection<crate::handler::extract::JsonRejection>>,
    ) -> Result<String, Problem> {
        match order {
            Err(ValidRejection::Invalid(invalid)) => Ok(invalid.to_string()),
            other => Ok(other?.name.clone()),
        }
    }

    fn client() -> crate::testing::TestClient {
        App::new(()).routes(routes![form, query, axum_json, result]).test()
    }

    fn order(lamps: u32, name: &str) -> Order {
        Order { lamps, name: name.to_owned() }
    }

    fn errors(response: &TestResponse) -> serde_json::Value {
        assert_eq!(response.status(), 422);
        let mut problem: serde_json::Value = response.json();
        assert_eq!(problem["code"], "request.invalid");
        problem["errors"].take()
    }

    #[tokio::test]
    async fn a_valid_value_reaches_the_handler() {
        let client = client();
        let lamp = order(1, "a");
        assert_eq!(client.post("/axum").json(&lamp).send().await.text(), "a");
        assert_eq!(client.post("/form").form(&lamp).send().await.text(), "a");
        assert_eq!(client.get("/form?lamps=1&name=a").send().await.text(), "a");
        assert_eq!(client.post("/query?lamps=1&name=a").body("b").send().await.text(), "ab");
    }

    #[tokio::test]
    async fn all_faults_of_json_have_pointers() {
        let response = client().post("/axum").json(&order(0, "")).send().await;
        let wanted = serde_json::json!([
            { "pointer": "/lamps", "detail": "must be at least 1" },
            { "pointer": "/name", "detail": "must not be empty" },
        ]);
        assert_eq!(errors(&response), wanted);
    }

    #[tokio::test]
    async fn all_faults_of_forms_have_names() {
        let client = client();
        let json = "application/json";
        for request in [
            client.post("/form").form(&order(0, "")),
            client.get("/form?lamps=0&name="),
            client.post("/query?lamps=0&name=").header("content-type", json),
        ] {
            let wanted = serde_json::json!([
                { "field": "lamps", "detail": "must be at least 1" },
                { "field": "name", "detail": "must not be empty" },
            ]);
            assert_eq!(errors(&request.send().await), wanted);
        }
    }

    #[tokio::test]
    async fn malformed_values_are_refused_as_without_valid() {
        let client = client();
        assert_eq!(client.post("/query?lamps=x").send().await.status(), 400);
        let malformed = client.post("/result").header("content-type", "application/json");
        assert_eq!(malformed.body("{").send().await.status(), 400);
    }

    #[tokio::test]
    async fn a_handler_can_answer_itself() {
        let response = client().post("/result").json(&order(0, "a")).send().await;
        assert_eq!(response.text(), "`/lamps` must be at least 1");
    }
}

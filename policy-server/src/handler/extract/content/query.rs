//! The query of the request target.

use std::{error::Error, fmt};

use axum_core::extract::{FromRequestParts, OptionalFromRequestParts};
use http::{Uri, request::Parts};
use policy_core::Refusal;
use serde::de::DeserializeOwned;

use super::{mismatch::Mismatch, pairs::Pairs};
use crate::{
    base::problem::{Problem, rejection},
    handler::extract::wrapper::wrapper,
};

/// The query of the request, read as form data: `?page=2&sort=name`.
///
/// - A field of a sequence type, such as `Vec<String>`, takes all values of its name:
///   `?tag=a&tag=b`, or `?tag=a`. Mark it `#[serde(default)]` if there may be none. Any other field
///   takes one value, and a repeated name is an error.
/// - An `Option` is `None` for an empty value, `?page=`, as for a missing one, whatever its type. A
///   plain `String` is then empty.
/// - `Option<Query<T>>` is `None` for a request without a query or with an empty one.
///
/// ```
/// use policy_server::prelude::*;
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Search {
///     page: Option<u32>,
///     #[serde(default)]
///     tag: Vec<String>,
/// }
///
/// #[get("/orders")]
/// #[auth(public)]
/// async fn orders(Query(search): Query<Search>) -> String {
///     format!("page {} of {:?}", search.page.unwrap_or(1), search.tag)
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![orders]).test();
/// let found = client.get("/orders?page=&tag=red&tag=lamp").send().await;
/// assert_eq!(found.text(), "page 1 of [\"red\", \"lamp\"]");
/// assert_eq!(client.get("/orders?page=two").send().await.status(), 400);
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Query<T>(pub T);

wrapper!(Query);

/// 400 `request.query-invalid`: the query does not match the type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryRejection(Mismatch);

impl QueryRejection {
    /// The error, and its location.
    pub fn mismatch(&self) -> &Mismatch {
        &self.0
    }

    /// A value of the query that is not as expected.
    pub(in crate::handler::extract) fn at(name: &str, reason: &str) -> Self {
        Self(Mismatch::at(name, reason))
    }

    pub(super) fn problem(&self) -> Problem {
        self.0.fault().in_fields().list_in(Problem::from(Refusal::QueryInvalid))
    }
}

rejection!(QueryRejection);

impl<T, S> FromRequestParts<S> for Query<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = QueryRejection;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, QueryRejection> {
        parse_query(&parts.uri).map(Self)
    }
}

impl<T, S> OptionalFromRequestParts<S> for Query<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = QueryRejection;

    async fn from_request_parts(
        parts: &mut Parts,
        _state: &S,
    ) -> Result<Option<Self>, QueryRejection> {
        match parts.uri.query() {
            None | Some("") => Ok(None),
            Some(_) => parse_query(&parts.uri).map(|value| Some(Self(value))),
        }
    }
}

pub(in crate::handler::extract) fn parse_query<T: DeserializeOwned>(
    uri: &Uri,
) -> Result<T, QueryRejection> {
    parse_pairs(uri.query().unwrap_or_default().as_bytes()).map_err(QueryRejection)
}

/// Reads `application/x-www-form-urlencoded` (URL Standard, 5.1).
pub(super) fn parse_pairs<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Mismatch> {
    T::deserialize(Pairs::read(bytes))
        .map_err(|error| Mismatch::locate::<T, _>(Pairs::read(bytes), &error))
}

impl fmt::Display for QueryRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the query is invalid")
    }
}

impl Error for QueryRejection {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

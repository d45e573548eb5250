//! Preconditions of a request that changes something.

use std::convert::Infallible;

use axum_core::extract::FromRequestParts;
use http::{header::IF_MATCH, request::Parts};
use policy_core::{
    Refusal,
    conditional::{Conditions, PreconditionVerdict, Validators},
};

use crate::{
    base::problem::Problem,
    handler::response::{ETag, LastModified},
};

/// The preconditions of the request (RFC 9110 13.1), for handlers that change something. They
/// prevent lost updates: if two clients read the same state, the second to write gets an error.
///
/// ```
/// use policy_server::prelude::*;
///
/// #[put("/lamps/{id}")]
/// #[auth(public)]
/// async fn replace(id: u64, preconditions: Preconditions) -> Result<(ETag, Json<u64>), Problem> {
///     let version = 7;
///     preconditions.require_match()?.check(&ETag::version(version))?;
///     Ok((ETag::version(version + 1), Json(id)))
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![replace]).test();
/// let put = |tag| client.put("/lamps/1").header("if-match", tag).send();
/// assert_eq!(put("\"7\"").await.status(), 200);
/// assert_eq!(put("\"6\"").await.status(), 412);
/// assert_eq!(client.put("/lamps/1").send().await.status(), 428);
/// # });
/// ```
///
/// The state must not change between the check and the write: do both in one transaction, or write
/// only if the version is still the one that was checked.
///
/// A handler of GET does not need this: the app responds with 304 by the [`ETag`] and
/// [`LastModified`] of the response.
#[derive(Clone, Debug)]
pub struct Preconditions {
    conditions: Option<Box<Conditions>>,
    has_if_match: bool,
}

impl Preconditions {
    /// Compares the preconditions with the current state: an [`ETag`], a [`LastModified`], both, or
    /// `None` if the resource does not exist yet.
    ///
    /// ```
    /// use policy_server::prelude::*;
    ///
    /// /// Creates a lamp only where there is none, if the request says `If-None-Match: *`.
    /// fn may_create(preconditions: &Preconditions, there: Option<&ETag>) -> Result<(), Problem> {
    ///     preconditions.check(there)
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// 412 `request.precondition-failed`, evaluated in the order of RFC 9110 13.2.2.
    pub fn check(&self, current: impl Into<Current>) -> Result<(), Problem> {
        let Current(current) = current.into();
        match self.conditions.as_ref().map(|conditions| conditions.evaluate(current.as_ref())) {
            // The app responds with 304 itself.
            None | Some(PreconditionVerdict::Proceed | PreconditionVerdict::NotModified) => Ok(()),
            Some(PreconditionVerdict::Failed) => Err(Problem::from(Refusal::PreconditionFailed)),
        }
    }

    /// Requires `If-Match`, so that no client overwrites a state that it has not seen.
    ///
    /// # Errors
    ///
    /// 428 `request.precondition-required` (RFC 6585 3): the header is missing.
    pub fn require_match(&self) -> Result<&Self, Problem> {
        if self.has_if_match { Ok(self) } else { Err(Refusal::PreconditionRequired.into()) }
    }
}

/// The current state, for [`Preconditions::check`].
#[derive(Clone, Debug)]
pub struct Current(Option<Validators>);

macro_rules! current {
    ($($source:ty as $pattern:pat => $etag:expr, $last_modified:expr;)*) => {$(
        impl From<Option<$source>> for Current {
            fn from(source: Option<$source>) -> Self {
                Self(source.map(|$pattern| Validators {
                    etag: $etag,
                    last_modified: $last_modified,
                }))
            }
        }

        impl From<$source> for Current {
            fn from(source: $source) -> Self {
                Self::from(Some(source))
            }
        }
    )*};
}

current! {
    &ETag as ETag(etag) => Some(etag.clone()), None;
    LastModified as LastModified(date) => None, Some(date);
    (&ETag, LastModified) as (ETag(etag), LastModified(date)) => Some(etag.clone()), Some(date);
}

impl<S: Send + Sync> FromRequestParts<S> for Preconditions {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self {
            conditions: Conditions::read(&parts.method, &parts.headers),
            has_if_match: parts.headers.contains_key(IF_MATCH),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use http::{Method, Request};

    use super::*;

    async fn extract(method: Method, name: &str, value: &str) -> Preconditions {
        let request = Request::builder().method(method).header(name, value);
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        Preconditions::from_request_parts(&mut parts, &()).await.unwrap()
    }

    fn code(result: Result<(), Problem>) -> u16 {
        result.err().map_or(200, |problem| problem.status().as_u16())
    }

    #[tokio::test]
    async fn dates_count_without_a_tag() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let at = |seconds: u64| {
            LastModified::from(SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777 + seconds))
        };
        let unmodified = extract(Method::DELETE, "if-unmodified-since", date).await;
        assert_eq!(code(unmodified.check(at(0))), 200);
        assert_eq!(code(unmodified.check(at(1))), 412);
    }

    #[tokio::test]
    async fn a_reader_is_answered_by_the_app() {
        let preconditions = extract(Method::GET, "if-none-match", "\"7\"").await;
        assert_eq!(code(preconditions.check(&ETag::version(7))), 200);
    }
}

//! The authenticated caller, as a handler argument.

use axum_core::extract::{FromRequestParts, OptionalFromRequestParts};
use http::request::Parts;
use policy_core::Refusal;

use super::context::Context;
use crate::{
    auth::{caller::Caller, principal::Principal},
    base::problem::Problem,
};

/// The log message for a handler that requires a caller on a route that does not.
const NOBODY_ASKED: &str =
    "a handler takes a `Principal` or a `Caller`, and its route is public or `optional`";

impl<S: Send + Sync> FromRequestParts<S> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        user(parts)?.ok_or_else(|| Problem::internal(NOBODY_ASKED))
    }
}

impl<S: Send + Sync> OptionalFromRequestParts<S> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Option<Self>, Problem> {
        user(parts)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let caller = principal(parts)?.map(Self::new);
        caller.ok_or_else(|| Problem::internal(NOBODY_ASKED))
    }
}

impl<S: Send + Sync> OptionalFromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Option<Self>, Problem> {
        Ok(principal(parts)?.map(Self::new))
    }
}

/// The caller as a user of this app. One of another issuer is refused: the macro sees a `Principal`
/// only by its name, and nothing that a mounted router takes.
fn user(parts: &Parts) -> Result<Option<Principal>, Problem> {
    let principal = principal(parts)?;
    match principal.as_ref().and_then(Principal::foreign_issuer) {
        Some(_) => Err(Refusal::CallerForeign.into()),
        None => Ok(principal),
    }
}

fn principal(parts: &Parts) -> Result<Option<Principal>, Problem> {
    let auth = &Context::from_extensions(&parts.extensions)?.auth;
    Ok(auth.as_ref().and_then(|auth| auth.principal()).cloned())
}

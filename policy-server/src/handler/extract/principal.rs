//! The authenticated caller, as a handler argument.

use axum_core::extract::{FromRequestParts, OptionalFromRequestParts};
use http::request::Parts;

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

fn user(parts: &Parts) -> Result<Option<Principal>, Problem> {
    let auth = &Context::from_extensions(&parts.extensions)?.auth;
    let user = auth.as_ref().map(|auth| auth.user()).transpose()?;
    Ok(user.flatten().cloned())
}

fn principal(parts: &Parts) -> Result<Option<Principal>, Problem> {
    let auth = &Context::from_extensions(&parts.extensions)?.auth;
    Ok(auth.as_ref().and_then(|auth| auth.principal()).cloned())
}

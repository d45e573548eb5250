//! The authenticated caller, as a handler argument.

use axum_core::extract::{FromRequestParts, OptionalFromRequestParts};
use http::request::Parts;

use super::context::{Context, ContextRejection};
use crate::auth::{caller::Caller, principal::Principal};

impl<S: Send + Sync> FromRequestParts<S> for Principal {
    type Rejection = ContextRejection;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ContextRejection> {
        user(parts)?.ok_or(ContextRejection::NO_CALLER)
    }
}

impl<S: Send + Sync> OptionalFromRequestParts<S> for Principal {
    type Rejection = ContextRejection;

    async fn from_request_parts(
        parts: &mut Parts,
        _state: &S,
    ) -> Result<Option<Self>, ContextRejection> {
        user(parts)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ContextRejection;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ContextRejection> {
        let caller = principal(parts)?.map(Self::new);
        caller.ok_or(ContextRejection::NO_CALLER)
    }
}

impl<S: Send + Sync> OptionalFromRequestParts<S> for Caller {
    type Rejection = ContextRejection;

    async fn from_request_parts(
        parts: &mut Parts,
        _state: &S,
    ) -> Result<Option<Self>, ContextRejection> {
        Ok(principal(parts)?.map(Self::new))
    }
}

/// The caller as a user of this app, if there is one.
pub(crate) fn user(parts: &Parts) -> Result<Option<Principal>, ContextRejection> {
    let auth = &Context::from_extensions(&parts.extensions)?.auth;
    let user = auth.as_ref().map(|auth| auth.user()).transpose();
    let user = user.map_err(ContextRejection::from_problem)?;
    Ok(user.flatten().cloned())
}

fn principal(parts: &Parts) -> Result<Option<Principal>, ContextRejection> {
    let auth = &Context::from_extensions(&parts.extensions)?.auth;
    Ok(auth.as_ref().and_then(|auth| auth.principal()).cloned())
}

//! Issuing and revoking tokens, as a handler argument.

use std::sync::Arc;

use axum_core::extract::FromRequestParts;
use http::request::Parts;

use super::context::{Context, ContextRejection};
use crate::auth::{principal::Principal, tokens::Tokens};

impl<S: Send + Sync> FromRequestParts<S> for Tokens {
    type Rejection = ContextRejection;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ContextRejection> {
        let auth = Context::from_extensions(&parts.extensions)?.auth.as_ref();
        let service = auth.and_then(|auth| Some((auth, auth.guard().tokens.as_ref()?)));
        let (auth, service) = service.ok_or(ContextRejection::NO_TOKENS)?;
        // The response may contain a token.
        auth.note_issued();
        let cut_offs = Arc::clone(auth.cut_offs());
        Ok(Self::new(Arc::clone(service), cut_offs, auth.principal().map(Principal::caller)))
    }
}

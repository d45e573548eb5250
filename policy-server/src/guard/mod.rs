//! Gates 5 to 9: where a request comes from, who sent it, and whether they may.

mod authenticate;
mod denied;
mod form_token;
mod lasting;
mod request_auth;

use std::sync::Arc;

use policy_core::{auth::AuthPolicy, csrf::CsrfPolicy};

pub(crate) use denied::Denied;
pub(crate) use lasting::UntilEnded;
pub(crate) use request_auth::{RequestAuth, Settled};

use crate::{clock::Clock, endings::Endings, scheme::SharedScheme, session::SessionService, tokens::TokenService};

/// What an app knows its callers by.
#[derive(Debug)]
pub(crate) struct Guard {
    pub(crate) sessions: Option<Arc<SessionService>>,
    pub(crate) tokens: Option<Arc<TokenService>>,
    pub(crate) clock: Clock,
    pub(crate) endings: Endings,
}

impl Guard {
    /// Whether it has anything to ask on routes that are open to everybody.
    pub(crate) fn is_needed(&self) -> bool {
        self.sessions.is_some() || self.tokens.is_some()
    }
}

/// What one route asks of its callers.
#[derive(Clone, Debug)]
pub(crate) struct RouteGuard {
    pub(crate) auth: AuthPolicy,
    pub(crate) csrf: CsrfPolicy,
    /// The scheme that the policy names.
    pub(crate) scheme: Option<SharedScheme>,
}

impl RouteGuard {
    /// Anybody.
    pub(crate) const fn public() -> Self {
        Self { auth: AuthPolicy::Public, csrf: CsrfPolicy::Token, scheme: None }
    }
}

//! The findings of the gates about the caller of a request, for a candidate policy that is
//! evaluated beside them. Nothing is verified or loaded again.

use std::sync::{Arc, OnceLock};

use http::HeaderMap;
use policy_core::{Refusal, csrf::TokenVerdict, session::Record};

use super::{Denial, RequestAuth, form_token::Form, principal::Principal};
use crate::auth::session::RequestSession;

/// Findings that are otherwise dropped once a gate has refused, or the handler has begun.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Why gates 7 to 9 refused.
    refused: OnceLock<Refusal>,
    /// The caller whom gate 8 or 9 refused.
    turned_away: OnceLock<Principal>,
    /// The check of a handler that takes the session itself.
    session_check: OnceLock<Result<(), Refusal>>,
}

/// The findings about the session that a request presents.
pub(crate) enum SessionFinding<'a> {
    /// The session was not loaded.
    Unasked,
    /// There is no session.
    Nobody,
    Live(&'a Record),
    /// The store failed.
    Unavailable,
}

impl RequestAuth {
    /// Notes why a gate refuses the request.
    pub(crate) fn note_refused(&self, refusal: Refusal) {
        let _ = self.findings.refused.set(refusal);
    }

    /// Notes the caller whom a gate refuses.
    pub(crate) fn note_turned_away(&self, principal: Option<Principal>) {
        if let Some(principal) = principal {
            let _ = self.findings.turned_away.set(principal);
        }
    }

    pub(super) fn note_session_check(&self, checked: &Result<&Arc<RequestSession>, Denial>) {
        let checked = checked.as_ref().map(drop).map_err(Denial::refusal);
        let _ = self.findings.session_check.set(checked);
    }

    /// Why gates 7 to 9 refused, if they did.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.findings.refused.get().copied()
    }

    /// The caller whom gate 7 recognised, whether or not the gates behind it let them through.
    pub(crate) fn recognized(&self) -> Option<&Principal> {
        self.principal().or_else(|| self.findings.turned_away.get())
    }

    /// The check of a handler that takes the session itself, if there was one.
    pub(crate) fn session_check(&self) -> Option<Result<(), Refusal>> {
        self.findings.session_check.get().copied()
    }

    /// The findings about the session.
    pub(crate) fn session_finding(&self) -> SessionFinding<'_> {
        // The cookie of such a request is not read.
        if self.is_explicit() {
            return SessionFinding::Unasked;
        }
        let loaded = match (self.session.get(), &self.loaded) {
            (Some(session), _) => session.loaded_already(),
            (None, loaded) => loaded.as_ref().map(|loaded| loaded.load()),
        };
        match loaded {
            None => SessionFinding::Unasked,
            Some(Ok(None)) => SessionFinding::Nobody,
            Some(Ok(Some(record))) => SessionFinding::Live(record),
            Some(Err(_)) => SessionFinding::Unavailable,
        }
    }

    /// Whether the request's CSRF token matches this session; `None` if it has no token.
    pub(crate) fn csrf_finding(&self, headers: &HeaderMap, session: &Record) -> Option<bool> {
        let has_token =
            headers.contains_key(policy_core::csrf::HEADER) || self.form_token.get().is_some();
        let verdict = has_token.then(|| self.csrf_token(headers, session))?;
        Some(verdict == Some(TokenVerdict::Valid))
    }

    /// Whether there may be a CSRF token in a form that was not read.
    pub(crate) fn has_unread_form(&self, headers: &HeaderMap) -> bool {
        self.form_token.get().is_none() && Form::detect(headers).is_some()
    }
}

//! The response to a request that a gate refuses.

use std::borrow::Cow;

use axum_core::response::{IntoResponse, Response};
use http::{
    HeaderMap, HeaderValue, Method, StatusCode,
    header::{LOCATION, ORIGIN, WWW_AUTHENTICATE},
};
use policy_core::{Refusal, head::Single, token::TokenError};

use super::AuthService;
use crate::{
    auth::session::CommitError,
    base::{
        body::BodyRejection,
        escape::printable,
        event::log,
        log::{RedirectedRefusal, RefusalEntry, RefusalReason},
        problem::Problem,
    },
};

/// Why a request is refused, and what the response states.
#[derive(Debug)]
pub(crate) struct Denial {
    refusal: Refusal,
    /// Why a token is refused: for the log, and in development also for the response.
    cause: Option<TokenError>,
    /// An explanation for the developer of a page or a client: for the log, and in development for
    /// the response.
    explanation: Option<Box<Cow<'static, str>>>,
    challenge: Option<HeaderValue>,
    login: Option<HeaderValue>,
    problem: Option<Box<Problem>>,
}

impl From<Refusal> for Denial {
    fn from(refusal: Refusal) -> Self {
        let explanation = None;
        Self { refusal, cause: None, explanation, challenge: None, login: None, problem: None }
    }
}

impl From<CommitError> for Denial {
    fn from(error: CommitError) -> Self {
        let refusal = error.refusal();
        if refusal.status() >= 500 {
            let text = error.to_string();
            log!(SessionNotStored, error = %printable(&text));
        }
        refusal.into()
    }
}

impl Denial {
    /// A store failed. The failure is logged where it happened, and logs no user out.
    pub(crate) fn unchecked() -> Self {
        Refusal::CredentialsUnchecked.into()
    }

    /// A problem that a gate found, such as a body over its limit.
    pub(crate) fn problem(refusal: Refusal, problem: Problem) -> Self {
        Self { problem: Some(Box::new(problem)), ..Self::from(refusal) }
    }

    pub(crate) fn cause(mut self, cause: TokenError) -> Self {
        self.cause = Some(cause);
        self
    }

    pub(crate) fn explained(mut self, explanation: Option<Cow<'static, str>>) -> Self {
        self.explanation = explanation.map(Box::new);
        self
    }

    pub(crate) fn challenge(mut self, challenge: Option<HeaderValue>) -> Self {
        self.challenge = challenge;
        self
    }

    /// The login page, to which a navigation is redirected.
    pub(crate) fn login(mut self, page: Option<HeaderValue>) -> Self {
        self.login = page;
        self
    }

    pub(crate) fn refusal(&self) -> Refusal {
        self.refusal
    }

    /// The problem of a refusal that redirects and challenges no client.
    pub(crate) fn into_problem(self) -> Problem {
        self.problem.map_or_else(|| self.refusal.into(), |problem| *problem)
    }
}

impl AuthService {
    /// Logs the refusal and builds the response.
    pub(crate) fn deny(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        mut denied: Denial,
    ) -> Response {
        let refused = self.note_denied(method, path, headers, &mut denied);
        RefusalEntry::note(refused, denied.into_response())
    }

    /// Logs the refusal and builds the problem, for a gate that redirects and challenges no client.
    pub(crate) fn problem_of(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        mut denied: Denial,
    ) -> Problem {
        let refused = self.note_denied(method, path, headers, &mut denied);
        denied.into_problem().with_refused(refused)
    }

    fn note_denied(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        denied: &mut Denial,
    ) -> Option<RefusalEntry> {
        let origin = Single::read(headers, &ORIGIN);
        let explanation: Option<&str> = denied.explanation.as_deref().map(AsRef::as_ref);
        let detail = denied.cause.map_or(explanation, |cause| Some(cause.detail()));
        let why = RefusalReason { cause: denied.cause.map(TokenError::event), detail };
        let refused = self.refusals.log(denied.refusal, why, method, path, origin);
        if self.is_development && denied.problem.is_none() {
            let explanation = denied.explanation.take().map(|explanation| *explanation);
            let explanation = explanation.or_else(|| denied.cause.map(TokenError::explanation));
            denied.problem = explanation
                .map(|explanation| Box::new(Problem::from(denied.refusal).detail(explanation)));
        }
        refused
    }
}

impl IntoResponse for Denial {
    fn into_response(mut self) -> Response {
        let challenge = self.challenge.take();
        let mut response = match self.login.take() {
            Some(page) => {
                let mut response = StatusCode::SEE_OTHER.into_response();
                response.headers_mut().insert(LOCATION, page);
                response.extensions_mut().insert(RedirectedRefusal(self.refusal));
                response
            }
            None => self.into_problem().into_response(),
        };
        if let Some(challenge) = challenge {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

impl From<BodyRejection> for Denial {
    fn from(rejection: BodyRejection) -> Self {
        Self::problem(Refusal::BodyIncomplete, Problem::from(rejection))
    }
}

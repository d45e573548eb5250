//! The request context that dispatch provides to extractors.

use std::{error::Error, fmt, sync::Arc};

use http::Extensions;

use crate::{
    auth::RequestAuth,
    base::problem::{Problem, rejection},
    client::Client,
    handler::RouteInfo,
};

/// The route and the connection of a request; an extension of every request that reaches a handler
/// with extractors, a mounted service or the fallback.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    /// The client and its connection.
    pub(crate) client: Client,
    pub(crate) route: Arc<RouteInfo>,
    /// The authentication state; `None` in an app without authentication.
    pub(crate) auth: Option<Arc<RequestAuth>>,
    /// The maximum number of bytes that an extractor reads of the body, even if a layer or a service
    /// around it has changed the body.
    pub(crate) body_limit: u64,
    pub(crate) reach: Reach,
}

/// The recipient of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reach {
    /// The extractors of a handler: nothing is between them and the gates.
    Extractors,
    /// A layer or a service, which may have its own limits.
    Services,
}

impl Context {
    pub(crate) fn from_extensions(extensions: &Extensions) -> Result<&Self, ContextRejection> {
        extensions.get().ok_or(ContextRejection::OUTSIDE_OF_APP)
    }
}

/// Makes an argument optional: `Option<..>` is `None` where the extractor itself fails.
macro_rules! optional {
    ($extractor:ty) => {
        impl<S: Send + Sync> axum_core::extract::OptionalFromRequestParts<S> for $extractor {
            type Rejection = $crate::handler::extract::ContextRejection;

            async fn from_request_parts(
                parts: &mut http::request::Parts,
                state: &S,
            ) -> Result<Option<Self>, Self::Rejection> {
                use axum_core::extract::FromRequestParts;

                let extracted = <Self as FromRequestParts<S>>::from_request_parts(parts, state);
                Ok(extracted.await.ok())
            }
        }
    };
}

pub(crate) use optional;

/// Why a handler does not get what the app knows about a request: its route, its client, its caller,
/// session, tokens, nonce or request id.
///
/// Unless a gate refuses the request, it is a mistake in the configuration of the service, which is
/// logged and results in 500.
#[derive(Debug)]
pub struct ContextRejection(Reason);

#[derive(Debug)]
enum Reason {
    /// A gate refuses the request with this problem.
    Refused(Box<Problem>),
    /// The service is configured wrongly.
    Mistake(&'static str),
}

impl ContextRejection {
    pub(crate) const OUTSIDE_OF_APP: Self =
        Self::mistake("the request did not come through a route of an app");
    pub(crate) const NO_CALLER: Self = Self::mistake(
        "a handler takes a `Principal` or a `Caller`, and its route is public or `optional`",
    );
    pub(crate) const NO_SESSIONS: Self = Self::mistake(
        "a handler takes a session, but the app has none: give it some with \
         `App::sessions(Sessions::embedded(\"sessions.redb\"))`",
    );
    pub(crate) const NO_TOKENS: Self = Self::mistake(
        "a handler takes `Tokens`, but the app has none: give it keys with \
         `App::tokens(Tokens::hs256(keys)?)`",
    );
    pub(crate) const NO_NONCE: Self = Self::mistake(
        "a handler takes a `CspNonce`, and the Content-Security-Policy of its route has none: write \
         `'nonce'` into its sources, as in `#[headers(csp = \"script-src 'nonce'\")]`",
    );
    pub(crate) const NO_PEER: Self = Self::mistake("the request did not come over a socket");
    pub(crate) const NO_REQUEST_ID: Self =
        Self::mistake("the app assigns no request ids: call `App::request_ids`");

    const fn mistake(words: &'static str) -> Self {
        Self(Reason::Mistake(words))
    }

    /// The rejection of a request that a gate refuses with this problem.
    pub(crate) fn from_problem(problem: impl Into<Problem>) -> Self {
        Self(Reason::Refused(Box::new(problem.into())))
    }

    fn problem(self) -> Problem {
        match self {
            Self(Reason::Refused(problem)) => *problem,
            mistake => Problem::internal(mistake),
        }
    }
}

rejection!(ContextRejection);

impl fmt::Display for ContextRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Reason::Refused(_) => "a gate refuses the request",
            Reason::Mistake(words) => words,
        })
    }
}

impl Error for ContextRejection {}

//! What the dispatcher leaves in a request for extractors.

use std::{error::Error, fmt, sync::Arc};

use http::Extensions;

use crate::{
    auth::RequestAuth,
    base::problem::{Problem, rejection},
    client::Client,
    handler::RouteInfo,
};

/// The route that was found for a request and the connection that brought it; an extension of
/// every request that reaches a handler with extractors.
///
/// Where it is, the body is already limited to what the app allows.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    /// Who sent it, and over which connection.
    pub(crate) client: Client,
    pub(crate) route: Arc<RouteInfo>,
    /// Who sent the request; nothing in an app that knows nobody.
    pub(crate) auth: Option<Arc<RequestAuth>>,
}

impl Context {
    pub(super) fn of(extensions: &Extensions) -> Result<&Self, ContextRejection> {
        extensions.get().ok_or(ContextRejection::OutsideOfApp)
    }
}

/// Lets an argument be left out by whoever can do without it: `Option<..>` is `None` where the
/// extractor itself fails.
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

/// Why there is no [`MatchedRoute`](super::MatchedRoute), [`PeerAddr`](super::PeerAddr),
/// [`ClientAddr`](super::ClientAddr) or [`RequestId`](crate::RequestId): an error in how the service
/// is put together, answered with 500 and logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContextRejection {
    /// The request did not come to the extractor through an annotated handler of an app.
    OutsideOfApp,
    /// The request did not come over a socket whose address is known.
    NoPeer,
    /// The app gives its requests no ids.
    NoRequestId,
}

impl ContextRejection {
    fn problem(self) -> Problem {
        Problem::internal(self)
    }
}

rejection!(ContextRejection);

impl fmt::Display for ContextRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutsideOfApp => "the request did not come through a route of an app",
            Self::NoPeer => "the request did not come over a socket",
            Self::NoRequestId => "the app gives no ids: say `App::request_ids`",
        })
    }
}

impl Error for ContextRejection {}

//! Errors of session operations.

use std::fmt;

use axum_core::response::{IntoResponse, Response};
use policy_core::{Refusal, session::DataError};

use crate::{
    base::{clock::RandomError, problem::Problem},
    store::StoreError,
};

/// Why a handler cannot use or change its session.
///
/// It converts into a [`Problem`], so that a handler can use `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionError {
    /// The store failed: 503.
    Unavailable,
    /// The operation needs a logged-in user: 401.
    Anonymous,
    /// A login or an elevation with a safe method that a browser does not send as a navigation of a
    /// window: 403.
    Navigation,
    /// The session belongs to another user; [`Sessions::login`](super::Sessions::login) begins a
    /// new one: 500.
    OtherUser,
    /// The values cannot be stored: 500.
    Data(DataError),
    /// A value has another type than requested, or is not representable in JSON: 500.
    Value(Box<str>),
    /// The system has no random source: 500.
    Random,
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable => f.write_str("the session store is unavailable"),
            Self::Anonymous => f.write_str("no user is logged in"),
            Self::Navigation => f.write_str(
                "a login or elevation with a safe method has to be a navigation of a window",
            ),
            Self::OtherUser => {
                f.write_str("only the user of the session can be given rights; use `login`")
            }
            Self::Data(error) => error.fmt(f),
            Self::Value(reason) => write!(f, "a value of the session: {reason}"),
            Self::Random => f.write_str("the system has no random source"),
        }
    }
}

impl std::error::Error for SessionError {}

impl From<&StoreError> for SessionError {
    /// The store's own message was logged where it failed.
    fn from(_: &StoreError) -> Self {
        Self::Unavailable
    }
}

impl From<DataError> for SessionError {
    fn from(error: DataError) -> Self {
        Self::Data(error)
    }
}

impl From<serde_json::Error> for SessionError {
    fn from(error: serde_json::Error) -> Self {
        Self::Value(error.to_string().into())
    }
}

impl From<SessionError> for Problem {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Unavailable => Refusal::SessionStore.into(),
            SessionError::Anonymous => Refusal::SessionAnonymous.into(),
            SessionError::Navigation => Refusal::LoginNavigation.into(),
            error => Self::internal(error),
        }
    }
}

impl IntoResponse for SessionError {
    fn into_response(self) -> Response {
        Problem::from(self).into_response()
    }
}

/// Why the changes of a request are not stored. The response of the handler is not sent, and no
/// cookie is set or removed.
#[derive(Debug)]
pub(crate) enum CommitError {
    /// The store failed.
    Store(StoreError),
    /// Other requests changed the session at every try.
    Busy,
    /// The user has as many sessions as allowed.
    LimitReached,
    /// The session ended before it could be given more rights.
    Ended,
    /// The values cannot be stored.
    Data(DataError),
    /// The system has no random source.
    Random(RandomError),
}

impl CommitError {
    /// The error for the client.
    pub(crate) fn refusal(&self) -> Refusal {
        match self {
            Self::Store(_) => Refusal::SessionStore,
            Self::Busy => Refusal::SessionBusy,
            Self::LimitReached => Refusal::SessionLimit,
            Self::Ended => Refusal::SessionEnded,
            Self::Data(_) | Self::Random(_) => Refusal::Internal,
        }
    }
}

impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => write!(f, "session store: {error}"),
            Self::Busy => f.write_str("other requests changed the session at each try"),
            Self::LimitReached => f.write_str("the user has too many sessions"),
            Self::Ended => f.write_str("the session ended meanwhile"),
            Self::Data(error) => error.fmt(f),
            Self::Random(error) => write!(f, "the random source: {error}"),
        }
    }
}

impl std::error::Error for CommitError {}

impl From<StoreError> for CommitError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<DataError> for CommitError {
    fn from(error: DataError) -> Self {
        Self::Data(error)
    }
}

impl From<RandomError> for CommitError {
    fn from(error: RandomError) -> Self {
        Self::Random(error)
    }
}

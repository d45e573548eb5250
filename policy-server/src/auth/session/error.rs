//! How what is done to a session fails.

use std::fmt;

use axum_core::response::{IntoResponse, Response};
use policy_core::{Refusal, session::DataError};

use crate::{
    base::{clock::RandomError, problem::Problem},
    store::StoreError,
};

/// Why a handler cannot do something to its session.
///
/// It becomes a [`Problem`], so that a handler can write `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionError {
    /// The store does not answer: 503.
    Unavailable,
    /// Nobody is logged in where that is needed: 401.
    Anonymous,
    /// The session is another user's; [`Sessions::login`](super::Sessions::login) begins a new
    /// one: 500.
    OtherUser,
    /// The values cannot be stored: 500.
    Data(DataError),
    /// A value is not of the type that is asked for, or is no JSON: 500.
    Value(Box<str>),
    /// The system has no random source: 500.
    Random,
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable => f.write_str("the store of the sessions does not answer"),
            Self::Anonymous => f.write_str("nobody is logged in"),
            Self::OtherUser => {
                f.write_str("rights can be given to the user of the session only; use `login`")
            }
            Self::Data(error) => error.fmt(f),
            Self::Value(reason) => write!(f, "a value of the session: {reason}"),
            Self::Random => f.write_str("the system has no random source"),
        }
    }
}

impl std::error::Error for SessionError {}

impl From<&StoreError> for SessionError {
    /// The store's own words were logged where it failed.
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
            error => Self::internal(error),
        }
    }
}

impl IntoResponse for SessionError {
    fn into_response(self) -> Response {
        Problem::from(self).into_response()
    }
}

/// Why the effects of a request are not stored. The answer of the handler does not go out, and no
/// cookie is set or removed.
#[derive(Debug)]
pub(crate) enum CommitError {
    /// The store does not answer.
    Store(StoreError),
    /// Other requests changed the session at each try.
    Busy,
    /// The user has as many sessions as allowed.
    LimitReached,
    /// The session ended while it should get more rights.
    Ended,
    /// The values cannot be stored.
    Data(DataError),
    /// The system has no random source.
    Random(RandomError),
}

impl CommitError {
    /// What the client is told.
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
            Self::Store(error) => write!(f, "the store of the sessions: {error}"),
            Self::Busy => f.write_str("the session was changed by others at each try"),
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

//! Why the changes of a request are not stored.

use std::fmt;

use policy_core::{Refusal, session::DataError};

use crate::{base::clock::RandomError, store::StoreError};

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

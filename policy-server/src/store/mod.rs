//! Stores of sessions, refresh tokens and revocations.

#[cfg(feature = "testing")]
pub mod conformance;
#[cfg(feature = "embedded")]
pub(crate) mod embedded;
mod future;
mod history;
mod limit_store;
mod memory;
pub(crate) mod moving;
pub(crate) mod news;
#[cfg(any(feature = "encryption", feature = "testing"))]
pub(crate) mod passing;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod requests;
#[cfg(feature = "encryption")]
pub(crate) mod sealed;
mod session_store;
#[cfg(any(feature = "postgres", feature = "redis"))]
mod shared;
pub(crate) mod stored_origins;
mod token_store;
mod value_store;

use std::{error::Error, fmt};

use policy_core::Rule;

#[cfg(feature = "embedded")]
pub use embedded::EmbeddedStore;
pub use future::StoreFuture;
pub use history::ERA;
pub(crate) use history::era;
pub use limit_store::{LeasePermits, LimitKey, LimitStore, TakeRate, TakenRate};
pub use memory::MemoryStore;
pub use news::{News, NewsFeed, NewsReader};
pub use policy_core::session::{Record, SessionKey};
#[cfg(feature = "postgres")]
pub use postgres::PostgresStore;
#[cfg(feature = "redis")]
pub use redis::RedisStore;
pub use requests::{
    CreateFamily, CreateSession, ListSessions, Refresh, RevokeUser, RotateSession, TouchSession,
    UpdateSession,
};
pub use session_store::{
    AnonymousLimit, Cas, CutOff, Limit, LimitPolicy, Loaded, SessionCreated, SessionStore, Summary,
};
pub use token_store::{
    Family, RefreshOutcome, Revocation, RevocationBatch, Revoked, Ticket, TokenHash, TokenStore,
};
pub use value_store::{StoredValue, ValueStore};

use crate::base::error::StartProblem;

/// A failure of a store. The request gets 503, and the client keeps its credential.
#[derive(Debug)]
pub struct StoreError(Box<dyn Error + Send + Sync>);

impl StoreError {
    /// Wraps the store's own error.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(error.into())
    }
}

impl StoreError {
    /// The same as a problem of the start.
    pub(crate) fn at_start(self, location: &str) -> StartProblem {
        StartProblem::without_value(Rule::StoreUnavailable, location).caused_by(self)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

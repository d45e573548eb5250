//! What a store is asked to do, where that takes more than a key and a time.
//!
//! Each is a struct with a constructor for what is always said and a method for the rest, so that
//! a later version can say more without breaking the stores that exist.

use std::time::Duration;

use policy_core::{
    session::{Record, SessionKey},
    time::Timestamp,
};

use super::{Limit, TokenHash};

/// Inserts a session: [`SessionStore::create`](super::SessionStore::create).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CreateSession {
    /// The key, drawn anew.
    pub key: SessionKey,
    /// What is stored under it.
    pub record: Record,
    /// How many sessions its user may have.
    pub limit: Option<Limit>,
    /// The time.
    pub now: Timestamp,
}

impl CreateSession {
    /// A session of a user without a limit, or of nobody.
    pub fn new(key: SessionKey, record: Record, now: Timestamp) -> Self {
        Self { key, record, limit: None, now }
    }

    /// Limits how many sessions its user has.
    pub fn limit(mut self, limit: impl Into<Option<Limit>>) -> Self {
        self.limit = limit.into();
        self
    }
}

/// Replaces the data of a session: [`SessionStore::update`](super::SessionStore::update).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UpdateSession {
    /// The key of the session.
    pub key: SessionKey,
    /// The version that the data was derived from.
    pub expected: u64,
    /// The new data.
    pub data: Box<[u8]>,
    /// The time.
    pub now: Timestamp,
}

impl UpdateSession {
    /// New data for a session that is still of the version `expected`.
    pub fn new(key: SessionKey, expected: u64, data: Box<[u8]>, now: Timestamp) -> Self {
        Self { key, expected, data, now }
    }
}

/// Notes that a session was used: [`SessionStore::touch`](super::SessionStore::touch).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TouchSession {
    /// The key of the session.
    pub key: SessionKey,
    /// When it ends unless it is used again.
    pub idle_deadline: Timestamp,
    /// The time.
    pub now: Timestamp,
}

impl TouchSession {
    /// A use at `now`, after which the session lives until `idle_deadline`.
    pub fn new(key: SessionKey, idle_deadline: Timestamp, now: Timestamp) -> Self {
        Self { key, idle_deadline, now }
    }
}

/// Replaces a session by one under another key:
/// [`SessionStore::rotate`](super::SessionStore::rotate).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RotateSession {
    /// The key of the session that is replaced.
    pub old: SessionKey,
    /// The key of the session that replaces it.
    pub new: SessionKey,
    /// The version that the new record was derived from.
    pub expected: u64,
    /// What is stored under the new key.
    pub record: Record,
    /// Until when the old key still loads the new session.
    pub grace: Option<Timestamp>,
    /// How many sessions the user of the new one may have.
    pub limit: Option<Limit>,
    /// The time.
    pub now: Timestamp,
}

impl RotateSession {
    /// Replaces `old`, if it is still of the version `expected`, by `record` under the key `new`.
    /// The old key is dead at once.
    pub fn new(
        old: SessionKey,
        new: SessionKey,
        expected: u64,
        record: Record,
        now: Timestamp,
    ) -> Self {
        Self { old, new, expected, record, grace: None, limit: None, now }
    }

    /// Lets the old key load the new session until then.
    pub fn grace(mut self, until: impl Into<Option<Timestamp>>) -> Self {
        self.grace = until.into();
        self
    }

    /// Limits how many sessions the user of the new one has.
    pub fn limit(mut self, limit: impl Into<Option<Limit>>) -> Self {
        self.limit = limit.into();
        self
    }
}

/// Lists the sessions of a user: [`SessionStore::list`](super::SessionStore::list).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ListSessions<'a> {
    /// The user.
    pub user: &'a str,
    /// How many to give at the most.
    pub limit: usize,
    /// The time.
    pub now: Timestamp,
}

impl<'a> ListSessions<'a> {
    /// The sessions of `user`, at most `limit`.
    pub fn new(user: &'a str, limit: usize, now: Timestamp) -> Self {
        Self { user, limit, now }
    }
}

/// Ends the sessions of a user: [`SessionStore::revoke_user`](super::SessionStore::revoke_user).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RevokeUser<'a> {
    /// The user.
    pub user: &'a str,
    /// The session that goes on.
    pub keep: Option<SessionKey>,
    /// The time.
    pub now: Timestamp,
}

impl<'a> RevokeUser<'a> {
    /// All sessions of `user`.
    pub fn new(user: &'a str, now: Timestamp) -> Self {
        Self { user, keep: None, now }
    }

    /// Lets one session go on.
    pub fn keep(mut self, key: impl Into<Option<SessionKey>>) -> Self {
        self.keep = key.into();
        self
    }
}

/// Exchanges a refresh token: [`TokenStore::refresh`](super::TokenStore::refresh).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Refresh {
    /// The token that was presented.
    pub token: TokenHash,
    /// The token that follows it.
    pub successor: TokenHash,
    /// For how long a used token is given its successor again.
    pub grace: Duration,
    /// The time.
    pub now: Timestamp,
}

impl Refresh {
    /// Exchanges `token` for `successor`.
    pub fn new(token: TokenHash, successor: TokenHash, grace: Duration, now: Timestamp) -> Self {
        Self { token, successor, grace, now }
    }
}

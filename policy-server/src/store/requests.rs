//! Parameters of store calls that take more than a key and a time.
//!
//! Each is a struct with a constructor for the required values and a method for each optional one,
//! so that a later version can add values without breaking existing stores.

use std::time::Duration;

use policy_core::{
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};

use super::{Family, Limit, TokenHash};

/// Inserts a session: [`SessionStore::create`](super::SessionStore::create).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CreateSession {
    /// The newly drawn key.
    pub key: SessionKey,
    /// The record to store.
    pub record: Record,
    /// The limit of sessions for its user.
    pub limit: Option<Limit>,
    /// At a login, the newest cut-off that was known when its request began.
    pub began: Option<u64>,
    /// The current time.
    pub now: Timestamp,
}

impl CreateSession {
    /// A session of a user without a limit, or an anonymous one.
    pub fn new(key: SessionKey, record: Record, now: Timestamp) -> Self {
        Self { key, record, limit: None, began: None, now }
    }

    /// Refuses this if the user was cut off after this cut-off.
    pub fn began(mut self, cut_off: impl Into<Option<u64>>) -> Self {
        self.began = cut_off.into();
        self
    }

    /// Limits the number of sessions of its user.
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
    /// The current time.
    pub now: Timestamp,
}

impl UpdateSession {
    /// New data for a session whose version is still `expected`.
    pub fn new(key: SessionKey, expected: u64, data: Box<[u8]>, now: Timestamp) -> Self {
        Self { key, expected, data, now }
    }
}

/// Records the use of a session: [`SessionStore::touch`](super::SessionStore::touch).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TouchSession {
    /// The key of the session.
    pub key: SessionKey,
    /// When it expires unless it is used again.
    pub idle_deadline: Timestamp,
    /// The current time.
    pub now: Timestamp,
}

impl TouchSession {
    /// A use at `now`, which extends the session to `idle_deadline`.
    pub fn new(key: SessionKey, idle_deadline: Timestamp, now: Timestamp) -> Self {
        Self { key, idle_deadline, now }
    }
}

/// Replaces a session by one with another key:
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
    /// The record to store under the new key.
    pub record: Record,
    /// Until when the old key still loads the new session.
    pub grace: Option<Timestamp>,
    /// The handle of the old session, if it has a user and ends by this; `None` if it continues.
    pub ends: Option<Handle>,
    /// The limit of sessions for the user of the new one.
    pub limit: Option<Limit>,
    /// If it grants rights, the newest cut-off that was known when its request began.
    pub began: Option<u64>,
    /// The current time.
    pub now: Timestamp,
}

impl RotateSession {
    /// Replaces `old`, if its version is still `expected`, by `record` under the key `new`. The old
    /// key becomes invalid at once.
    pub fn new(
        old: SessionKey,
        new: SessionKey,
        expected: u64,
        record: Record,
        now: Timestamp,
    ) -> Self {
        Self { old, new, expected, record, grace: None, ends: None, limit: None, began: None, now }
    }

    /// Refuses this if the new user was cut off after this cut-off.
    pub fn began(mut self, cut_off: impl Into<Option<u64>>) -> Self {
        self.began = cut_off.into();
        self
    }

    /// Lets the old key load the new session until then.
    pub fn grace(mut self, until: impl Into<Option<Timestamp>>) -> Self {
        self.grace = until.into();
        self
    }

    /// Ends the old session, which has a user and this handle, in place of continuing it.
    pub fn ends(mut self, handle: impl Into<Option<Handle>>) -> Self {
        self.ends = handle.into();
        self
    }

    /// Limits the number of sessions of the new session's user.
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
    /// The most sessions to return.
    pub limit: usize,
    /// The current time.
    pub now: Timestamp,
}

impl<'a> ListSessions<'a> {
    /// The sessions of `user`, at most `limit`.
    pub fn new(user: &'a str, limit: usize, now: Timestamp) -> Self {
        Self { user, limit, now }
    }
}

/// Ends the sessions of a user, or changes their rights:
/// [`SessionStore::revoke_user`](super::SessionStore::revoke_user).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RevokeUser<'a> {
    /// The user.
    pub user: &'a str,
    /// The session that is kept.
    pub keep: Option<SessionKey>,
    /// The same user with the tenant, roles and scopes that all sessions get instead of ending.
    pub rights: Option<&'a Identity>,
    /// The current time.
    pub now: Timestamp,
}

impl<'a> RevokeUser<'a> {
    /// All sessions of `user`.
    pub fn new(user: &'a str, now: Timestamp) -> Self {
        Self { user, keep: None, rights: None, now }
    }

    /// Keeps one session.
    pub fn keep(mut self, key: impl Into<Option<SessionKey>>) -> Self {
        self.keep = key.into();
        self
    }

    /// Gives all sessions the tenant, roles and scopes of this identity, in place of ending them.
    pub fn rights(mut self, identity: &'a Identity) -> Self {
        self.rights = Some(identity);
        self
    }
}

/// Begins a family of refresh tokens:
/// [`TokenStore::create_family`](super::TokenStore::create_family).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CreateFamily {
    /// The family.
    pub family: Family,
    /// Its first token.
    pub token: TokenHash,
    /// The position in the sequence of revocations that was known when the request began.
    pub began: u64,
}

impl CreateFamily {
    /// A family with its first token, for a request that began after the revocation at `began`.
    pub fn new(family: Family, token: TokenHash, began: u64) -> Self {
        Self { family, token, began }
    }
}

/// Exchanges a refresh token: [`TokenStore::refresh`](super::TokenStore::refresh).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Refresh {
    /// The token that was presented.
    pub token: TokenHash,
    /// The token that replaces it.
    pub successor: TokenHash,
    /// For how long a used token still yields the valid one.
    pub grace: Duration,
    /// How often a family may be refreshed.
    pub limit: Option<u32>,
    /// The current time.
    pub now: Timestamp,
    /// If this ends the family, until when the revocation of its access tokens is needed.
    pub until: Timestamp,
}

impl Refresh {
    /// Exchanges `token` for `successor`.
    pub fn new(
        token: TokenHash,
        successor: TokenHash,
        grace: Duration,
        now: Timestamp,
        until: Timestamp,
    ) -> Self {
        Self { token, successor, grace, limit: None, now, until }
    }

    /// Ends a family after this many refreshes.
    pub fn limit(mut self, refreshes: impl Into<Option<u32>>) -> Self {
        self.limit = refreshes.into();
        self
    }
}

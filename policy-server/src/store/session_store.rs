//! What a store of sessions can do.

use std::{fmt, sync::Arc};

use policy_core::{
    session::{Handle, Record, SessionKey},
    time::Timestamp,
};

use super::Answer;

/// A store of sessions.
///
/// The rules that every store keeps, and that [`conformance`](super::conformance) tests:
///
/// - A dead session (deleted, past a deadline, of an older epoch) never lives again: nothing but
///   [`create`](Self::create) and [`rotate`](Self::rotate) inserts, and both insert a key that
///   was drawn anew.
/// - Each call is atomic, and done for good when it answers.
/// - A store stamps the epoch of the user and the version of the row itself.
pub trait SessionStore: fmt::Debug + Send + Sync + 'static {
    /// Opens what has to be open before the first request. Called once, when the app starts.
    fn open(&self) -> Answer<'_, ()> {
        Answer::ready(Ok(()))
    }

    /// The secret that all keys of sessions are derived from: the stored one, else `fresh`, which
    /// is stored. Every instance of the app gets the same.
    fn secret(&self, fresh: [u8; 32]) -> Answer<'_, [u8; 32]>;

    /// Inserts a new session under a key that does not exist.
    fn create<'a>(
        &'a self,
        key: &'a SessionKey,
        record: Record,
        limit: Option<Limit>,
        now: Timestamp,
    ) -> Answer<'a, Created>;

    /// The living session of this key: neither past a deadline nor of an older epoch.
    fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> Answer<'a, Option<Loaded>>;

    /// Replaces the data of a living session whose version is still `expected`.
    fn update<'a>(
        &'a self,
        key: &'a SessionKey,
        expected: u64,
        data: Box<[u8]>,
        now: Timestamp,
    ) -> Answer<'a, Cas>;

    /// Notes that a living session was used; a deadline never moves back. Says whether it lives.
    fn touch<'a>(
        &'a self,
        key: &'a SessionKey,
        idle_deadline: Timestamp,
        now: Timestamp,
    ) -> Answer<'a, bool>;

    /// Replaces the living session `old`, whose version is still `expected`, by `record` under
    /// the key `new`, in one step. Until `grace`, if given, `old` still loads the new session.
    fn rotate<'a>(
        &'a self,
        old: &'a SessionKey,
        new: &'a SessionKey,
        expected: u64,
        record: Record,
        grace: Option<Timestamp>,
        limit: Option<Limit>,
        now: Timestamp,
    ) -> Answer<'a, Cas>;

    /// Ends a session, also by a key that a rotation replaced and whose grace lasts. Says whether
    /// it lived.
    fn delete<'a>(&'a self, key: &'a SessionKey) -> Answer<'a, bool>;

    /// The living sessions of a user, the latest used first.
    fn list<'a>(&'a self, user: &'a str, limit: usize, now: Timestamp) -> Answer<'a, Vec<Summary>>;

    /// Ends one session of a user by its public name. Says whether it lived.
    fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> Answer<'a, bool>;

    /// Ends all sessions of a user but `keep`, those that are being created included: the user's
    /// epoch goes up, and `keep` is stamped with the new one in the same step. Gives how many
    /// ended.
    fn revoke_user<'a>(
        &'a self,
        user: &'a str,
        keep: Option<&'a SessionKey>,
        now: Timestamp,
    ) -> Answer<'a, u64>;

    /// Removes up to `limit` dead sessions, and gives how many.
    fn purge(&self, now: Timestamp, limit: usize) -> Answer<'_, usize>;
}

/// A session that was loaded.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What is stored.
    pub record: Arc<Record>,
    /// The key it is stored under now, if it was found by a key that a rotation replaced.
    pub successor: Option<SessionKey>,
}

/// What became of an insertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    /// It is done; these sessions of the same user had to end for it.
    Done {
        /// The public names of the ended ones.
        evicted: Vec<Handle>,
    },
    /// The key exists.
    KeyTaken,
    /// The user has as many sessions as allowed.
    LimitReached,
}

/// What became of a compare-and-set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cas {
    /// It is done.
    Done {
        /// The version now.
        version: u64,
        /// The public names of sessions of the same user that had to end for it.
        evicted: Vec<Handle>,
    },
    /// Somebody else changed the session.
    Conflict,
    /// The session is dead, or never was.
    Gone,
    /// The user has as many sessions as allowed.
    LimitReached,
}

/// How many sessions one user may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The most sessions.
    pub sessions: u32,
    /// What happens at one more.
    pub policy: LimitPolicy,
}

/// What happens when a user with as many sessions as allowed logs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitPolicy {
    /// The session that was created first ends.
    #[default]
    EvictOldest,
    /// The login is refused with 409.
    Deny,
}

/// One session in the list of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The public name.
    pub handle: Handle,
    /// When it began.
    pub created: Timestamp,
    /// When it was last used.
    pub last_seen: Timestamp,
    /// When the user last proved who they are.
    pub authenticated: Option<Timestamp>,
    /// The values of the application.
    pub data: Box<[u8]>,
}

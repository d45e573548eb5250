//! What a store of sessions can do.

use std::{fmt, sync::Arc};

use policy_core::{
    session::{Handle, Record, SessionKey},
    time::Timestamp,
};

use super::{
    Answer, CreateSession, ListSessions, RevokeUser, RotateSession, TouchSession, UpdateSession,
};

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

    /// Inserts a new session under a key that does not exist, neither living nor dead nor replaced
    /// by a rotation. Its version is 1 and its epoch the user's, whatever the record says.
    ///
    /// Of a user with as many living sessions as `limit` says, those that began first end, or
    /// nothing is inserted. Anonymous sessions have no limit here.
    fn create(&self, request: CreateSession) -> Answer<'_, Created>;

    /// The living session of this key: neither past a deadline nor of an older epoch. A session is
    /// dead from the millisecond of its deadline on.
    fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> Answer<'a, Option<Loaded>>;

    /// Replaces the data of a living session whose version is still `expected`, and counts the
    /// version up. By a key that a rotation replaced and whose grace lasts it is a conflict:
    /// loading anew gives the key to go on with.
    fn update(&self, request: UpdateSession) -> Answer<'_, Cas>;

    /// Notes that a living session was used at `now`; neither the deadline nor `last_seen` ever
    /// moves back, and the version stays. Follows a key that a rotation replaced, as `load` does.
    /// Says whether the session lives.
    fn touch(&self, request: TouchSession) -> Answer<'_, bool>;

    /// Replaces the living session `old`, whose version is still `expected`, by `record` under
    /// the key `new`, in one step. Until `grace`, if given, `old` still loads the new session,
    /// also where that is rotated with grace once more.
    ///
    /// The version goes on from `expected`. A `new` that exists is a conflict, and so is an `old`
    /// that was replaced itself and whose grace lasts. For `limit` the new session takes the place
    /// of the old one.
    fn rotate(&self, request: RotateSession) -> Answer<'_, Cas>;

    /// Ends a session, also by a key that a rotation replaced and whose grace lasts. Says whether
    /// it lived; of one that no `purge` has removed since its deadline a store may say that it did.
    fn delete<'a>(&'a self, key: &'a SessionKey) -> Answer<'a, bool>;

    /// The living sessions of a user, the latest used first.
    fn list<'a>(&'a self, request: ListSessions<'a>) -> Answer<'a, Vec<Summary>>;

    /// Ends one session of a user by its public name, and none of another user. Says whether it
    /// lived, as `delete` does.
    fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> Answer<'a, bool>;

    /// Ends all sessions of a user but `keep`, those that are being created included: the user's
    /// epoch goes up, and `keep` is stamped with the new one in the same step; its version stays.
    /// A `keep` that a rotation replaced and whose grace lasts stands for its successor, and one
    /// of another user for nothing. Gives how many living ones ended.
    fn revoke_user<'a>(&'a self, request: RevokeUser<'a>) -> Answer<'a, u64>;

    /// Removes up to `limit` dead sessions, and gives how many: fewer than `limit` if none are
    /// left. It works in small steps, so that no request waits for more than a millisecond; it may
    /// look at everything there is, so about once a minute is often enough.
    fn purge(&self, now: Timestamp, limit: usize) -> Answer<'_, usize>;
}

/// A session that was loaded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// What is stored.
    pub record: Arc<Record>,
    /// The key it is stored under now, if it was found by a key that a rotation replaced.
    pub successor: Option<SessionKey>,
}

impl Loaded {
    /// A session that was found under its own key.
    pub fn new(record: impl Into<Arc<Record>>) -> Self {
        Self { record: record.into(), successor: None }
    }

    /// Says that it is under another key now.
    pub fn successor(mut self, key: impl Into<Option<SessionKey>>) -> Self {
        self.successor = key.into();
        self
    }
}

/// What became of an insertion.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
#[non_exhaustive]
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
#[non_exhaustive]
pub struct Limit {
    /// The most sessions.
    pub sessions: u32,
    /// What happens at one more.
    pub policy: LimitPolicy,
}

impl Limit {
    /// At most so many sessions, and what happens at one more.
    pub const fn new(sessions: u32, policy: LimitPolicy) -> Self {
        Self { sessions, policy }
    }
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
#[non_exhaustive]
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

impl From<&Record> for Summary {
    fn from(record: &Record) -> Self {
        Self {
            handle: record.handle,
            created: record.created,
            last_seen: record.last_seen,
            authenticated: record.authenticated,
            data: record.data.clone(),
        }
    }
}

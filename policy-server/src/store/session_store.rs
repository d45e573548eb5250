//! The interface of session stores.

use std::{fmt, sync::Arc};

use policy_core::{
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};

use super::{
    CreateSession, ListSessions, NewsReader, RevokeUser, RotateSession, StoreFuture, TouchSession,
    UpdateSession,
};

/// A session store.
///
/// Rules for every store, tested by [`conformance`](super::conformance):
///
/// - A dead session (deleted, past a deadline, or of an older epoch) never becomes live again: only
///   [`create`](Self::create) and [`rotate`](Self::rotate) insert, and both insert a newly drawn
///   key.
/// - The store counts its cut-offs, the calls of [`revoke_user`](Self::revoke_user) and
///   [`revoke_everyone`](Self::revoke_everyone). The number of the last one that concerns a user is
///   the user's epoch. A request that grants rights states the newest cut-off that was known when it
///   began, and gets nothing if the user's epoch is higher. Clocks have no part in this, since
///   instances do not share one.
/// - A request that states a number which the store has not assigned gets nothing either. A store
///   of several instances that can lose numbers, by a failover or a restored copy, has to notice a
///   loss and continue with the first number of the next [era](super::ERA):
///   `conformance::sessions_after_loss` tests that. Until then, `load` should fail at the instance
///   that got the lost numbers.
/// - Each call is atomic, and durable when it completes.
/// - The store itself sets the epoch of the user and the version of the row.
pub trait SessionStore: fmt::Debug + Send + Sync + 'static {
    /// Opens the store before the first request. Called once, when the app starts.
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::ready(Ok(()))
    }

    /// The secret from which all session keys are derived: the stored one, or else `fresh`, which
    /// is then stored. All instances of the app get the same secret.
    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]>;

    /// Inserts a new session under a key that does not exist, whether live, dead or replaced by a
    /// rotation. Its version is 1 and its epoch the user's, whatever the record contains.
    ///
    /// If the user already has as many live sessions as `limit` allows, the oldest ones end, or
    /// nothing is inserted. Anonymous sessions are not limited here; a store bounds them by itself
    /// (see [`AnonymousLimit`]).
    ///
    /// If the user's epoch is higher than `began`, or the store has not given out that number, nothing is
    /// inserted.
    fn create(&self, request: CreateSession) -> StoreFuture<'_, SessionCreated>;

    /// The live session of this key: neither past a deadline nor of an older epoch. A session is
    /// dead from the millisecond of its deadline on.
    fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> StoreFuture<'a, Option<Loaded>>;

    /// Replaces the data of a live session whose version is still `expected`, and increments the
    /// version. With a key that a rotation replaced, within its grace period, it is a conflict:
    /// loading the session again returns the new key.
    fn update(&self, request: UpdateSession) -> StoreFuture<'_, Cas>;

    /// Records that a live session was used at `now`. Neither the deadline nor `last_seen` ever
    /// moves back, and the version is unchanged. Follows a key that a rotation replaced, as `load`
    /// does. Returns whether the session is live.
    fn touch(&self, request: TouchSession) -> StoreFuture<'_, bool>;

    /// Atomically replaces the live session `old`, whose version is still `expected`, by `record`
    /// under the key `new`. Until `grace`, if given, `old` still loads the new session, even if
    /// that is rotated again with grace.
    ///
    /// The version continues from `expected`. It is a conflict if `new` exists, or if `old` was
    /// replaced itself and is within its grace period. For `limit` the new session takes the place
    /// of the old one.
    ///
    /// If the epoch of the user of `record` is higher than `began`, nothing changes, and the result
    /// is [`Cas::CutOff`].
    ///
    /// With `ends`, the old session does not continue: it ends as by [`delete`](Self::delete), with
    /// [news](Self::news), and a store that can lose writes notices the loss of this end.
    fn rotate(&self, request: RotateSession) -> StoreFuture<'_, Cas>;

    /// Ends a session, also by a key that a rotation replaced, within its grace period. Returns
    /// whether it was live; for a session past its deadline that no `purge` has removed yet, a
    /// store may return that it was.
    fn delete<'a>(&'a self, key: &'a SessionKey) -> StoreFuture<'a, bool>;

    /// The live sessions of a user, most recently used first.
    fn list<'a>(&'a self, request: ListSessions<'a>) -> StoreFuture<'a, Vec<Summary>>;

    /// The user of the live session with this handle, with the present tenant, roles and scopes;
    /// `None` if this user has no such session. It reads no values and no other session: it is asked
    /// for each ticket, and repeatedly for each open stream.
    fn identity<'a>(
        &'a self,
        user: &'a str,
        handle: Handle,
        now: Timestamp,
    ) -> StoreFuture<'a, Option<Identity>>;

    /// Ends one session of this user by its handle. Returns whether it was live, as `delete` does.
    /// A store of several instances ends all with this handle: while instances move a session to
    /// another store, there is more than one for a moment.
    fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> StoreFuture<'a, bool>;

    /// Cuts a user off: ends all their sessions except `keep`, including those that are being
    /// created. The number of this cut-off, which is higher than every other, becomes the user's
    /// epoch and, atomically, that of `keep`, whose version is unchanged. A `keep` that a rotation
    /// replaced, within its grace period, stands for its successor; one of another user is ignored.
    ///
    /// With `rights`, no session ends: all get this tenant, roles and scopes, the new epoch and the next
    /// version, so that no request writes the rights again that it read before.
    fn revoke_user<'a>(&'a self, request: RevokeUser<'a>) -> StoreFuture<'a, CutOff>;

    /// Cuts every user off: ends all sessions that have a user. The number of this cut-off becomes
    /// the epoch of every user, also of those who never had a session.
    fn revoke_everyone(&self, now: Timestamp) -> StoreFuture<'_, CutOff>;

    /// The number of the newest cut-off, 0 if there was none. Never lower than one that was
    /// returned before, also where the store has lost cut-offs.
    fn cut_offs(&self) -> StoreFuture<'_, u64>;

    /// The time of the store's clock, by which all its instances then decide when a session ends:
    /// their own may differ. `None` for a store without one, and for one that a single process
    /// uses.
    fn time(&self) -> StoreFuture<'_, Option<Timestamp>> {
        StoreFuture::ready(Ok(None))
    }

    /// Removes up to `limit` dead sessions and returns how many: fewer than `limit` if none are
    /// left, or if the next call continues in a large store. It works in small steps, so that no
    /// request waits longer than for a few other requests. It may scan many sessions, so call it
    /// about once a minute.
    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize>;

    /// The approximate number of sessions, including dead ones that no [`purge`](Self::purge) has
    /// removed yet; `None` for a store that does not count them. Asked once a minute while an app
    /// [moves](crate::session::SessionSettings::moving_from) to another store.
    fn count(&self, now: Timestamp) -> StoreFuture<'_, Option<u64>> {
        let _ = now;
        StoreFuture::ready(Ok(None))
    }

    /// What ends from now on: the sessions of users that are deleted, replaced or make room, and
    /// cut-offs, of all instances that share the store. `None` for a store that tells nothing, and for
    /// one that a single process uses.
    fn news(&self) -> Option<NewsReader> {
        None
    }

    /// Whether the last write succeeded. While this is false,
    /// [`App::readiness`](crate::App::readiness) reports 503. It must not wait.
    fn is_writable(&self) -> bool {
        true
    }
}

/// A loaded session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// The stored record.
    pub record: Arc<Record>,
    /// The key under which it is stored now, if it was found by a key that a rotation replaced.
    pub successor: Option<SessionKey>,
}

impl Loaded {
    /// A session that was found under its own key.
    pub fn new(record: impl Into<Arc<Record>>) -> Self {
        Self { record: record.into(), successor: None }
    }

    /// Sets the key under which it is stored now.
    pub fn successor(mut self, key: impl Into<Option<SessionKey>>) -> Self {
        self.successor = key.into();
        self
    }
}

/// The result of a cut-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CutOff {
    /// How many live sessions ended, or got other rights; 0 for a cut-off of everyone whose sessions
    /// the store could not count.
    pub sessions: u64,
    /// The user's epoch before; the highest of all for a cut-off of everyone.
    pub before: u64,
    /// Its number, the user's epoch from now on.
    pub number: u64,
}

impl CutOff {
    /// The cut-off with this number, after one with the number `before`.
    pub fn new(sessions: u64, before: u64, number: u64) -> Self {
        Self { sessions, before, number }
    }
}

/// The result of an insertion.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionCreated {
    /// The session was inserted; these sessions of the same user ended to make room.
    Done {
        /// The handles of the ended sessions.
        evicted: Vec<Handle>,
    },
    /// The key exists already.
    KeyTaken,
    /// The user was cut off after the request began.
    CutOff,
    /// The user has as many sessions as allowed.
    LimitReached,
}

/// The result of a compare-and-set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cas {
    /// The change was made.
    Done {
        /// The new version.
        version: u64,
        /// The handles of sessions of the same user that ended to make room.
        evicted: Vec<Handle>,
    },
    /// Another request changed the session.
    Conflict,
    /// The session is dead or never existed.
    Gone,
    /// The user was cut off after the request began.
    CutOff,
    /// The user has as many sessions as allowed.
    LimitReached,
}

/// How many sessions one user may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limit {
    /// The most sessions.
    pub sessions: u32,
    /// What happens above that.
    pub policy: LimitPolicy,
}

impl Limit {
    /// At most this many sessions, and what happens above that.
    pub const fn new(sessions: u32, policy: LimitPolicy) -> Self {
        Self { sessions, policy }
    }
}

/// How many anonymous sessions a store keeps, and how much space their values may take together:
/// anybody can begin one. Above either, the oldest end.
///
/// ```
/// use policy_server::store::{AnonymousLimit, MemoryStore};
///
/// let limit = AnonymousLimit::new(10_000, 16 * 1024 * 1024);
/// let store = MemoryStore::with_anonymous_limit(limit);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnonymousLimit {
    /// The most sessions.
    pub sessions: u64,
    /// The most bytes of their values. What a store adds for each session is not counted.
    pub bytes: u64,
}

impl AnonymousLimit {
    /// At most this many sessions, and bytes of their values together.
    pub const fn new(sessions: u64, bytes: u64) -> Self {
        Self { sessions, bytes }
    }
}

/// 100,000 sessions and 64 MiB of values.
impl Default for AnonymousLimit {
    fn default() -> Self {
        Self::new(100_000, 64 * 1024 * 1024)
    }
}

/// What happens at the login of a user who has as many sessions as allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitPolicy {
    /// The oldest session ends.
    #[default]
    EvictOldest,
    /// The login is refused with 409.
    Deny,
}

/// One session in a user's list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The public id.
    pub handle: Handle,
    /// When it was created.
    pub created: Timestamp,
    /// When it was last used.
    pub last_seen: Timestamp,
    /// When the user last logged in.
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

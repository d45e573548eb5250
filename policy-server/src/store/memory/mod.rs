//! The store in memory.

mod anonymous;
mod cut_offs;
mod families;
mod limits;
mod revocations;
mod row;
mod session_revocation;
mod sessions;
mod shards;
#[cfg(test)]
mod tests;
mod tokens;
mod user;
mod user_sessions;
mod values;

use std::{
    collections::HashMap,
    fmt,
    hash::RandomState,
    sync::{Arc, Mutex, OnceLock},
};

use policy_core::{secret::SecretKey, session::SessionKey};

use self::{
    anonymous::Anonymous, cut_offs::CutOffs, families::FamilyRow, limits::Limits,
    revocations::Revocations, row::Row, shards::Shards, user::User,
};
use super::{AnonymousLimit, NewsFeed, StoredValue, Ticket, TokenHash};

/// Sessions, refresh tokens, revocations, tickets and limits in the memory of one process, which end with
/// it. For tests, and for services that may lose their sessions at a restart.
///
/// Clones share one store.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use policy_core::{session::SessionKey, time::Timestamp};
/// use policy_server::store::{MemoryStore, SessionStore};
///
/// let store = MemoryStore::new();
/// let now = Timestamp::from_seconds(1_800_000_000);
/// assert!(store.load(&SessionKey([7; 32]), now).await.unwrap().is_none());
/// # });
/// ```
#[derive(Clone)]
pub struct MemoryStore(Arc<Inner>);

/// The shared part of all clones.
///
/// Locks are taken in this order, so that calls cannot deadlock: `users` (the shard with the
/// smaller number first), then `sessions` (likewise), then `anonymous` or `cut_offs`. The token
/// tables have an order of their own, in `tokens`.
struct Inner {
    news: NewsFeed,
    session_secret: OnceLock<SecretKey>,
    users: Shards<Box<str>, User, RandomState>,
    sessions: Shards<SessionKey, Row>,
    anonymous: Anonymous,
    cut_offs: CutOffs,

    token_secret: OnceLock<SecretKey>,
    families: Shards<Box<str>, Vec<Arc<FamilyRow>>, RandomState>,
    tokens: Shards<TokenHash, Arc<FamilyRow>>,
    revocations: Mutex<Revocations>,
    tickets: Shards<TokenHash, Ticket>,

    limits: Mutex<Limits>,
    values: Mutex<HashMap<Box<str>, StoredValue>>,
}

impl MemoryStore {
    /// An empty store with the default limit of anonymous sessions: 100,000 with 64 MiB of values.
    pub fn new() -> Self {
        Self::with_anonymous_limit(AnonymousLimit::default())
    }

    /// An empty store with this limit of anonymous sessions. It keeps clients from filling the
    /// memory without logging in.
    pub fn with_anonymous_limit(limit: AnonymousLimit) -> Self {
        Self(Arc::new(Inner {
            news: NewsFeed::new(),
            session_secret: OnceLock::new(),
            users: Shards::default(),
            sessions: Shards::default(),
            anonymous: Anonymous::at_most(limit),
            cut_offs: CutOffs::default(),
            token_secret: OnceLock::new(),
            families: Shards::default(),
            tokens: Shards::default(),
            revocations: Mutex::default(),
            tickets: Shards::default(),
            limits: Mutex::default(),
            values: Mutex::default(),
        }))
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryStore")
    }
}

/// The secret that was set first.
fn first(secret: &OnceLock<SecretKey>, fresh: [u8; 32]) -> [u8; 32] {
    let bytes = secret.get_or_init(|| SecretKey::from_bytes(fresh)).bytes();
    bytes.first_chunk().copied().unwrap_or(fresh)
}

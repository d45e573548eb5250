//! The sessions of one user.

use std::{
    collections::HashMap,
    hash::RandomState,
    sync::{Arc, atomic::AtomicU64},
};

use policy_core::session::{Handle, SessionKey};

/// One shard of the users. Users without sessions are not stored.
pub(super) type Users = HashMap<Box<str>, User, RandomState>;

/// One user.
pub(super) struct User {
    /// Every session of the user reads it, so one store here ends all of them at once.
    pub(super) epoch: Arc<AtomicU64>,
    /// INVARIANT: it contains every live session of the user. It may contain dead ones for a while;
    /// their keys are never used again.
    pub(super) sessions: Vec<(Handle, SessionKey)>,
}

impl User {
    /// The keys of the sessions with this handle: one, and those that a rotation or a move to this
    /// store has not removed yet. Only this list is searched, and no session.
    pub(super) fn keys(&self, handle: Handle) -> impl Iterator<Item = SessionKey> {
        let found = self.sessions.iter().filter(move |(one, _)| *one == handle);
        found.map(|(_, key)| *key)
    }
}

/// Adds a session of a user.
pub(super) fn add(
    users: &mut Users,
    user: &str,
    epoch: Arc<AtomicU64>,
    session: (Handle, SessionKey),
) {
    match users.get_mut(user) {
        Some(user) => user.sessions.push(session),
        None => {
            users.insert(user.into(), User { epoch, sessions: vec![session] });
        }
    }
}

/// Removes a session from its user, if present.
pub(super) fn remove(users: &mut Users, user: &str, key: &SessionKey) {
    retain(users, user, |one| one != key);
}

/// Removes the sessions of a user that are not to be kept.
pub(super) fn retain(users: &mut Users, user: &str, is_kept: impl Fn(&SessionKey) -> bool) {
    let Some(entry) = users.get_mut(user) else { return };
    entry.sessions.retain(|(_, key)| is_kept(key));
    if entry.sessions.is_empty() {
        users.remove(user);
    }
}

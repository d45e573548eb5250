//! The sessions of one user.

use std::{
    collections::HashMap,
    hash::RandomState,
    sync::{Arc, atomic::AtomicU64},
};

use policy_core::session::SessionKey;

/// One shard of the users. Users without sessions are not stored.
pub(super) type Users = HashMap<Box<str>, User, RandomState>;

/// One user.
pub(super) struct User {
    /// Every session of the user reads it, so one store here ends all of them at once.
    pub(super) epoch: Arc<AtomicU64>,
    /// INVARIANT: it contains every live session of the user. It may contain dead ones for a while;
    /// their keys are never used again.
    pub(super) sessions: Vec<SessionKey>,
}

/// Adds a session of a user.
pub(super) fn add(users: &mut Users, user: &str, epoch: Arc<AtomicU64>, key: SessionKey) {
    match users.get_mut(user) {
        Some(user) => user.sessions.push(key),
        None => {
            users.insert(user.into(), User { epoch, sessions: vec![key] });
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
    entry.sessions.retain(is_kept);
    if entry.sessions.is_empty() {
        users.remove(user);
    }
}

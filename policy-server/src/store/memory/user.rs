//! The sessions of one user.

use std::{
    collections::HashMap,
    hash::RandomState,
    sync::{Arc, atomic::AtomicU64},
};

use policy_core::session::SessionKey;

/// Some of the users. One without sessions is not kept.
pub(super) type Users = HashMap<Box<str>, User, RandomState>;

/// One user.
pub(super) struct User {
    /// Every session of the user looks at it, so one store here ends all of them at once.
    pub(super) epoch: Arc<AtomicU64>,
    /// INVARIANT: every living session of the user is here. Dead ones may be, for a while.
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

/// Takes a session from its user, if it is there.
pub(super) fn remove(users: &mut Users, user: &str, key: &SessionKey) {
    let Some(entry) = users.get_mut(user) else { return };
    if let Some(place) = entry.sessions.iter().position(|one| one == key) {
        entry.sessions.swap_remove(place);
    }
    if entry.sessions.is_empty() {
        users.remove(user);
    }
}

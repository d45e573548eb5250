//! Anonymous sessions in order of creation, to limit their number.

use std::{collections::BTreeSet, sync::Mutex};

use policy_core::{
    session::{Record, SessionKey},
    time::Timestamp,
};

use super::shards::lock;

pub(super) struct Anonymous {
    most: usize,
    oldest_first: Mutex<BTreeSet<(Timestamp, SessionKey)>>,
}

impl Anonymous {
    pub(super) fn at_most(most: usize) -> Self {
        Self { most, oldest_first: Mutex::default() }
    }

    /// Adds a session if it is anonymous. Returns the one that must end to make room, which is
    /// removed here.
    pub(super) fn add(&self, key: SessionKey, record: &Record) -> Option<SessionKey> {
        if record.identity.is_some() {
            return None;
        }
        let mut sessions = lock(&self.oldest_first);
        sessions.insert((record.created, key));
        if sessions.len() <= self.most {
            return None;
        }
        sessions.pop_first().map(|(_, key)| key)
    }

    /// Removes a session.
    pub(super) fn remove(&self, key: SessionKey, record: &Record) {
        if record.identity.is_none() {
            lock(&self.oldest_first).remove(&(record.created, key));
        }
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        lock(&self.oldest_first).len()
    }
}

//! The anonymous sessions in the order they began, so that there are only so many.

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

    /// Counts a session if it is anonymous. Gives the one that has to end for it, which is no
    /// longer counted.
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

    /// Counts a session no longer.
    pub(super) fn remove(&self, key: SessionKey, record: &Record) {
        if record.identity.is_none() {
            lock(&self.oldest_first).remove(&(record.created, key));
        }
    }
}

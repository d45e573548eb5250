//! Anonymous sessions in order of creation, with the size of their values, to limit both.

use std::{collections::BTreeMap, sync::Mutex};

use policy_core::{
    session::{Record, SessionKey},
    time::Timestamp,
};

use crate::{base::locks::lock, store::AnonymousLimit};

/// The most sessions that end to make room for one, so that no call takes long.
const MAX_OVERFLOW: usize = 256;

pub(super) struct Anonymous {
    limit: AnonymousLimit,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The size of the values of each.
    oldest_first: BTreeMap<(Timestamp, SessionKey), u64>,
    /// The sum of these sizes.
    bytes: u64,
}

impl Anonymous {
    pub(super) fn at_most(limit: AnonymousLimit) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// Adds a session if it is anonymous, or changes the size of its values. Returns the oldest
    /// others that must end to make room, which are removed here.
    pub(super) fn put(&self, key: SessionKey, record: &Record) -> Vec<SessionKey> {
        let mut overflow = Vec::new();
        if record.identity.is_some() {
            return overflow;
        }
        let mut state = lock(&self.state);
        state.insert((record.created, key), record.data.len() as u64);
        while state.exceeds(self.limit) && overflow.len() < MAX_OVERFLOW {
            let mut oldest = state.oldest_first.keys().take(2).copied();
            let Some(oldest) = oldest.find(|(_, one)| *one != key) else { break };
            state.remove(&oldest);
            overflow.push(oldest.1);
        }
        overflow
    }

    /// Removes a session.
    pub(super) fn remove(&self, key: SessionKey, record: &Record) {
        if record.identity.is_none() {
            lock(&self.state).remove(&(record.created, key));
        }
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        lock(&self.state).oldest_first.len()
    }
}

impl State {
    fn insert(&mut self, place: (Timestamp, SessionKey), size: u64) {
        let before = self.oldest_first.insert(place, size).unwrap_or(0);
        self.bytes = self.bytes - before + size;
    }

    fn remove(&mut self, place: &(Timestamp, SessionKey)) {
        self.bytes -= self.oldest_first.remove(place).unwrap_or(0);
    }

    fn exceeds(&self, limit: AnonymousLimit) -> bool {
        self.oldest_first.len() as u64 > limit.sessions || self.bytes > limit.bytes
    }
}

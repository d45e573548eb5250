//! A store that notes what it is asked, and fails when told to.

use std::sync::{Arc, Mutex};

use policy_core::{
    session::{Handle, Record, SessionKey},
    time::Timestamp,
};

use crate::store::{
    Answer, Cas, Created, Limit, Loaded, MemoryStore, SessionStore, StoreError, Summary,
};

/// Copies share everything.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    pub(super) inner: MemoryStore,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    calls: Vec<&'static str>,
    down: Option<Down>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Down {
    All,
    Writes,
}

impl Watched {
    /// What was called since this was asked last.
    pub(super) fn take_calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.state.lock().unwrap().calls)
    }

    pub(super) fn set_down(&self, down: Option<Down>) {
        self.state.lock().unwrap().down = down;
    }

    fn call<'a, T>(
        &self,
        name: &'static str,
        answer: impl FnOnce() -> Answer<'a, T>,
    ) -> Answer<'a, T> {
        let mut state = self.state.lock().unwrap();
        state.calls.push(name);
        let fails = match state.down {
            Some(Down::All) => true,
            Some(Down::Writes) => name != "load",
            None => false,
        };
        drop(state);
        if fails { Answer::ready(Err(StoreError::new("the store is down"))) } else { answer() }
    }
}

impl SessionStore for Watched {
    fn secret(&self, fresh: [u8; 32]) -> Answer<'_, [u8; 32]> {
        self.call("secret", || SessionStore::secret(&self.inner, fresh))
    }

    fn create<'a>(
        &'a self,
        key: &'a SessionKey,
        record: Record,
        limit: Option<Limit>,
        now: Timestamp,
    ) -> Answer<'a, Created> {
        self.call("create", || self.inner.create(key, record, limit, now))
    }

    fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> Answer<'a, Option<Loaded>> {
        self.call("load", || self.inner.load(key, now))
    }

    fn update<'a>(
        &'a self,
        key: &'a SessionKey,
        expected: u64,
        data: Box<[u8]>,
        now: Timestamp,
    ) -> Answer<'a, Cas> {
        self.call("update", || self.inner.update(key, expected, data, now))
    }

    fn touch<'a>(
        &'a self,
        key: &'a SessionKey,
        idle_deadline: Timestamp,
        now: Timestamp,
    ) -> Answer<'a, bool> {
        self.call("touch", || self.inner.touch(key, idle_deadline, now))
    }

    fn rotate<'a>(
        &'a self,
        old: &'a SessionKey,
        new: &'a SessionKey,
        expected: u64,
        record: Record,
        grace: Option<Timestamp>,
        limit: Option<Limit>,
        now: Timestamp,
    ) -> Answer<'a, Cas> {
        self.call("rotate", || self.inner.rotate(old, new, expected, record, grace, limit, now))
    }

    fn delete<'a>(&'a self, key: &'a SessionKey) -> Answer<'a, bool> {
        self.call("delete", || self.inner.delete(key))
    }

    fn list<'a>(&'a self, user: &'a str, limit: usize, now: Timestamp) -> Answer<'a, Vec<Summary>> {
        self.call("list", || self.inner.list(user, limit, now))
    }

    fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> Answer<'a, bool> {
        self.call("delete_by_handle", || self.inner.delete_by_handle(user, handle))
    }

    fn revoke_user<'a>(
        &'a self,
        user: &'a str,
        keep: Option<&'a SessionKey>,
        now: Timestamp,
    ) -> Answer<'a, u64> {
        self.call("revoke_user", || self.inner.revoke_user(user, keep, now))
    }

    fn purge(&self, now: Timestamp, limit: usize) -> Answer<'_, usize> {
        self.call("purge", || SessionStore::purge(&self.inner, now, limit))
    }
}

//! A store of one's own that a test counts, breaks and holds up.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use policy_core::{
    session::{Handle, SessionKey},
    time::Timestamp,
};
use policy_server::store::{
    Answer, Cas, CreateSession, Created, Family, ListSessions, Loaded, MemoryStore, Refresh,
    Refreshed, Revocation, RevocationBatch, RevokeUser, RotateSession, SessionStore, StoreError,
    Summary, Ticket, TokenHash, TokenStore, TouchSession, UpdateSession,
};
use tokio::{sync::Semaphore, time::timeout};

/// Memory that can fail; copies are one store.
#[derive(Clone, Debug, Default)]
pub struct Store {
    memory: MemoryStore,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    fails_to_read: AtomicBool,
    fails_to_write: AtomicBool,
    /// Calls wait for a permit while this is set.
    holds: AtomicBool,
    permits: Semaphore,
    held: Semaphore,
    calls: AtomicUsize,
}

impl Default for State {
    fn default() -> Self {
        Self {
            fails_to_read: AtomicBool::default(),
            fails_to_write: AtomicBool::default(),
            holds: AtomicBool::default(),
            permits: Semaphore::new(0),
            held: Semaphore::new(0),
            calls: AtomicUsize::default(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
}

impl Store {
    /// What is asked of it from now on fails.
    pub fn fail(&self, fails: bool) {
        self.state.fails_to_read.store(fails, Ordering::Relaxed);
        self.state.fails_to_write.store(fails, Ordering::Relaxed);
    }

    /// It answers questions, and changes nothing.
    pub fn fail_to_write(&self) {
        self.state.fails_to_write.store(true, Ordering::Relaxed);
    }

    /// Calls wait from now on.
    pub fn hold(&self) {
        self.state.holds.store(true, Ordering::Relaxed);
    }

    /// Waits until a call waits.
    pub async fn is_held(&self) {
        let held = timeout(Duration::from_secs(10), self.state.held.acquire()).await;
        held.expect("a call in time").expect("a call").forget();
    }

    /// Lets one call go on.
    pub fn step(&self) {
        self.state.permits.add_permits(1);
    }

    /// Lets all calls go on.
    pub fn release(&self) {
        self.state.holds.store(false, Ordering::Relaxed);
        self.state.permits.add_permits(1000);
    }

    /// How many questions it was asked so far.
    pub fn calls(&self) -> usize {
        self.state.calls.load(Ordering::Relaxed)
    }

    fn ask<'a, T: Unpin + Send + 'a>(
        &'a self,
        kind: Kind,
        call: impl FnOnce(&'a MemoryStore) -> Answer<'a, T> + Send + 'a,
    ) -> Answer<'a, T> {
        let state = &self.state;
        state.calls.fetch_add(1, Ordering::Relaxed);
        let fails = match kind {
            Kind::Read => &state.fails_to_read,
            Kind::Write => &state.fails_to_write,
        };
        if fails.load(Ordering::Relaxed) {
            return Answer::ready(Err(StoreError::new("the disk is on fire")));
        }
        if !state.holds.load(Ordering::Relaxed) {
            return call(&self.memory);
        }
        Answer::later(async move {
            state.held.add_permits(1);
            state.permits.acquire().await.expect("a permit").forget();
            call(&self.memory).await
        })
    }
}

impl SessionStore for Store {
    fn secret(&self, fresh: [u8; 32]) -> Answer<'_, [u8; 32]> {
        self.ask(Kind::Read, move |memory| SessionStore::secret(memory, fresh))
    }

    fn create(&self, request: CreateSession) -> Answer<'_, Created> {
        self.ask(Kind::Write, move |memory| memory.create(request))
    }

    fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> Answer<'a, Option<Loaded>> {
        self.ask(Kind::Read, move |memory| memory.load(key, now))
    }

    fn update(&self, request: UpdateSession) -> Answer<'_, Cas> {
        self.ask(Kind::Write, move |memory| memory.update(request))
    }

    fn touch(&self, request: TouchSession) -> Answer<'_, bool> {
        self.ask(Kind::Write, move |memory| memory.touch(request))
    }

    fn rotate(&self, request: RotateSession) -> Answer<'_, Cas> {
        self.ask(Kind::Write, move |memory| memory.rotate(request))
    }

    fn delete<'a>(&'a self, key: &'a SessionKey) -> Answer<'a, bool> {
        self.ask(Kind::Write, move |memory| memory.delete(key))
    }

    fn list<'a>(&'a self, request: ListSessions<'a>) -> Answer<'a, Vec<Summary>> {
        self.ask(Kind::Read, move |memory| memory.list(request))
    }

    fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> Answer<'a, bool> {
        self.ask(Kind::Write, move |memory| memory.delete_by_handle(user, handle))
    }

    fn revoke_user<'a>(&'a self, request: RevokeUser<'a>) -> Answer<'a, u64> {
        self.ask(Kind::Write, move |memory| memory.revoke_user(request))
    }

    fn purge(&self, now: Timestamp, limit: usize) -> Answer<'_, usize> {
        // It is no answer to a request, so it is not counted.
        if self.state.fails_to_write.load(Ordering::Relaxed) {
            return Answer::ready(Err(StoreError::new("the disk is on fire")));
        }
        SessionStore::purge(&self.memory, now, limit)
    }
}

impl TokenStore for Store {
    fn secret(&self, fresh: [u8; 32]) -> Answer<'_, [u8; 32]> {
        self.ask(Kind::Read, move |memory| TokenStore::secret(memory, fresh))
    }

    fn create_family(&self, family: Family, token: TokenHash) -> Answer<'_, ()> {
        self.ask(Kind::Write, move |memory| memory.create_family(family, token))
    }

    fn refresh(&self, request: Refresh) -> Answer<'_, Refreshed> {
        self.ask(Kind::Write, move |memory| memory.refresh(request))
    }

    fn end_family(&self, token: TokenHash) -> Answer<'_, Option<Family>> {
        self.ask(Kind::Write, move |memory| memory.end_family(token))
    }

    fn end_families<'a>(&'a self, user: &'a str) -> Answer<'a, u64> {
        self.ask(Kind::Write, move |memory| memory.end_families(user))
    }

    fn revoke(&self, revocation: Revocation) -> Answer<'_, u64> {
        self.ask(Kind::Write, move |memory| memory.revoke(revocation))
    }

    /// Asked in the background; nobody counts it.
    fn revocations(&self, since: u64) -> Answer<'_, RevocationBatch> {
        if self.state.fails_to_read.load(Ordering::Relaxed) {
            return Answer::ready(Err(StoreError::new("the disk is on fire")));
        }
        self.memory.revocations(since)
    }

    fn put_ticket(&self, hash: TokenHash, ticket: Ticket) -> Answer<'_, ()> {
        self.ask(Kind::Write, move |memory| memory.put_ticket(hash, ticket))
    }

    fn take_ticket(&self, hash: TokenHash, now: Timestamp) -> Answer<'_, Option<Ticket>> {
        self.ask(Kind::Write, move |memory| memory.take_ticket(hash, now))
    }

    fn purge(&self, now: Timestamp, limit: usize) -> Answer<'_, usize> {
        TokenStore::purge(&self.memory, now, limit)
    }
}

//! A store that a test can make fail or block.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use policy_core::{
    session::{Handle, Identity, SessionKey},
    time::Timestamp,
};
use tokio::sync::Semaphore;

use crate::store::{
    Cas, CreateFamily, CreateSession, CutOff, Family, LeasePermits, LimitStore, ListSessions,
    Loaded, MemoryStore, NewsReader, Refresh, RefreshOutcome, Revocation, RevocationBatch,
    RevokeUser, Revoked, RotateSession, SessionCreated, SessionStore, StoreError, StoreFuture,
    Summary, TakeRate, TakenRate, Ticket, TokenHash, TokenStore, TouchSession, UpdateSession,
};

/// A store that a test can make fail or block, and that records the names of its calls.
///
/// It shows how an app behaves while its store is unavailable: which requests are refused, and
/// which writes are repeated later. All other calls go to the inner store. Clones share their
/// state.
///
/// ```
/// use policy_server::{prelude::*, testing::FaultyStore};
///
/// #[get("/me")]
/// #[auth(session)]
/// async fn me(me: Principal) -> String {
///     me.subject().to_owned()
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let store: FaultyStore = FaultyStore::default();
/// let app = App::new(()).sessions(Sessions::store(store.clone())).routes(routes![me]);
/// let client = app.test();
/// store.fail();
/// let id = format!("policy_session={}", "A".repeat(43));
/// let response = client.get("/me").header("cookie", &id).send().await;
/// assert_ne!(response.status(), StatusCode::OK);
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct FaultyStore<S = MemoryStore> {
    store: S,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    fails_to_read: AtomicBool,
    fails_to_write: AtomicBool,
    is_silent: AtomicBool,
    /// Calls wait for its permits while it is there, or until it is closed.
    gate: Mutex<Option<Arc<Semaphore>>>,
    held: Semaphore,
    calls: Mutex<Vec<&'static str>>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            fails_to_read: AtomicBool::default(),
            fails_to_write: AtomicBool::default(),
            is_silent: AtomicBool::default(),
            gate: Mutex::default(),
            held: Semaphore::new(0),
            calls: Mutex::default(),
        }
    }
}

/// The kind of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
}

impl<S> FaultyStore<S> {
    /// A store that works until a test makes it fail.
    pub fn new(store: S) -> Self {
        Self { store, state: Arc::default() }
    }

    /// The store inside, which does not fail.
    pub fn inner(&self) -> &S {
        &self.store
    }

    /// Fails every call from now on.
    pub fn fail(&self) {
        self.set_failing(true, true);
    }

    /// Fails every call that would change something from now on.
    pub fn fail_to_write(&self) {
        self.set_failing(false, true);
    }

    /// Works again.
    pub fn recover(&self) {
        self.set_failing(false, false);
    }

    /// Sends no notifications to apps that are opened from now on, like a store whose notifications
    /// are lost.
    pub fn silence(&self) {
        self.state.is_silent.store(true, Ordering::SeqCst);
    }

    fn set_failing(&self, read: bool, write: bool) {
        self.state.fails_to_read.store(read, Ordering::SeqCst);
        self.state.fails_to_write.store(write, Ordering::SeqCst);
    }

    /// Blocks calls from now on, until [`step`](Self::step) or [`release`](Self::release).
    pub fn hold(&self) {
        let mut gate = self.gate();
        if gate.is_none() {
            // No call of an earlier hold is blocked any more.
            self.state.held.forget_permits(usize::MAX);
            *gate = Some(Arc::new(Semaphore::new(0)));
        }
    }

    /// Completes when a further call is blocked. Each call completes one `is_held`.
    pub async fn is_held(&self) {
        if let Ok(call) = self.state.held.acquire().await {
            call.forget();
        }
    }

    /// Lets one call proceed: a blocked one, or the next one if none is blocked.
    pub fn step(&self) {
        if let Some(gate) = &*self.gate() {
            gate.add_permits(1);
        }
    }

    /// Lets all calls proceed, present and future ones, until the next [`hold`](Self::hold).
    pub fn release(&self) {
        if let Some(gate) = self.gate().take() {
            gate.close();
        }
    }

    fn gate(&self) -> MutexGuard<'_, Option<Arc<Semaphore>>> {
        self.state.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names of the calls since the last `take_calls`, without those of background tasks:
    /// `purge`, `revocations`, `cut_offs` and `time`.
    pub fn take_calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.calls())
    }

    fn calls(&self) -> MutexGuard<'_, Vec<&'static str>> {
        self.state.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call<'a, T: Unpin + Send + 'a>(
        &'a self,
        kind: Kind,
        name: &'static str,
        call: impl FnOnce(&'a S) -> StoreFuture<'a, T> + Send + 'a,
    ) -> StoreFuture<'a, T>
    where
        S: Sync,
    {
        self.calls().push(name);
        if self.fails(kind) {
            return failed();
        }
        let Some(gate) = self.gate().clone() else { return call(&self.store) };
        StoreFuture::new(async move {
            self.state.held.add_permits(1);
            if let Ok(permit) = gate.acquire().await {
                permit.forget();
            }
            call(&self.store).await
        })
    }

    /// A call of a background task.
    fn background<'a, T>(
        &'a self,
        kind: Kind,
        call: impl FnOnce(&'a S) -> StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        if self.fails(kind) { failed() } else { call(&self.store) }
    }

    fn fails(&self, kind: Kind) -> bool {
        let fails = match kind {
            Kind::Read => &self.state.fails_to_read,
            Kind::Write => &self.state.fails_to_write,
        };
        fails.load(Ordering::SeqCst)
    }
}

fn failed<'a, T>() -> StoreFuture<'a, T> {
    StoreFuture::ready(Err(StoreError::new("the store fails, since the test says so")))
}

impl<S: SessionStore> SessionStore for FaultyStore<S> {
    fn open(&self) -> StoreFuture<'_, ()> {
        self.background(Kind::Read, SessionStore::open)
    }

    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        self.call(Kind::Read, "secret", move |store| SessionStore::secret(store, fresh))
    }

    fn create(&self, request: CreateSession) -> StoreFuture<'_, SessionCreated> {
        self.call(Kind::Write, "create", |store| store.create(request))
    }

    fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> StoreFuture<'a, Option<Loaded>> {
        self.call(Kind::Read, "load", move |store| store.load(key, now))
    }

    fn update(&self, request: UpdateSession) -> StoreFuture<'_, Cas> {
        self.call(Kind::Write, "update", |store| store.update(request))
    }

    fn touch(&self, request: TouchSession) -> StoreFuture<'_, bool> {
        self.call(Kind::Write, "touch", move |store| store.touch(request))
    }

    fn rotate(&self, request: RotateSession) -> StoreFuture<'_, Cas> {
        self.call(Kind::Write, "rotate", |store| store.rotate(request))
    }

    fn delete<'a>(&'a self, key: &'a SessionKey) -> StoreFuture<'a, bool> {
        self.call(Kind::Write, "delete", move |store| store.delete(key))
    }

    fn list<'a>(&'a self, request: ListSessions<'a>) -> StoreFuture<'a, Vec<Summary>> {
        self.call(Kind::Read, "list", move |store| store.list(request))
    }

    fn identity<'a>(
        &'a self,
        user: &'a str,
        handle: Handle,
        now: Timestamp,
    ) -> StoreFuture<'a, Option<Identity>> {
        self.call(Kind::Read, "identity", move |store| store.identity(user, handle, now))
    }

    fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> StoreFuture<'a, bool> {
        self.call(Kind::Write, "delete_by_handle", move |store| {
            store.delete_by_handle(user, handle)
        })
    }

    fn revoke_user<'a>(&'a self, request: RevokeUser<'a>) -> StoreFuture<'a, CutOff> {
        self.call(Kind::Write, "revoke_user", move |store| store.revoke_user(request))
    }

    fn revoke_everyone(&self, now: Timestamp) -> StoreFuture<'_, CutOff> {
        self.call(Kind::Write, "revoke_everyone", move |store| store.revoke_everyone(now))
    }

    fn cut_offs(&self) -> StoreFuture<'_, u64> {
        self.background(Kind::Read, SessionStore::cut_offs)
    }

    fn time(&self) -> StoreFuture<'_, Option<Timestamp>> {
        self.background(Kind::Read, SessionStore::time)
    }

    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize> {
        self.background(Kind::Write, move |store| SessionStore::purge(store, now, limit))
    }

    fn count(&self, now: Timestamp) -> StoreFuture<'_, Option<u64>> {
        self.background(Kind::Read, move |store| SessionStore::count(store, now))
    }

    fn news(&self) -> Option<NewsReader> {
        (!self.state.is_silent.load(Ordering::SeqCst)).then(|| self.store.news()).flatten()
    }

    fn is_writable(&self) -> bool {
        !self.fails(Kind::Write) && SessionStore::is_writable(&self.store)
    }
}

impl<S: TokenStore> TokenStore for FaultyStore<S> {
    fn open(&self) -> StoreFuture<'_, ()> {
        self.background(Kind::Read, TokenStore::open)
    }

    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        self.call(Kind::Read, "secret", move |store| TokenStore::secret(store, fresh))
    }

    fn create_family(&self, request: CreateFamily) -> StoreFuture<'_, bool> {
        self.call(Kind::Write, "create_family", move |store| store.create_family(request))
    }

    fn refresh(&self, request: Refresh) -> StoreFuture<'_, RefreshOutcome> {
        self.call(Kind::Write, "refresh", move |store| store.refresh(request))
    }

    fn end_family(&self, token: TokenHash) -> StoreFuture<'_, Option<Family>> {
        self.call(Kind::Write, "end_family", move |store| store.end_family(token))
    }

    fn end_family_by_id(&self, id: [u8; 16]) -> StoreFuture<'_, ()> {
        self.call(Kind::Write, "end_family_by_id", move |store| store.end_family_by_id(id))
    }

    fn revoke(&self, revocation: Revocation) -> StoreFuture<'_, Revoked> {
        self.call(Kind::Write, "revoke", move |store| store.revoke(revocation))
    }

    fn revocations(&self, since: u64) -> StoreFuture<'_, RevocationBatch> {
        self.background(Kind::Read, move |store| store.revocations(since))
    }

    fn put_ticket(&self, hash: TokenHash, ticket: Ticket) -> StoreFuture<'_, ()> {
        self.call(Kind::Write, "put_ticket", move |store| store.put_ticket(hash, ticket))
    }

    fn take_ticket(&self, hash: TokenHash, now: Timestamp) -> StoreFuture<'_, Option<Ticket>> {
        self.call(Kind::Write, "take_ticket", move |store| store.take_ticket(hash, now))
    }

    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize> {
        self.background(Kind::Write, move |store| TokenStore::purge(store, now, limit))
    }

    fn news(&self) -> Option<NewsReader> {
        (!self.state.is_silent.load(Ordering::SeqCst)).then(|| self.store.news()).flatten()
    }

    fn is_writable(&self) -> bool {
        !self.fails(Kind::Write) && TokenStore::is_writable(&self.store)
    }
}

impl<S: LimitStore> LimitStore for FaultyStore<S> {
    fn open(&self) -> StoreFuture<'_, ()> {
        self.background(Kind::Read, LimitStore::open)
    }

    fn take_rate(&self, request: TakeRate) -> StoreFuture<'_, TakenRate> {
        self.call(Kind::Write, "take_rate", move |store| store.take_rate(request))
    }

    fn lease_permits(&self, request: LeasePermits) -> StoreFuture<'_, u32> {
        self.call(Kind::Write, "lease_permits", move |store| store.lease_permits(request))
    }

    fn purge(&self, limit: usize) -> StoreFuture<'_, usize> {
        self.background(Kind::Write, move |store| LimitStore::purge(store, limit))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_store_can_be_held_again() {
        let store: FaultyStore = FaultyStore::default();
        let call = || SessionStore::secret(&store, [7; 32]);
        for _ in 0..3 {
            store.hold();
            assert!(store.is_held().now_or_never().is_none());
            let mut blocked = call();
            assert!((&mut blocked).now_or_never().is_none());
            store.release();
            assert!(blocked.now_or_never().is_some() && call().now_or_never().is_some());
        }
        store.hold();
        store.step();
        assert!(call().now_or_never().is_some() && call().now_or_never().is_none());
    }
}

//! A store that a test can make fail or block.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use policy_core::{
    session::{Handle, Identity, SessionKey},
    time::Timestamp,
};
use tokio::sync::Semaphore;

use crate::{
    base::locks::lock,
    store::{
        Cas, CreateFamily, CreateSession, CutOff, Family, LeasePermits, LimitStore, ListSessions,
        Loaded, MemoryStore, NewsReader, Refresh, RefreshOutcome, Revocation, RevocationBatch,
        RevokeUser, Revoked, RotateSession, SessionCreated, SessionStore, StoreError, StoreFuture,
        Summary, TakeRate, TakenRate, Ticket, TokenHash, TokenStore, TouchSession, UpdateSession,
        passing::pass_on,
    },
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
    loses_answers: AtomicBool,
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
            loses_answers: AtomicBool::default(),
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

    /// Makes every call that would change something from now on, and fails in place of its answer, like a
    /// store whose connection is lost.
    pub fn lose_answers(&self) {
        self.state.loses_answers.store(true, Ordering::SeqCst);
    }

    /// Works again.
    pub fn recover(&self) {
        self.set_failing(false, false);
        self.state.loses_answers.store(false, Ordering::SeqCst);
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
        let mut gate = lock(&self.state.gate);
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
        if let Some(gate) = &*lock(&self.state.gate) {
            gate.add_permits(1);
        }
    }

    /// Lets all calls proceed, present and future ones, until the next [`hold`](Self::hold).
    pub fn release(&self) {
        if let Some(gate) = lock(&self.state.gate).take() {
            gate.close();
        }
    }

    /// The names of the calls since the last `take_calls`, without those of background tasks:
    /// `purge`, `revocations`, `cut_offs` and `time`.
    pub fn take_calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut *lock(&self.state.calls))
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
        lock(&self.state.calls).push(name);
        if self.fails(kind) {
            return failed();
        }
        let gate = lock(&self.state.gate).clone();
        let loses_answer = kind == Kind::Write && self.state.loses_answers.load(Ordering::SeqCst);
        if gate.is_none() && !loses_answer {
            return call(&self.store);
        }
        StoreFuture::new(async move {
            if let Some(gate) = gate {
                self.state.held.add_permits(1);
                if let Ok(permit) = gate.acquire().await {
                    permit.forget();
                }
            }
            let answer = call(&self.store).await;
            if loses_answer { failed().await } else { answer }
        })
    }

    /// A call of a background task.
    fn background<'a, T>(
        &'a self,
        kind: Kind,
        _name: &str,
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
    pass_on! { (by call(Kind::Read))
        fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]>;
        fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> StoreFuture<'a, Option<Loaded>>;
        fn list<'a>(&'a self, request: ListSessions<'a>) -> StoreFuture<'a, Vec<Summary>>;
        fn identity<'a>(
            &'a self,
            user: &'a str,
            handle: Handle,
            now: Timestamp
        ) -> StoreFuture<'a, Option<Identity>>;
    }

    pass_on! { (by call(Kind::Write))
        fn create(&self, request: CreateSession) -> StoreFuture<'_, SessionCreated>;
        fn update(&self, request: UpdateSession) -> StoreFuture<'_, Cas>;
        fn touch(&self, request: TouchSession) -> StoreFuture<'_, bool>;
        fn rotate(&self, request: RotateSession) -> StoreFuture<'_, Cas>;
        fn delete<'a>(&'a self, key: &'a SessionKey) -> StoreFuture<'a, bool>;
        fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> StoreFuture<'a, bool>;
        fn revoke_user<'a>(&'a self, request: RevokeUser<'a>) -> StoreFuture<'a, CutOff>;
        fn revoke_everyone(&self, now: Timestamp) -> StoreFuture<'_, CutOff>;
    }

    pass_on! { (by background(Kind::Read))
        fn open(&self) -> StoreFuture<'_, ()>;
        fn cut_offs(&self) -> StoreFuture<'_, u64>;
        fn time(&self) -> StoreFuture<'_, Option<Timestamp>>;
        fn count(&self, now: Timestamp) -> StoreFuture<'_, Option<u64>>;
    }

    pass_on! { (by background(Kind::Write))
        fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize>;
    }

    fn news(&self) -> Option<NewsReader> {
        (!self.state.is_silent.load(Ordering::SeqCst)).then(|| self.store.news()).flatten()
    }

    fn is_writable(&self) -> bool {
        !self.fails(Kind::Write) && SessionStore::is_writable(&self.store)
    }
}

impl<S: TokenStore> TokenStore for FaultyStore<S> {
    pass_on! { (by call(Kind::Read))
        fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]>;
    }

    pass_on! { (by call(Kind::Write))
        fn create_family(&self, request: CreateFamily) -> StoreFuture<'_, bool>;
        fn refresh(&self, request: Refresh) -> StoreFuture<'_, RefreshOutcome>;
        fn end_family(
            &self,
            token: TokenHash,
            until: Timestamp
        ) -> StoreFuture<'_, Option<Family>>;
        fn end_family_by_id(&self, id: [u8; 16]) -> StoreFuture<'_, ()>;
        fn revoke(&self, revocation: Revocation) -> StoreFuture<'_, Revoked>;
        fn put_ticket(&self, hash: TokenHash, ticket: Ticket) -> StoreFuture<'_, ()>;
        fn take_ticket(&self, hash: TokenHash, now: Timestamp) -> StoreFuture<'_, Option<Ticket>>;
    }

    pass_on! { (by background(Kind::Read))
        fn open(&self) -> StoreFuture<'_, ()>;
        fn revocations(&self, since: u64) -> StoreFuture<'_, RevocationBatch>;
    }

    pass_on! { (by background(Kind::Write))
        fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize>;
    }

    fn news(&self) -> Option<NewsReader> {
        (!self.state.is_silent.load(Ordering::SeqCst)).then(|| self.store.news()).flatten()
    }

    fn is_writable(&self) -> bool {
        !self.fails(Kind::Write) && TokenStore::is_writable(&self.store)
    }
}

impl<S: LimitStore> LimitStore for FaultyStore<S> {
    pass_on! { (by background(Kind::Read))
        fn open(&self) -> StoreFuture<'_, ()>;
    }

    pass_on! { (by call(Kind::Write))
        fn take_rate(&self, request: TakeRate) -> StoreFuture<'_, TakenRate>;
        fn lease_permits(&self, request: LeasePermits) -> StoreFuture<'_, u32>;
    }

    pass_on! { (by background(Kind::Write))
        fn purge(&self, limit: usize) -> StoreFuture<'_, usize>;
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

//! A conformance suite for stores.
//!
//! Run a store through [`sessions`], [`tokens`] or [`limits()`]. Each panics at the first broken
//! rule and states it. They require a tokio runtime; concurrent calls run in threads. A store that
//! several instances share has to pass [`sessions_after_loss`] and [`tokens_after_loss`] too,
//! unless it never loses acknowledged writes.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use policy_server::store::{MemoryStore, conformance};
//!
//! conformance::sessions(MemoryStore::new).await;
//! conformance::tokens(MemoryStore::new).await;
//! conformance::limits(MemoryStore::new).await;
//! # });
//! ```

#![expect(clippy::panic, reason = "a broken rule ends the test that runs the suite")]

mod access;
mod cut_offs;
mod limits;
mod losses;
mod news;
mod races;
mod rotation;
mod sessions;
mod shared_limits;
#[cfg(test)]
mod tests;
mod tickets;
mod tokens;
mod values;

use std::{
    pin::Pin,
    sync::{Arc, Barrier},
    thread,
    time::Duration,
};

use policy_core::{
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};
use tokio::{runtime::Handle as Runtime, task::spawn_blocking};

use super::{
    CreateSession, Limit, LimitStore, SessionCreated, SessionStore, StoreFuture, TokenStore,
    ValueStore,
};

/// Tests a session store. `make` creates an empty one each time.
///
/// # Panics
///
/// A rule is broken, or a call failed.
pub async fn sessions<S: SessionStore>(make: impl Fn() -> S) {
    sessions::run(&make).await;
    rotation::run(&make).await;
    limits::run(&make).await;
    races::run(&make).await;
    cut_offs::check_sessions(&make).await;
    news::check_sessions(&make).await;
}

/// Tests a store of refresh tokens, revocations and tickets. `make` creates an empty one each time.
///
/// # Panics
///
/// A rule is broken, or a call failed.
pub async fn tokens<S: TokenStore>(make: impl Fn() -> S) {
    tokens::run(&make).await;
    tickets::run(&make).await;
    cut_offs::check_tokens(&make).await;
    access::run(&make).await;
    news::check_tokens(&make).await;
}

/// Tests a session store that several instances share and that can lose acknowledged writes, by a
/// failover or a restored copy. `open` opens the same store as another instance does; `save` saves
/// its present state, and `go_back` restores that. A store that goes back and breaks these rules
/// admits users who were cut off.
///
/// # Panics
///
/// A rule is broken, a call failed, or the store does not answer within a minute after it went back.
pub async fn sessions_after_loss<S: SessionStore>(
    open: impl Fn() -> S,
    save: impl AsyncFnOnce(),
    go_back: impl AsyncFnOnce(),
) {
    losses::check_sessions(&open, save, go_back).await;
}

/// The same for a store of refresh tokens, revocations and tickets.
///
/// # Panics
///
/// A rule is broken, a call failed, or the store does not answer within a minute after it went back.
pub async fn tokens_after_loss<S: TokenStore>(
    open: impl Fn() -> S,
    save: impl AsyncFnOnce(),
    go_back: impl AsyncFnOnce(),
) {
    losses::check_tokens(&open, save, go_back).await;
}

/// Tests a store of rates and permits. `make` creates an empty one each time. It takes about a second.
///
/// # Panics
///
/// A rule is broken, or a call failed.
pub async fn limits<S: LimitStore>(make: impl Fn() -> S) {
    shared_limits::run(&make).await;
}

/// Tests a store of named values. `make` creates an empty one each time.
///
/// # Panics
///
/// A rule is broken, or a call failed.
pub async fn values<S: ValueStore>(make: impl Fn() -> S) {
    values::run(&make).await;
}

/// The current time in the suite.
const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// How often a race is repeated.
const ROUNDS: u32 = 30;

/// The number of concurrent calls.
const RACERS: u32 = 8;

#[track_caller]
fn rule(holds: bool, rule: &str) {
    assert!(holds, "the store breaks a rule: {rule}");
}

/// The result of a call, which must succeed.
async fn answer<T: Unpin>(response: StoreFuture<'_, T>) -> T {
    match response.await {
        Ok(response) => response,
        Err(error) => panic!("the store failed: {error}"),
    }
}

/// An empty, open store.
async fn open_store<S: SessionStore>(make: &impl Fn() -> S) -> Arc<S> {
    let store = Arc::new(make());
    answer(store.open()).await;
    store
}

type Call<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Runs calls in threads that begin at the same moment.
async fn at_once<T: Send + 'static>(calls: Vec<Call<T>>) -> Vec<T> {
    let barrier = Arc::new(Barrier::new(calls.len()));
    let spawn = |call| {
        let (barrier, runtime) = (Arc::clone(&barrier), Runtime::current());
        spawn_blocking(move || {
            barrier.wait();
            runtime.block_on(call)
        })
    };
    let running: Vec<_> = calls.into_iter().map(spawn).collect();
    let mut results = Vec::new();
    for call in running {
        match call.await {
            Ok(result) => results.push(result),
            Err(error) => panic!("a call that raced failed: {error}"),
        }
    }
    results
}

/// The results of a call of each racer, which gets the store and the number of the racer.
async fn race<S, T, F>(store: &Arc<S>, call: impl Fn(Arc<S>, u32) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let call = |racer| -> Call<T> { Box::pin(call(Arc::clone(store), racer)) };
    at_once((0..RACERS).map(call).collect()).await
}

/// A millisecond without a call. The runtime may have no timers.
async fn pause() {
    let _ = spawn_blocking(|| thread::sleep(Duration::from_millis(1))).await;
}

/// This long after the suite's time.
fn at(seconds: u64) -> Timestamp {
    NOW.after(Duration::from_secs(seconds))
}

fn key(number: u32) -> SessionKey {
    let mut key = [0; 32];
    for (place, byte) in key.iter_mut().zip(number.to_le_bytes().iter().cycle()) {
        *place = *byte;
    }
    SessionKey(key)
}

fn handle(number: u32) -> Handle {
    Handle(u128::from(number).to_le_bytes())
}

fn identity(user: &str) -> Identity {
    Identity::new(user).tenant("acme").roles(["reader"]).scopes(["orders:read"])
}

/// A session created at the suite's time: idle after 900 s, expired after 3600 s.
pub(in crate::store) fn record(number: u32, user: Option<&str>) -> Record {
    Record {
        handle: handle(number),
        identity: user.map(identity),
        // The store must overwrite these values.
        epoch: 77,
        version: 99,
        created: NOW,
        authenticated: user.map(|_| NOW),
        rotated: NOW,
        last_seen: NOW,
        idle_deadline: at(900),
        absolute_deadline: at(3600),
        idle: Duration::from_secs(900),
        is_remembered: false,
        binding: [3; 32],
        data: Box::from(*b"{}"),
    }
}

/// Creates a session, which must succeed.
async fn create<S: SessionStore>(store: &S, number: u32, record: Record) -> SessionKey {
    let key = key(number);
    create_limited(store, key, record, None).await;
    key
}

async fn create_limited<S: SessionStore>(
    store: &S,
    key: SessionKey,
    record: Record,
    limit: Option<Limit>,
) -> Vec<Handle> {
    match answer(store.create(CreateSession::new(key, record, NOW).limit(limit))).await {
        SessionCreated::Done { evicted } => evicted,
        other => panic!("the store breaks a rule: `create` inserts under a new key, not {other:?}"),
    }
}

/// The record that a key loads.
async fn load_record<S: SessionStore>(
    store: &S,
    key: &SessionKey,
    now: Timestamp,
) -> Option<Record> {
    let loaded = answer(store.load(key, now)).await?;
    Some(Record::clone(&loaded.record))
}

async fn lives<S: SessionStore>(store: &S, key: &SessionKey) -> bool {
    answer(store.load(key, NOW)).await.is_some()
}

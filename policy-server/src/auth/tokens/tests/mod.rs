//! Tokens of one user and of several instances of an app, over one store.

mod blacklist;
mod keys;
mod laws;
mod refresh;
mod requests;

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};

use policy_core::{
    secret::SecretKey,
    session::Identity,
    time::Timestamp,
    token::{NewClaims, TokenError},
};
use serde_json::Value;
use tokio::sync::broadcast;

use super::{Caller, Issued, TokenService, TokenSettings, Tokens};
use crate::{
    Clock, Problem, Random,
    auth::revocation_events::{RevocationBus, RevocationEvent},
    store::{
        Answer, Family, MemoryStore, Refresh, Refreshed, Revocation, RevocationBatch, StoreError,
        Ticket, TokenHash, TokenStore,
    },
};

/// When the scenarios begin.
const START: u64 = 1_800_000_000;
const ORIGIN: &str = "https://api.example";

/// The cases of a section, which are all there.
fn section(name: &str, count: usize) -> Vec<Value> {
    let file: Value =
        serde_json::from_str(include_str!("../../../../../tests/cases/auth.json")).unwrap();
    let cases = file["sections"][name].as_array().unwrap().clone();
    assert_eq!(cases.len(), count, "{name}");
    cases
}

/// The time of a step, from the beginning.
fn time_of(step: &Value) -> Timestamp {
    let millis = (step["at"].as_f64().unwrap() * 1000.0).round() as u64;
    Timestamp::from_seconds(START).after(Duration::from_millis(millis))
}

fn move_to(clock: &Clock, time: Timestamp) {
    clock.advance(time.since(clock.now()));
    assert_eq!(clock.now(), time);
}

/// One instance of an app.
struct Instance {
    service: Arc<TokenService>,
    revocation_bus: RevocationBus,
    clock: Clock,
}

impl Instance {
    fn new(tokens: TokenSettings, store: impl TokenStore, clock: &Clock) -> Self {
        let revocation_bus = RevocationBus::default();
        let (random, news) = (Random::system(), revocation_bus.clone());
        let store = Arc::new(store);
        let service = TokenService::new(tokens, ORIGIN, store, clock.clone(), random, news);
        Self { service: Arc::new(service.unwrap()), revocation_bus, clock: clock.clone() }
    }

    fn tokens(&self) -> Tokens {
        Tokens::new(Arc::clone(&self.service), None)
    }

    fn tokens_of(&self, caller: Caller) -> Tokens {
        Tokens::new(Arc::clone(&self.service), Some(caller))
    }

    fn verify(&self, token: &str) -> Result<(), TokenError> {
        self.service.verify(token.as_bytes(), self.clock.now()).map(drop)
    }

    /// A token that says just this.
    fn sign(&self, id: &str, user: &str, issued: u64, expires: u64) -> String {
        let claims = NewClaims {
            expires: Timestamp::from_seconds(expires),
            ..NewClaims::new(ORIGIN, ORIGIN, user, id, Timestamp::from_seconds(issued))
        };
        self.service.keys().load().sign(&claims, self.clock.now()).unwrap()
    }

    fn news(&self) -> broadcast::Receiver<RevocationEvent> {
        self.revocation_bus.subscribe()
    }
}

fn settings() -> TokenSettings {
    Tokens::hs256(SecretKey::drawn([1; 32])).unwrap()
}

fn ada() -> Identity {
    Identity::new("ada").scopes(["read", "write"]).roles(["admin"])
}

/// Runs a future that needs nobody to wake it.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => return result,
            Poll::Pending => thread::yield_now(),
        }
    }
}

/// A store like one on another machine: it answers later, it may be held up, and it may be out of
/// reach.
#[derive(Clone, Debug, Default)]
struct Remote(Arc<RemoteState>);

#[derive(Debug, Default)]
struct RemoteState {
    store: MemoryStore,
    is_down: AtomicBool,
    is_held: AtomicBool,
    refreshes: AtomicUsize,
}

impl Remote {
    fn set_down(&self, is_down: bool) {
        self.0.is_down.store(is_down, Ordering::SeqCst);
    }

    /// Whether refreshes and ends of families wait before they reach the store.
    fn hold(&self, is_held: bool) {
        self.0.is_held.store(is_held, Ordering::SeqCst);
    }

    async fn pass(&self) {
        std::future::poll_fn(|_context| match self.0.is_held.load(Ordering::SeqCst) {
            // Whoever holds it polls again.
            true => Poll::Pending,
            false => Poll::Ready(()),
        })
        .await;
    }

    /// How many refreshes reached the store.
    fn refreshes(&self) -> usize {
        self.0.refreshes.load(Ordering::SeqCst)
    }

    fn ask<'a, T: Send + Unpin + 'a>(
        &'a self,
        ask: impl FnOnce(&'a MemoryStore) -> Answer<'a, T> + Send + 'a,
    ) -> Answer<'a, T> {
        Answer::later(async move {
            if self.0.is_down.load(Ordering::SeqCst) {
                return Err(StoreError::new("out of reach"));
            }
            ask(&self.0.store).await
        })
    }
}

impl TokenStore for Remote {
    fn secret(&self, fresh: [u8; 32]) -> Answer<'_, [u8; 32]> {
        self.ask(move |store| TokenStore::secret(store, fresh))
    }

    fn create_family(&self, family: Family, token: TokenHash) -> Answer<'_, ()> {
        self.ask(move |store| store.create_family(family, token))
    }

    fn refresh(&self, request: Refresh) -> Answer<'_, Refreshed> {
        Answer::later(async move {
            self.pass().await;
            self.0.refreshes.fetch_add(1, Ordering::SeqCst);
            self.ask(move |store| store.refresh(request)).await
        })
    }

    fn end_family(&self, token: TokenHash) -> Answer<'_, Option<Family>> {
        self.ask(move |store| store.end_family(token))
    }

    fn end_families<'a>(&'a self, user: &'a str) -> Answer<'a, u64> {
        Answer::later(async move {
            self.pass().await;
            self.ask(move |store| store.end_families(user)).await
        })
    }

    fn revoke(&self, revocation: Revocation) -> Answer<'_, u64> {
        self.ask(move |store| store.revoke(revocation))
    }

    fn revocations(&self, since: u64) -> Answer<'_, RevocationBatch> {
        self.ask(move |store| store.revocations(since))
    }

    fn put_ticket(&self, hash: TokenHash, ticket: Ticket) -> Answer<'_, ()> {
        self.ask(move |store| store.put_ticket(hash, ticket))
    }

    fn take_ticket(&self, hash: TokenHash, now: Timestamp) -> Answer<'_, Option<Ticket>> {
        self.ask(move |store| store.take_ticket(hash, now))
    }

    fn purge(&self, now: Timestamp, limit: usize) -> Answer<'_, usize> {
        self.ask(move |store| TokenStore::purge(store, now, limit))
    }
}

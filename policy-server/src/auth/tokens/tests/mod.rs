//! Tokens of one user at several instances of an app with one store.

mod blacklist;
mod keys;
mod laws;
mod losses;
mod refresh;
mod requests;
mod unanswered;

use std::{pin::pin, sync::Arc, thread, time::Duration};

use futures_util::FutureExt;
use policy_core::{
    secret::SecretKey,
    session::Identity,
    time::Timestamp,
    token::{NewClaims, TokenError},
};
use serde_json::Value;
use tokio::{runtime::Builder, sync::broadcast, time::timeout};

use super::{Caller, IssuedTokens, TokenService, TokenSettings, Tokens};
use crate::{
    Clock, CredentialError, Problem, Random,
    auth::{
        CutOffs, KnownCutOffs,
        revocation_events::{RevocationBus, RevocationEvent},
    },
    store::{MemoryStore, TokenStore},
    testing::FaultyStore,
};

/// When the scenarios begin.
const START: u64 = 1_800_000_000;
const ORIGIN: &str = "https://api.example";

/// The cases of a section; asserts that there are this many.
fn section(name: &str, count: usize) -> Vec<Value> {
    let file: Value =
        serde_json::from_str(include_str!("../../../../../tests/cases/auth.json")).unwrap();
    let cases = file["sections"][name].as_array().unwrap().clone();
    assert_eq!(cases.len(), count, "{name}");
    cases
}

/// The time of a step.
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

    /// The argument of a request that begins now.
    fn tokens(&self) -> Tokens {
        Tokens::new(Arc::clone(&self.service), self.cut_offs(), None)
    }

    fn tokens_of(&self, caller: Caller) -> Tokens {
        Tokens::new(Arc::clone(&self.service), self.cut_offs(), Some(caller))
    }

    fn cut_offs(&self) -> Arc<CutOffs> {
        let known = KnownCutOffs { sessions: 0, tokens: self.service.newest_cut_off() };
        Arc::new(CutOffs::new(None, Some(Arc::clone(&self.service)), known))
    }

    fn verify(&self, token: &str) -> Result<(), TokenError> {
        self.service.verify(token.as_bytes(), &[], self.clock.now(), None).map(drop)
    }

    /// Signs a token with these claims.
    fn sign(&self, id: &str, user: &str, issued: u64, expires: u64) -> String {
        let issued = Timestamp::from_seconds(issued);
        let mut claims = NewClaims::new(ORIGIN, ORIGIN, user, id, issued);
        claims.expires = Timestamp::from_seconds(expires);
        self.service.keys().unwrap().load().sign(&claims, self.clock.now()).unwrap()
    }

    fn news(&self) -> broadcast::Receiver<RevocationEvent> {
        self.revocation_bus.subscribe()
    }
}

fn settings() -> TokenSettings {
    Tokens::hs256(SecretKey::from_bytes([1; 32])).unwrap()
}

/// An open instance, on a store that can fail or block.
fn on_faulty_store() -> (Instance, FaultyStore) {
    let store = FaultyStore::default();
    let instance = Instance::new(settings(), store.clone(), &Clock::at(START));
    wait(instance.service.open()).unwrap();
    (instance, store)
}

fn ada() -> Identity {
    Identity::new("ada").scopes(["read", "write"]).roles(["admin"])
}

/// How long [`wait`] waits: far longer than any operation takes here.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a future on this thread. Panics at the caller's location if the future is not done in time.
#[track_caller]
fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    match runtime.block_on(async { timeout(PATIENCE, future).await }) {
        Ok(result) => result,
        Err(_late) => panic!("a call of the token service was not done within {PATIENCE:?}"),
    }
}

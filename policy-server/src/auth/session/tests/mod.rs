//! Sessions as handlers and the server use them, on a store that records its calls.

mod commits;
mod handlers;
mod laws;
mod scenarios;

use std::sync::Arc;

use futures_util::FutureExt;
use policy_core::{
    cookie::{PresentedCookie, presented},
    head::{OwnOrigin, PublicOrigin},
    session::{HandlerOutcome, SessionId},
};
use tokio::sync::broadcast;

use super::{
    CommitError, CommitFacts, PresentedSession, RequestSession, Session, SessionService,
    SessionSettings, Sessions,
};
use crate::{
    auth::{
        CutOffs, KnownCutOffs,
        revocation_events::{RevocationBus, RevocationEvent},
    },
    base::clock::{Clock, Random},
    testing::FaultyStore,
};

/// When the tests begin.
const START: u64 = 1_800_000_000;

/// An instance of an app with sessions, on a store that several can share.
struct World {
    service: Arc<SessionService>,
    store: FaultyStore,
    clock: Clock,
    ended: broadcast::Receiver<RevocationEvent>,
}

fn public() -> OwnOrigin {
    OwnOrigin::Public(PublicOrigin::parse("https://api.shop.example").unwrap())
}

/// Drawn from a counter, so that every run is the same.
fn random() -> Random {
    let mut drawn = 0_u64;
    Random::from_fn(move |bytes| {
        for chunk in bytes.chunks_mut(8) {
            drawn = drawn
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            chunk.copy_from_slice(&(drawn ^ drawn >> 29).to_be_bytes()[..chunk.len()]);
        }
    })
}

/// Polls a future once: the stores of these tests are ready at once.
fn wait<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("a store that answers at once")
}

impl World {
    /// An instance with these settings, which an app might refuse to start with.
    fn new(settings: impl FnOnce(SessionSettings) -> SessionSettings) -> Self {
        Self::on(FaultyStore::default(), Clock::at(START), random(), settings)
    }

    fn on(
        store: FaultyStore,
        clock: Clock,
        random: Random,
        settings: impl FnOnce(SessionSettings) -> SessionSettings,
    ) -> Self {
        let settings = settings(Sessions::store(store.clone()));
        let revocation_bus = RevocationBus::default();
        let ended = revocation_bus.subscribe();
        let service =
            wait(SessionService::open(settings, &public(), clock.clone(), random, revocation_bus));
        store.take_calls();
        Self { service: Arc::new(service.unwrap()), store, clock, ended }
    }

    /// A request with this id in its cookie, or without a cookie.
    fn request(&self, id: Option<&str>) -> Arc<RequestSession> {
        let mut headers = http::HeaderMap::new();
        if let Some(id) = id {
            let line = format!("{}={id}", self.service.cookie_name());
            headers.insert(http::header::COOKIE, line.parse().unwrap());
        }
        self.request_of(presented(&headers, self.service.cookie_name()).unwrap())
    }

    fn request_of(&self, presented: PresentedCookie) -> Arc<RequestSession> {
        let presented = PresentedSession::new(presented, None);
        let request = Arc::new(RequestSession::new(Arc::clone(&self.service), presented));
        // As the background task does every second.
        wait(self.service.learn_cut_offs()).unwrap_or_default();
        let known = KnownCutOffs { sessions: self.service.newest_cut_off(), tokens: 0 };
        request.share(&Arc::new(CutOffs::new(Some(Arc::clone(&self.service)), None, known)));
        request
    }

    /// Logs a user in and returns the new id.
    fn login(&self, id: Option<&str>, user: &str) -> String {
        let request = self.request(id);
        wait(Sessions::new(Arc::clone(&request)).login(user)).unwrap();
        set_id(&commit(&request, 200).unwrap()).unwrap()
    }

    /// The user of the session with this id, if it has not ended.
    fn user(&self, id: &str) -> Option<String> {
        let request = self.request(Some(id));
        let record = wait(request.load()).unwrap()?;
        record.user().map(str::to_owned)
    }

    fn is_alive(&self, id: &str) -> bool {
        wait(self.request(Some(id)).load()).unwrap().is_some()
    }
}

/// The session as a handler receives it.
fn session(request: &Arc<RequestSession>) -> Session {
    wait(request.load()).unwrap();
    Session::new(Arc::clone(request))
}

fn commit(request: &RequestSession, status: u16) -> Result<CommitFacts, CommitError> {
    wait(request.commit(HandlerOutcome::Answered(status.try_into().unwrap())))
}

/// The id that a commit sets.
fn set_id(committed: &CommitFacts) -> Option<String> {
    let text = committed.set_cookie.as_ref()?.to_str().unwrap();
    let (_, value) = text.split_once(';').unwrap().0.split_once('=').unwrap();
    (!value.is_empty()).then(|| value.to_owned())
}

fn is_removal(committed: &CommitFacts) -> bool {
    let Some(header) = &committed.set_cookie else { return false };
    set_id(committed).is_none() && header.to_str().unwrap().contains("Max-Age=0")
}

fn default() -> World {
    World::new(|sessions| sessions)
}

fn calls(world: &World) -> Vec<&'static str> {
    world.store.take_calls()
}

fn session_request(world: &World, id: &str) -> Arc<RequestSession> {
    let request = world.request(Some(id));
    wait(request.load()).unwrap();
    request
}

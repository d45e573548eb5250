//! A store that lost the ends of refresh token families.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use policy_core::session::Handle;

use super::*;
use crate::store::{
    CreateFamily, ERA, Family, Refresh, RefreshOutcome, Revocation, RevocationBatch, Revoked,
    StoreFuture, Ticket, TokenHash, passing::pass_on,
};

/// A store that loses all revocations, and then records what is ended and revoked.
#[derive(Clone, Debug, Default)]
struct LosingStore {
    store: MemoryStore,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    has_lost: AtomicBool,
    position: AtomicU64,
    families: Mutex<Vec<[u8; 16]>>,
    revoked: Mutex<Vec<Revocation>>,
}

impl TokenStore for LosingStore {
    pass_on! { (to store)
        fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]>;
        fn create_family(&self, request: CreateFamily) -> StoreFuture<'_, bool>;
        fn end_family(&self, token: TokenHash, until: Timestamp) -> StoreFuture<'_, Option<Family>>;
        fn put_ticket(&self, hash: TokenHash, ticket: Ticket) -> StoreFuture<'_, ()>;
        fn take_ticket(&self, hash: TokenHash, now: Timestamp) -> StoreFuture<'_, Option<Ticket>>;
        fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize>;
    }

    /// It responds after other tasks have run.
    fn refresh(&self, request: Refresh) -> StoreFuture<'_, RefreshOutcome> {
        StoreFuture::new(async move {
            let outcome = self.store.refresh(request).await;
            tokio::task::yield_now().await;
            outcome
        })
    }

    fn end_family_by_id(&self, id: [u8; 16]) -> StoreFuture<'_, ()> {
        self.state.families.lock().unwrap().push(id);
        StoreFuture::ready(Ok(()))
    }

    fn revoke(&self, revocation: Revocation) -> StoreFuture<'_, Revoked> {
        if !self.state.has_lost.load(Ordering::SeqCst) {
            return self.store.revoke(revocation);
        }
        self.state.revoked.lock().unwrap().push(revocation);
        let position = ERA + self.state.position.fetch_add(1, Ordering::SeqCst) + 1;
        StoreFuture::ready(Ok(Revoked::new(position, 0, Vec::new())))
    }

    fn revocations(&self, since: u64) -> StoreFuture<'_, RevocationBatch> {
        if !self.state.has_lost.load(Ordering::SeqCst) {
            return self.store.revocations(since);
        }
        StoreFuture::ready(Ok(RevocationBatch::new(Vec::new(), ERA)))
    }
}

/// The store may have lost the end of the family whose token it takes.
#[test]
fn a_refresh_across_a_loss_is_refused() {
    let (clock, losing) = (Clock::at(START), LosingStore::default());
    let store = FaultyStore::new(losing.clone());
    let instance = Instance::new(settings(), store.clone(), &clock);
    wait(instance.service.open()).unwrap();
    let tokens = instance.tokens();
    let text = wait(tokens.login(ada())).unwrap().refresh_token.unwrap();
    store.hold();
    let mut refresh = pin!(tokens.refresh(&text));
    assert!(refresh.as_mut().now_or_never().is_none());
    store.release();
    losing.state.has_lost.store(true, Ordering::SeqCst);
    wait(instance.service.sync()).unwrap();
    assert_eq!(wait(refresh).unwrap_err(), CredentialError::TokenStore);
    assert!(wait(tokens.refresh(&text)).is_ok(), "the client tries again");
}

#[test]
fn a_refresh_does_not_outlast_a_cut_off_of_the_same_request() {
    let instance = Instance::new(settings(), LosingStore::default(), &Clock::at(START));
    wait(instance.service.open()).unwrap();
    let tokens = instance.tokens();
    let text = wait(tokens.login(ada())).unwrap().refresh_token.unwrap();
    let mut refresh = pin!(tokens.refresh(&text));
    assert!(refresh.as_mut().now_or_never().is_none(), "the store has not responded");
    assert_eq!(wait(tokens.revoke_user("ada")).unwrap(), 1);
    assert_eq!(wait(refresh).unwrap_err(), CredentialError::Ended);
}

/// One instance ended them, and the other has only read that.
#[test]
fn families_that_ended_are_ended_again_by_each_instance() {
    for repeats in [0, 1] {
        let (clock, store) = (Clock::at(START), LosingStore::default());
        let instances = [(); 2].map(|()| Instance::new(settings(), store.clone(), &clock));
        for instance in &instances {
            wait(instance.service.open()).unwrap();
        }
        let (one, session) = (&instances[0], Handle([7; 16]));
        let caller =
            Caller { identity: ada(), authenticated: None, session: Some(session), token: None };
        let outside = wait(one.tokens().login(ada())).unwrap();
        let inside = wait(one.tokens_of(caller).login(ada())).unwrap();
        let families = [&outside, &inside].map(|issued| {
            let token = issued.access_token.as_bytes();
            let verified = one.service.verify(token, &[], clock.now(), None).unwrap();
            Handle::parse(verified.claims().session().unwrap()).unwrap()
        });
        assert!(wait(one.tokens().logout(&outside.refresh_token.unwrap())).unwrap());
        assert_eq!(wait(one.service.end_session("ada", session, None)).unwrap(), 1);
        for instance in &instances {
            wait(instance.service.sync()).unwrap();
        }
        store.state.has_lost.store(true, Ordering::SeqCst);
        wait(instances[repeats].service.sync()).unwrap();
        let ended = store.state.families.lock().unwrap().clone();
        assert!(families.iter().all(|family| ended.contains(&family.0)), "{repeats} {ended:?}");
        let revoked = store.state.revoked.lock().unwrap();
        let is_of_session = |revocation: &Revocation| match revocation {
            Revocation::Session { user, session: ended, .. } => {
                **user == *"ada" && *ended == session
            }
            _ => false,
        };
        assert!(revoked.iter().any(is_of_session), "{repeats} {revoked:?}");
        assert_eq!(revoked.len(), 3, "{repeats} {revoked:?}");
    }
}

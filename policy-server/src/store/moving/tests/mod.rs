//! While sessions move, the stores keep the rules, and behave as one store would, in all orders of
//! the calls of two instances.

mod histories;
mod orders;
mod stepped;

use std::{sync::Arc, time::Duration};

use policy_core::{
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};

use super::{Moving, Phase};
use crate::{
    base::clock::Random,
    store::{
        Cas, CreateSession, MemoryStore, News, RevokeUser, RotateSession, SessionCreated,
        SessionStore, conformance,
    },
};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn at(seconds: u64) -> Timestamp {
    NOW.after(Duration::from_secs(seconds))
}

fn key(number: u64) -> SessionKey {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&number.to_be_bytes());
    SessionKey(key)
}

fn record(number: u64, user: Option<&str>, now: Timestamp) -> Record {
    Record {
        handle: Handle(u128::from(number).to_be_bytes()),
        identity: user.map(|user| Identity::new(user).roles(["reader"])),
        epoch: 0,
        version: 1,
        created: now,
        authenticated: user.map(|_| now),
        rotated: now,
        last_seen: now,
        idle_deadline: now.after(Duration::from_secs(900)),
        absolute_deadline: now.after(Duration::from_secs(3600)),
        idle: Duration::from_secs(900),
        is_remembered: false,
        binding: [1; 32],
        data: Box::from(*b"{}"),
    }
}

/// Stores as one, whose clones share what they keep.
fn moving<S: SessionStore + Clone>(first: &S, other: &S, phase: Phase) -> Moving {
    Moving::new(Arc::new(first.clone()), Arc::new(other.clone()), phase, Random::system())
}

async fn begin(store: &impl SessionStore, number: u64, user: Option<&str>) {
    // The later ones have higher numbers.
    let create = CreateSession::new(key(number), record(number, user, at(number)), NOW);
    assert_eq!(store.create(create).await.unwrap(), SessionCreated::Done { evicted: vec![] });
}

async fn lives(store: &impl SessionStore, number: u64) -> bool {
    store.load(&key(number), NOW).await.unwrap().is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stores_keep_the_rules_of_one() {
    let pair = |phase| moving(&MemoryStore::new(), &MemoryStore::new(), phase);
    conformance::sessions(|| pair(Phase::From)).await;
    conformance::sessions(|| pair(Phase::To)).await;
}

#[tokio::test]
async fn the_new_store_takes_over_the_secret_of_the_old_one() {
    let (old, new) = (MemoryStore::new(), MemoryStore::new());
    let secret = SessionStore::secret(&old, [1; 32]).await.unwrap();
    let prepared = moving(&old, &new, Phase::To);
    assert_eq!(prepared.secret([2; 32]).await.unwrap(), secret);
    let moves = moving(&new, &old, Phase::From);
    assert_eq!(moves.secret([3; 32]).await.unwrap(), secret);
    assert_eq!(SessionStore::secret(&new, [4; 32]).await.unwrap(), secret);
}

/// Sessions of the old store would be valid, but not the CSRF tokens of their pages.
#[tokio::test]
async fn a_new_store_with_a_secret_of_its_own_is_refused() {
    let (old, new) = (MemoryStore::new(), MemoryStore::new());
    SessionStore::secret(&new, [1; 32]).await.unwrap();
    for (first, other, phase) in [(&new, &old, Phase::From), (&old, &new, Phase::To)] {
        let refused = moving(first, other, phase).secret([2; 32]).await.unwrap_err().to_string();
        assert!(refused.contains("secret of its own") && refused.contains("empty it"), "{refused}");
    }
}

#[tokio::test]
async fn news_of_both_stores_are_delivered() {
    let (old, new) = (MemoryStore::new(), MemoryStore::new());
    begin(&old, 1, Some("ada")).await;
    begin(&new, 2, Some("ada")).await;
    let mut news = moving(&new, &old, Phase::From).news().unwrap();
    for (store, number) in [(&old, 1), (&new, 2)] {
        store.delete(&key(number)).await.unwrap();
        assert_eq!(news.next().await, Some(News::Session(record(number, None, NOW).handle)));
    }
}

/// The old store has numbers that the new one has not assigned.
#[tokio::test]
async fn a_session_moves_with_any_number_in_the_old_store() {
    let (old, new) = (MemoryStore::new(), MemoryStore::new());
    begin(&old, 1, Some("ada")).await;
    for _ in 0..5 {
        old.revoke_user(RevokeUser::new("ada", NOW).keep(Some(key(1)))).await.unwrap();
    }
    let store = moving(&new, &old, Phase::From);
    let loaded = store.load(&key(1), NOW).await.unwrap().unwrap().record;
    // The cut-off that a request with this session knows.
    let known = store.cut_offs().await.unwrap().max(loaded.epoch);
    let renewed = record(1, Some("ada"), NOW);
    let elevate = RotateSession::new(key(1), key(2), loaded.version, renewed, NOW);
    let elevated = store.rotate(elevate.began(known)).await.unwrap();
    assert!(matches!(elevated, Cas::Done { .. }), "{elevated:?}");
}

/// An open stream continues, since the session did not end.
#[tokio::test]
async fn a_move_sends_no_news() {
    let (old, new) = (MemoryStore::new(), MemoryStore::new());
    begin(&old, 1, Some("ada")).await;
    let store = moving(&new, &old, Phase::From);
    let mut news = store.news().unwrap();
    orders::elevate(&store, 0).await.unwrap();
    store.revoke_user(RevokeUser::new("bob", NOW)).await.unwrap();
    let moved = record(1, None, NOW).handle;
    loop {
        match news.next().await {
            Some(News::SessionsOf { .. }) => return,
            other => assert_ne!(other, Some(News::Session(moved))),
        }
    }
}

/// A logout that keeps values moves them to an anonymous session.
#[tokio::test]
async fn a_session_that_ends_by_a_move_is_told() {
    let (old, new) = (MemoryStore::new(), MemoryStore::new());
    begin(&old, 1, Some("ada")).await;
    let store = moving(&new, &old, Phase::From);
    let mut news = store.news().unwrap();
    let handle = record(1, None, NOW).handle;
    let logout = RotateSession::new(key(1), key(2), 1, record(2, None, NOW), NOW).ends(handle);
    let replaced = store.rotate(logout).await.unwrap();
    assert!(matches!(replaced, Cas::Done { .. }), "{replaced:?}");
    assert_eq!(news.try_next().await, Some(News::Session(handle)));
}

#[tokio::test]
async fn counts_and_purges_cover_both_stores() {
    let (old, new) = (MemoryStore::new(), MemoryStore::new());
    for number in 1..=3 {
        begin(&old, number, Some("ada")).await;
        begin(&new, 10 + number, None).await;
    }
    let store = moving(&new, &old, Phase::From);
    assert_eq!(store.count(NOW).await.unwrap(), Some(6));
    assert_eq!(store.purge(at(10_000), 4).await.unwrap(), 4);
    assert_eq!(store.purge(at(10_000), 4).await.unwrap(), 2);
    assert_eq!(store.count(NOW).await.unwrap(), Some(0));
}

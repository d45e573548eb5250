//! What is specific to the memory store: calls do not deadlock, nothing is leaked, and clients
//! cannot fill it.

use std::{
    sync::{Arc, Barrier, mpsc},
    thread,
    time::Duration,
};

use policy_core::{
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};

use super::{Inner, MemoryStore, row::Row};
use crate::store::{
    CreateFamily, CreateSession, Family, Limit, LimitPolicy, Refresh, Revocation, RevokeUser,
    RotateSession, SessionStore, TokenHash, TokenStore, conformance,
};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const END: Timestamp = Timestamp::from_seconds(1_800_000_900);

/// A small deterministic generator, so that every run is the same.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

fn key(number: u64) -> SessionKey {
    let mut key = [0; 32];
    // Few shards, so that calls collide.
    key[..8].copy_from_slice(&(number | (number % 3) << 40).to_le_bytes());
    SessionKey(key)
}

fn record(number: u64, user: Option<&str>) -> Record {
    Record {
        handle: Handle(u128::from(number).to_le_bytes()),
        created: Timestamp::from_millis(NOW.millis() + number),
        idle_deadline: END,
        absolute_deadline: END,
        ..conformance::record(0, user)
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// The number of rows, of user entries, and of counted anonymous sessions.
fn sizes(store: &Inner) -> (usize, usize, usize) {
    let (mut rows, mut of_users) = (0, 0);
    run(store.sessions.sweep(usize::MAX, |shard, _| {
        rows += shard.values().filter(|row| matches!(row, Row::Session { .. })).count();
        0
    }));
    run(store.users.sweep(usize::MAX, |shard, _| {
        of_users += shard.values().map(|user| user.sessions.len()).sum::<usize>();
        0
    }));
    (rows, of_users, store.anonymous.count())
}

/// A random call on few users and keys.
async fn any_call(store: &MemoryStore, draw: &mut Draw, fresh: u64) {
    const USERS: [Option<&str>; 4] = [None, Some("ada"), Some("bob"), Some("eve")];
    let user = USERS[draw.below(4) as usize];
    let (old, new) = (key(draw.below(fresh)), key(fresh));
    let limit = Limit { sessions: 3, policy: LimitPolicy::EvictOldest };
    let limit = Some(limit).filter(|_| draw.below(2) == 0);
    let grace = Some(END).filter(|_| draw.below(2) == 0);
    let mut next = record(fresh, user);
    if draw.below(5) == 0 {
        next.idle_deadline = NOW;
    }
    match draw.below(9) {
        0..3 => drop(store.create(CreateSession::new(new, next, NOW).limit(limit)).await.unwrap()),
        3..6 => {
            if let Some(found) = store.load(&old, NOW).await.unwrap() {
                let old = found.successor.unwrap_or(old);
                let version = found.record.version;
                let request = RotateSession::new(old, new, version, next, NOW);
                store.rotate(request.grace(grace).limit(limit)).await.unwrap();
            }
        }
        6 => drop(store.delete(&old).await.unwrap()),
        7 => {
            let request = RevokeUser::new(user.unwrap_or("ada"), NOW).keep(old);
            store.revoke_user(request).await.unwrap();
        }
        _ => drop(SessionStore::purge(store, NOW, 10).await.unwrap()),
    }
}

#[test]
fn calls_of_many_threads_end_and_leave_nothing_behind() {
    const THREADS: u64 = 8;
    const CALLS: u64 = 500;
    let store = MemoryStore::new();
    let (done, all_done) = mpsc::channel();
    let barrier = Arc::new(Barrier::new(THREADS as usize));
    for thread in 0..THREADS {
        let (store, done, barrier) = (store.clone(), done.clone(), Arc::clone(&barrier));
        thread::spawn(move || {
            let mut draw = Draw(thread);
            barrier.wait();
            run(async {
                for call in 1..=CALLS {
                    any_call(&store, &mut draw, call * THREADS + thread).await;
                }
            });
            done.send(()).unwrap();
        });
    }
    for _ in 0..THREADS {
        all_done.recv_timeout(Duration::from_secs(120)).expect("no thread waits for ever");
    }
    let (rows, of_users, anonymous) = sizes(&store.0);
    assert!(rows > 100, "sessions are left: {rows}");
    assert_eq!(rows, of_users + anonymous, "each session is its user's, or counted as nobody's");
    run(SessionStore::purge(&store, END, usize::MAX)).unwrap();
    assert_eq!(sizes(&store.0), (0, 0, 0));
}

/// How often a purge of everything lets other tasks run.
fn turns_of_purge(store: &MemoryStore) -> usize {
    run(async {
        let purge = async {
            SessionStore::purge(store, NOW, usize::MAX).await.unwrap();
            TokenStore::purge(store, NOW, usize::MAX).await.unwrap();
        };
        let mut purge = std::pin::pin!(purge);
        let mut turns = 0;
        std::future::poll_fn(|context| {
            turns += 1;
            purge.as_mut().poll(context)
        })
        .await;
        turns
    })
}

#[test]
fn a_purge_lets_others_run_in_between() {
    let store = MemoryStore::new();
    run(async {
        SessionStore::load(&store, &key(1), NOW).await.unwrap();
        let family = Family::new([1; 16], Identity::new("anna"), NOW, END);
        store.create_family(CreateFamily::new(family, TokenHash([1; 32]), 0)).await.unwrap();
        store.take_ticket(TokenHash([1; 32]), NOW).await.unwrap();
    });
    let turns = turns_of_purge(&store);
    assert!(turns > 4000, "{turns}");
}

#[test]
fn tables_that_are_not_used_are_not_made() {
    let store = MemoryStore::new();
    assert!(turns_of_purge(&store) < 10);
    run(SessionStore::load(&store, &key(1), NOW)).unwrap();
    let turns = turns_of_purge(&store);
    assert!((1000..2000).contains(&turns), "{turns}");
}

#[test]
fn a_purge_of_tokens_leaves_nothing_behind() {
    let store = MemoryStore::new();
    run(async {
        for number in 0..50 {
            let identity = Identity::new(number % 7);
            let family = Family::new([number; 16], identity, NOW, END);
            let (token, next) = (TokenHash([number; 32]), TokenHash([number + 100; 32]));
            store.create_family(CreateFamily::new(family, token, 0)).await.unwrap();
            store.refresh(Refresh::new(token, next, Duration::ZERO, NOW, NOW)).await.unwrap();
            let revocation = Revocation::Token { id: number.to_string().into(), until: END };
            store.revoke(revocation).await.unwrap();
        }
        assert_eq!(TokenStore::purge(&store, END, 60).await.unwrap(), 60);
        assert_eq!(TokenStore::purge(&store, END, usize::MAX).await.unwrap(), 90);
        let mut left = 0;
        let families = store.0.families.sweep(usize::MAX, |families, _| {
            left += families.len();
            0
        });
        families.await;
        assert_eq!(left, 0, "no user is left");
    });
}

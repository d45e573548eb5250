//! What clients of three instances see of sessions while the server dies and comes back.

use std::{
    env,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use policy_core::session::SessionKey;
use policy_server::store::{Cas, CreateSession, SessionStore, UpdateSession};

use crate::{
    history::{Call, Event, acknowledged, broken},
    outages::Server,
    records::{NOW, key, record},
    site::until,
};

/// Sessions of one round, and clients of each.
const SESSIONS: u64 = 20;
const CLIENTS: u64 = 3;

/// A session, and what its clients saw.
struct Watched {
    key: SessionKey,
    events: Mutex<Vec<Event>>,
}

/// What the clients of a round have in common.
struct Round {
    /// Orders the events that clients see.
    clock: AtomicU64,
    /// Whether all sessions are to end now.
    ends: AtomicBool,
    is_over: AtomicBool,
}

#[derive(Default)]
struct Counts {
    writes: AtomicU64,
    unknown: AtomicU64,
    deleted: AtomicU64,
}

/// Changes, reads and at last deletes one session, over and over, until the end of the round.
async fn use_session<S: SessionStore>(
    store: S,
    watched: Arc<Watched>,
    client: u64,
    round: Arc<Round>,
    counts: Arc<Counts>,
) {
    let tick = || round.clock.fetch_add(1, Ordering::SeqCst);
    let mut calls = 0;
    while !round.is_over.load(Ordering::Relaxed) {
        calls += 1;
        let begun = tick();
        let Ok(loaded) = store.load(&watched.key, NOW).await else {
            // A store that is unavailable fails at once.
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        };
        let read = loaded.as_ref().map(|loaded| {
            let data = &loaded.record.data;
            let value = data.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
            (loaded.record.version, value)
        });
        watched.events.lock().unwrap().push(Event { begun, ended: tick(), call: Call::Read(read) });
        let Some((version, _)) = read else { return };
        let begun = tick();
        // One of them ends it after a while.
        let ends = calls == 400 || round.ends.load(Ordering::Relaxed);
        let call = if client == 0 && ends {
            let deleted = store.delete(&watched.key).await.ok();
            counts.deleted.fetch_add(1, Ordering::Relaxed);
            Call::Delete(deleted)
        } else {
            let value = begun + 1;
            let data = Box::from(value.to_be_bytes());
            let done = match store.update(UpdateSession::new(watched.key, version, data, NOW)).await
            {
                Ok(Cas::Done { .. }) => Some(true),
                Ok(Cas::Conflict | Cas::Gone) => Some(false),
                Ok(other) => panic!("{other:?}"),
                Err(_unknown) => None,
            };
            counts.writes.fetch_add(u64::from(done == Some(true)), Ordering::Relaxed);
            counts.unknown.fetch_add(u64::from(done.is_none()), Ordering::Relaxed);
            Call::Write { version: version + 1, value, done }
        };
        let is_unknown = matches!(call, Call::Delete(None) | Call::Write { done: None, .. });
        // An unknown call may take effect at any later time.
        let ended = if is_unknown { u64::MAX } else { tick() };
        watched.events.lock().unwrap().push(Event { begun, ended, call });
    }
}

/// Counts the clients that still have a session.
fn count_active(clients: &mut JoinSet<()>) -> usize {
    while let Some(done) = clients.try_join_next() {
        done.unwrap();
    }
    clients.len()
}

/// `POLICY_STORES_SECONDS` is the duration.
pub(crate) async fn are_in_order<S: SessionStore + Clone, V: Server>(server: &V, stores: [S; 3]) {
    let seconds = env::var("POLICY_STORES_SECONDS").map_or(0, |text| text.parse().unwrap());
    for store in &stores {
        SessionStore::open(store).await.unwrap();
    }
    let counts = Arc::new(Counts::default());
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut rounds, mut events) = (0, 0);
    while rounds < 3 || Instant::now() < end {
        let round = Arc::new(Round {
            clock: AtomicU64::new(1),
            ends: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        let mut clients = JoinSet::new();
        let mut sessions = Vec::new();
        for number in rounds * SESSIONS..(rounds + 1) * SESSIONS {
            let key = key(number);
            let create = CreateSession::new(key, record(number, Some("ada")), NOW);
            until(async || stores[0].create(create.clone()).await.is_ok()).await;
            let watched = Arc::new(Watched { key, events: Mutex::default() });
            for client in 0..CLIENTS {
                clients.spawn(use_session(
                    stores[(number + client) as usize % 3].clone(),
                    Arc::clone(&watched),
                    client,
                    Arc::clone(&round),
                    Arc::clone(&counts),
                ));
            }
            sessions.push(watched);
        }
        let written = counts.writes.load(Ordering::Relaxed);
        until(async || counts.writes.load(Ordering::Relaxed) > written + 500).await;
        match rounds % 3 {
            0 => {
                server.kill().await;
                server.begin().await;
            }
            1 => {
                let is_noticed = async || {
                    // Without calls, a store whose clients are all done notices nothing.
                    let key = key(0);
                    let calls =
                        stores.iter().flat_map(|store| [(); 3].map(|()| store.load(&key, NOW)));
                    futures_util::future::join_all(calls).await;
                    stores.iter().all(|store| !SessionStore::is_writable(store))
                };
                server.disturb(is_noticed).await;
            }
            _ => {
                round.ends.store(true, Ordering::Relaxed);
                until(async || count_active(&mut clients) < (SESSIONS * CLIENTS / 2) as usize)
                    .await;
            }
        }
        until(async || stores[0].load(&key(0), NOW).await.is_ok()).await;
        let written = counts.writes.load(Ordering::Relaxed);
        until(async || {
            counts.writes.load(Ordering::Relaxed) > written + 20 || count_active(&mut clients) == 0
        })
        .await;
        round.is_over.store(true, Ordering::Relaxed);
        clients.join_all().await;
        for session in sessions {
            let mut history = std::mem::take(&mut *session.events.lock().unwrap());
            events += history.len();
            if V::IS_COPIED {
                history = acknowledged(history);
            }
            if let Some(rule) = broken(&history) {
                panic!("round {rounds}: {rule}");
            }
        }
        rounds += 1;
    }
    let (unknown, deleted) =
        (counts.unknown.load(Ordering::Relaxed), counts.deleted.load(Ordering::Relaxed));
    println!(
        "{rounds} rounds: {events} calls, {unknown} without an answer, {deleted} sessions ended"
    );
    assert!(unknown > 0 && deleted > 0, "{unknown} without an answer, {deleted} ended");
}

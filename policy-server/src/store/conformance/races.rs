//! Concurrent calls.

use std::{collections::HashSet, sync::Arc};

use policy_core::session::SessionKey;

use super::{
    Call, NOW, RACERS, ROUNDS, SessionStore, answer, at, at_once, create, handle, key, lives,
    load_record, open_store, race, record, rule,
};
use crate::store::{
    Cas, CreateSession, Limit, LimitPolicy, ListSessions, RevokeUser, RotateSession,
    SessionCreated, TouchSession, UpdateSession,
};

pub(super) async fn run<S: SessionStore>(make: &impl Fn() -> S) {
    creations(&open_store(make).await).await;
    merges(&open_store(make).await).await;
    resurrection(&open_store(make).await).await;
    rotations(&open_store(make).await).await;
    rotation_and_deletion(&open_store(make).await).await;
    limit(make, LimitPolicy::Deny).await;
    limit(make, LimitPolicy::EvictOldest).await;
    creation_and_revocation(&open_store(make).await).await;
    rotation_and_revocation(&open_store(make).await).await;
}

/// Keys that no other round uses.
fn keys<const N: usize>(round: u32) -> [SessionKey; N] {
    std::array::from_fn(|place| key(1000 * (round + 1) + place as u32))
}

async fn creations<S: SessionStore>(store: &Arc<S>) {
    for round in 0..ROUNDS {
        let [new] = keys(round);
        let results = race(store, |store, number| async move {
            let record = record(number, Some("ada"));
            answer(store.create(CreateSession::new(new, record, NOW))).await
        })
        .await;
        let done = results.iter().filter(|result| **result != SessionCreated::KeyTaken).count();
        rule(done == 1, "of concurrent `create` calls with one key, one succeeds");
    }
    let listed = answer(store.list(ListSessions::new("ada", 1000, NOW))).await.len();
    rule(listed == ROUNDS as usize, "a refused `create` adds nothing to its user");
}

/// Every caller increments a number as a request does: load, change, compare and set, retry.
async fn merges<S: SessionStore>(store: &Arc<S>) {
    const EACH: u64 = 8;
    let mut counter = record(1, Some("ada"));
    counter.data = Box::from(0_u64.to_le_bytes());
    let key = create(&**store, 1, counter).await;
    race(store, |store, _| async move {
        for _ in 0..EACH {
            count_up(&*store, &key).await;
        }
    })
    .await;
    let total = u64::from(RACERS) * EACH;
    let counter = load_record(&**store, &key, NOW).await;
    rule(
        counter.as_ref().is_some_and(|record| *record.data == total.to_le_bytes()),
        "of concurrent `update` calls with one version, one succeeds: no change is lost",
    );
    rule(
        counter.is_some_and(|record| record.version == 1 + total),
        "each successful `update` increments the version",
    );
}

async fn count_up<S: SessionStore>(store: &S, key: &SessionKey) {
    loop {
        let Some(record) = load_record(store, key, NOW).await else {
            return rule(false, "an `update` does not end a session");
        };
        let count = record.data.first_chunk().copied().map_or(0, u64::from_le_bytes);
        let data = Box::from((count + 1).to_le_bytes());
        match answer(store.update(UpdateSession::new(*key, record.version, data, NOW))).await {
            Cas::Done { .. } => return,
            Cas::Conflict => {}
            other => panic!("the store breaks a rule: `update` of a living session is {other:?}"),
        }
    }
}

/// A logout during writes and touches.
async fn resurrection<S: SessionStore>(store: &Arc<S>) {
    for round in 0..ROUNDS {
        let [key] = keys(round);
        answer(store.create(CreateSession::new(key, record(round, Some("ada")), NOW))).await;
        race(store, |store, number| async move {
            match number % 4 {
                0 => drop(answer(store.delete(&key)).await),
                1 => drop(answer(store.touch(TouchSession::new(key, at(1000), at(5)))).await),
                _ => drop(
                    answer(store.update(UpdateSession::new(key, 1, Box::from(*b"1"), NOW))).await,
                ),
            }
        })
        .await;
        rule(!lives(&**store, &key).await, "a session deleted during writes is dead");
    }
    rule(
        answer(store.list(ListSessions::new("ada", 10, NOW))).await.is_empty(),
        "`list` shows no deleted session",
    );
}

/// Concurrent rotations and writes of one version.
async fn rotations<S: SessionStore>(store: &Arc<S>) {
    for round in 0..ROUNDS {
        let [old, new @ ..] = keys::<8>(round);
        let user = format!("user {round}");
        answer(store.create(CreateSession::new(old, record(round, Some(&user)), NOW))).await;
        let mut calls: Vec<Call<bool>> = Vec::new();
        for new in new {
            let (store, record) = (Arc::clone(store), record(round, Some(&user)));
            calls.push(Box::pin(async move {
                let result = store.rotate(RotateSession::new(old, new, 1, record, NOW));
                matches!(answer(result).await, Cas::Done { .. })
            }));
        }
        let writer = Arc::clone(store);
        calls.push(Box::pin(async move {
            let result = writer.update(UpdateSession::new(old, 1, Box::from(*b"1"), NOW));
            matches!(answer(result).await, Cas::Done { .. })
        }));
        let done = at_once(calls).await.into_iter().filter(|done| *done).count();
        rule(done == 1, "of concurrent `rotate` and `update` calls with one version, one succeeds");
        let listed = answer(store.list(ListSessions::new(&user, 10, NOW))).await.len();
        rule(listed == 1, "concurrent `rotate` calls with one session leave one session");
    }
}

async fn rotation_and_deletion<S: SessionStore>(store: &Arc<S>) {
    for round in 0..ROUNDS {
        let [old, new] = keys(round);
        answer(store.create(CreateSession::new(old, record(round, Some("ada")), NOW))).await;
        let (rotating, deleting) = (Arc::clone(store), Arc::clone(store));
        let record = record(round, Some("ada"));
        let calls: Vec<Call<()>> = vec![
            Box::pin(async move {
                let rotation = RotateSession::new(old, new, 1, record, NOW).grace(at(10));
                answer(rotating.rotate(rotation)).await;
            }),
            Box::pin(async move {
                rule(answer(deleting.delete(&old)).await, "within the grace `delete` finds all");
            }),
        ];
        at_once(calls).await;
        rule(
            !lives(&**store, &old).await && !lives(&**store, &new).await,
            "`delete` ends a session even during a rotation with grace",
        );
    }
}

async fn limit<S: SessionStore>(make: &impl Fn() -> S, policy: LimitPolicy) {
    const MOST: u32 = 3;
    let store = open_store(make).await;
    let results = race(&store, |store, number| async move {
        let create = CreateSession::new(key(number), record(number, Some("ada")), NOW);
        answer(store.create(create.limit(Limit { sessions: MOST, policy }))).await
    })
    .await;
    let listed = answer(store.list(ListSessions::new("ada", 100, NOW))).await;
    rule(listed.len() == MOST as usize, "a limit holds for concurrent logins");
    let mut evicted = HashSet::new();
    let mut refused = 0;
    for result in results {
        match result {
            SessionCreated::Done { evicted: handles } => evicted.extend(handles),
            SessionCreated::LimitReached => refused += 1,
            SessionCreated::KeyTaken => rule(false, "a new key is not taken"),
            SessionCreated::CutOff => rule(false, "a user who was never cut off is not refused"),
        }
    }
    let ended = match policy {
        LimitPolicy::Deny => refused,
        LimitPolicy::EvictOldest => evicted.len(),
    };
    rule(
        ended == (RACERS - MOST) as usize,
        "all sessions that a limit refuses or evicts are reported",
    );
    rule(
        listed.iter().all(|living| !evicted.contains(&living.handle)),
        "an evicted session is dead",
    );
}

async fn creation_and_revocation<S: SessionStore>(store: &Arc<S>) {
    for round in 0..ROUNDS {
        let [kept, new @ ..] = keys::<8>(round);
        let user = format!("user {round}");
        answer(store.create(CreateSession::new(kept, record(round, Some(&user)), NOW))).await;
        let mut calls: Vec<Call<()>> = Vec::new();
        for new in new {
            let (store, record) = (Arc::clone(store), record(round, Some(&user)));
            calls.push(Box::pin(async move {
                answer(store.create(CreateSession::new(new, record, NOW))).await;
            }));
        }
        let (revoking, of) = (Arc::clone(store), user.clone());
        calls.push(Box::pin(async move {
            answer(revoking.revoke_user(RevokeUser::new(&of, NOW).keep(Some(kept)))).await;
        }));
        at_once(calls).await;
        let epoch = load_record(&**store, &kept, NOW).await.map(|record| record.epoch);
        rule(epoch.is_some(), "`revoke_user` keeps the session that it was asked to keep");
        let mut living = 1;
        for new in new {
            if let Some(record) = load_record(&**store, &new, NOW).await {
                living += 1;
                rule(
                    Some(record.epoch) == epoch,
                    "a session that was stamped before a `revoke_user` is dead",
                );
            }
        }
        let listed = answer(store.list(ListSessions::new(&user, 100, NOW))).await.len();
        rule(listed == living, "`list` shows the living sessions, even after concurrent calls");
        answer(store.revoke_user(RevokeUser::new(&user, NOW))).await;
        for key in [kept].into_iter().chain(new) {
            rule(!lives(&**store, &key).await, "`revoke_user` finds sessions of concurrent logins");
        }
    }
}

/// A session that is rotated while all others are ended must end too.
async fn rotation_and_revocation<S: SessionStore>(store: &Arc<S>) {
    for round in 0..ROUNDS {
        let [kept, first, second, new, newer] = keys(round);
        let user = format!("user {round}");
        for key in [kept, first, second] {
            answer(store.create(CreateSession::new(key, record(round, Some(&user)), NOW))).await;
        }
        let mut calls: Vec<Call<()>> = Vec::new();
        for (old, new) in [(first, new), (second, newer)] {
            let (store, record) = (Arc::clone(store), record(round, Some(&user)));
            calls.push(Box::pin(async move {
                let rotation = RotateSession::new(old, new, 1, record, NOW).grace(at(10));
                answer(store.rotate(rotation)).await;
            }));
        }
        let (revoking, of) = (Arc::clone(store), user.clone());
        calls.push(Box::pin(async move {
            let ended =
                answer(revoking.revoke_user(RevokeUser::new(&of, NOW).keep(Some(kept)))).await;
            rule(ended.sessions == 2, "`revoke_user` counts a rotated session once");
        }));
        at_once(calls).await;
        for key in [first, second, new, newer] {
            rule(!lives(&**store, &key).await, "a rotated and revoked session is dead");
        }
        rule(
            lives(&**store, &kept).await,
            "`revoke_user` keeps the session that it was asked to keep",
        );
        rule(
            !answer(store.delete_by_handle(&user, handle(round + 1))).await,
            "`delete_by_handle` finds no dead session",
        );
    }
}

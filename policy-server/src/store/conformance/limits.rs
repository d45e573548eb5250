//! Limits of sessions per user.

use super::{
    NOW, SessionStore, answer, at, create_limited, handle, key, lives, open_store, record, rule,
};
use crate::store::{
    Cas, CreateSession, Limit, LimitPolicy, RotateSession, SessionCreated, TouchSession,
};

const EVICT: Option<Limit> = Some(Limit { sessions: 2, policy: LimitPolicy::EvictOldest });
const DENY: Option<Limit> = Some(Limit { sessions: 2, policy: LimitPolicy::Deny });

pub(super) async fn run<S: SessionStore>(make: &impl Fn() -> S) {
    evict(&*open_store(make).await).await;
    deny(&*open_store(make).await).await;
    rotate(&*open_store(make).await).await;
}

/// Two sessions of ada, the second of which was created first; one of bob, one anonymous, and one
/// of ada that is dead.
async fn fill<S: SessionStore>(store: &S) {
    let mut dead = record(5, Some("ada"));
    dead.absolute_deadline = NOW;
    let sessions = [
        (1, at(2), record(1, Some("ada"))),
        (2, at(1), record(2, Some("ada"))),
        (3, NOW, record(3, Some("bob"))),
        (4, NOW, record(4, None)),
        (5, NOW, dead),
    ];
    for (number, created, mut record) in sessions {
        record.created = created;
        create_limited(store, key(number), record, None).await;
    }
}

async fn evict<S: SessionStore>(store: &S) {
    fill(store).await;
    let mut third = record(6, Some("ada"));
    third.created = at(3);
    let evicted = create_limited(store, key(6), third, EVICT).await;
    rule(evicted == [handle(2)], "at the limit only the oldest living session ends");
    rule(!lives(store, &key(2)).await, "an evicted session is dead");
    for number in [1, 3, 4, 6] {
        rule(lives(store, &key(number)).await, "at the limit one session ends, of the same user");
    }
    let mut fourth = record(7, Some("ada"));
    fourth.created = at(4);
    let one = Some(Limit { sessions: 1, policy: LimitPolicy::EvictOldest });
    let mut evicted = create_limited(store, key(7), fourth, one).await;
    evicted.sort_unstable();
    rule(evicted == [handle(1), handle(6)], "several sessions end if the limit was lowered");
    let anonymous = create_limited(store, key(8), record(8, None), one).await;
    rule(
        anonymous.is_empty() && lives(store, &key(4)).await,
        "the limit applies to each user separately",
    );
}

async fn deny<S: SessionStore>(store: &S) {
    fill(store).await;
    let third =
        answer(store.create(CreateSession::new(key(6), record(6, Some("ada")), NOW).limit(DENY)))
            .await;
    rule(third == SessionCreated::LimitReached, "a denying limit refuses `create`");
    rule(!lives(store, &key(6)).await, "a refused `create` inserts nothing");
    rule(
        lives(store, &key(1)).await && lives(store, &key(2)).await,
        "a denying limit ends no session",
    );
    answer(store.delete(&key(1))).await;
    create_limited(store, key(6), record(6, Some("ada")), DENY).await;
    rule(lives(store, &key(6)).await, "a session that ended makes room");
    let none = Some(Limit { sessions: 0, policy: LimitPolicy::Deny });
    let first = CreateSession::new(key(7), record(7, Some("eve")), NOW).limit(none);
    rule(
        answer(store.create(first)).await == SessionCreated::LimitReached,
        "a limit of 0 refuses all",
    );
}

async fn rotate<S: SessionStore>(store: &S) {
    fill(store).await;
    let own = record(6, Some("ada"));
    let result =
        answer(store.rotate(RotateSession::new(key(1), key(6), 1, own, NOW).limit(DENY))).await;
    let done = |evicted| Cas::Done { version: 2, evicted };
    rule(result == done(vec![]), "a rotated session does not count against itself");
    let login = record(7, Some("ada"));
    let result =
        answer(store.rotate(RotateSession::new(key(4), key(7), 1, login.clone(), NOW).limit(DENY)))
            .await;
    rule(result == Cas::LimitReached, "a denying limit refuses `rotate`");
    rule(lives(store, &key(4)).await, "a refused `rotate` leaves the old session");
    rule(!lives(store, &key(7)).await, "a refused `rotate` inserts nothing");
    answer(store.touch(TouchSession::new(key(6), at(950), at(5)))).await;
    let result =
        answer(store.rotate(RotateSession::new(key(4), key(7), 1, login, NOW).limit(EVICT))).await;
    // The rotated session was created before the other.
    rule(
        result == done(vec![handle(6)]),
        "`rotate` to a user at the limit ends the oldest session",
    );
    rule(!lives(store, &key(6)).await, "an evicted session is dead");
}

//! Rotations, and the replaced key afterwards.

use policy_core::{session::SessionKey, time::Timestamp};

use super::{
    NOW, SessionStore, answer, at, create, key, lives, load_record, open_store, record, rule,
};
use crate::store::{
    Cas, CreateSession, ListSessions, RevokeUser, RotateSession, TouchSession, UpdateSession,
};

pub(super) async fn run<S: SessionStore>(make: &impl Fn() -> S) {
    step(&*open_store(make).await).await;
    refusals(&*open_store(make).await).await;
    grace(&*open_store(make).await).await;
    replaced_key(&*open_store(make).await).await;
    twice(&*open_store(make).await).await;
}

/// Replaces a session of ada by another of hers.
async fn rotate<S: SessionStore>(
    store: &S,
    old: &SessionKey,
    new: &SessionKey,
    expected: u64,
    grace: Option<Timestamp>,
) -> Cas {
    let record = record(50, Some("ada"));
    answer(store.rotate(RotateSession::new(*old, *new, expected, record, NOW).grace(grace))).await
}

fn done(version: u64) -> Cas {
    Cas::Done { version, evicted: vec![] }
}

async fn step<S: SessionStore>(store: &S) {
    let anonymous = create(store, 1, record(1, None)).await;
    answer(store.update(UpdateSession::new(anonymous, 1, Box::from(*b"1"), NOW))).await;
    let result = rotate(store, &anonymous, &key(2), 2, None).await;
    rule(result == done(3), "`rotate` of the expected version succeeds and increments the version");
    rule(!lives(store, &anonymous).await, "without grace the replaced key is dead at once");
    let Some(found) = answer(store.load(&key(2), NOW)).await else {
        return rule(false, "`rotate` inserts the new session");
    };
    let mut expected = record(50, Some("ada"));
    (expected.version, expected.epoch) = (3, found.record.epoch);
    rule(*found.record == expected, "`rotate` inserts the record as it is given");
    rule(found.successor.is_none(), "the new key of a rotation has no successor");
    let listed = answer(store.list(ListSessions::new("ada", 10, NOW))).await.len();
    rule(listed == 1, "`rotate` of an anonymous session to a user adds it to the user's");

    rule(rotate(store, &key(2), &key(3), 3, None).await == done(4), "`rotate` can be repeated");
    let listed = answer(store.list(ListSessions::new("ada", 10, NOW))).await.len();
    rule(listed == 1, "`rotate` within a user leaves one session of the two");
    let anew = record(51, Some("bob"));
    answer(store.rotate(RotateSession::new(key(3), key(4), 4, anew, NOW))).await;
    rule(
        answer(store.list(ListSessions::new("ada", 10, NOW))).await.is_empty(),
        "`rotate` to another user removes the session from the first",
    );
    let listed = answer(store.list(ListSessions::new("bob", 10, NOW))).await.len();
    rule(listed == 1, "`rotate` to another user adds the session to the second");
}

async fn refusals<S: SessionStore>(store: &S) {
    let unknown = rotate(store, &key(8), &key(9), 1, Some(at(10))).await;
    rule(unknown == Cas::Gone, "`rotate` of a key that does not exist is `Gone`");
    let ada = create(store, 1, record(1, Some("ada"))).await;
    let stale = rotate(store, &ada, &key(9), 5, Some(at(10))).await;
    rule(stale == Cas::Conflict, "`rotate` of another version is a `Conflict`");
    rule(!lives(store, &key(9)).await, "a refused `rotate` inserts nothing");
    let bob = create(store, 2, record(2, Some("bob"))).await;
    let before = (load_record(store, &ada, NOW).await, load_record(store, &bob, NOW).await);
    let taken = rotate(store, &ada, &bob, 1, None).await;
    rule(taken == Cas::Conflict, "`rotate` to a key that exists is a `Conflict`");
    let after = (load_record(store, &ada, NOW).await, load_record(store, &bob, NOW).await);
    rule(before == after, "a refused `rotate` changes nothing");
    answer(store.delete(&ada)).await;
    let dead = rotate(store, &ada, &key(9), 1, Some(at(10))).await;
    rule(dead == Cas::Gone, "`rotate` of a deleted session is `Gone`");
    rule(!lives(store, &key(9)).await, "a refused `rotate` inserts nothing");
}

async fn grace<S: SessionStore>(store: &S) {
    let old = create(store, 1, record(1, Some("ada"))).await;
    rotate(store, &old, &key(2), 1, Some(at(10))).await;
    let Some(found) = answer(store.load(&old, at(9))).await else {
        return rule(false, "within the grace the replaced key loads the new session");
    };
    rule(found.successor == Some(key(2)), "the replaced key returns its successor");
    let new = load_record(store, &key(2), NOW).await;
    rule(new.as_ref() == Some(&*found.record), "the replaced key loads the new session");
    rule(load_record(store, &old, at(10)).await.is_none(), "at the end of its grace a key is dead");
    rule(load_record(store, &key(2), at(10)).await.is_some(), "the new session outlives the grace");
    answer(store.delete(&key(2))).await;
    rule(!lives(store, &old).await, "a replaced key does not outlive its session");
}

async fn replaced_key<S: SessionStore>(store: &S) {
    let old = create(store, 1, record(1, Some("ada"))).await;
    rotate(store, &old, &key(2), 1, Some(at(10))).await;
    let before = load_record(store, &key(2), NOW).await;
    for version in [1, 2] {
        let update =
            answer(store.update(UpdateSession::new(old, version, Box::from(*b"1"), NOW))).await;
        rule(
            update == Cas::Conflict,
            "within the grace `update` by a replaced key is a `Conflict`",
        );
        let rotation = rotate(store, &old, &key(3), version, None).await;
        rule(
            rotation == Cas::Conflict,
            "within the grace `rotate` of a replaced key is a `Conflict`",
        );
    }
    rule(load_record(store, &key(2), NOW).await == before, "a `Conflict` changes nothing");
    let taken = answer(store.create(CreateSession::new(old, record(4, None), NOW))).await;
    rule(
        taken == crate::store::SessionCreated::KeyTaken,
        "`create` refuses a key that was replaced",
    );
    rule(
        answer(store.touch(TouchSession::new(old, at(1000), at(5)))).await,
        "within the grace `touch` by a replaced key says that the session lives",
    );
    let touched = load_record(store, &key(2), NOW).await.map(|record| record.idle_deadline);
    rule(touched == Some(at(1000)), "`touch` by a replaced key touches the new session");
    let ended = answer(store.revoke_user(RevokeUser::new("ada", NOW).keep(Some(old)))).await;
    rule(
        ended.sessions == 0 && lives(store, &key(2)).await,
        "`revoke_user` accepts a replaced key for the session to keep",
    );
    rule(answer(store.delete(&old)).await, "`delete` by a replaced key ends the new session");
    rule(!lives(store, &key(2)).await, "`delete` by a replaced key ends the new session");
}

async fn twice<S: SessionStore>(store: &S) {
    let old = create(store, 1, record(1, Some("ada"))).await;
    rotate(store, &old, &key(2), 1, Some(at(10))).await;
    rotate(store, &key(2), &key(3), 2, Some(at(20))).await;
    let found = answer(store.load(&old, at(9))).await.and_then(|found| found.successor);
    rule(found == Some(key(3)), "the successor is the key now, also after two rotations");
    rotate(store, &key(3), &key(4), 3, None).await;
    for key in [old, key(2), key(3)] {
        rule(!lives(store, &key).await, "without grace all keys before the new one are dead");
    }
}

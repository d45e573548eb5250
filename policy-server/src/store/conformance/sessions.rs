//! The effect of each call, without concurrency.

use policy_core::session::SessionKey;

use super::{
    NOW, SessionStore, answer, at, create, handle, key, lives, load_record, open_store, record,
    rule,
};
use crate::store::{
    Cas, CreateSession, ListSessions, RevokeUser, RotateSession, SessionCreated, TouchSession,
    UpdateSession,
};

pub(super) async fn run<S: SessionStore>(make: &impl Fn() -> S) {
    secret(&*open_store(make).await).await;
    create_and_load(&*open_store(make).await).await;
    deadlines(&*open_store(make).await).await;
    update(&*open_store(make).await).await;
    touch(&*open_store(make).await).await;
    delete(&*open_store(make).await).await;
    list(&*open_store(make).await).await;
    delete_by_handle(&*open_store(make).await).await;
    identity_by_handle(&*open_store(make).await).await;
    revoke_user(&*open_store(make).await).await;
    purge(&*open_store(make).await).await;
}

async fn secret<S: SessionStore>(store: &S) {
    rule(answer(store.secret([1; 32])).await == [1; 32], "the first `secret` is stored");
    rule(answer(store.secret([2; 32])).await == [1; 32], "a stored `secret` is never replaced");
}

async fn create_and_load<S: SessionStore>(store: &S) {
    rule(
        load_record(store, &key(1), NOW).await.is_none(),
        "a key that was never created loads nothing",
    );
    for (number, user) in [(1, None), (2, Some("ada"))] {
        let mut expected = record(number, user);
        let key = create(store, number, expected.clone()).await;
        let Some(found) = answer(store.load(&key, NOW)).await else {
            return rule(false, "a created session loads");
        };
        rule(found.successor.is_none(), "a key that no rotation replaced has no successor");
        rule(found.record.version == 1, "`create` stamps version 1, whatever the record says");
        (expected.version, expected.epoch) = (found.record.version, found.record.epoch);
        rule(*found.record == expected, "a session loads as it was created");

        let other = record(9, Some("bob"));
        let again = answer(store.create(CreateSession::new(key, other, NOW))).await;
        rule(again == SessionCreated::KeyTaken, "`create` refuses a key that exists");
        let kept = load_record(store, &key, NOW).await;
        rule(kept == Some(expected), "a refused `create` changes nothing");
    }
}

async fn deadlines<S: SessionStore>(store: &S) {
    let idle = create(store, 1, record(1, Some("ada"))).await;
    let mut short = record(2, None);
    short.absolute_deadline = at(300);
    let absolute = create(store, 2, short).await;
    for (key, end) in [(idle, 900), (absolute, 300)] {
        rule(
            load_record(store, &key, at(end - 1)).await.is_some(),
            "a session lives to its deadline",
        );
        rule(
            load_record(store, &key, at(end)).await.is_none(),
            "at its deadline a session is dead",
        );
        let data = Box::from(*b"1");
        let late = answer(store.update(UpdateSession::new(key, 1, data, at(end)))).await;
        rule(late == Cas::Gone, "`update` of an expired session is `Gone`");
        let touched = answer(store.touch(TouchSession::new(key, at(5000), at(end)))).await;
        rule(!touched, "`touch` does not bring an expired session back");
        let new = SessionKey(key.0.map(|byte| !byte));
        let rotation = store.rotate(RotateSession::new(key, new, 1, record(3, None), at(end)));
        rule(answer(rotation).await == Cas::Gone, "`rotate` of an expired session is `Gone`");
        rule(!lives(store, &new).await, "a refused `rotate` inserts nothing");
        rule(load_record(store, &key, at(end)).await.is_none(), "a dead session stays dead");
    }
}

async fn update<S: SessionStore>(store: &S) {
    let unknown = answer(store.update(UpdateSession::new(key(7), 1, Box::from(*b"1"), NOW))).await;
    rule(unknown == Cas::Gone, "`update` of a key that does not exist is `Gone`");
    rule(!lives(store, &key(7)).await, "`update` never inserts");

    let key = create(store, 1, record(1, Some("ada"))).await;
    let before = load_record(store, &key, NOW).await;
    let first = answer(store.update(UpdateSession::new(key, 1, Box::from(*b"first"), NOW))).await;
    let done = Cas::Done { version: 2, evicted: vec![] };
    rule(first == done, "`update` of the expected version succeeds and increments the version");
    let stale = answer(store.update(UpdateSession::new(key, 1, Box::from(*b"stale"), NOW))).await;
    rule(stale == Cas::Conflict, "`update` of another version is a `Conflict`");
    let expected = before.map(|mut record| {
        record.version = 2;
        record.data = Box::from(*b"first");
        record
    });
    let after = load_record(store, &key, NOW).await;
    rule(after == expected, "`update` replaces the data and the version, and nothing else");
}

async fn touch<S: SessionStore>(store: &S) {
    rule(
        !answer(store.touch(TouchSession::new(key(7), at(2000), NOW))).await,
        "`touch` reports that no session lives",
    );
    rule(!lives(store, &key(7)).await, "`touch` never inserts");

    let key = create(store, 1, record(1, Some("ada"))).await;
    let before = load_record(store, &key, NOW).await;
    rule(
        answer(store.touch(TouchSession::new(key, at(1000), at(100)))).await,
        "`touch` reports that a session lives",
    );
    let expected = before.map(|mut record| {
        record.idle_deadline = at(1000);
        record.last_seen = at(100);
        record
    });
    let touched = load_record(store, &key, NOW).await;
    rule(touched == expected, "`touch` changes the idle deadline and `last_seen`, no version");
    rule(
        answer(store.touch(TouchSession::new(key, at(950), at(50)))).await,
        "`touch` reports that a session lives",
    );
    let touched = load_record(store, &key, NOW).await;
    rule(touched == expected, "`touch` moves no deadline and no `last_seen` back");
}

async fn delete<S: SessionStore>(store: &S) {
    let key = create(store, 1, record(1, Some("ada"))).await;
    let other = create(store, 2, record(2, Some("ada"))).await;
    rule(answer(store.delete(&key)).await, "`delete` reports that the session lived");
    rule(!lives(store, &key).await, "a deleted session is dead");
    rule(!answer(store.delete(&key)).await, "`delete` reports that no session lived");
    let late = answer(store.update(UpdateSession::new(key, 1, Box::from(*b"1"), NOW))).await;
    rule(late == Cas::Gone, "`update` of a deleted session is `Gone`");
    rule(
        !answer(store.touch(TouchSession::new(key, at(2000), NOW))).await,
        "`touch` of a deleted session fails",
    );
    rule(!lives(store, &key).await, "a dead session never lives again");
    rule(lives(store, &other).await, "`delete` ends one session");
    let listed = answer(store.list(ListSessions::new("ada", 10, NOW))).await;
    rule(listed.len() == 1, "`list` does not show deleted sessions");
}

async fn list<S: SessionStore>(store: &S) {
    rule(
        answer(store.list(ListSessions::new("ada", 10, NOW))).await.is_empty(),
        "`list` of nobody is empty",
    );
    for number in 1..=4 {
        create(store, number, record(number, Some("ada"))).await;
    }
    create(store, 5, record(5, Some("bob"))).await;
    create(store, 6, record(6, None)).await;
    let mut ending = record(7, Some("ada"));
    ending.absolute_deadline = at(200);
    create(store, 7, ending).await;
    for (number, seconds) in [(3, 10), (1, 30), (4, 20)] {
        answer(store.touch(TouchSession::new(key(number), at(900), at(seconds)))).await;
    }
    answer(store.update(UpdateSession::new(key(1), 1, Box::from(*b"data"), NOW))).await;
    let listed = answer(store.list(ListSessions::new("ada", 10, at(200)))).await;
    let handles: Vec<_> = listed.iter().map(|one| one.handle).collect();
    rule(
        handles == [1, 4, 3, 2].map(handle),
        "`list` gives the living sessions of the user, the latest used first",
    );
    if let Some(first) = listed.first() {
        rule(*first.data == *b"data", "`list` gives the data");
        rule(
            (first.created, first.last_seen, first.authenticated) == (NOW, at(30), Some(NOW)),
            "`list` gives the times",
        );
    }
    let two = answer(store.list(ListSessions::new("ada", 2, at(200)))).await;
    rule(two.as_slice() == listed.get(..2).unwrap_or_default(), "`list` keeps to its limit");
}

async fn delete_by_handle<S: SessionStore>(store: &S) {
    let ada = create(store, 1, record(1, Some("ada"))).await;
    let bob = create(store, 2, record(2, Some("bob"))).await;
    let nobody = create(store, 3, record(3, None)).await;
    for number in [2, 3, 9] {
        let ended = answer(store.delete_by_handle("ada", handle(number))).await;
        rule(!ended, "`delete_by_handle` ends no session that is not the user's");
    }
    rule(lives(store, &bob).await, "`delete_by_handle` ends no session of another user");
    rule(lives(store, &nobody).await, "`delete_by_handle` ends no anonymous session");
    rule(
        answer(store.delete_by_handle("ada", handle(1))).await,
        "`delete_by_handle` reports that the session lived",
    );
    rule(!lives(store, &ada).await, "a session that was deleted by its handle is dead");
    rule(
        !answer(store.delete_by_handle("ada", handle(1))).await,
        "`delete_by_handle` reports that no session lived",
    );
}

async fn identity_by_handle<S: SessionStore>(store: &S) {
    let is = async |user: &'static str, number: u32, seconds: u64| {
        answer(store.identity(user, handle(number), at(seconds))).await.is_some()
    };
    let mut short = record(1, Some("ada"));
    short.absolute_deadline = at(300);
    create(store, 1, short).await;
    create(store, 2, record(2, Some("ada"))).await;
    create(store, 3, record(3, Some("bob"))).await;
    create(store, 4, record(4, None)).await;
    for (user, number) in [("ada", 1), ("ada", 2), ("bob", 3)] {
        rule(
            is(user, number, 299).await,
            "`identity` finds each living session by user and handle",
        );
    }
    for (user, number) in [("ada", 3), ("ada", 4), ("ada", 9), ("bob", 1), ("eve", 2)] {
        rule(!is(user, number, 0).await, "`identity` finds no session that is not the user's");
    }
    rule(!is("ada", 1, 300).await, "for `identity`, a session is dead at its deadline");
    let renewed = record(2, Some("ada"));
    let renewal = RotateSession::new(key(2), key(5), 1, renewed, NOW).grace(at(10));
    answer(store.rotate(renewal)).await;
    rule(is("ada", 2, 0).await, "`identity` finds a session whose key a rotation replaced");
    let login = RotateSession::new(key(5), key(6), 2, record(6, Some("eve")), NOW);
    answer(store.rotate(login)).await;
    rule(is("eve", 6, 0).await, "`identity` finds a session of another user after a login");
    rule(!is("ada", 2, 0).await, "for `identity`, a session that a login replaced is dead");
    answer(store.delete(&key(6))).await;
    rule(!is("eve", 6, 0).await, "for `identity`, a deleted session is dead");
    answer(store.delete_by_handle("bob", handle(3))).await;
    rule(!is("bob", 3, 0).await, "for `identity`, a session deleted by its handle is dead");
    create(store, 7, record(7, Some("ada"))).await;
    answer(store.revoke_user(RevokeUser::new("ada", NOW).keep(key(7)))).await;
    rule(!is("ada", 1, 0).await, "for `identity`, a revoked session is dead");
    rule(is("ada", 7, 0).await, "`identity` finds the session that a revocation kept");
}

async fn revoke_user<S: SessionStore>(store: &S) {
    rule(
        answer(store.revoke_user(RevokeUser::new("ada", NOW))).await.sessions == 0,
        "`revoke_user` of nobody ends 0",
    );
    let keep = create(store, 1, record(1, Some("ada"))).await;
    let ended = [2, 3].map(|number| (number, record(number, Some("ada"))));
    for (number, record) in ended {
        create(store, number, record).await;
    }
    let bob = create(store, 4, record(4, Some("bob"))).await;
    let mut short = record(5, Some("ada"));
    short.absolute_deadline = NOW;
    create(store, 5, short).await;
    let (before, of_bob) =
        (load_record(store, &keep, NOW).await, load_record(store, &bob, NOW).await);

    let count = answer(store.revoke_user(RevokeUser::new("ada", NOW).keep(Some(keep)))).await;
    rule(count.sessions == 2, "`revoke_user` counts the living sessions that it ended");
    for number in [2, 3] {
        rule(!lives(store, &key(number)).await, "`revoke_user` ends all sessions of the user");
        let late =
            answer(store.update(UpdateSession::new(key(number), 1, Box::from(*b"1"), NOW))).await;
        rule(late == Cas::Gone, "`update` of a revoked session is `Gone`");
        rule(
            !answer(store.touch(TouchSession::new(key(number), at(2000), NOW))).await,
            "`touch` of a revoked session fails",
        );
    }
    let kept = load_record(store, &keep, NOW).await;
    rule(kept.is_some(), "`revoke_user` keeps the session that it was asked to keep");
    rule(
        kept.as_ref().map(|kept| kept.epoch) > before.as_ref().map(|before| before.epoch),
        "`revoke_user` increments the epoch, and stamps the kept session with it",
    );
    let version = kept.as_ref().map(|kept| kept.version);
    rule(version == Some(1), "`revoke_user` leaves the version of the kept session");
    rule(load_record(store, &bob, NOW).await == of_bob, "`revoke_user` touches no other user");
    let listed = answer(store.list(ListSessions::new("ada", 10, NOW))).await;
    rule(listed.len() == 1, "`list` does not show revoked sessions");

    let new = create(store, 6, record(6, Some("ada"))).await;
    let epoch = load_record(store, &new, NOW).await.map(|record| record.epoch);
    rule(epoch.is_some(), "a session that is created after `revoke_user` lives");
    rule(epoch == kept.map(|kept| kept.epoch), "`create` stamps the epoch of the user");
    let count = answer(store.revoke_user(RevokeUser::new("ada", NOW).keep(Some(bob)))).await;
    rule(count.sessions == 2, "`revoke_user` keeps no session of another user");
    rule(!lives(store, &keep).await, "a kept session can be revoked later");
    rule(load_record(store, &bob, NOW).await == of_bob, "`revoke_user` touches no other user");
}

async fn purge<S: SessionStore>(store: &S) {
    for number in 1..=6 {
        let mut short = record(number, (number % 2 == 0).then_some("ada"));
        short.idle_deadline = at(10);
        create(store, number, short).await;
    }
    let living = create(store, 7, record(7, Some("ada"))).await;
    // Otherwise it would have the same deadline.
    answer(store.touch(TouchSession::new(key(6), at(2000), NOW))).await;
    rule(answer(store.purge(at(9), 100)).await == 0, "`purge` removes no living session");
    let some = answer(store.purge(at(10), 2)).await;
    rule(some <= 2, "`purge` keeps to its limit");
    let rest = answer(store.purge(at(10), 100)).await;
    rule(some + rest == 5, "`purge` removes the dead sessions, and counts them");
    rule(answer(store.purge(at(10), 100)).await == 0, "`purge` removes a session once");
    for key in [living, key(6)] {
        rule(load_record(store, &key, at(10)).await.is_some(), "`purge` removes no living session");
    }
    rule(
        answer(store.list(ListSessions::new("ada", 10, at(10)))).await.len() == 2,
        "`purge` leaves the list in order",
    );
}

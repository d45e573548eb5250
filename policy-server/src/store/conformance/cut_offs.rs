//! Calls that take rights away win against grants that began before them.

use std::sync::Arc;

use policy_core::session::Identity;

use super::{
    Call, NOW, ROUNDS, SessionStore, TokenStore, answer, at, at_once, create, handle, key, lives,
    load_record, open_store, record, rule,
    tokens::{UNTIL, ada_revocation, family, hash},
};
use crate::store::{
    Cas, CreateFamily, CreateSession, ListSessions, Refresh, RefreshOutcome, Revocation,
    RevokeUser, RotateSession, SessionCreated, TokenHash, TouchSession, UpdateSession,
};

pub(super) async fn check_sessions<S: SessionStore>(make: &impl Fn() -> S) {
    numbers(&*open_store(make).await).await;
    logins(&*open_store(make).await).await;
    rotations(&*open_store(make).await).await;
    everyone(&*open_store(make).await).await;
    rights(&*open_store(make).await).await;
    races(&open_store(make).await).await;
}

pub(super) async fn check_tokens<S: TokenStore>(make: &impl Fn() -> S) {
    families(&*super::tokens::open_store(make).await).await;
    sessions(&*super::tokens::open_store(make).await).await;
    all_families(&*super::tokens::open_store(make).await).await;
    family_races(&super::tokens::open_store(make).await).await;
}

async fn numbers<S: SessionStore>(store: &S) {
    let first = answer(store.cut_offs()).await;
    for (user, before) in [("ada", None), ("bob", None), ("ada", Some(1))] {
        let last = answer(store.cut_offs()).await;
        let cut = answer(store.revoke_user(RevokeUser::new(user, NOW))).await;
        rule(cut.number > last, "the number of a cut-off is higher than all before");
        rule(answer(store.cut_offs()).await == cut.number, "`cut_offs` returns the newest number");
        let before = before.map_or(0, |number: u64| first + number);
        rule(cut.before == before, "`revoke_user` returns the previous cut-off of the user");
    }
}

/// A login of a user by a request that knows this cut-off.
pub(super) async fn login<S: SessionStore>(
    store: &S,
    number: u32,
    user: &str,
    began: u64,
) -> SessionCreated {
    let request = CreateSession::new(key(number), record(number, Some(user)), NOW);
    answer(store.create(request.began(began))).await
}

pub(super) const DONE: SessionCreated = SessionCreated::Done { evicted: vec![] };

async fn logins<S: SessionStore>(store: &S) {
    let began = answer(store.cut_offs()).await;
    rule(login(store, 1, "ada", began).await == DONE, "a login without a cut-off is done");
    answer(store.delete(&key(1))).await;
    // The user has no session, and the cut-off is remembered nevertheless.
    let cut = answer(store.revoke_user(RevokeUser::new("ada", NOW))).await;
    let late = login(store, 2, "ada", began).await;
    rule(
        late == SessionCreated::CutOff,
        "a login that began before a cut-off of its user is `CutOff`",
    );
    rule(!lives(store, &key(2)).await, "a refused `create` inserts nothing");
    rule(login(store, 3, "bob", began).await == DONE, "a cut-off applies only to its user");
    rule(login(store, 4, "ada", cut.number).await == DONE, "a login that began after it is done");
    let cut = answer(store.revoke_user(RevokeUser::new("ada", NOW).keep(Some(key(4))))).await;
    rule(cut.sessions == 0, "`revoke_user` counts the living sessions that it ended");
    let late = login(store, 5, "ada", began).await;
    rule(late == SessionCreated::CutOff, "a cut-off that keeps a session ends all others");
    rule(lives(store, &key(4)).await, "`revoke_user` keeps the session that it was asked to keep");
    rule(login(store, 6, "ada", cut.number).await == DONE, "a login that began after it is done");
    let unknown = login(store, 7, "ada", cut.number + 1).await;
    rule(
        unknown == SessionCreated::CutOff,
        "a number that the store has not issued grants nothing",
    );
}

async fn rotations<S: SessionStore>(store: &S) {
    let nobody = create(store, 1, record(1, None)).await;
    let ada = create(store, 2, record(2, Some("ada"))).await;
    let began = answer(store.cut_offs()).await;
    let cut = answer(store.revoke_user(RevokeUser::new("ada", NOW).keep(Some(ada)))).await;
    let rotate = |old, number, user: Option<&'static str>, began: Option<u64>| {
        let request = RotateSession::new(old, key(number), 1, record(number, user), NOW);
        store.rotate(request.began(began))
    };
    for old in [nobody, ada] {
        let before = load_record(store, &old, NOW).await;
        let late = answer(rotate(old, 9, Some("ada"), Some(began))).await;
        rule(late == Cas::CutOff, "rights requested before a cut-off are `CutOff`");
        rule(!lives(store, &key(9)).await, "a refused `rotate` inserts nothing");
        rule(load_record(store, &old, NOW).await == before, "a refused `rotate` changes nothing");
    }
    let renewed = answer(rotate(ada, 3, Some("ada"), None)).await;
    rule(
        matches!(renewed, Cas::Done { .. }),
        "a renewal grants no rights, so a cut-off does not refuse it",
    );
    let granted = answer(rotate(nobody, 4, Some("ada"), Some(cut.number))).await;
    rule(matches!(granted, Cas::Done { .. }), "rights requested after a cut-off are granted");
}

async fn everyone<S: SessionStore>(store: &S) {
    for (number, user) in [(1, Some("ada")), (2, Some("ada")), (3, Some("bob")), (4, None)] {
        create(store, number, record(number, user)).await;
    }
    let began = answer(store.cut_offs()).await;
    let cut = answer(store.revoke_everyone(NOW)).await;
    rule(cut.sessions == 3, "`revoke_everyone` counts the living sessions that it ended");
    for number in 1..=3 {
        rule(!lives(store, &key(number)).await, "`revoke_everyone` ends the sessions of all users");
        let touch = TouchSession::new(key(number), at(50), NOW);
        rule(
            !answer(store.touch(touch)).await,
            "a session that `revoke_everyone` ended is not touched",
        );
    }
    let listed = answer(store.list(ListSessions::new("ada", 10, NOW))).await;
    rule(listed.is_empty(), "a session that `revoke_everyone` ended is not listed");
    rule(lives(store, &key(4)).await, "`revoke_everyone` ends no anonymous session");
    for (number, user) in [(5, "ada"), (6, "eve")] {
        let late = login(store, number, user, began).await;
        rule(
            late == SessionCreated::CutOff,
            "a cut-off of everyone applies to users without sessions",
        );
        let after = login(store, number + 10, user, cut.number).await;
        rule(after == DONE, "a login that began after a cut-off of everyone is done");
    }
    let next = answer(store.revoke_user(RevokeUser::new("ada", NOW))).await;
    rule(next.before == cut.number, "a cut-off of everyone is the newest cut-off of each user");
    rule(next.sessions == 1, "`revoke_user` counts the living sessions that it ended");
}

async fn rights<S: SessionStore>(store: &S) {
    let ada = [1, 2].map(|number| (number, record(number, Some("ada"))));
    for (number, record) in ada {
        create(store, number, record).await;
    }
    let bob = create(store, 3, record(3, Some("bob"))).await;
    let of_bob = load_record(store, &bob, NOW).await;
    let began = answer(store.cut_offs()).await;
    let less = Identity::new("ada").scopes(["orders:read"]);
    let cut = answer(store.revoke_user(RevokeUser::new("ada", NOW).rights(&less))).await;
    rule(cut.sessions == 2, "`revoke_user` with rights counts the sessions that receive them");
    for number in [1, 2] {
        let found = load_record(store, &key(number), NOW).await;
        let identity = found.as_ref().and_then(|record| record.identity.as_ref());
        rule(identity == Some(&less), "`revoke_user` with rights sets them on all sessions");
        rule(found.is_some_and(|record| record.epoch == cut.number), "and stamps them");
        let present = answer(store.identity("ada", handle(number), NOW)).await;
        rule(present.as_ref() == Some(&less), "`identity` returns the present rights");
        // A request that read the old rights and writes the whole record.
        let old = record(number, Some("ada"));
        let request = RotateSession::new(key(number), key(number + 10), 1, old, NOW);
        let stale = answer(store.rotate(request)).await;
        rule(
            stale == Cas::Conflict,
            "a request does not write back the rights that it read before the change",
        );
        let data = Box::from(*b"1");
        let stale = answer(store.update(UpdateSession::new(key(number), 1, data, NOW))).await;
        rule(stale == Cas::Conflict, "a change of rights changes the version");
    }
    rule(
        load_record(store, &bob, NOW).await == of_bob,
        "a change of rights applies only to its user",
    );
    let late = login(store, 5, "ada", began).await;
    rule(late == SessionCreated::CutOff, "a login that may have read the old rights is `CutOff`");
    let moved = Identity::new("ada").tenant("globex");
    answer(store.revoke_user(RevokeUser::new("ada", NOW).rights(&moved))).await;
    let found = load_record(store, &key(1), NOW).await.and_then(|record| record.identity);
    rule(found.as_ref() == Some(&moved), "`revoke_user` with rights sets the tenant");
    let present = answer(store.identity("ada", handle(1), NOW)).await;
    rule(present == Some(moved), "`identity` returns the present tenant");
}

/// In any order, no login that began before the cut-off survives it.
async fn races<S: SessionStore>(store: &Arc<S>) {
    for round in 0..ROUNDS {
        let user = format!("user {round}");
        let began = answer(store.cut_offs()).await;
        let numbers = [1, 2, 3].map(|number| 10 * round + number);
        let nobody = create(&**store, 10 * round + 4, record(round, None)).await;
        let mut calls: Vec<Call<()>> = Vec::new();
        for number in numbers {
            let (store, user) = (Arc::clone(store), user.clone());
            calls.push(Box::pin(async move {
                login(&*store, number, &user, began).await;
            }));
        }
        let (rotating, of) = (Arc::clone(store), user.clone());
        calls.push(Box::pin(async move {
            let record = record(round, Some(&of));
            let request = RotateSession::new(nobody, key(10 * round + 5), 1, record, NOW);
            answer(rotating.rotate(request.began(began))).await;
        }));
        let (revoking, of) = (Arc::clone(store), user.clone());
        calls.push(Box::pin(async move {
            answer(revoking.revoke_user(RevokeUser::new(&of, NOW))).await;
        }));
        at_once(calls).await;
        for number in numbers.into_iter().chain([10 * round + 5]) {
            rule(
                !lives(&**store, &key(number)).await,
                "no login that began before a cut-off survives it, not even in a race",
            );
        }
    }
}

async fn begin<S: TokenStore>(store: &S, number: u8, token: TokenHash, began: u64) -> bool {
    let request = CreateFamily::new(family(number, "ada"), token, began);
    answer(store.create_family(request)).await
}

async fn refreshes<S: TokenStore>(store: &S, token: u32) -> bool {
    let successor = hash(token + 1000);
    let grace = std::time::Duration::from_secs(10);
    let request = Refresh::new(hash(token), successor, grace, NOW, UNTIL);
    matches!(answer(store.refresh(request)).await, RefreshOutcome::Done(_))
}

async fn families<S: TokenStore>(store: &S) {
    let began = answer(store.revocations(0)).await.sequence;
    rule(begin(store, 1, hash(1), began).await, "a family without a cut-off begins");
    let first = answer(store.revoke(ada_revocation())).await;
    rule(first.families == [[1; 16]], "a cut-off of a user ends all their families");
    rule(!refreshes(store, 1).await, "a cut-off of a user ends all their families");
    rule(!begin(store, 2, hash(2), began).await, "a family that began before a cut-off is refused");
    rule(!refreshes(store, 2).await, "a refused family does not exist");
    rule(begin(store, 3, hash(3), first.position).await, "a family that began after it is not");
    // In the same second: the second cut-off adds nothing but its position.
    let second = answer(store.revoke(ada_revocation())).await;
    rule(second.position > first.position, "every cut-off has its own position");
    rule(second.before == first.position, "a cut-off returns the position of the previous one");
    let late = begin(store, 4, hash(4), first.position).await;
    rule(!late, "a family that began before the second of two cut-offs is refused");
    let bob = CreateFamily::new(family(5, "bob"), hash(5), began);
    rule(answer(store.create_family(bob)).await, "a cut-off applies only to its user");
    let tokens = Revocation::All { before: 50 };
    answer(store.revoke(tokens)).await;
    rule(refreshes(store, 5).await, "a cut-off of access tokens ends no family");
    rule(
        begin(store, 6, hash(6), second.position).await,
        "a cut-off of access tokens refuses no family",
    );
    let unknown = begin(store, 7, hash(7), second.position + 2).await;
    rule(!unknown, "a position that the store has not issued begins no family");
}

async fn sessions<S: TokenStore>(store: &S) {
    let began = answer(store.revocations(0)).await.sequence;
    let of_session = |number: u8, session: Option<u32>| {
        let mut family = family(number, "ada");
        family.session = session.map(handle);
        CreateFamily::new(family, hash(number.into()), began)
    };
    for (number, session) in [(1, Some(7)), (2, Some(8)), (3, None)] {
        rule(answer(store.create_family(of_session(number, session))).await, "a family begins");
    }
    let end = Revocation::Session { user: "ada".into(), session: handle(7), until: at(300) };
    let ended = answer(store.revoke(end)).await;
    rule(ended.families == [[1; 16]], "the end of a session ends the families that began in it");
    let left = [1, 2, 3].map(|number| refreshes(store, number));
    let [first, second, third] = left;
    rule(!first.await, "the end of a session ends the families that began in it");
    rule(second.await && third.await, "the end of a session ends no other family");
    let late = answer(store.create_family(of_session(4, Some(7)))).await;
    rule(!late, "no family begins in a session that ended");
    rule(
        answer(store.create_family(of_session(5, Some(8)))).await,
        "families begin in other sessions",
    );
}

async fn all_families<S: TokenStore>(store: &S) {
    let began = answer(store.revocations(0)).await.sequence;
    for (number, user) in [(1, "ada"), (2, "bob")] {
        let request = CreateFamily::new(family(number, user), hash(number.into()), began);
        answer(store.create_family(request)).await;
    }
    let cut = answer(store.revoke(Revocation::Everyone { before: 50 })).await;
    rule(cut.ended == 2, "a cut-off of everyone counts the families that it ended");
    rule(cut.families.is_empty(), "a cut-off of everyone names no family");
    rule(
        !refreshes(store, 1).await && !refreshes(store, 2).await,
        "no family of the users refreshes after it",
    );
    rule(
        answer(store.end_family(hash(1), UNTIL)).await.is_none(),
        "a family that a cut-off of everyone ended does not end again",
    );
    rule(!begin(store, 3, hash(3), began).await, "a cut-off of everyone applies to each user");
    rule(
        begin(store, 4, hash(4), cut.position).await,
        "a family that began after it is not refused",
    );
    let next = answer(store.revoke(ada_revocation())).await;
    rule(next.before == cut.position, "a cut-off of everyone is the newest cut-off of each user");
    rule(next.families == [[4; 16]], "a cut-off of everyone and one of a user end a family once");
    let last = answer(store.revoke(Revocation::Everyone { before: 50 })).await;
    rule(last.ended == 0, "a cut-off of everyone ends a family once");
}

async fn family_races<S: TokenStore>(store: &Arc<S>) {
    for round in 1..=ROUNDS {
        let began = answer(store.revocations(0)).await.sequence;
        let (beginning, revoking) = (Arc::clone(store), Arc::clone(store));
        let calls: Vec<Call<()>> = vec![
            Box::pin(async move {
                begin(&*beginning, round as u8, hash(round), began).await;
            }),
            Box::pin(async move {
                answer(revoking.revoke(ada_revocation())).await;
            }),
        ];
        at_once(calls).await;
        rule(
            !refreshes(&**store, round).await,
            "no family that began before a cut-off survives it, not even in a race",
        );
    }
}

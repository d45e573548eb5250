//! Revocations and tickets.

use std::{collections::HashSet, sync::Arc};

use super::{
    Call, NOW, RACERS, ROUNDS, TokenStore, answer, at, at_once, handle, identity, race, rule,
    tokens::{hash, open_store},
};
use crate::store::{Revocation, RevocationBatch, Ticket};

pub(super) async fn run<S: TokenStore>(make: &impl Fn() -> S) {
    tickets(&*open_store(make).await).await;
    takers(&open_store(make).await).await;
    sequence(&*open_store(make).await).await;
    cut_offs(&*open_store(make).await).await;
    purge(&*open_store(make).await).await;
    revocations(&open_store(make).await).await;
}

fn ticket() -> Ticket {
    Ticket {
        identity: identity("ada"),
        authenticated: Some(NOW),
        session: Some(handle(1)),
        token: Some(("jti".into(), at(300))),
        cut_offs: 5,
        expires: at(30),
    }
}

async fn tickets<S: TokenStore>(store: &S) {
    let unknown = answer(store.take_ticket(hash(1), NOW)).await;
    rule(unknown.is_none(), "a ticket that was never put is not taken");
    for number in 1..=3 {
        answer(store.put_ticket(hash(number), ticket())).await;
    }
    let taken = answer(store.take_ticket(hash(1), at(29))).await;
    rule(taken == Some(ticket()), "a ticket is taken as it was put");
    let again = answer(store.take_ticket(hash(1), NOW)).await;
    rule(again.is_none(), "a ticket is taken once");
    let expired = answer(store.take_ticket(hash(2), at(30))).await;
    rule(expired.is_none(), "an expired ticket is not taken");
    rule(answer(store.purge(at(29), 100)).await == 0, "`purge` leaves tickets that can be taken");
    let left = answer(store.take_ticket(hash(3), at(29))).await;
    rule(left.is_some(), "`purge` leaves tickets that can be taken");
    answer(store.put_ticket(hash(4), ticket())).await;
    answer(store.purge(at(30), 100)).await;
    let purged = answer(store.take_ticket(hash(4), at(29))).await;
    rule(purged.is_none(), "`purge` removes expired tickets");
}

async fn takers<S: TokenStore>(store: &Arc<S>) {
    for round in 1..=ROUNDS {
        answer(store.put_ticket(hash(round), ticket())).await;
        let taken = race(store, |store, _| async move {
            answer(store.take_ticket(hash(round), NOW)).await.is_some()
        })
        .await;
        let taken = taken.into_iter().filter(|taken| *taken).count();
        rule(taken == 1, "of concurrent `take_ticket` calls, one gets the ticket");
    }
}

fn token(number: u32, seconds: u64) -> Revocation {
    Revocation::Token { id: format!("jti {number}").into(), until: at(seconds) }
}

fn user(user: &str, before: u64) -> Revocation {
    Revocation::User { user: user.into(), before }
}

async fn sequence<S: TokenStore>(store: &S) {
    let empty = answer(store.revocations(0)).await;
    rule(empty.revocations.is_empty(), "without revocations there are none");
    let added = [token(1, 300), user("ada", 100), Revocation::All { before: 50 }, token(2, 300)];
    let mut places = vec![empty.sequence];
    for revocation in added.clone() {
        let place = answer(store.revoke(revocation)).await.position;
        rule(
            places.last() < Some(&place),
            "each revocation has a higher position than those before",
        );
        places.push(place);
    }
    for (behind, place) in places.iter().enumerate() {
        let batch = answer(store.revocations(*place)).await;
        rule(
            subjects(&batch) == added.get(behind..).unwrap_or_default(),
            "`revocations` returns the revocations after a position, in order",
        );
        let positions = batch.revocations.iter().map(|(position, _)| *position);
        rule(
            positions.eq(places.get(behind + 1..).unwrap_or_default().iter().copied()),
            "`revocations` returns the position of each",
        );
        rule(
            Some(&batch.sequence) == places.last(),
            "`revocations` returns the position after all of them",
        );
    }
    let again = answer(store.revoke(token(1, 200))).await;
    let batch = answer(store.revocations(0)).await;
    let longest = batch.revocations.iter().filter_map(|(_, revocation)| match revocation {
        Revocation::Token { id, until } if **id == *"jti 1" => Some(*until),
        _ => None,
    });
    rule(longest.max() == Some(at(300)), "revoking a token again does not shorten its revocation");
    rule(again.position <= batch.sequence, "a position belongs to the sequence");
}

/// The revocations without their positions.
fn subjects(batch: &RevocationBatch) -> Vec<Revocation> {
    batch.revocations.iter().map(|(_, revocation)| revocation.clone()).collect()
}

/// The cut-offs of a user and of all, as a copy of these revocations has them.
fn cut_off(batch: &RevocationBatch) -> (Option<u64>, Option<u64>) {
    let mut of_user = batch.revocations.iter().filter_map(|(_, revocation)| match revocation {
        Revocation::User { user, before } if **user == *"ada" => Some(*before),
        _ => None,
    });
    let mut of_all = batch.revocations.iter().filter_map(|(_, revocation)| match revocation {
        Revocation::All { before } => Some(*before),
        _ => None,
    });
    (of_user.next_back(), of_all.next_back())
}

async fn cut_offs<S: TokenStore>(store: &S) {
    for before in [100, 50] {
        answer(store.revoke(user("ada", before))).await;
        answer(store.revoke(Revocation::All { before })).await;
    }
    answer(store.revoke(user("bob", 70))).await;
    let batch = answer(store.revocations(0)).await;
    rule(cut_off(&batch) == (Some(100), Some(100)), "a cut-off never moves back");
    answer(store.revoke(user("ada", 200))).await;
    answer(store.revoke(Revocation::All { before: 300 })).await;
    let news = answer(store.revocations(batch.sequence)).await;
    rule(cut_off(&news) == (Some(200), Some(300)), "a newer cut-off is reported as news");
    let all = answer(store.revocations(0)).await;
    rule(cut_off(&all) == (Some(200), Some(300)), "the last cut-off counts");
}

async fn purge<S: TokenStore>(store: &S) {
    answer(store.revoke(token(1, 300))).await;
    answer(store.revoke(token(2, 400))).await;
    answer(store.revoke(user("ada", 100))).await;
    let before = answer(store.revocations(0)).await;
    rule(answer(store.purge(at(299), 100)).await == 0, "`purge` keeps a revocation until its end");
    rule(answer(store.revocations(0)).await == before, "`purge` keeps a revocation until its end");
    rule(answer(store.purge(at(300), 100)).await == 1, "`purge` removes expired revocations");
    let after = answer(store.revocations(0)).await;
    rule(
        subjects(&after) == [token(2, 400), user("ada", 100)],
        "`purge` removes expired revocations, but no cut-off",
    );
    rule(after.sequence == before.sequence, "`purge` leaves the sequence");
    answer(store.revoke(token(1, 500))).await;
    let again = answer(store.revocations(before.sequence)).await;
    rule(subjects(&again) == [token(1, 500)], "a token that was purged can be revoked again");
}

/// A reader misses nothing while others write.
async fn revocations<S: TokenStore>(store: &Arc<S>) {
    let number = |writer: u32, round: u32| writer * ROUNDS + round;
    let writing = Arc::new(());
    let mut calls: Vec<Call<Vec<u64>>> = Vec::new();
    for writer in 0..RACERS - 1 {
        let (store, writing) = (Arc::clone(store), Arc::clone(&writing));
        calls.push(Box::pin(async move {
            let mut places = Vec::new();
            for round in 0..ROUNDS {
                let revocation = token(number(writer, round), 300);
                places.push(answer(store.revoke(revocation)).await.position);
            }
            drop(writing);
            places
        }));
    }
    let reader = Arc::clone(store);
    calls.push(Box::pin(async move {
        let (mut seen, mut since) = (0, 0);
        loop {
            let is_last = Arc::strong_count(&writing) == 1;
            let batch = answer(reader.revocations(since)).await;
            seen += batch.revocations.len();
            since = batch.sequence;
            if is_last {
                break;
            }
            tokio::task::yield_now().await;
        }
        let all = number(RACERS - 1, 0) as usize;
        rule(seen == all, "a reader of the revocations after a position sees each of them once");
        Vec::new()
    }));
    let places = at_once(calls).await.concat();
    let distinct: HashSet<_> = places.iter().collect();
    rule(distinct.len() == places.len(), "no two revocations have the same position");
}

//! The access tokens of families that end, which the same call revokes.

use std::{sync::Arc, time::Duration};

use policy_core::{session::Handle, time::Timestamp};

use super::{
    Call, NOW, RACERS, ROUNDS, TokenStore, answer, at, at_once, handle, rule,
    tokens::{UNTIL, family, hash, open_store},
};
use crate::store::{CreateFamily, Family, Refresh, RefreshOutcome, Revocation};

pub(super) async fn run<S: TokenStore>(make: &impl Fn() -> S) {
    logout(&*open_store(make).await).await;
    refresh(&*open_store(make).await).await;
    session(&*open_store(make).await).await;
    races(&open_store(make).await).await;
}

async fn begin<S: TokenStore>(store: &S, family: Family, token: u32) {
    rule(
        answer(store.create_family(CreateFamily::new(family, hash(token), 0))).await,
        "a family begins",
    );
}

/// Until when the access tokens of a family are revoked, if they are.
async fn revoked_until<S: TokenStore>(store: &S, family: [u8; 16]) -> Option<Timestamp> {
    let name = Handle(family).to_string();
    let known = answer(store.revocations(0)).await.revocations;
    known.into_iter().find_map(|(_, revocation)| match revocation {
        Revocation::Token { id, until } if *id == *name => Some(until),
        _ => None,
    })
}

async fn logout<S: TokenStore>(store: &S) {
    // Every bit of a name is tried: the digits that differ between two forms of base64, too.
    let ids = [[0xfb; 16], [0xff; 16], std::array::from_fn(|place| 17 * place as u8)];
    for (id, token) in ids.into_iter().zip(1..) {
        begin(store, Family { id, ..family(1, "ada") }, token).await;
    }
    for (id, token) in ids.into_iter().zip(1..) {
        rule(
            revoked_until(store, id).await.is_none(),
            "the end of a family revokes the access tokens of no other one",
        );
        answer(store.end_family(hash(token), UNTIL)).await;
        rule(
            revoked_until(store, id).await == Some(UNTIL),
            "`end_family` revokes the access tokens of the family",
        );
        // As a caller does that got no answer.
        answer(store.end_family(hash(token), at(1))).await;
        rule(
            revoked_until(store, id).await == Some(UNTIL),
            "access tokens stay revoked when `end_family` is repeated",
        );
    }
}

async fn refresh<S: TokenStore>(store: &S) {
    let exchange = async |token: u32, now: Timestamp, limit: u32| {
        let grace = Duration::from_secs(10);
        let request = Refresh::new(hash(token), hash(token + 1), grace, now, UNTIL);
        answer(store.refresh(request.limit(limit))).await
    };
    let is_revoked = async |number| revoked_until(store, [number; 16]).await.is_some();
    for number in [1, 2, 3] {
        begin(store, family(number, "ada"), 10 * u32::from(number)).await;
        exchange(10 * u32::from(number), NOW, 1).await;
        exchange(10 * u32::from(number), NOW, 1).await;
        rule(!is_revoked(number).await, "a refresh revokes nothing unless it ends the family");
    }
    exchange(10, at(50), 1).await;
    rule(is_revoked(1).await, "a reuse revokes the access tokens of the family that it ends");
    exchange(21, at(50), 1).await;
    rule(is_revoked(2).await, "above its limit a refresh revokes the access tokens of the family");
    let dead = exchange(31, at(1000), 1).await;
    rule(dead == RefreshOutcome::Dead, "at its end a family is dead");
    rule(!is_revoked(3).await, "the access tokens of a family that expired are not revoked");
}

async fn session<S: TokenStore>(store: &S) {
    for (number, session) in [(1, 7), (2, 7), (3, 8)] {
        let mut family = family(number, "ada");
        family.session = Some(handle(session));
        begin(store, family, number.into()).await;
    }
    // The second time, no family is left to end.
    for until in [UNTIL, at(1)] {
        let end = Revocation::Session { user: "ada".into(), session: handle(7), until };
        answer(store.revoke(end)).await;
        for number in [1, 2] {
            rule(
                revoked_until(store, [number; 16]).await == Some(UNTIL),
                "the end of a session revokes the access tokens of the families that began in it",
            );
        }
    }
    rule(
        revoked_until(store, [3; 16]).await.is_none(),
        "the end of a session revokes the access tokens of no other family",
    );
}

/// A caller that finds a family ended finds its access tokens revoked: no call stands between both.
async fn races<S: TokenStore>(store: &Arc<S>) {
    for round in 0..ROUNDS {
        let (id, token) = ([round as u8; 16], round);
        let begun = Family { session: Some(handle(round)), ..family(round as u8, "ada") };
        begin(&**store, begun, token).await;
        let mut calls: Vec<Call<()>> = Vec::new();
        for racer in 0..RACERS {
            let store = Arc::clone(store);
            calls.push(Box::pin(async move {
                if racer == 0 && round % 2 == 1 {
                    let session = handle(round);
                    let end = Revocation::Session { user: "ada".into(), session, until: UNTIL };
                    answer(store.revoke(end)).await;
                    return;
                }
                let was_revoked = revoked_until(&*store, id).await.is_some();
                let ended = answer(store.end_family(hash(token), UNTIL)).await;
                rule(
                    !was_revoked || ended.is_none(),
                    "a family ends at the same time as its access tokens",
                );
                rule(
                    revoked_until(&*store, id).await.is_some(),
                    "the access tokens of a family are revoked when it ends, and no later",
                );
            }));
        }
        at_once(calls).await;
    }
}

//! Refresh token families.

use std::{sync::Arc, time::Duration};

use policy_core::time::Timestamp;

use super::{
    Call, NOW, RACERS, ROUNDS, TokenStore, answer, at, at_once, identity, key, race, rule,
};
use crate::store::{CreateFamily, Family, Refresh, RefreshOutcome, Revocation, TokenHash};

/// How long a used token still yields its successor.
const GRACE: Duration = Duration::from_secs(10);

/// Until when the revocation of a family's access tokens is needed.
pub(super) const UNTIL: Timestamp = Timestamp::from_seconds(NOW.seconds() + 300);

pub(super) async fn run<S: TokenStore>(make: &impl Fn() -> S) {
    secret(&*open_store(make).await).await;
    rotation(&*open_store(make).await).await;
    grace(&*open_store(make).await).await;
    reuse(&*open_store(make).await).await;
    overtaken(&*open_store(make).await).await;
    tabs(&*open_store(make).await).await;
    ends(&*open_store(make).await).await;
    purge(&*open_store(make).await).await;
    bounds(&*open_store(make).await).await;
    refreshes(&open_store(make).await).await;
    reuses(&open_store(make).await).await;
    refresh_and_logout(&open_store(make).await).await;
}

pub(super) async fn open_store<S: TokenStore>(make: &impl Fn() -> S) -> Arc<S> {
    let store = Arc::new(make());
    answer(store.open()).await;
    store
}

pub(super) fn hash(number: u32) -> TokenHash {
    TokenHash(key(number).0)
}

/// A family that expires 1000 s after the suite's time.
pub(super) fn family(number: u8, user: &str) -> Family {
    Family::new([number; 16], identity(user), NOW, at(1000))
}

async fn begin<S: TokenStore>(store: &S, family: Family, token: u32) {
    answer(store.create_family(CreateFamily::new(family, hash(token), 0))).await;
}

/// Exchanges a token for the next number.
async fn refresh<S: TokenStore>(store: &S, token: u32, now: Timestamp) -> RefreshOutcome {
    answer(store.refresh(Refresh::new(hash(token), hash(token + 1), GRACE, now, UNTIL))).await
}

async fn secret<S: TokenStore>(store: &S) {
    rule(answer(store.secret([1; 32])).await == [1; 32], "the first `secret` is stored");
    rule(answer(store.secret([2; 32])).await == [1; 32], "a stored `secret` is never replaced");
}

async fn rotation<S: TokenStore>(store: &S) {
    let unknown = refresh(store, 1, NOW).await;
    rule(unknown == RefreshOutcome::Unknown, "a token that was never given is `Unknown`");
    rule(
        refresh(store, 2, NOW).await == RefreshOutcome::Unknown,
        "an unknown token gets no successor",
    );
    begin(store, family(1, "ada"), 1).await;
    for token in 1..4 {
        let done = refresh(store, token, at(100 * u64::from(token))).await;
        rule(
            done == RefreshOutcome::Done(family(1, "ada")),
            "an unused token of a living family is exchanged, and the family is returned",
        );
    }
    rule(refresh(store, 4, at(999)).await != RefreshOutcome::Dead, "a family lives to its end");
    rule(refresh(store, 5, at(1000)).await == RefreshOutcome::Dead, "at its end a family is dead");
    rule(refresh(store, 1, at(1000)).await == RefreshOutcome::Dead, "at its end a family is dead");
}

async fn grace<S: TokenStore>(store: &S) {
    begin(store, family(1, "ada"), 1).await;
    refresh(store, 1, at(100)).await;
    for seconds in [100, 105, 109] {
        rule(
            refresh(store, 1, at(seconds)).await == again(1, 1),
            "a token that was used within the grace gets its successor again",
        );
    }
    let done = refresh(store, 2, at(109)).await;
    rule(matches!(done, RefreshOutcome::Done(_)), "the successor is the valid token");
    for (token, steps) in [(1, 2), (2, 1)] {
        let overtaken = refresh(store, token, at(109)).await;
        rule(
            matches!(overtaken, RefreshOutcome::Again { .. }),
            "within its grace a used token ends no family, also once its successors were used",
        );
        rule(overtaken == again(1, steps), "the token that a repetition returns is the valid one");
    }
    let done = refresh(store, 3, at(109)).await;
    rule(
        matches!(done, RefreshOutcome::Done(_)),
        "the token that the last repetition returned is the valid one",
    );
}

fn again(number: u8, steps: u32) -> RefreshOutcome {
    RefreshOutcome::Again { family: family(number, "ada"), steps }
}

/// More tokens are used within the grace of the first one than a repetition follows.
async fn overtaken<S: TokenStore>(store: &S) {
    begin(store, family(1, "ada"), 0).await;
    for token in 0..=RefreshOutcome::MAX_STEPS {
        refresh(store, token, at(100)).await;
    }
    let last = RefreshOutcome::MAX_STEPS + 1;
    for _ in 0..2 {
        rule(
            refresh(store, 0, at(101)).await == RefreshOutcome::Overtaken,
            "a token that was used within the grace, more than `MAX_STEPS` tokens ago is `Overtaken`",
        );
    }
    rule(
        refresh(store, 1, at(101)).await == again(1, RefreshOutcome::MAX_STEPS),
        "a repetition follows up to `MAX_STEPS` tokens",
    );
    let done = refresh(store, last, at(101)).await;
    rule(matches!(done, RefreshOutcome::Done(_)), "`Overtaken` leaves the family as it was");
}

/// Several tabs use tokens of different ages, at different times.
async fn tabs<S: TokenStore>(store: &S) {
    // A linear congruential generator (Knuth, MMIX): each store gets the same orders.
    let mut state = 1_u64;
    let mut below = |bound: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    for number in 0..40_u8 {
        let first = 1000 * (1 + u32::from(number));
        begin(store, family(number, "ada"), first).await;
        let mut used: Vec<u64> = vec![];
        let mut now = 0;
        for _ in 0..8 {
            now += match below(5) {
                0 | 1 => 0,
                2 => 4,
                3 => 9,
                _ => 10,
            };
            let age = below(4).min(used.len() as u64) as usize;
            let place = used.len() - age;
            let result = refresh(store, first + place as u32, at(now)).await;
            let Some(used_at) = used.get(place) else {
                used.push(now);
                rule(matches!(result, RefreshOutcome::Done(_)), "the valid token is exchanged");
                continue;
            };
            if now - used_at < GRACE.as_secs() {
                rule(
                    result == again(number, age as u32),
                    "within its grace a used token leads to the valid one, whatever was used since",
                );
            } else {
                rule(
                    matches!(result, RefreshOutcome::Reused(_)),
                    "after its grace a used token ends its family, whatever was used since",
                );
                break;
            }
        }
    }
}

async fn reuse<S: TokenStore>(store: &S) {
    begin(store, family(1, "ada"), 1).await;
    refresh(store, 1, at(100)).await;
    begin(store, family(2, "ada"), 20).await;
    refresh(store, 20, at(100)).await;
    refresh(store, 21, at(105)).await;
    // At the end of the grace; after it, while that of the successor goes on.
    for (number, token, now) in [(1, 1, at(110)), (2, 20, at(111))] {
        rule(
            refresh(store, token, now).await == RefreshOutcome::Reused(family(number, "ada")),
            "a used token is `Reused` after its grace",
        );
        for token in token..token + 3 {
            let result = refresh(store, token, now).await;
            rule(
                matches!(result, RefreshOutcome::Dead | RefreshOutcome::Unknown),
                "a reuse ends its family, and is reported once",
            );
        }
        let ended = answer(store.end_family(hash(token), UNTIL)).await;
        rule(ended.is_none(), "`end_family` after a reuse returns no family");
    }
}

async fn ends<S: TokenStore>(store: &S) {
    rule(
        answer(store.end_family(hash(9), UNTIL)).await.is_none(),
        "`end_family` of an unknown token returns no family",
    );
    begin(store, family(1, "ada"), 10).await;
    refresh(store, 10, at(1)).await;
    // By the used token.
    let ended = answer(store.end_family(hash(10), UNTIL)).await;
    rule(ended == Some(family(1, "ada")), "`end_family` returns the family that lived");
    rule(
        answer(store.end_family(hash(11), UNTIL)).await.is_none(),
        "`end_family` ends a family once",
    );
    for token in [10, 11] {
        let result = refresh(store, token, at(2)).await;
        rule(result == RefreshOutcome::Dead, "the tokens of an ended family are `Dead`");
    }

    let families = [(2, "ada", 20), (3, "ada", 30), (4, "bob", 40)];
    for (number, user, token) in families {
        begin(store, family(number, user), token).await;
    }
    let cut = answer(store.revoke(ada_revocation())).await;
    rule(cut.families.len() == 2, "a cut-off of a user returns the families that it ended");
    for token in [20, 30] {
        let result = refresh(store, token, at(2)).await;
        rule(result == RefreshOutcome::Dead, "a cut-off of a user ends all their families");
    }
    let bob = refresh(store, 40, at(2)).await;
    rule(matches!(bob, RefreshOutcome::Done(_)), "a cut-off of a user ends no family of another");
    let again = answer(store.revoke(ada_revocation())).await;
    rule(again.families.is_empty(), "a cut-off of a user ends a family once");
    let request = CreateFamily::new(family(5, "ada"), hash(50), again.position);
    answer(store.create_family(request)).await;
    let new = refresh(store, 50, at(2)).await;
    rule(matches!(new, RefreshOutcome::Done(_)), "a family that begins after a cut-off lives");
}

pub(super) fn ada_revocation() -> Revocation {
    Revocation::User { user: "ada".into(), before: 60 }
}

async fn purge<S: TokenStore>(store: &S) {
    begin(store, family(1, "ada"), 1).await;
    let longer = Family { expires: at(2000), ..family(2, "ada") };
    begin(store, longer.clone(), 20).await;
    refresh(store, 1, at(1)).await;
    refresh(store, 20, at(1)).await;
    answer(store.purge(at(999), 100)).await;
    let used = refresh(store, 1, at(5)).await;
    rule(used == again(1, 1), "`purge` removes nothing of a living family");
    rule(answer(store.purge(at(1000), 1)).await <= 1, "`purge` keeps to its limit");
    answer(store.purge(at(1000), 100)).await;
    rule(answer(store.purge(at(1000), 100)).await == 0, "`purge` removes a row once");
    for token in [1, 2] {
        let result = refresh(store, token, at(1000)).await;
        rule(
            matches!(result, RefreshOutcome::Dead | RefreshOutcome::Unknown),
            "the tokens of a family that was purged are not accepted",
        );
    }
    let result = refresh(store, 21, at(1000)).await;
    rule(result == RefreshOutcome::Done(longer), "`purge` removes nothing of a living family");
    let left = answer(store.revoke(ada_revocation())).await.families;
    rule(left == [[2; 16]], "`purge` removes a family from its user");
}

async fn bounds<S: TokenStore>(store: &S) {
    let most = Family::MAX_PER_USER as u32;
    begin(store, Family { authenticated: at(500), ..family(250, "bob") }, 1000).await;
    for number in 0..=most {
        // The oldest is neither the first nor the last.
        let age = if number == 50 { 0 } else { 1 + u64::from(number) };
        let family = Family { authenticated: at(age), ..family(number as u8, "ada") };
        begin(store, family, 2000 + 10 * number).await;
    }
    let oldest = refresh(store, 2500, NOW).await;
    rule(
        matches!(oldest, RefreshOutcome::Dead | RefreshOutcome::Unknown),
        "if a user has too many families, the oldest ends",
    );
    for token in [1000, 2000, 2490, 2510, 2000 + 10 * most] {
        let result = refresh(store, token, NOW).await;
        rule(
            matches!(result, RefreshOutcome::Done(_)),
            "if a user has too many families, one family of this user ends",
        );
    }

    begin(store, family(251, "eve"), 5000).await;
    let limited = async |token: u32, limit: u32| {
        let request = Refresh::new(hash(token), hash(token + 1), GRACE, at(20), UNTIL);
        answer(store.refresh(request.limit(limit))).await
    };
    for token in [5000, 5001] {
        let result = limited(token, 2).await;
        rule(
            matches!(result, RefreshOutcome::Done(_)),
            "a family can be refreshed up to its limit",
        );
    }
    let again = limited(5001, 2).await;
    rule(matches!(again, RefreshOutcome::Again { .. }), "a repetition is no further refresh");
    rule(
        limited(5002, 2).await == RefreshOutcome::Dead,
        "above its limit a refresh ends the family",
    );
    rule(
        limited(5002, 9).await == RefreshOutcome::Dead,
        "above its limit a refresh ends the family",
    );
    answer(store.purge(at(20), 1000)).await;
    for token in [2500, 5000, 5002] {
        let result = refresh(store, token, at(20)).await;
        rule(
            matches!(result, RefreshOutcome::Dead | RefreshOutcome::Unknown),
            "the tokens of a family that ended are not accepted after a purge",
        );
    }
    let kept = refresh(store, 1001, at(20)).await;
    rule(matches!(kept, RefreshOutcome::Done(_)), "`purge` removes nothing of a living family");
}

/// Several instances of the app get the same token.
async fn refreshes<S: TokenStore>(store: &Arc<S>) {
    for round in 1..=ROUNDS {
        let token = 10 * round;
        begin(&**store, family(round as u8, "ada"), token).await;
        let call = |store: Arc<S>, _| async move { refresh(&*store, token, NOW).await };
        let results = race(store, call).await;
        let is_done = |result: &&RefreshOutcome| matches!(result, RefreshOutcome::Done(_));
        let is_again = |result: &&RefreshOutcome| matches!(result, RefreshOutcome::Again { .. });
        let done = results.iter().filter(is_done).count();
        let again = results.iter().filter(is_again).count();
        rule(
            (done, again) == (1, RACERS as usize - 1),
            "of concurrent `refresh` calls with one token, one succeeds, and all others get the same result",
        );
        let next = refresh(&**store, token + 1, NOW).await;
        rule(is_done(&&next), "the successor is the valid token");
    }
}

async fn reuses<S: TokenStore>(store: &Arc<S>) {
    for round in 1..=ROUNDS {
        let token = 10 * round;
        begin(&**store, family(round as u8, "ada"), token).await;
        refresh(&**store, token, NOW).await;
        let call = |store: Arc<S>, _| async move { refresh(&*store, token, at(50)).await };
        let results = race(store, call).await;
        let reused =
            results.iter().filter(|result| matches!(result, RefreshOutcome::Reused(_))).count();
        rule(reused == 1, "one call reports a reuse and ends the family");
    }
}

async fn refresh_and_logout<S: TokenStore>(store: &Arc<S>) {
    for round in 1..=ROUNDS {
        let token = 10 * round;
        begin(&**store, family(round as u8, "ada"), token).await;
        let (refreshing, ending) = (Arc::clone(store), Arc::clone(store));
        let calls: Vec<Call<()>> = vec![
            Box::pin(async move {
                refresh(&*refreshing, token, NOW).await;
            }),
            Box::pin(async move {
                let ended = answer(ending.end_family(hash(token), UNTIL)).await;
                rule(ended.is_some(), "`end_family` returns the family that lived");
            }),
        ];
        at_once(calls).await;
        for token in [token, token + 1] {
            let result = refresh(&**store, token, NOW).await;
            rule(
                matches!(result, RefreshOutcome::Dead | RefreshOutcome::Unknown),
                "no token outlives the end of its family, not even in a race",
            );
        }
    }
}

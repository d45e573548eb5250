//! Rates and permits.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use policy_core::limits::{Account, Rate};

use super::{LimitStore, ROUNDS, answer, pause, race, rule};
use crate::store::{LeasePermits, LimitKey, TakeRate};

pub(super) async fn run<S: LimitStore>(make: &impl Fn() -> S) {
    accounts(&*open_store(make).await).await;
    racers(&open_store(make).await).await;
    permits(&*open_store(make).await).await;
    holders(&open_store(make).await).await;
    lifetimes(&*open_store(make).await).await;
}

async fn open_store<S: LimitStore>(make: &impl Fn() -> S) -> Arc<S> {
    let store = Arc::new(make());
    answer(store.open()).await;
    store
}

fn name(number: u32) -> LimitKey {
    LimitKey(u128::from(number).to_be_bytes())
}

/// Long enough for everything that a test does.
const LONG: Duration = Duration::from_secs(3600);

/// Three periods of requests, decided by the times that the store returns.
async fn accounts<S: LimitStore>(store: &S) {
    let rate = Rate::new(6, Duration::from_millis(240));
    let mut accounts = HashMap::new();
    let (mut has_granted, mut has_refused) = (false, false);
    let end = Instant::now() + 3 * rate.per;
    for turn in 0_u32.. {
        let (client, wanted) = (turn % 3, 1 + turn % 4);
        let taken = answer(store.take_rate(TakeRate::new(name(client), rate, wanted))).await;
        let account = accounts.entry(client).or_insert(Account::EMPTY);
        let (granted, remaining, wait) = match account.take_up_to(&rate, taken.at, wanted) {
            Ok((granted, left)) => (granted, left.remaining, left.reset),
            Err(refused) => (0, 0, refused.retry_after),
        };
        let is_right = (taken.granted, taken.remaining) == (granted, remaining);
        rule(is_right, "`take_rate` grants as many requests as an account of the rate does");
        rule(taken.wait == wait, "`take_rate` says how long to wait");
        has_granted |= granted > 1;
        has_refused |= granted == 0;
        // A store far away may be too slow for a refusal within a period.
        if Instant::now() >= end && (has_refused || turn > 1000) {
            break;
        }
        pause().await;
    }
    rule(has_granted, "`take_rate` grants several requests in one call");
}

async fn racers<S: LimitStore>(store: &Arc<S>) {
    let rate = Rate::new(10, LONG);
    let granted = race(store, |store, _| async move {
        let mut granted = 0;
        for _ in 0..3 {
            granted += answer(store.take_rate(TakeRate::new(name(1), rate, 2))).await.granted;
        }
        granted
    });
    let granted: u32 = granted.await.into_iter().sum();
    rule(granted <= 10, "a rate holds for concurrent requests");
    rule(granted == 10, "the whole rate is granted");
    answer(store.purge(100)).await;
    let more = answer(store.take_rate(TakeRate::new(name(1), rate, 1))).await;
    rule(more.granted == 0, "`purge` leaves accounts that still count");
    let of_another = answer(store.take_rate(TakeRate::new(name(2), rate, 1))).await;
    rule(of_another.granted == 1, "clients are counted separately");
}

async fn permits<S: LimitStore>(store: &S) {
    let lease = async |limit, instance: u8, wish| {
        let request = LeasePermits::new(name(limit), 10, [instance; 16], wish, LONG);
        answer(store.lease_permits(request)).await
    };
    rule(
        lease(1, 1, 4).await == 4,
        "an instance gets the permits that it asks for, if enough are free",
    );
    rule(lease(1, 2, 9).await == 6, "an instance gets the permits that others leave");
    rule(lease(1, 1, 5).await == 4, "an instance keeps its permits");
    rule(lease(2, 3, 10).await == 10, "limits are counted separately");
    rule(lease(1, 2, 1).await == 1, "an instance returns the permits that it does not ask for");
    rule(lease(1, 1, 100).await == 9, "returned permits are free for others");
    rule(lease(1, 1, 0).await == 0, "an instance returns all permits");
    rule(lease(1, 2, 100).await == 10, "returned permits are free for others");
}

async fn holders<S: LimitStore>(store: &Arc<S>) {
    for round in 0..ROUNDS {
        let held = race(store, |store, racer| async move {
            let instance = u128::from(racer).to_be_bytes();
            let request = LeasePermits::new(name(round), 10, instance, 3, LONG);
            answer(store.lease_permits(request)).await
        });
        let held: u32 = held.await.into_iter().sum();
        rule(held <= 10, "permits are bounded for concurrent instances");
        rule(held == 10, "no permit is lost");
    }
}

async fn lifetimes<S: LimitStore>(store: &S) {
    let lifetime = Duration::from_millis(60);
    let lease = async |instance: u8, wish| {
        let request = LeasePermits::new(name(1), 2, [instance; 16], wish, lifetime);
        answer(store.lease_permits(request)).await
    };
    let begun = Instant::now();
    rule(
        lease(1, 2).await == 2,
        "an instance gets the permits that it asks for, if enough are free",
    );
    while lease(2, 1).await == 0 {
        // A generous bound, for a busy machine.
        rule(begun.elapsed() < 100 * lifetime, "permits end with the lifetime of their lease");
        pause().await;
    }
    rule(begun.elapsed() >= lifetime, "permits are held as long as their lease lasts");
}

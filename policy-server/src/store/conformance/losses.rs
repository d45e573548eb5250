//! The behaviour of stores of several instances after they lost acknowledged writes.

use std::time::{Duration, Instant};

use policy_core::session::Identity;

use super::{
    NOW, SessionStore, TokenStore, answer,
    cut_offs::{DONE, login},
    open_store, rule,
    tokens::{self, UNTIL, family, hash},
};
use crate::{
    base::timers,
    store::{
        CreateFamily, ERA, Refresh, RefreshOutcome, Revocation, RevokeUser, SessionCreated,
        StoreError,
    },
};

/// How long a store may take to answer again.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a call that states no number succeeds.
async fn is_back<T>(mut call: impl AsyncFnMut() -> Result<T, StoreError>) {
    let end = Instant::now() + PATIENCE;
    while call().await.is_err() {
        rule(Instant::now() < end, "a rolled back store responds again");
        timers::sleep(Duration::from_millis(20)).await;
    }
}

pub(super) async fn check_sessions<S: SessionStore>(
    open: &impl Fn() -> S,
    save: impl AsyncFnOnce(),
    go_back: impl AsyncFnOnce(),
) {
    let (one, two) = (&*open_store(open).await, &*open_store(open).await);
    let cut_off = async |store: &S| answer(store.revoke_user(RevokeUser::new("ada", NOW))).await;
    cut_off(one).await;
    for store in [one, two] {
        answer(store.cut_offs()).await;
    }
    save().await;
    let mut lost = 0;
    for _ in 0..5 {
        lost = cut_off(one).await.number;
    }
    go_back().await;
    for store in [one, two] {
        is_back(async || store.time().await).await;
    }
    // `two` has read none of the lost numbers: it assigns the same numbers again, and more.
    let mut newest = 0;
    for _ in 0..10 {
        newest = cut_off(two).await.number;
    }
    rule(newest > lost && newest < ERA, "an instance that has not noticed a loss continues");
    for (number, user) in [(1, "ada"), (2, "bob")] {
        rule(
            login(one, number, user, lost).await == SessionCreated::CutOff,
            "a lost number grants nothing, even if it is issued again",
        );
    }
    let found = answer(one.cut_offs()).await;
    rule(
        found / ERA == 1,
        "an instance that has read a lost number begins an era at its next check",
    );
    rule(answer(two.cut_offs()).await == found, "a loss begins one era for all instances");
    let late = login(two, 3, "bob", newest).await;
    rule(late == SessionCreated::CutOff, "a number of the previous era grants nothing");
    rule(login(two, 3, "bob", found).await == DONE, "a number of the new era does");
    let cut = cut_off(one).await;
    rule(
        cut.before > lost && cut.number > found,
        "a cut-off in a new era has a higher number than all of the previous era",
    );
}

pub(super) async fn check_tokens<S: TokenStore>(
    open: &impl Fn() -> S,
    save: impl AsyncFnOnce(),
    go_back: impl AsyncFnOnce(),
) {
    let (one, two) = (&*tokens::open_store(open).await, &*tokens::open_store(open).await);
    // It gets one number only, when it ends a family.
    let three = &*tokens::open_store(open).await;
    let of_ada = || Revocation::User { user: "ada".into(), before: 5 };
    let revoke = async |store: &S| answer(store.revoke(of_ada())).await.position;
    let begin = async |store: &S, number: u8, began| {
        let mut family = family(number, "ada");
        if number > 1 {
            family.identity = Identity::new("bob");
        }
        answer(store.create_family(CreateFamily::new(family, hash(number.into()), began))).await
    };
    let refresh = Refresh::new(hash(1), hash(9), Duration::from_secs(10), NOW, UNTIL);
    revoke(one).await;
    let mut read = 0;
    for store in [one, two] {
        read = answer(store.revocations(0)).await.sequence;
    }
    rule(begin(one, 1, read).await, "a family without a cut-off begins");
    rule(begin(one, 3, read).await, "a family without a cut-off begins");
    save().await;
    answer(three.end_family(hash(3), UNTIL)).await;
    let mut lost = 0;
    for _ in 0..5 {
        lost = revoke(one).await;
    }
    go_back().await;
    for store in [one, two, three] {
        is_back(async || store.take_ticket(hash(100), NOW).await).await;
    }
    let mut newest = 0;
    for _ in 0..10 {
        newest = revoke(two).await;
    }
    rule(newest > lost && newest < ERA, "an instance that has not noticed a loss continues");
    rule(
        !begin(one, 2, lost).await,
        "a lost position begins no family, even if it is issued again",
    );
    for store in [one, three] {
        rule(
            store.refresh(refresh).await.is_err(),
            "an instance without the current revocations refreshes nothing",
        );
    }
    let found = answer(one.revocations(read)).await;
    rule(
        found.sequence / ERA == 1,
        "an instance that has read a lost position begins an era at its next check",
    );
    rule(
        found.revocations.contains(&(ERA, Revocation::All { before: 0 })),
        "a new era revokes the access tokens of the previous one",
    );
    let of_two = answer(two.revocations(newest)).await;
    rule(of_two.sequence == found.sequence, "a loss begins one era for all instances");
    rule(
        answer(one.refresh(refresh)).await == RefreshOutcome::Dead,
        "a family that ended in the previous era stays ended",
    );
    rule(!begin(two, 2, newest).await, "a position of the previous era begins no family");
    rule(begin(two, 2, found.sequence).await, "a position of the new era begins a family");
    answer(two.end_family_by_id(family(2, "bob").id)).await;
    let refresh = Refresh::new(hash(2), hash(10), Duration::from_secs(10), NOW, UNTIL);
    rule(
        answer(two.refresh(refresh)).await == RefreshOutcome::Dead,
        "a family whose end was lost is ended again by its id",
    );
}

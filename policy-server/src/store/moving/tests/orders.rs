//! A session of the old store moves at one instance, while another instance does something else: in
//! every order of their calls of the two stores. The other instance begins sessions in the same store,
//! or in the other one, as while a release is rolled out.

use std::pin::Pin;

use policy_core::session::{Handle, Identity};

use super::{
    Moving, NOW, Phase, at, begin, key, lives, moving, record,
    stepped::{SteppedStore, poll, run},
};
use crate::store::{
    Cas, ListSessions, RevokeUser, RotateSession, SessionStore, StoreError, UpdateSession,
};

/// The session that moves, its key after that, and the key that another request gives it.
const OLD: u64 = 1;
const NEW: u64 = 2;
const OTHER: u64 = 3;

/// The elevation of one request, which knows the cut-offs before the other began.
pub(super) async fn elevate(store: &Moving, known: u64) -> Result<Cas, StoreError> {
    rotate(store, NEW, Some(known)).await
}

async fn rotate(store: &Moving, to: u64, known: Option<u64>) -> Result<Cas, StoreError> {
    let mut elevated = record(OLD, Some("ada"), at(1));
    elevated.identity = Some(Identity::new("ada").roles(["admin"]));
    let request = RotateSession::new(key(OLD), key(to), 1, elevated, NOW);
    let request = match known {
        Some(known) => request.began(known),
        // A renewal.
        None => request.grace(at(10)),
    };
    store.rotate(request).await
}

fn handle() -> Handle {
    record(OLD, None, NOW).handle
}

struct Stores {
    old: SteppedStore,
    new: SteppedStore,
    mover: Moving,
}

impl Stores {
    fn new() -> Self {
        let (old, new) = (SteppedStore::default(), SteppedStore::default());
        run(begin(&old, OLD, Some("ada")));
        let mover = moving(&new, &old, Phase::From);
        Self { old, new, mover }
    }

    /// Another instance.
    fn instance(&self, phase: Phase) -> Moving {
        match phase {
            Phase::From => moving(&self.new, &self.old, phase),
            Phase::To => moving(&self.old, &self.new, phase),
        }
    }

    /// Which of the keys are live, and how many sessions the user has in both stores.
    fn live(&self) -> (Vec<u64>, usize) {
        let live = [OLD, NEW, OTHER].into_iter().filter(|number| run(lives(&self.mover, *number)));
        let listed = [&self.old, &self.new].map(|store| {
            run(async { store.list(ListSessions::new("ada", 10, NOW)).await.unwrap().len() })
        });
        (live.collect(), listed.into_iter().sum())
    }
}

/// Lets an elevation and something else happen in every order of their calls, and checks what is left.
fn in_every_order<T>(
    other: &impl AsyncFn(&Moving) -> T,
    check: impl Fn(&Stores, Result<Cas, StoreError>, T),
) {
    for phase in [Phase::From, Phase::To] {
        let (mut orders, mut next) = (0, Some(Vec::new()));
        while let Some(begun) = next {
            let stores = Stores::new();
            let instance = stores.instance(phase);
            let mut moves: Pin<Box<dyn Future<Output = _>>> = Box::pin(elevate(&stores.mover, 0));
            let mut does: Pin<Box<dyn Future<Output = T>>> = Box::pin(other(&instance));
            let (mut moved, mut done, mut order) = (None, None, Vec::new());
            while moved.is_none() || done.is_none() {
                let is_others_turn = match (&moved, &done) {
                    (None, None) => {
                        let turn = begun.get(order.len()).copied().unwrap_or(false);
                        order.push(turn);
                        turn
                    }
                    (moved, _) => moved.is_some(),
                };
                if is_others_turn {
                    done = poll(&mut does);
                } else {
                    moved = poll(&mut moves);
                }
            }
            drop((moves, does));
            if let (Some(moved), Some(done)) = (moved, done) {
                check(&stores, moved, done);
            }
            orders += 1;
            next = following(order);
        }
        assert!(orders > 10, "{orders}");
    }
}

/// The next of all orders of turns.
fn following(mut order: Vec<bool>) -> Option<Vec<bool>> {
    while order.pop()? {}
    order.push(true);
    Some(order)
}

fn is_done(moved: &Result<Cas, StoreError>) -> bool {
    matches!(moved, Ok(Cas::Done { .. }))
}

#[test]
fn a_logout_wins() {
    in_every_order(
        // As a request logs out: a rotation may have given the session another key.
        &async |store| {
            store.delete(&key(OLD)).await.unwrap()
                || store.delete_by_handle("ada", handle()).await.unwrap()
        },
        |stores, moved, was_live| {
            assert_eq!(stores.live(), (vec![], 0), "{moved:?}");
            assert!(was_live, "{moved:?}");
        },
    );
}

#[test]
fn an_end_by_handle_wins() {
    in_every_order(
        &async |store| store.delete_by_handle("ada", handle()).await.unwrap(),
        |stores, moved, was_live| {
            assert_eq!(stores.live(), (vec![], 0), "{moved:?}");
            assert!(was_live, "{moved:?}");
        },
    );
}

#[test]
fn a_cut_off_of_the_user_wins() {
    in_every_order(
        &async |store| store.revoke_user(RevokeUser::new("ada", NOW)).await.unwrap(),
        |stores, moved, cut| {
            assert_eq!(stores.live(), (vec![], 0), "{moved:?}");
            assert!(cut.sessions > 0, "{moved:?} {cut:?}");
        },
    );
}

#[test]
fn a_cut_off_of_everyone_wins() {
    in_every_order(&async |store| store.revoke_everyone(NOW).await.unwrap(), |stores, moved, _| {
        assert_eq!(stores.live(), (vec![], 0), "{moved:?}");
    });
}

/// The elevation read the old rights.
#[test]
fn a_change_of_rights_wins() {
    let rights = Identity::new("ada").roles(["guest"]);
    in_every_order(
        &async |store| {
            store.revoke_user(RevokeUser::new("ada", NOW).rights(&rights)).await.unwrap()
        },
        |stores, moved, _| {
            let (live, listed) = stores.live();
            assert_eq!((live.len(), listed), (1, 1), "{moved:?}");
            let session = run(async { stores.mover.load(&key(live[0]), NOW).await });
            let record = session.unwrap().unwrap().record;
            assert_eq!(record.identity.as_ref(), Some(&rights), "{moved:?}");
        },
    );
}

#[test]
fn of_two_moves_one_is_made() {
    in_every_order(&async |store| rotate(store, OTHER, Some(0)).await, |stores, moved, other| {
        assert!(is_done(&moved) != is_done(&other), "{moved:?} {other:?}");
        let expected = if is_done(&moved) { NEW } else { OTHER };
        assert_eq!(stores.live(), (vec![expected], 1));
    });
}

#[test]
fn of_a_move_and_a_renewal_one_is_made() {
    in_every_order(&async |store| rotate(store, OTHER, None).await, |stores, moved, renewed| {
        assert!(is_done(&moved) != is_done(&renewed), "{moved:?} {renewed:?}");
        // The key that was renewed still leads to the session.
        let expected = if is_done(&moved) { vec![NEW] } else { vec![OLD, OTHER] };
        assert_eq!(stores.live(), (expected, 1));
    });
}

#[test]
fn no_change_of_values_is_lost() {
    in_every_order(
        &async |store| {
            store.update(UpdateSession::new(key(OLD), 1, Box::from(*b"1"), NOW)).await.unwrap()
        },
        |stores, moved, changed| {
            let is_changed = matches!(changed, Cas::Done { .. });
            assert!(is_done(&moved) != is_changed, "{moved:?} {changed:?}");
            let expected = if is_changed { OLD } else { NEW };
            assert_eq!(stores.live(), (vec![expected], 1));
        },
    );
}

/// A stream asks repeatedly whether its session is live, and ends if it is not.
#[test]
fn a_session_that_moves_is_live_at_every_moment() {
    in_every_order(
        &async |store| store.identity("ada", handle(), NOW).await.unwrap().is_some(),
        |_, moved, is_live| assert!(is_live && is_done(&moved), "{moved:?}"),
    );
}

#[test]
fn a_session_that_moves_is_listed_once() {
    in_every_order(
        &async |store| store.list(ListSessions::new("ada", 10, NOW)).await.unwrap().len(),
        |_, moved, listed| assert!(listed == 1 && is_done(&moved), "{listed} {moved:?}"),
    );
}

/// Three requests, in orders that are drawn: one of two moves of the session succeeds, and nothing
/// is left of either when a third request ends it.
#[test]
fn an_end_by_handle_wins_against_two_moves() {
    let mut state = 7_u64;
    let mut turn = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % 3
    };
    for _ in 0..3000 {
        let stores = Stores::new();
        let (other, ender) = (stores.instance(Phase::From), stores.instance(Phase::From));
        let mut moves: [Pin<Box<dyn Future<Output = _>>>; 2] =
            [Box::pin(elevate(&stores.mover, 0)), Box::pin(rotate(&other, OTHER, Some(0)))];
        let mut ends: Pin<Box<dyn Future<Output = bool>>> =
            Box::pin(async { ender.delete_by_handle("ada", handle()).await.unwrap() });
        let (mut moved, mut ended) = ([None, None], None);
        while moved.contains(&None) || ended.is_none() {
            match turn() {
                2 if ended.is_none() => ended = poll(&mut ends),
                turn if turn < 2 && moved[turn].is_none() => {
                    moved[turn] = poll(&mut moves[turn]).map(|moved| is_done(&moved));
                }
                _ => {}
            }
        }
        drop((moves, ends));
        assert_eq!(stores.live(), (vec![], 0), "{moved:?} {ended:?}");
    }
}

/// A form that is sent twice causes this.
#[test]
fn one_process_moves_a_session_once_at_a_time() {
    let stores = Stores::new();
    let mut first: Pin<Box<dyn Future<Output = _>>> = Box::pin(elevate(&stores.mover, 0));
    while stores.live().1 == 1 {
        assert!(poll(&mut first).is_none());
    }
    assert_eq!(run(rotate(&stores.mover, OTHER, Some(0))).unwrap(), Cas::Conflict);
    assert_eq!(stores.live(), (vec![OLD, NEW], 2));
    drop(first);
    assert!(is_done(&run(rotate(&stores.mover, OTHER, Some(0)))), "it was given up");
}

/// A client disconnects, or the process crashes: a logout finds every remaining session.
#[test]
fn a_move_that_stops_anywhere_leaves_the_session_at_one_key_and_a_logout_ends_it() {
    let mut left = Vec::new();
    for calls in 1.. {
        let stores = Stores::new();
        let mut moves: Pin<Box<dyn Future<Output = _>>> = Box::pin(elevate(&stores.mover, 0));
        let is_over = (0..calls).any(|_| poll(&mut moves).is_some());
        drop(moves);
        left.push(stores.live().0);
        let listed = run(async { stores.mover.list(ListSessions::new("ada", 10, NOW)).await });
        assert_eq!(listed.unwrap().len(), 1);
        run(async { stores.mover.delete_by_handle("ada", handle()).await.unwrap() });
        assert_eq!(stores.live(), (vec![], 0));
        if is_over {
            break;
        }
    }
    left.dedup();
    // No client knows the new key before the request is done.
    assert_eq!(left, [vec![OLD], vec![OLD, NEW], vec![NEW]]);
}

/// Each call of the old store fails in turn, and all after it.
#[test]
fn no_session_ends_if_the_old_store_fails() {
    let mut failed = 0;
    for call in 1.. {
        let stores = Stores::new();
        stores.old.fail_from(call);
        let moved = run(elevate(&stores.mover, 0));
        stores.old.fail_from(0);
        if is_done(&moved) {
            assert_eq!(stores.live(), (vec![NEW], 1));
            if call > failed + 3 {
                break;
            }
        } else {
            assert!(moved.is_err(), "{moved:?}");
            failed += 1;
            assert_eq!(stores.live(), (vec![OLD], 1), "call {call}");
        }
    }
    assert!(failed >= 2, "{failed}");
}

//! Simulates a crash at every write, and opens the file again.
//!
//! Completed operations must be there. Operations that were submitted but not completed may be
//! there, in the order of submission, and never partly.

mod disk;

use std::{sync::LazyLock, time::Duration};

use policy_core::{
    session::{Handle, Identity, SessionKey},
    time::Timestamp,
};

pub(super) use self::disk::{Disk, Survive, Trouble, open, open_with};
use super::{
    EmbeddedStore,
    tests::{NOW, record},
};
use crate::store::{
    CreateFamily, CreateSession, Family, Limit, LimitPolicy, ListSessions, Refresh, Revocation,
    RevokeUser, RotateSession, SessionStore, StoreError, StoreFuture, Ticket, TokenHash,
    TokenStore, TouchSession, UpdateSession,
};

const A: SessionKey = SessionKey([1; 32]);
const B: SessionKey = SessionKey([2; 32]);
const C: SessionKey = SessionKey([3; 32]);
const D: SessionKey = SessionKey([4; 32]);
const E: SessionKey = SessionKey([5; 32]);
const F: SessionKey = SessionKey([6; 32]);
const G: SessionKey = SessionKey([7; 32]);
const H: SessionKey = SessionKey([8; 32]);
const I: SessionKey = SessionKey([9; 32]);
const J: SessionKey = SessionKey([10; 32]);
const KEYS: [&SessionKey; 10] = [&A, &B, &C, &D, &E, &F, &G, &H, &I, &J];

static LESS: LazyLock<Identity> = LazyLock::new(|| Identity::new("cy").roles(["less"]));

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const UNTIL: Timestamp = Timestamp::from_seconds(NOW.seconds() + 300);

fn hash(byte: u8) -> TokenHash {
    TokenHash([byte; 32])
}

/// A family, perhaps in a session, whose request knows no revocation.
fn begin(byte: u8, user: &str, session: Option<u8>) -> CreateFamily {
    let mut family = Family::new([byte; 16], Identity::new(user), NOW, NOW.after(60 * MINUTE));
    family.session = session.map(|byte| Handle([byte; 16]));
    CreateFamily::new(family, hash(byte), 0)
}

fn ticket(user: &str) -> Ticket {
    let session = Some(Handle([1; 16]));
    Ticket { session, ..Ticket::new(Identity::new(user), NOW.after(MINUTE)) }
}

/// Submits an operation and ignores its result.
type Operation = fn(&EmbeddedStore) -> StoreFuture<'_, ()>;

fn discard<'a, T: Send + Unpin + 'a>(response: StoreFuture<'a, T>) -> StoreFuture<'a, ()> {
    StoreFuture::new(async { response.await.map(drop) })
}

/// Groups of operations; those of a group are submitted before the first one completes.
fn script() -> Vec<Vec<Operation>> {
    vec![
        vec![|s| discard(SessionStore::secret(s, [1; 32])), |s| {
            discard(TokenStore::secret(s, [2; 32]))
        }],
        vec![|s| discard(s.create(CreateSession::new(A, record(Some("ada"), 1), NOW)))],
        vec![
            |s| discard(s.create(CreateSession::new(B, record(Some("ada"), 2), NOW.after(SECOND)))),
            |s| discard(s.create(CreateSession::new(C, record(None, 3), NOW))),
            |s| discard(s.create_family(begin(1, "ada", None))),
            |s| discard(s.put_ticket(hash(100), ticket("ada"))),
        ],
        vec![|s| discard(s.touch(TouchSession::new(A, NOW.after(16 * MINUTE), NOW.after(MINUTE))))],
        vec![|s| {
            discard(s.update(UpdateSession::new(A, 1, b"{\"cart\":1}".as_slice().into(), NOW)))
        }],
        // A login in an anonymous session.
        vec![|s| discard(s.rotate(RotateSession::new(C, D, 1, record(Some("bo"), 3), NOW)))],
        // A renewal.
        vec![|s| {
            discard(
                s.rotate(
                    RotateSession::new(A, E, 2, record(Some("ada"), 1), NOW)
                        .grace(Some(NOW.after(SECOND))),
                ),
            )
        }],
        vec![
            |s| discard(s.refresh(Refresh::new(hash(1), hash(2), 10 * SECOND, NOW, UNTIL))),
            |s| discard(s.take_ticket(hash(100), NOW)),
            |s| discard(s.revoke(Revocation::Token { id: "j".into(), until: NOW.after(MINUTE) })),
        ],
        vec![|s| discard(s.touch(TouchSession::new(D, NOW.after(17 * MINUTE), NOW.after(MINUTE))))],
        // A logout with the replaced key.
        vec![|s| discard(s.delete(&A))],
        vec![|s| {
            let limit = Limit { sessions: 1, policy: LimitPolicy::EvictOldest };
            discard(s.create(CreateSession::new(F, record(Some("ada"), 6), NOW).limit(Some(limit))))
        }],
        vec![|s| discard(SessionStore::purge(s, NOW.after(2 * SECOND), 10))],
        // Reuse.
        vec![|s| {
            let now = NOW.after(MINUTE);
            discard(s.refresh(Refresh::new(hash(1), hash(2), 10 * SECOND, now, UNTIL)))
        }],
        // A logout.
        vec![|s| discard(s.create_family(begin(14, "eve", None))), |s| {
            discard(s.end_family(hash(14), UNTIL))
        }],
        vec![
            |s| discard(s.create(CreateSession::new(G, record(Some("bo"), 7), NOW))),
            |s| discard(s.revoke_user(RevokeUser::new("bo", NOW).keep(Some(G)))),
            |s| discard(s.create_family(begin(10, "bo", None))),
            |s| discard(s.revoke(Revocation::User { user: "bo".into(), before: 1_800_000_000 })),
        ],
        vec![|s| discard(s.delete_by_handle("bo", Handle([7; 16])))],
        vec![|s| discard(s.revoke(Revocation::All { before: 1_800_000_001 }))],
        // Logins that began before the cut-off of their user, at the moment of a change of rights.
        vec![
            |s| discard(s.create(CreateSession::new(H, record(Some("bo"), 8), NOW).began(0))),
            |s| discard(s.create_family(begin(11, "bo", None))),
            |s| discard(s.create_family(begin(12, "cy", Some(12)))),
            |s| discard(s.create(CreateSession::new(I, record(Some("cy"), 9), NOW).began(0))),
            |s| discard(s.revoke_user(RevokeUser::new("cy", NOW).rights(&LESS))),
        ],
        vec![|s| {
            let (session, until) = (Handle([12; 16]), NOW.after(MINUTE));
            discard(s.revoke(Revocation::Session { user: "cy".into(), session, until }))
        }],
        vec![
            |s| discard(s.create_family(begin(13, "dan", None))),
            |s| discard(s.revoke_everyone(NOW)),
            |s| discard(s.revoke(Revocation::Everyone { before: 1_800_000_001 })),
            |s| discard(s.create(CreateSession::new(J, record(Some("dan"), 10), NOW).began(1))),
        ],
    ]
}

/// Reads everything that can be observed of a store, except when sessions were used. It changes the
/// store.
async fn observe(store: &EmbeddedStore) -> Result<Vec<String>, StoreError> {
    let mut observations = vec![];
    for key in KEYS {
        let session = store.load(key, NOW).await?.map(|loaded| {
            let record = &loaded.record;
            let (data, user) = (record.data.clone(), record.user().map(str::to_owned));
            let rights = record.identity.as_ref().map(|identity| identity.roles.clone());
            (record.handle, user, record.epoch, record.version, data, loaded.successor, rights)
        });
        observations.push(format!("{session:?}"));
    }
    for user in ["ada", "bo"] {
        let mut handles: Vec<_> = store
            .list(ListSessions::new(user, 10, NOW))
            .await?
            .iter()
            .map(|one| one.handle)
            .collect();
        handles.sort();
        observations.push(format!("{user}: {handles:?}"));
        // The epoch is visible in the next session that is created.
        let key = SessionKey([user.len() as u8 + 100; 32]);
        store.create(CreateSession::new(key, record(Some(user), 9), NOW)).await?;
        let epoch = store.load(&key, NOW).await?.map(|loaded| loaded.record.epoch);
        observations.push(format!("{epoch:?}"));
    }
    observations.push(format!("{:?}", store.revocations(0).await?));
    observations.push(format!("{:?}", store.take_ticket(hash(100), NOW).await?));
    observations.push(format!("{:?}", store.cut_offs().await?));
    for token in [1, 2, 10, 11, 12, 13, 14] {
        let refreshed =
            store.refresh(Refresh::new(hash(token), hash(token + 100), SECOND, NOW, UNTIL)).await?;
        observations.push(format!("{refreshed:?}"));
    }
    observations.push(format!("{:?}", SessionStore::secret(store, [8; 32]).await?));
    observations.push(format!("{:?}", TokenStore::secret(store, [9; 32]).await?));
    Ok(observations)
}

/// How far the script got before the crash.
#[derive(Debug)]
struct Progress {
    answered: usize,
    submitted: usize,
}

async fn run(store: &EmbeddedStore, most: usize) -> Progress {
    let mut progress = Progress { answered: 0, submitted: 0 };
    for group in script() {
        let room = most - progress.submitted;
        let responses: Vec<_> = group.iter().take(room).map(|submit| submit(store)).collect();
        progress.submitted += responses.len();
        for response in responses {
            if response.await.is_err() {
                return progress;
            }
            progress.answered += 1;
        }
    }
    progress
}

#[tokio::test]
async fn acknowledged_writes_survive_a_crash_at_any_write() {
    let operations = script().iter().map(Vec::len).sum::<usize>();
    // The expected observations after the first n operations.
    let mut expected = vec![];
    let mut steps = 0;
    for most in 0..=operations {
        let disk = Disk::new(vec![], usize::MAX);
        let store = open(disk.clone()).unwrap();
        let progress = run(&store, most).await;
        assert_eq!((progress.answered, progress.submitted), (most, most));
        steps = disk.steps();
        expected.push(observe(&store).await.unwrap());
    }

    let (mut lost, mut kept, mut answered) = (0, 0, 0);
    for survive in [Survive::None, Survive::All, Survive::Even, Survive::Odd] {
        for crash_at in 1..=steps {
            let disk = Disk::new(vec![], crash_at);
            let progress = match open(disk.clone()) {
                Ok(store) => run(&store, operations).await,
                Err(_) => Progress { answered: 0, submitted: 0 },
            };
            let at = format!("crash at {crash_at} of {steps}, {survive:?} survive, {progress:?}");
            let store = open(Disk::new(disk.after_crash(survive), usize::MAX))
                .unwrap_or_else(|error| panic!("{at}: {error}"));
            let observations = observe(&store).await.unwrap();
            let possible = progress.answered..=progress.submitted;
            // The latest match, since the last operations may have changed nothing visible.
            let Some(reached) = possible.rev().find(|n| expected[*n] == observations) else {
                panic!("{at}: {observations:#?}\nbut before {:#?}", expected[progress.answered]);
            };
            lost += usize::from(reached < progress.submitted);
            kept += usize::from(reached > progress.answered);
            answered += usize::from(progress.answered > 0);
        }
    }
    // Crashes that lost pending operations, that kept them, and after a completed one.
    assert!(lost > 100 && kept > 10 && answered > 500, "{lost} {kept} {answered} of {steps}");
}

#[tokio::test]
async fn a_use_that_was_noted_is_on_the_disk_after_a_clean_end() {
    let disk = Disk::new(vec![], usize::MAX);
    let store = open(disk.clone()).unwrap();
    store.create(CreateSession::new(A, record(Some("ada"), 1), NOW)).await.unwrap();
    let late = Timestamp::MAX;
    assert!(store.touch(TouchSession::new(A, late, NOW.after(MINUTE))).await.unwrap());
    drop(store);
    let store = open(Disk::new(disk.after_crash(Survive::None), usize::MAX)).unwrap();
    let loaded = store.load(&A, NOW).await.unwrap().unwrap();
    assert_eq!(loaded.record.last_seen, NOW.after(MINUTE));
}

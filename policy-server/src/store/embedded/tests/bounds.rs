//! Limits of what is stored, and what a purge removes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::*;
use crate::store::{
    AnonymousLimit, Cas, CreateFamily, Family, ListSessions, MemoryStore, Refresh, RotateSession,
    TokenHash, TokenStore, TouchSession, UpdateSession,
};

/// The stores of one process with this limit.
async fn limited(folder: &Folder, limit: AnonymousLimit) -> [Box<dyn SessionStore>; 2] {
    let embedded = EmbeddedStore::new(folder.file()).anonymous_limit(limit);
    SessionStore::open(&embedded).await.unwrap();
    [Box::new(embedded), Box::new(MemoryStore::with_anonymous_limit(limit))]
}

/// Which of the sessions with these numbers live.
async fn living(store: &dyn SessionStore, numbers: impl IntoIterator<Item = u8>) -> Vec<u8> {
    let mut living = vec![];
    for number in numbers {
        if store.load(&key(number), NOW).await.unwrap().is_some() {
            living.push(number);
        }
    }
    living
}

#[tokio::test]
async fn the_oldest_anonymous_sessions_end_where_there_are_too_many() {
    let folder = Folder::new();
    for store in limited(&folder, AnonymousLimit::new(3, u64::MAX)).await {
        let make = async |number: u8, user: Option<&'static str>| {
            let mut record = record(user, number);
            record.created = NOW.after(Duration::from_millis(number.into()));
            store.create(CreateSession::new(key(number), record, NOW)).await.unwrap();
        };
        make(100, Some("ada")).await;
        for number in 1..=3 {
            make(number, None).await;
        }
        // Neither a session that ended nor one that gained a user counts.
        store.delete(&key(2)).await.unwrap();
        let login = RotateSession::new(key(3), key(103), 1, record(Some("ada"), 103), NOW);
        store.rotate(login).await.unwrap();
        for number in 4..=6 {
            make(number, None).await;
        }
        let living = living(&*store, [1, 4, 5, 6, 100, 103]).await;
        assert_eq!(living, [4, 5, 6, 100, 103], "{store:?}");
    }
}

#[tokio::test]
async fn the_values_of_anonymous_sessions_are_bounded_together() {
    let folder = Folder::new();
    for store in limited(&folder, AnonymousLimit::new(100, 1000)).await {
        let data = |size: usize| vec![b' '; size].into_boxed_slice();
        let living = async || living(&*store, 1..=9).await;
        let make = async |number: u8, size: usize| {
            let mut record = record(None, number);
            record.created = NOW.after(Duration::from_secs(number.into()));
            record.data = data(size);
            store.create(CreateSession::new(key(number), record, NOW)).await.unwrap();
        };
        for number in 1..=4 {
            make(number, 300).await;
        }
        assert_eq!(living().await, [2, 3, 4], "{store:?}");
        // A session that grows ends others, and not itself, though it is the oldest.
        let grown = UpdateSession::new(key(2), 1, data(500), NOW);
        assert!(matches!(store.update(grown).await.unwrap(), Cas::Done { .. }));
        assert_eq!(living().await, [2, 4], "{store:?}");
        // One that shrinks or ends makes room.
        store.update(UpdateSession::new(key(2), 2, data(0), NOW)).await.unwrap();
        store.delete(&key(4)).await.unwrap();
        for number in 5..=7 {
            make(number, 333).await;
        }
        assert_eq!(living().await, [2, 5, 6, 7], "{store:?}");
        // Values of users are not counted.
        let mut ada = record(Some("ada"), 8);
        ada.data = data(60_000);
        store.create(CreateSession::new(key(8), ada, NOW)).await.unwrap();
        assert_eq!(living().await, [2, 5, 6, 7, 8], "{store:?}");
    }
}

/// How many rows a table has.
fn count<K: redb::Key + 'static, V: redb::Value + 'static>(path: PathBuf, name: &str) -> u64 {
    use redb::{ReadableDatabase, ReadableTableMetadata};

    let database = redb::Database::create(path).unwrap();
    let transaction = database.begin_read().unwrap();
    transaction.open_table(redb::TableDefinition::<K, V>::new(name)).unwrap().len().unwrap()
}

#[tokio::test]
async fn families_that_ended_leave_nothing_behind() {
    let folder = Folder::new();
    let store = open_store(folder.file()).await;
    let hash = |number: u32| {
        let mut hash = TokenHash([0; 32]);
        hash.0[..4].copy_from_slice(&number.to_le_bytes());
        hash
    };
    let expires = NOW.after(Duration::from_secs(3600));
    for number in 1..=9 {
        let family = Family::new([number; 16], Identity::new("ada"), NOW, expires);
        let first = 1000 * u32::from(number);
        begin(&store, family, hash(first)).await;
        // More rows than one step of a purge removes.
        for token in first..first + 20 * u32::from(number % 4) {
            let request = Refresh::new(hash(token), hash(token + 1), Duration::ZERO, NOW, NOW);
            store.refresh(request).await.unwrap();
        }
    }
    for number in 1..=8 {
        store.end_family(hash(1000 * number), NOW).await.unwrap().unwrap();
    }
    TokenStore::purge(&store, NOW, usize::MAX).await.unwrap();
    let rows = || {
        [
            count::<&[u8; 16], &[u8]>(folder.file(), "families"),
            count::<&[u8; 32], &[u8]>(folder.file(), "tokens"),
            count::<&[u8], ()>(folder.file(), "token_deadlines"),
        ]
    };
    drop(store);
    // The ninth family is left, with the tokens of its refreshes.
    assert_eq!(rows(), [1, 21, 1]);
    let store = open_store(folder.file()).await;
    TokenStore::purge(&store, expires, usize::MAX).await.unwrap();
    drop(store);
    assert_eq!(rows(), [0, 0, 0]);
}

async fn begin(store: &EmbeddedStore, family: Family, token: TokenHash) {
    assert!(store.create_family(CreateFamily::new(family, token, 0)).await.unwrap());
}

#[tokio::test]
async fn logins_go_in_between_the_steps_of_a_purge() {
    let folder = Folder::new();
    let store = open_store(folder.file()).await;
    let login = |number: u32, idle: u64| {
        let mut key = key(0);
        key.0[..8].copy_from_slice(&(u64::from(number) << 32 | idle).to_le_bytes());
        let mut record = record(Some("ada"), 1);
        record.idle_deadline = NOW.after(Duration::from_secs(idle));
        store.create(CreateSession::new(key, record, NOW))
    };
    let responses: Vec<_> = (0..2000).map(|number| login(number, 900)).collect();
    for response in responses {
        response.await.unwrap();
    }
    let due = NOW.after(Duration::from_secs(900));
    let is_purging = AtomicU64::new(1);
    let purge = async {
        let purged = SessionStore::purge(&store, due, usize::MAX).await.unwrap();
        is_purging.store(0, Relaxed);
        purged
    };
    let logins = async {
        let mut between = 0;
        while is_purging.load(Relaxed) == 1 {
            login(between, 3600).await.unwrap();
            between += 1;
        }
        between
    };
    let (purged, between) = tokio::join!(purge, logins);
    assert_eq!(purged, 2000);
    // A step examines 256 rows at most.
    assert!(between >= 2000 / 256, "{between} logins while {purged} sessions were purged");
}

#[tokio::test]
async fn a_purge_reads_several_batches_and_keeps_used_sessions() {
    let folder = Folder::new();
    let store = open_store(folder.file()).await;
    let responses: Vec<_> = (0..700_u32)
        .map(|number| {
            let mut key = SessionKey([0; 32]);
            key.0[..4].copy_from_slice(&number.to_le_bytes());
            let user = (number % 2 == 0).then_some("ada");
            let request = CreateSession::new(key, record(user, 1), NOW);
            store.write(move |tables| tables.sessions()?.create(request))
        })
        .collect();
    for response in responses {
        assert_eq!(response.await.unwrap(), SessionCreated::Done { evicted: vec![] });
    }
    let used = SessionKey([0; 32]);
    let later = NOW.after(Duration::from_secs(60));
    let touch = TouchSession::new(used, later.after(Duration::from_secs(900)), later);
    assert!(store.touch(touch).await.unwrap());
    let due = NOW.after(Duration::from_secs(900));
    assert_eq!(SessionStore::purge(&store, due, 500).await.unwrap(), 500);
    assert_eq!(SessionStore::purge(&store, due, 500).await.unwrap(), 199);
    assert!(store.load(&used, due).await.unwrap().is_some());
    assert_eq!(store.list(ListSessions::new("ada", 10, due)).await.unwrap().len(), 1);
    let due = due.after(Duration::from_secs(60));
    assert_eq!(SessionStore::purge(&store, due, 500).await.unwrap(), 1);
}

//! What is specific to the embedded store; the conformance suite tests what every store must do.

use std::{cell::Cell, path::PathBuf, time::Duration};

use policy_core::{
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};

use super::EmbeddedStore;
use crate::store::{
    Cas, CreateSession, Created, ListSessions, RevokeUser, SessionStore, TouchSession,
    UpdateSession, conformance,
};

pub(super) const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

pub(super) fn key(byte: u8) -> SessionKey {
    SessionKey([byte; 32])
}

/// A session of `user` whose handle is its key.
pub(super) fn record(user: Option<&str>, byte: u8) -> Record {
    Record {
        handle: Handle([byte; 16]),
        identity: user.map(Identity::new),
        epoch: 0,
        version: 0,
        created: NOW,
        authenticated: user.map(|_| NOW),
        rotated: NOW,
        last_seen: NOW,
        idle_deadline: NOW.after(Duration::from_secs(900)),
        absolute_deadline: NOW.after(Duration::from_secs(3600)),
        idle: Duration::from_secs(900),
        is_remembered: false,
        binding: [0; 32],
        data: [].into(),
    }
}

/// A file in its own folder, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("policy-embedded-{name}-{}", std::process::id()));
        // Left behind by an earlier process with the same id.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("sessions.redb")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn opened(path: PathBuf) -> EmbeddedStore {
    let store = EmbeddedStore::new(path);
    SessionStore::open(&store).await.unwrap();
    store
}

async fn refusal(path: PathBuf) -> String {
    SessionStore::open(&EmbeddedStore::new(path)).await.unwrap_err().to_string()
}

#[tokio::test]
async fn it_keeps_the_rules_of_every_store() {
    let folder = Folder::new("rules");
    let made = Cell::new(0);
    let make = || {
        made.set(made.get() + 1);
        EmbeddedStore::new(folder.0.join(made.get().to_string()))
    };
    conformance::sessions(make).await;
    conformance::tokens(make).await;
    assert!(made.get() > 10, "{}", made.get());
}

#[tokio::test]
async fn a_store_opens_nothing_before_it_is_told_to() {
    let folder = Folder::new("lazy");
    let store = EmbeddedStore::new(folder.file());
    assert!(!folder.file().exists());
    let error = store.load(&key(1), NOW).await.unwrap_err().to_string();
    assert!(error.ends_with("sessions.redb` was not opened"), "{error}");
}

#[tokio::test]
async fn copies_share_one_file_and_the_last_one_closes_it() {
    let folder = Folder::new("copies");
    let store = opened(folder.file()).await;
    let copy = store.clone();
    SessionStore::open(&copy).await.unwrap();
    store.create(CreateSession::new(key(1), record(Some("ada"), 1), NOW)).await.unwrap();
    drop(store);
    assert!(copy.load(&key(1), NOW).await.unwrap().is_some());
    let error = refusal(folder.file()).await;
    assert!(error.contains("sessions.redb` is open in another process"), "{error}");
    drop(copy);
    let again = opened(folder.file()).await;
    assert!(again.load(&key(1), NOW).await.unwrap().is_some());
}

#[tokio::test]
async fn a_file_whose_making_was_cut_short_is_made_anew() {
    let folder = Folder::new("unfinished");
    std::fs::write(folder.file(), vec![0; 1_000_000]).unwrap();
    let store = opened(folder.file()).await;
    store.create(CreateSession::new(key(1), record(None, 1), NOW)).await.unwrap();
    drop(store);
    assert!(opened(folder.file()).await.load(&key(1), NOW).await.unwrap().is_some());
}

#[tokio::test]
async fn a_file_that_cannot_be_ours_is_refused_in_clear_words() {
    let folder = Folder::new("refused");
    let error = refusal(folder.0.join("missing").join("s.redb")).await;
    assert!(error.starts_with("the folder `") && error.ends_with("does not exist"), "{error}");

    std::fs::write(folder.0.join("text"), "something else ".repeat(1000)).unwrap();
    let error = refusal(folder.0.join("text")).await;
    assert!(error.ends_with("text` is no redb database"), "{error}");

    let foreign = redb::Database::create(folder.0.join("foreign")).unwrap();
    let transaction = foreign.begin_write().unwrap();
    transaction.open_table(redb::TableDefinition::<u8, u8>::new("other")).unwrap();
    transaction.commit().unwrap();
    drop(foreign);
    let error = refusal(folder.0.join("foreign")).await;
    assert!(error.ends_with("foreign` is a database of something else"), "{error}");

    drop(opened(folder.0.join("newer")).await);
    let newer = redb::Database::create(folder.0.join("newer")).unwrap();
    let transaction = newer.begin_write().unwrap();
    let format = 7_u32.to_le_bytes();
    transaction.open_table(super::file::META).unwrap().insert("format", format.as_slice()).unwrap();
    transaction.commit().unwrap();
    drop(newer);
    let error = refusal(folder.0.join("newer")).await;
    assert!(error.contains("has format 7, and this version of Policy knows format 1"), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn only_its_owner_may_read_the_file() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new("mode");
    let _store = opened(folder.file()).await;
    let mode = std::fs::metadata(folder.file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn secrets_stay_the_same_and_are_two() {
    let folder = Folder::new("secret");
    let store = opened(folder.file()).await;
    assert_eq!(SessionStore::secret(&store, [1; 32]).await.unwrap(), [1; 32]);
    assert_eq!(SessionStore::secret(&store, [2; 32]).await.unwrap(), [1; 32]);
    drop(store);
    let store = opened(folder.file()).await;
    assert_eq!(SessionStore::secret(&store, [3; 32]).await.unwrap(), [1; 32]);
    assert_eq!(crate::store::TokenStore::secret(&store, [4; 32]).await.unwrap(), [4; 32]);
}

#[tokio::test]
async fn an_operation_is_done_also_where_nobody_waits() {
    let folder = Folder::new("dropped");
    let store = opened(folder.file()).await;
    drop(store.create(CreateSession::new(key(1), record(Some("ada"), 1), NOW)));
    // The next operation is executed after it.
    let taken =
        store.create(CreateSession::new(key(1), record(Some("ada"), 1), NOW)).await.unwrap();
    assert_eq!(taken, Created::KeyTaken);
}

#[tokio::test]
async fn a_session_of_a_later_version_is_not_read_and_not_lost() {
    let folder = Folder::new("later");
    let store = opened(folder.file()).await;
    store.create(CreateSession::new(key(1), record(Some("ada"), 1), NOW)).await.unwrap();
    drop(store);
    let database = redb::Database::create(folder.file()).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction
        .open_table(super::session_tables::SESSIONS)
        .unwrap()
        .insert(&[1; 32], [9_u8, 1, 2, 3].as_slice())
        .unwrap();
    transaction.commit().unwrap();
    drop(database);

    let store = opened(folder.file()).await;
    assert!(store.load(&key(1), NOW).await.unwrap().is_none());
    assert_eq!(
        store.update(UpdateSession::new(key(1), 1, [].into(), NOW)).await.unwrap(),
        Cas::Gone
    );
    let late = NOW.after(Duration::from_secs(7200));
    assert_eq!(SessionStore::purge(&store, late, 10).await.unwrap(), 0);
    let taken = store.create(CreateSession::new(key(1), record(None, 1), NOW)).await.unwrap();
    assert_eq!(taken, Created::KeyTaken);
    // But it does not outlive a revocation.
    assert_eq!(store.revoke_user(RevokeUser::new("ada", NOW)).await.unwrap(), 0);
    let free = store.create(CreateSession::new(key(1), record(None, 1), NOW)).await.unwrap();
    assert_eq!(free, Created::Done { evicted: vec![] });
}

#[tokio::test]
async fn a_purge_looks_at_more_than_one_batch_and_spares_what_was_used() {
    let folder = Folder::new("purge");
    let store = opened(folder.file()).await;
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
        assert_eq!(response.await.unwrap(), Created::Done { evicted: vec![] });
    }
    let used = SessionKey([0; 32]);
    let later = NOW.after(Duration::from_secs(60));
    assert!(
        store
            .touch(TouchSession::new(used, later.after(Duration::from_secs(900)), later))
            .await
            .unwrap()
    );
    let due = NOW.after(Duration::from_secs(900));
    assert_eq!(SessionStore::purge(&store, due, 500).await.unwrap(), 500);
    assert_eq!(SessionStore::purge(&store, due, 500).await.unwrap(), 199);
    assert!(store.load(&used, due).await.unwrap().is_some());
    assert_eq!(store.list(ListSessions::new("ada", 10, due)).await.unwrap().len(), 1);
    let due = due.after(Duration::from_secs(60));
    assert_eq!(SessionStore::purge(&store, due, 500).await.unwrap(), 1);
}

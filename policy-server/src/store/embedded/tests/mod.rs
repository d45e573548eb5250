//! What is specific to the embedded store; the conformance suite tests what every store must do.

mod bounds;
mod files;
mod healing;
mod reads;

use std::{cell::Cell, path::PathBuf, time::Duration};

use policy_core::{
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};
use policy_core_tests::folder;

use super::EmbeddedStore;
use crate::store::{CreateSession, SessionCreated, SessionStore, conformance};

pub(in crate::store::embedded) const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

pub(in crate::store::embedded) fn key(byte: u8) -> SessionKey {
    SessionKey([byte; 32])
}

/// A session of `user` whose handle is its key.
pub(in crate::store::embedded) fn record(user: Option<&str>, byte: u8) -> Record {
    let (handle, identity) = (Handle([byte; 16]), user.map(Identity::new));
    Record { handle, identity, data: [].into(), ..conformance::record(0, user) }
}

/// The folder of a store.
struct Folder(folder::Folder);

impl Folder {
    fn new() -> Self {
        Self(folder::Folder::new().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("sessions.redb")
    }
}

async fn open_store(path: PathBuf) -> EmbeddedStore {
    let store = EmbeddedStore::new(path);
    SessionStore::open(&store).await.unwrap();
    store
}

async fn refusal(path: PathBuf) -> String {
    SessionStore::open(&EmbeddedStore::new(path)).await.unwrap_err().to_string()
}

#[tokio::test]
async fn it_keeps_the_rules_of_every_store() {
    let folder = Folder::new();
    let count = Cell::new(0);
    let make = || {
        count.set(count.get() + 1);
        EmbeddedStore::new(folder.0.path().join(count.get().to_string()))
    };
    conformance::sessions(make).await;
    conformance::tokens(make).await;
    assert!(count.get() > 10, "{}", count.get());
}

#[tokio::test]
async fn a_store_opens_no_file_before_open() {
    let folder = Folder::new();
    let store = EmbeddedStore::new(folder.file());
    assert!(!folder.file().exists());
    let error = store.load(&key(1), NOW).await.unwrap_err().to_string();
    assert!(error.ends_with("sessions.redb` was not opened"), "{error}");
}

#[tokio::test]
async fn secrets_stay_the_same_and_are_two() {
    let folder = Folder::new();
    let store = open_store(folder.file()).await;
    assert_eq!(SessionStore::secret(&store, [1; 32]).await.unwrap(), [1; 32]);
    assert_eq!(SessionStore::secret(&store, [2; 32]).await.unwrap(), [1; 32]);
    drop(store);
    let store = open_store(folder.file()).await;
    assert_eq!(SessionStore::secret(&store, [3; 32]).await.unwrap(), [1; 32]);
    assert_eq!(crate::store::TokenStore::secret(&store, [4; 32]).await.unwrap(), [4; 32]);
}

#[tokio::test]
async fn a_dropped_operation_is_completed() {
    let folder = Folder::new();
    let store = open_store(folder.file()).await;
    drop(store.create(CreateSession::new(key(1), record(Some("ada"), 1), NOW)));
    // The next operation is executed after it.
    let taken =
        store.create(CreateSession::new(key(1), record(Some("ada"), 1), NOW)).await.unwrap();
    assert_eq!(taken, SessionCreated::KeyTaken);
}

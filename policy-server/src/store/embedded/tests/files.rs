//! The file itself: its lock, its owner and its format.

use super::*;
use crate::store::{
    AnonymousLimit, Cas, RevokeUser, UpdateSession,
    embedded::{
        file::META,
        session_rows::{HANDLES, SESSIONS},
    },
};

#[tokio::test]
async fn copies_share_one_file_and_the_last_one_closes_it() {
    let folder = Folder::new();
    let store = open_store(folder.file()).await;
    let copy = store.clone();
    SessionStore::open(&copy).await.unwrap();
    store.create(CreateSession::new(key(1), record(Some("ada"), 1), NOW)).await.unwrap();
    drop(store);
    assert!(copy.load(&key(1), NOW).await.unwrap().is_some());
    let error = refusal(folder.file()).await;
    assert!(error.contains("sessions.redb` is open in another process"), "{error}");
    drop(copy);
    let again = open_store(folder.file()).await;
    assert!(again.load(&key(1), NOW).await.unwrap().is_some());
}

#[tokio::test]
async fn an_incomplete_new_file_is_created_again() {
    let folder = Folder::new();
    std::fs::write(folder.file(), vec![0; 1_000_000]).unwrap();
    let store = open_store(folder.file()).await;
    store.create(CreateSession::new(key(1), record(None, 1), NOW)).await.unwrap();
    drop(store);
    assert!(open_store(folder.file()).await.load(&key(1), NOW).await.unwrap().is_some());
}

#[tokio::test]
async fn a_file_that_cannot_be_ours_is_refused_in_clear_words() {
    let folder = Folder::new();
    let error = refusal(folder.0.path().join("missing").join("s.redb")).await;
    assert!(error.starts_with("the folder `") && error.ends_with("does not exist"), "{error}");

    std::fs::write(folder.0.path().join("text"), "something else ".repeat(1000)).unwrap();
    let error = refusal(folder.0.path().join("text")).await;
    assert!(error.ends_with("text` is not a redb database"), "{error}");

    let foreign = redb::Database::create(folder.0.path().join("foreign")).unwrap();
    let transaction = foreign.begin_write().unwrap();
    transaction.open_table(redb::TableDefinition::<u8, u8>::new("other")).unwrap();
    transaction.commit().unwrap();
    drop(foreign);
    let error = refusal(folder.0.path().join("foreign")).await;
    assert!(error.ends_with("foreign` is a database of something else"), "{error}");

    drop(open_store(folder.0.path().join("newer")).await);
    let newer = redb::Database::create(folder.0.path().join("newer")).unwrap();
    let transaction = newer.begin_write().unwrap();
    let format = 7_u32.to_le_bytes();
    transaction.open_table(META).unwrap().insert("format", format.as_slice()).unwrap();
    transaction.commit().unwrap();
    drop(newer);
    let error = refusal(folder.0.path().join("newer")).await;
    assert!(
        error.contains("has format 7, and this version of Policy knows formats 1 to 3"),
        "{error}"
    );
}

/// The file as the first format left it: without the indexes by handle and of anonymous sessions.
fn turn_back(path: PathBuf) {
    use redb::TableHandle;

    let database = redb::Database::create(path).unwrap();
    let transaction = database.begin_write().unwrap();
    assert!(transaction.delete_table(HANDLES).unwrap());
    for name in ["session_anonymous", "session_anonymous_bytes"] {
        let tables: Vec<_> = transaction.list_tables().unwrap().collect();
        let table = tables.into_iter().find(|table| table.name() == name).unwrap();
        assert!(transaction.delete_table(table).unwrap());
    }
    let format = 1_u32.to_le_bytes();
    transaction.open_table(META).unwrap().insert("format", format.as_slice()).unwrap();
    transaction.commit().unwrap();
}

#[tokio::test]
async fn a_file_of_the_first_format_is_brought_up_to_date() {
    let folder = Folder::new();
    let store = open_store(folder.file()).await;
    for (number, user) in [(1, Some("ada")), (2, Some("bob")), (3, None), (4, None)] {
        let mut record = record(user, number);
        record.created = NOW.after(Duration::from_secs(number.into()));
        store.create(CreateSession::new(key(number), record, NOW)).await.unwrap();
    }
    drop(store);
    turn_back(folder.file());

    let store = EmbeddedStore::new(folder.file()).anonymous_limit(AnonymousLimit::new(2, 1000));
    SessionStore::open(&store).await.unwrap();
    assert!(store.load(&key(1), NOW).await.unwrap().is_some());
    assert!(store.identity("ada", Handle([1; 16]), NOW).await.unwrap().is_some());
    assert!(store.delete_by_handle("bob", Handle([2; 16])).await.unwrap());
    assert!(store.load(&key(2), NOW).await.unwrap().is_none());
    // The anonymous ones of the old file count.
    store.create(CreateSession::new(key(5), record(None, 5), NOW)).await.unwrap();
    assert!(store.load(&key(3), NOW).await.unwrap().is_none());
    assert!(store.load(&key(4), NOW).await.unwrap().is_some());
}

/// The first layout of rows has no place for a tenant.
#[tokio::test]
async fn a_session_of_a_release_without_tenants_is_read_and_can_get_one() {
    let folder = Folder::new();
    let store = open_store(folder.file()).await;
    store.create(CreateSession::new(key(1), record(Some("ada"), 1), NOW)).await.unwrap();
    drop(store);
    let version = || {
        let database = redb::Database::create(folder.file()).unwrap();
        let transaction = redb::ReadableDatabase::begin_read(&database).unwrap();
        let sessions = transaction.open_table(SESSIONS).unwrap();
        sessions.get(&[1; 32]).unwrap().unwrap().value()[0]
    };
    assert_eq!(version(), 1);
    let store = open_store(folder.file()).await;
    let identity = async |store: &EmbeddedStore| {
        store.load(&key(1), NOW).await.unwrap().unwrap().record.identity.clone().unwrap()
    };
    assert_eq!(identity(&store).await, Identity::new("ada"));
    let moved = Identity::new("ada").tenant("acme");
    store.revoke_user(RevokeUser::new("ada", NOW).rights(&moved)).await.unwrap();
    drop(store);
    assert_eq!(version(), 2);
    assert_eq!(identity(&open_store(folder.file()).await).await, moved);
}

#[tokio::test]
async fn a_session_of_a_later_version_is_not_read_and_not_lost() {
    let folder = Folder::new();
    let store = open_store(folder.file()).await;
    store.create(CreateSession::new(key(1), record(Some("ada"), 1), NOW)).await.unwrap();
    drop(store);
    let database = redb::Database::create(folder.file()).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(SESSIONS).unwrap().insert(&[1; 32], [9_u8, 1, 2, 3].as_slice()).unwrap();
    transaction.commit().unwrap();
    drop(database);

    let store = open_store(folder.file()).await;
    assert!(store.load(&key(1), NOW).await.unwrap().is_none());
    assert_eq!(
        store.update(UpdateSession::new(key(1), 1, [].into(), NOW)).await.unwrap(),
        Cas::Gone
    );
    let late = NOW.after(Duration::from_secs(7200));
    assert_eq!(SessionStore::purge(&store, late, 10).await.unwrap(), 0);
    let taken = store.create(CreateSession::new(key(1), record(None, 1), NOW)).await.unwrap();
    assert_eq!(taken, SessionCreated::KeyTaken);
    // But it does not outlive a revocation.
    assert_eq!(store.revoke_user(RevokeUser::new("ada", NOW)).await.unwrap().sessions, 0);
    let free = store.create(CreateSession::new(key(1), record(None, 1), NOW)).await.unwrap();
    assert_eq!(free, SessionCreated::Done { evicted: vec![] });
}

#[cfg(unix)]
#[tokio::test]
async fn only_its_owner_may_read_the_file() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new();
    let _store = open_store(folder.file()).await;
    let mode = std::fs::metadata(folder.file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_others_may_write_is_not_opened() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new();
    drop(open_store(folder.file()).await);
    let set = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(folder.file(), mode).unwrap();
    };
    set(0o606);
    let error = refusal(folder.file()).await;
    assert!(error.contains("(app.secret-writable)"), "{error}");
    set(0o604);
    open_store(folder.file()).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_error_about_a_new_file_says_what_to_do() {
    let folder = Folder::new();
    // Not even root can create files there.
    let error = refusal("/sys/sessions.redb".into()).await;
    assert!(error.contains("`/sys/sessions.redb` cannot be opened: "), "{error}");
    assert!(
        error.contains("; the process must be allowed to write the file and its folder"),
        "{error}"
    );
    let file = folder.file();
    std::fs::create_dir(&file).unwrap();
    let error = refusal(file.clone()).await;
    assert!(error.contains("; name a file in it"), "{error}");
    let error = refusal(file.join("missing/sessions.redb")).await;
    assert!(error.contains("does not exist"), "{error}");
}

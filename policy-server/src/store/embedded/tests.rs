//! What is specific to the embedded store; the conformance suite tests what every store must do.

use std::{
    cell::Cell,
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use policy_core::{
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};

use super::{
    EmbeddedStore,
    session_rows::{HANDLES, SESSIONS},
};
use crate::store::{
    AnonymousLimit, Cas, CreateFamily, CreateSession, Created, Family, Limit, LimitPolicy,
    ListSessions, Refresh, RevokeUser, RotateSession, SessionStore, TokenHash, TokenStore,
    TouchSession, UpdateSession, conformance,
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
    transaction.open_table(super::file::META).unwrap().insert("format", format.as_slice()).unwrap();
    transaction.commit().unwrap();
}

#[tokio::test]
async fn a_file_of_the_first_format_is_brought_up_to_date() {
    let folder = Folder::new("first-format");
    let store = opened(folder.file()).await;
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
    assert!(store.lives("ada", Handle([1; 16]), NOW).await.unwrap());
    assert!(store.delete_by_handle("bob", Handle([2; 16])).await.unwrap());
    assert!(store.load(&key(2), NOW).await.unwrap().is_none());
    // The anonymous ones of the old file count.
    store.create(CreateSession::new(key(5), record(None, 5), NOW)).await.unwrap();
    assert!(store.load(&key(3), NOW).await.unwrap().is_none());
    assert!(store.load(&key(4), NOW).await.unwrap().is_some());
}

/// As in memory: `the_oldest_anonymous_session_ends_where_there_are_too_many`.
#[tokio::test]
async fn the_oldest_anonymous_sessions_end_where_there_are_too_many() {
    let folder = Folder::new("anonymous");
    let store = EmbeddedStore::new(folder.file()).anonymous_limit(AnonymousLimit::new(3, u64::MAX));
    SessionStore::open(&store).await.unwrap();
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
    let mut living = vec![];
    for number in [1, 4, 5, 6, 100, 103] {
        if store.load(&key(number), NOW).await.unwrap().is_some() {
            living.push(number);
        }
    }
    assert_eq!(living, [4, 5, 6, 100, 103]);
}

#[tokio::test]
async fn the_values_of_anonymous_sessions_are_bounded_together() {
    let folder = Folder::new("anonymous-bytes");
    let embedded = EmbeddedStore::new(folder.file());
    let limit = AnonymousLimit::new(100, 1000);
    let embedded = embedded.anonymous_limit(limit);
    SessionStore::open(&embedded).await.unwrap();
    for store in [
        Box::new(embedded) as Box<dyn SessionStore>,
        Box::new(crate::store::MemoryStore::with_anonymous_limit(limit)),
    ] {
        let data = |size: usize| vec![b' '; size].into_boxed_slice();
        let living = async || {
            let mut living = vec![];
            for number in 1..=9 {
                if store.load(&key(number), NOW).await.unwrap().is_some() {
                    living.push(number);
                }
            }
            living
        };
        for number in 1..=4 {
            let mut record = record(None, number);
            record.created = NOW.after(Duration::from_secs(number.into()));
            record.data = data(300);
            store.create(CreateSession::new(key(number), record, NOW)).await.unwrap();
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
            let mut record = record(None, number);
            record.created = NOW.after(Duration::from_secs(number.into()));
            record.data = data(333);
            store.create(CreateSession::new(key(number), record, NOW)).await.unwrap();
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
    let folder = Folder::new("families");
    let store = opened(folder.file()).await;
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
        // More than one look of a purge removes.
        for token in first..first + 20 * u32::from(number % 4) {
            let request = Refresh::new(hash(token), hash(token + 1), Duration::ZERO, NOW);
            store.refresh(request).await.unwrap();
        }
    }
    for number in 1..=8 {
        store.end_family(hash(1000 * number)).await.unwrap().unwrap();
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
    // The ninth, with the tokens of its refreshes.
    assert_eq!(rows(), [1, 21, 1]);
    let store = opened(folder.file()).await;
    TokenStore::purge(&store, expires, usize::MAX).await.unwrap();
    drop(store);
    assert_eq!(rows(), [0, 0, 0]);
}

async fn begin(store: &EmbeddedStore, family: Family, token: TokenHash) {
    assert!(store.create_family(CreateFamily::new(family, token, 0)).await.unwrap());
}

#[tokio::test]
async fn logins_go_in_between_the_steps_of_a_purge() {
    let folder = Folder::new("between");
    let store = opened(folder.file()).await;
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

/// A database in memory that counts what is read of it.
#[derive(Clone, Debug, Default)]
struct Counted {
    inside: Arc<redb::backends::InMemoryBackend>,
    reads: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
}

impl redb::StorageBackend for Counted {
    fn len(&self) -> io::Result<u64> {
        self.inside.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.reads.fetch_add(1, Relaxed);
        self.bytes.fetch_add(out.len() as u64, Relaxed);
        self.inside.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inside.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.inside.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.inside.write(offset, data)
    }
}

/// What a question reads of the file: how often, and how many bytes.
async fn reads_among(sessions: u32) -> [(u64, u64); 2] {
    let backend = Counted::default();
    let (reads, bytes) = (Arc::clone(&backend.reads), Arc::clone(&backend.bytes));
    // Without a page cache every look is a read.
    let store = super::crash::open_with(backend, 0).unwrap();
    let long = |number: u32| {
        let mut record = record(Some("ada"), 0);
        record.handle.0[..4].copy_from_slice(&number.to_le_bytes());
        record.created = NOW.after(Duration::from_millis(number.into()));
        record.data = vec![b' '; 60_000].into();
        let mut key = key(1);
        key.0[..4].copy_from_slice(&number.to_le_bytes());
        CreateSession::new(key, record, NOW)
    };
    let responses: Vec<_> = (0..sessions).map(|number| store.create(long(number))).collect();
    for response in responses {
        assert_eq!(response.await.unwrap(), Created::Done { evicted: vec![] });
    }
    let handle = long(sessions / 2).record.handle;
    let counted = || (reads.swap(0, Relaxed), bytes.swap(0, Relaxed));
    counted();
    assert!(store.lives("ada", handle, NOW).await.unwrap());
    let of_lives = counted();
    let limit = Limit { sessions: sessions + 1, policy: LimitPolicy::EvictOldest };
    let login = long(sessions).limit(limit);
    assert_eq!(store.create(login).await.unwrap(), Created::Done { evicted: vec![] });
    [of_lives, counted()]
}

#[tokio::test]
async fn a_question_about_one_session_reads_no_other_of_its_user() {
    let few = reads_among(20).await;
    let many = reads_among(2000).await;
    for ((reads_few, bytes_few), (reads_many, bytes_many)) in few.into_iter().zip(many) {
        // A tree of a hundred times as many rows has two levels more, in each table.
        assert!(reads_many <= reads_few + 24, "{few:?} {many:?}");
        // Less than one more session.
        assert!(bytes_many < bytes_few + 60_000, "{few:?} {many:?}");
    }
    let (_, bytes_of_lives) = few[0];
    assert!((60_000..120_000).contains(&bytes_of_lives), "one session is read: {few:?}");
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

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_others_may_write_is_not_opened() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new("writable");
    drop(opened(folder.file()).await);
    let set = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(folder.file(), mode).unwrap();
    };
    set(0o606);
    let error = SessionStore::open(&EmbeddedStore::new(folder.file())).await.unwrap_err();
    assert!(error.to_string().contains("(app.secret-writable)"), "{error}");
    set(0o604);
    opened(folder.file()).await;
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
    transaction.open_table(SESSIONS).unwrap().insert(&[1; 32], [9_u8, 1, 2, 3].as_slice()).unwrap();
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
    assert_eq!(store.revoke_user(RevokeUser::new("ada", NOW)).await.unwrap().sessions, 0);
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

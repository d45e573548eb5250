//! The embedded store, compared with the database that it uses.
//!
//! `embedded FOLDER read N SESSIONS` and `embedded FOLDER raw N SESSIONS`: N reads of one session
//! among SESSIONS, by the store and by redb directly. `embedded FOLDER logins CLIENTS SECONDS`:
//! durable logins by a number of clients, each of which waits for its result before it logs in
//! again; `single SECONDS`: the same rows written by redb, one commit per login. `embedded FOLDER
//! purge SESSIONS`: that many sessions expire, and are purged while one client logs in.
//!
//! Built with `cargo build --profile fast -p policy-benches --features embedded`. Reads are
//! measured in processor time, from Linux. The folder should be on a real disk: in memory a sync
//! costs nothing.

mod on_processor;

use std::{
    env,
    error::Error,
    future::Future,
    hint::black_box,
    path::Path,
    pin::pin,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use policy_core::{
    session::{Handle, Identity, Record, SessionId, SessionKey},
    time::Timestamp,
};
use policy_server::store::{CreateSession, EmbeddedStore, SessionCreated, SessionStore};
use redb::{Database, MultimapTableDefinition, ReadableDatabase, TableDefinition};

use on_processor::on_processor;

type Failure = Box<dyn Error + Send + Sync>;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
/// The number of sessions while others log in.
const SESSIONS: u64 = 10_000;
/// When all of the first sessions have expired.
const EXPIRED: Timestamp = NOW.after(Duration::from_secs(24 * 3600));

const ROWS: TableDefinition<'_, &[u8; 32], &[u8]> = TableDefinition::new("rows");
const USERS: MultimapTableDefinition<'_, &str, &[u8; 32]> = MultimapTableDefinition::new("users");
const DEADLINES: TableDefinition<'_, &[u8], ()> = TableDefinition::new("deadlines");

/// The key of a session.
fn key(number: u64) -> SessionKey {
    let mut id = [0; 32];
    id[..8].copy_from_slice(&number.to_le_bytes());
    SessionId::from_bytes(id).key()
}

fn record(number: u64) -> Record {
    let mut handle = [0; 16];
    handle[..8].copy_from_slice(&number.to_le_bytes());
    let now = NOW.after(Duration::from_millis(number));
    Record {
        handle: Handle(handle),
        identity: Some(Identity::new(format!("user-{number}")).roles(["member"])),
        epoch: 0,
        version: 0,
        created: now,
        authenticated: Some(now),
        rotated: now,
        last_seen: now,
        idle_deadline: now.after(Duration::from_secs(900)),
        absolute_deadline: now.after(Duration::from_secs(8 * 3600)),
        idle: Duration::from_secs(900),
        is_remembered: false,
        binding: [7; 32],
        data: b"{\"cart\":[17,4],\"theme\":\"dark\"}".as_slice().into(),
    }
}

async fn store(folder: &Path, sessions: u64) -> Result<EmbeddedStore, Failure> {
    let path = folder.join("store.redb");
    let _ = std::fs::remove_file(&path);
    let store = EmbeddedStore::new(path);
    SessionStore::open(&store).await?;
    let keys: Vec<_> = (0..sessions).map(key).collect();
    for (first, keys) in (0..).step_by(64).zip(keys.chunks(64)) {
        let answers: Vec<_> = (first..)
            .zip(keys)
            .map(|(number, key)| store.create(CreateSession::new(*key, record(number), NOW)))
            .collect();
        for answer in answers {
            answer.await?;
        }
    }
    Ok(store)
}

/// The value of a session row.
const ROW: [u8; 180] = [7; 180];

fn database(folder: &Path, sessions: u64) -> Result<Database, Failure> {
    let path = folder.join("raw.redb");
    let _ = std::fs::remove_file(&path);
    let database = Database::create(path)?;
    for first in (0..sessions).step_by(64) {
        let transaction = database.begin_write()?;
        for number in first..sessions.min(first + 64) {
            insert(&transaction, number)?;
        }
        transaction.commit()?;
    }
    Ok(database)
}

/// The rows of one login.
fn insert(transaction: &redb::WriteTransaction, number: u64) -> Result<(), Failure> {
    let key = key(number).0;
    transaction.open_table(ROWS)?.insert(&key, ROW.as_slice())?;
    let user = format!("user-{number}");
    transaction.open_multimap_table(USERS)?.insert(user.as_str(), &key)?;
    let deadline = [&number.to_be_bytes()[..], &[0], &key].concat();
    transaction.open_table(DEADLINES)?.insert(deadline.as_slice(), ())?;
    Ok(())
}

/// The store completes reads at once, so no runtime is needed.
fn now<T>(answer: impl Future<Output = T>) -> Option<T> {
    match pin!(answer).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

/// The first half warms up.
fn reads(
    sessions: u64,
    count: usize,
    mut read: impl FnMut(&SessionKey) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let keys: Vec<_> = (0..sessions).map(key).collect();
    let mut keys = keys.iter().cycle().step_by(7919);
    let mut time = Duration::ZERO;
    for _half in 0..2 {
        let start = on_processor()?;
        for key in keys.by_ref().take(count) {
            if !read(black_box(key))? {
                return Err("a session is missing".into());
            }
        }
        time = on_processor()? - start;
    }
    print(&format!("{:.0} ns of processor time a read", time.as_secs_f64() * 1e9 / count as f64));
    Ok(())
}

/// Purges as the background task does, while one client logs in again and again.
async fn purge(store: EmbeddedStore) -> Result<(), Failure> {
    let purging = store.clone();
    let purge = tokio::spawn(async move {
        let start = Instant::now();
        let mut purged = 0;
        loop {
            let step = SessionStore::purge(&purging, EXPIRED, 1000).await?;
            purged += step;
            if step < 1000 {
                return Ok::<_, Failure>((purged, start.elapsed().as_secs_f64()));
            }
        }
    });
    let mut waits = vec![];
    // Sessions that begin 34 years later.
    for number in 1 << 40.. {
        if purge.is_finished() {
            break;
        }
        let begin = Instant::now();
        store.create(CreateSession::new(key(number), record(number), NOW)).await?;
        waits.push(begin.elapsed().as_micros());
    }
    let (purged, seconds) = purge.await??;
    waits.sort_unstable();
    let share = |part: usize| waits.get(waits.len() * part / 1000).copied().unwrap_or_default();
    print(&format!(
        "{purged} purged, {:.0} a second; {} logins, which took {} us, 1 in 100 {} us, 1 in 1000 {} us, \
         the slowest {} us",
        purged as f64 / seconds,
        waits.len(),
        share(500),
        share(990),
        share(999),
        waits.last().copied().unwrap_or_default(),
    ));
    Ok(())
}

async fn logins(store: EmbeddedStore, clients: u64, time: Duration) -> Result<(), Failure> {
    let start = Instant::now();
    let tasks: Vec<_> = (0..clients)
        .map(|client| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut longest = Duration::ZERO;
                for number in (SESSIONS + client..).step_by(usize::try_from(clients)?) {
                    let begin = Instant::now();
                    if begin - start >= time {
                        return Ok::<_, Failure>(((number - SESSIONS) / clients, longest));
                    }
                    let key = key(number);
                    match store.create(CreateSession::new(key, record(number), NOW)).await? {
                        SessionCreated::Done { .. } => longest = longest.max(begin.elapsed()),
                        other => return Err(format!("{other:?}").into()),
                    }
                }
                Err("no numbers left".into())
            })
        })
        .collect();
    let (mut done, mut longest) = (0, Duration::ZERO);
    for task in tasks {
        let (logins, slowest) = task.await??;
        done += logins;
        longest = longest.max(slowest);
    }
    let seconds = start.elapsed().as_secs_f64();
    let each = seconds * 1e6 * clients as f64 / done as f64;
    print(&format!(
        "{:.0} logins a second, {each:.0} us each, the slowest {} us",
        done as f64 / seconds,
        longest.as_micros()
    ));
    Ok(())
}

fn single(database: &Database, time: Duration) -> Result<(), Failure> {
    let start = Instant::now();
    let mut number = SESSIONS;
    while start.elapsed() < time {
        let transaction = database.begin_write()?;
        insert(&transaction, number)?;
        transaction.commit()?;
        number += 1;
    }
    let rate = (number - SESSIONS) as f64 / start.elapsed().as_secs_f64();
    print(&format!("{rate:.0} commits a second"));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "this is a program that reports")]
fn print(text: &str) {
    println!("{text}");
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [folder, "read", count, sessions] => {
            let sessions = sessions.parse()?;
            let store = store(folder.as_ref(), sessions).await?;
            reads(sessions, count.parse()?, |key| {
                Ok(now(store.load(key, NOW)).transpose()?.flatten().is_some())
            })
        }
        [folder, "raw", count, sessions] => {
            let sessions = sessions.parse()?;
            let database = database(folder.as_ref(), sessions)?;
            reads(sessions, count.parse()?, |key| {
                let rows = database.begin_read()?.open_table(ROWS)?;
                Ok(rows.get(&key.0)?.is_some_and(|row| black_box(row.value()).len() == ROW.len()))
            })
        }
        [folder, "logins", clients, seconds] => {
            let time = Duration::from_secs(seconds.parse()?);
            logins(store(folder.as_ref(), SESSIONS).await?, clients.parse()?, time).await
        }
        [folder, "purge", sessions] => {
            purge(store(folder.as_ref(), sessions.parse()?).await?).await
        }
        [folder, "single", seconds] => {
            single(&database(folder.as_ref(), SESSIONS)?, Duration::from_secs(seconds.parse()?))
        }
        _ => Err("embedded FOLDER read N SESSIONS | raw N SESSIONS | logins CLIENTS SECONDS | \
                  purge SESSIONS | single SECONDS"
            .into()),
    }
}

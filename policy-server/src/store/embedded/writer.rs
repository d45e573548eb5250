//! The writer thread.
//!
//! Operations queue up while a commit waits for the disk, and the next commit takes them all: one
//! sync for many. They are executed in the order of submission, within the transaction of their
//! commit.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use redb::{Database, Durability, WriteTransaction};
use tokio::sync::oneshot;

use super::{file::META, session_tables::SessionTables, token_tables::TokenTables};
use crate::store::{AnonymousLimit, Answer, StoreError};

/// The most operations of one commit.
const MAX_BATCH: usize = 64;

/// The longest wait for operations that are likely to arrive.
const MAX_WAIT: Duration = Duration::from_millis(2);

/// The most queued operations; above that the store reports an overload.
const MAX_QUEUE: usize = 4096;

/// How long a change that may be lost stays off the disk.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// The effect of a batch on the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effect {
    /// Nothing.
    #[default]
    None,
    /// A change whose loss in a crash does no harm.
    Soft,
    /// A change that must be on disk before the call completes.
    Durable,
}

/// Submits operations to the thread. The thread ends when this is dropped and all operations are
/// complete.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<SyncSender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(database: Arc<Database>, anonymous: AnonymousLimit) -> io::Result<Self> {
        let (queue, jobs) = sync_channel(MAX_QUEUE);
        let thread = thread::Builder::new()
            .name("policy-store".to_owned())
            .spawn(move || work(&database, anonymous, &jobs))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Submits an operation. It is carried out even if its future is dropped.
    pub(super) fn submit<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tables<'_>) -> Result<T, redb::Error> + Send + 'static,
    ) -> Answer<'a, T> {
        let (caller, response) = oneshot::channel();
        let job = Box::new(Operation { work: Some(work), result: None, caller });
        let refusal = match self.queue.as_ref().map(|queue| queue.try_send(job)) {
            Some(Ok(())) => {
                return Answer::later(
                    async move { response.await.unwrap_or_else(|_| Err(stopped())) },
                );
            }
            Some(Err(TrySendError::Full(_))) => StoreError::new("too many writes are waiting"),
            Some(Err(TrySendError::Disconnected(_))) | None => stopped(),
        };
        Answer::ready(Err(refusal))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // Callers were already told that the thread panicked.
            let _ = thread.join();
        }
    }
}

fn stopped() -> StoreError {
    StoreError::new("the writer of the store has stopped")
}

/// The tables of one transaction, opened on first use.
pub(super) struct Tables<'t> {
    transaction: &'t WriteTransaction,
    anonymous: AnonymousLimit,
    sessions: Option<SessionTables<'t>>,
    tokens: Option<TokenTables<'t>>,
    effect: Effect,
}

impl<'t> Tables<'t> {
    pub(super) fn sessions(&mut self) -> Result<&mut SessionTables<'t>, redb::Error> {
        Ok(match &mut self.sessions {
            Some(tables) => tables,
            none => none.insert(SessionTables::open(self.transaction, self.anonymous)?),
        })
    }

    pub(super) fn tokens(&mut self) -> Result<&mut TokenTables<'t>, redb::Error> {
        Ok(match &mut self.tokens {
            Some(tables) => tables,
            none => none.insert(TokenTables::open(self.transaction)?),
        })
    }

    /// The secret with this name; stores `fresh` if there is none yet.
    pub(super) fn secret(&mut self, name: &str, fresh: [u8; 32]) -> Result<[u8; 32], redb::Error> {
        use redb::ReadableTable;

        let mut meta = self.transaction.open_table(META)?;
        let stored = meta.get(name)?.and_then(|secret| secret.value().try_into().ok());
        if let Some(stored) = stored {
            return Ok(stored);
        }
        meta.insert(name, fresh.as_slice())?;
        self.effect = Effect::Durable;
        Ok(fresh)
    }

    fn effect(&self) -> Effect {
        let sessions = self.sessions.as_ref().map_or(Effect::None, |tables| tables.effect);
        let tokens = self.tokens.as_ref().map_or(Effect::None, |tables| tables.effect);
        self.effect.max(sessions).max(tokens)
    }
}

/// A type-erased operation.
trait Job: Send {
    fn run(&mut self, tables: &mut Tables<'_>) -> Result<(), redb::Error>;

    /// Completes the call, once the commit has succeeded or failed.
    fn answer(self: Box<Self>, failure: Option<&str>);
}

struct Operation<F, T> {
    work: Option<F>,
    result: Option<T>,
    caller: oneshot::Sender<Result<T, StoreError>>,
}

impl<F, T: Send> Job for Operation<F, T>
where
    F: FnOnce(&mut Tables<'_>) -> Result<T, redb::Error> + Send,
{
    fn run(&mut self, tables: &mut Tables<'_>) -> Result<(), redb::Error> {
        if let Some(work) = self.work.take() {
            self.result = Some(work(tables)?);
        }
        Ok(())
    }

    fn answer(self: Box<Self>, failure: Option<&str>) {
        let response = match (failure, self.result) {
            (None, Some(result)) => Ok(result),
            (failure, _) => Err(StoreError::new(failure.unwrap_or("it was not done").to_owned())),
        };
        // The caller may be gone.
        let _ = self.caller.send(response);
    }
}

fn work(database: &Database, anonymous: AnonymousLimit, jobs: &Receiver<Box<dyn Job>>) {
    let mut unsynced: Option<Instant> = None;
    let mut expected = 1;
    loop {
        let first = match unsynced {
            None => jobs.recv().map_err(RecvTimeoutError::from),
            Some(since) => jobs.recv_timeout(SYNC_INTERVAL.saturating_sub(since.elapsed())),
        };
        let mut batch = match first {
            Ok(first) => collect(first, jobs, expected),
            Err(RecvTimeoutError::Timeout) => vec![],
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let is_sync_due = unsynced.is_some_and(|since| since.elapsed() >= SYNC_INTERVAL);
        let outcome = commit(database, anonymous, &mut batch, is_sync_due);
        match outcome {
            Ok(Effect::Durable) => unsynced = None,
            Ok(Effect::Soft) => unsynced = unsynced.or_else(|| Some(Instant::now())),
            Ok(Effect::None) => {}
            // What is not synced is written by the next commit, or lost.
            Err(_) => unsynced = None,
        }
        let failure = outcome.err().map(|error| error.to_string());
        expected = batch.len();
        batch.into_iter().for_each(|job| job.answer(failure.as_deref()));
    }
    if unsynced.is_some() {
        // No caller is left to report a failure to.
        let _ = commit(database, anonymous, &mut [], true);
    }
}

/// Takes the queued operations, and those that are likely to arrive at once: callers whose calls
/// completed together tend to call again together. With a single caller it does not wait.
fn collect(
    first: Box<dyn Job>,
    jobs: &Receiver<Box<dyn Job>>,
    expected: usize,
) -> Vec<Box<dyn Job>> {
    let mut batch = vec![first];
    let end = Instant::now() + MAX_WAIT;
    while batch.len() < MAX_BATCH {
        let next = if batch.len() < expected {
            jobs.recv_timeout(end.saturating_duration_since(Instant::now())).ok()
        } else {
            jobs.try_recv().ok()
        };
        match next {
            Some(job) => batch.push(job),
            None => break,
        }
    }
    batch
}

/// Executes a batch in one transaction. Returns the effect that was written, including that of
/// earlier batches if `is_sync_due`.
fn commit(
    database: &Database,
    anonymous: AnonymousLimit,
    batch: &mut [Box<dyn Job>],
    is_sync_due: bool,
) -> Result<Effect, redb::Error> {
    let mut transaction = database.begin_write()?;
    let mut tables = Tables {
        transaction: &transaction,
        anonymous,
        sessions: None,
        tokens: None,
        effect: Effect::None,
    };
    for job in batch {
        job.run(&mut tables)?;
    }
    let effect = if is_sync_due { Effect::Durable } else { tables.effect() };
    drop(tables);
    match effect {
        Effect::None => transaction.abort()?,
        Effect::Soft => {
            transaction.set_durability(Durability::None)?;
            transaction.commit()?;
        }
        Effect::Durable => transaction.commit()?,
    }
    Ok(effect)
}

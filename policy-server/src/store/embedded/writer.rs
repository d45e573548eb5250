//! The writer thread.
//!
//! Operations queue up while a commit waits for the disk, and the next commit takes them all: one
//! sync for many. They are executed in the order of submission, within the transaction of their
//! commit. A step of a purge has a transaction of its own, after those of the others.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use redb::{Durability, WriteTransaction};
use tokio::sync::oneshot;

use super::{
    NAME,
    current::{Current, Opener},
    endings::{Ending, KeptEndings},
    file::META,
    outage::Outage,
    pace::Pace,
    session_tables::SessionTables,
    token_tables::TokenTables,
};
use crate::{
    base::event::count::{Count, count},
    store::{AnonymousLimit, StoreError, StoreFuture},
};

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

/// What the callers and the writer thread share.
pub(super) struct Core {
    pub(super) current: Current,
    pub(super) ended: KeptEndings,
    anonymous: AnonymousLimit,
    /// Whether the last write succeeded.
    pub(super) is_writable: AtomicBool,
}

impl Core {
    pub(super) fn open(opener: Opener, anonymous: AnonymousLimit) -> Result<Self, StoreError> {
        let current = Current::open(opener)?;
        let is_writable = AtomicBool::new(true);
        Ok(Self { current, ended: KeptEndings::default(), anonymous, is_writable })
    }
}

/// Submits operations to the thread. The thread ends when this is dropped and all operations are
/// complete.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<SyncSender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

/// What an operation is, besides its work.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Change,
    /// It takes rights away: this holds even if it cannot be written.
    Ending(Ending),
    /// A step of a purge.
    Purge,
}

impl Kind {
    fn is_purge(&self) -> bool {
        matches!(self, Self::Purge)
    }
}

impl Writer {
    pub(super) fn start(core: Arc<Core>) -> io::Result<Self> {
        let (queue, jobs) = sync_channel(MAX_QUEUE);
        let thread = thread::Builder::new()
            .name("policy-store".to_owned())
            .spawn(move || work(&core, &jobs))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Submits an operation. It is carried out even if its future is dropped.
    pub(super) fn submit<'a, T: Send + 'static>(
        &self,
        kind: Kind,
        work: impl FnOnce(&mut Tables<'_>) -> Result<T, redb::Error> + Send + 'static,
    ) -> StoreFuture<'a, T> {
        let (caller, response) = oneshot::channel();
        let begun = Instant::now();
        let job = Box::new(Operation { kind, begun, work: Some(work), result: None, caller });
        let refusal = match self.queue.as_ref().map(|queue| queue.try_send(job)) {
            Some(Ok(())) => {
                return StoreFuture::new(async move {
                    response.await.unwrap_or_else(|_| Err(stopped()))
                });
            }
            Some(Err(TrySendError::Full(_))) => StoreError::new("too many writes are waiting"),
            Some(Err(TrySendError::Disconnected(_))) | None => stopped(),
        };
        StoreFuture::ready(Err(refusal))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // The calls have already failed with the panic of the thread.
            let _ = thread.join();
        }
    }
}

fn stopped() -> StoreError {
    StoreError::new("the writer of the store has stopped")
}

/// The tables of one transaction, opened on first use.
pub(super) struct Tables<'t> {
    pub(super) transaction: &'t WriteTransaction,
    anonymous: AnonymousLimit,
    sessions: Option<SessionTables<'t>>,
    tokens: Option<TokenTables<'t>>,
    pub(super) effect: Effect,
    /// The most rows that a purge examines.
    pub(super) step: usize,
}

impl<'t> Tables<'t> {
    fn new(transaction: &'t WriteTransaction, anonymous: AnonymousLimit, step: usize) -> Self {
        let effect = Effect::None;
        Self { transaction, anonymous, sessions: None, tokens: None, effect, step }
    }

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
pub(super) trait Job: Send {
    fn kind(&self) -> &Kind;

    fn run(&mut self, tables: &mut Tables<'_>) -> Result<(), redb::Error>;

    /// Completes the call, once the commit has succeeded or failed.
    fn answer(self: Box<Self>, failure: Option<&str>);
}

struct Operation<F, T> {
    kind: Kind,
    begun: Instant,
    work: Option<F>,
    result: Option<T>,
    caller: oneshot::Sender<Result<T, StoreError>>,
}

impl<F, T: Send> Job for Operation<F, T>
where
    F: FnOnce(&mut Tables<'_>) -> Result<T, redb::Error> + Send,
{
    fn kind(&self) -> &Kind {
        &self.kind
    }

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
        let is_failed = response.is_err();
        count(Count::StoreCall { store: NAME, begun: self.begun, is_failed });
        // The caller may be gone.
        let _ = self.caller.send(response);
    }
}

/// Marks the store as not writable when the thread ends, also by a panic.
struct Stopping<'a>(&'a Core);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.is_writable.store(false, Ordering::Release);
    }
}

fn work(core: &Core, jobs: &Receiver<Box<dyn Job>>) {
    let _stopping = Stopping(core);
    let mut unsynced: Option<Instant> = None;
    let mut expected = 1;
    let mut pace = Pace::default();
    let mut outage = Outage::default();
    loop {
        let first = match unsynced {
            None => jobs.recv().map_err(RecvTimeoutError::from),
            Some(since) => jobs.recv_timeout(SYNC_INTERVAL.saturating_sub(since.elapsed())),
        };
        let batch = match first {
            Ok(first) => collect(first, jobs, expected),
            Err(RecvTimeoutError::Timeout) => vec![],
            Err(RecvTimeoutError::Disconnected) => break,
        };
        expected = batch.len();
        let (purges, changes): (Vec<_>, Vec<_>) =
            batch.into_iter().partition(|job| job.kind().is_purge());
        let is_sync_due = unsynced.is_some_and(|since| since.elapsed() >= SYNC_INTERVAL);
        let mut transactions = vec![];
        if is_sync_due || !changes.is_empty() {
            transactions.push(changes);
        }
        // Each purge has a transaction of its own, so that no other call waits for it.
        transactions.extend(purges.into_iter().map(|purge| vec![purge]));
        for mut batch in transactions {
            let is_purge = batch.first().is_some_and(|job| job.kind().is_purge());
            let begun = Instant::now();
            match commit(core, &mut batch, is_sync_due, pace.rows()) {
                Ok(effect) => {
                    match effect {
                        Effect::Durable => unsynced = None,
                        Effect::Soft => unsynced = unsynced.or_else(|| Some(Instant::now())),
                        Effect::None => (),
                    }
                    match effect {
                        Effect::Durable if is_purge => pace.record_step(begun.elapsed()),
                        Effect::Durable => pace.record_commit(begun.elapsed()),
                        Effect::Soft | Effect::None => (),
                    }
                    batch.into_iter().for_each(|job| job.answer(None));
                }
                Err(error) => {
                    // Unsynced changes are lost, or were written.
                    unsynced = None;
                    outage.last(core, jobs, batch, &error.to_string());
                }
            }
        }
    }
    if unsynced.is_some() {
        // No caller is left to report a failure to.
        let _ = commit(core, &mut [], true, 0);
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
    core: &Core,
    batch: &mut [Box<dyn Job>],
    is_sync_due: bool,
    step: usize,
) -> Result<Effect, StoreError> {
    let in_use = core.current.in_use();
    let database = in_use.database()?;
    let committed = || {
        let mut transaction = database.begin_write()?;
        let mut tables = Tables::new(&transaction, core.anonymous, step);
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
        Ok::<_, redb::Error>(effect)
    };
    committed().map_err(StoreError::new)
}

/// Writes the kept endings and as many bytes as the largest session has, so that a disk without
/// room for one more session counts as full.
pub(super) fn write_endings(core: &Core) -> Result<(), StoreError> {
    static PROBE: [u8; 64 * 1024] = [0x55; 64 * 1024];
    const NAME: &str = "probe";
    let in_use = core.current.in_use();
    let database = in_use.database()?;
    core.ended.resolve(database)?;
    let endings = core.ended.endings();
    let written = || {
        let transaction = database.begin_write()?;
        let mut tables = Tables::new(&transaction, core.anonymous, 0);
        for ending in &endings {
            ending.apply(&mut tables)?;
        }
        drop(tables);
        transaction.open_table(META)?.insert(NAME, PROBE.as_slice())?;
        transaction.commit()?;
        let transaction = database.begin_write()?;
        transaction.open_table(META)?.remove(NAME)?;
        transaction.commit()?;
        Ok::<_, redb::Error>(())
    };
    written().map_err(StoreError::new)?;
    core.ended.forget();
    Ok(())
}

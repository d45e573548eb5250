//! A store for sessions, refresh tokens and revocations in one redb file.

mod anonymous;
pub(crate) mod codec;
#[cfg(test)]
mod crash;
mod current;
mod deadlines;
mod endings;
mod file;
mod outage;
mod owned_rows;
mod pace;
mod session_cut_offs;
mod session_rows;
mod session_tables;
mod sessions;
#[cfg(test)]
mod tests;
mod token_tables;
mod tokens;
mod values;
mod writer;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, atomic::Ordering},
    time::Instant,
};

use policy_core::time::Timestamp;
use redb::{ReadTransaction, ReadableDatabase};

use self::{
    current::Opener,
    deadlines::PurgeStep,
    endings::{EndedView, Ending},
    writer::{Core, Kind, Tables, Writer},
};
use super::{AnonymousLimit, StoreError, StoreFuture};
use crate::base::{
    event::count::{Count, count},
    locks::lock,
};

/// What metrics call this store.
const NAME: &str = "embedded";

/// A store in a local file, for an app that runs as one process.
///
/// It implements [`SessionStore`](super::SessionStore) and [`TokenStore`](super::TokenStore).
/// Clones share one file, which is closed when the last clone is dropped.
///
/// - Changes of rights (login, logout, rotation, revocation, refresh, tickets) and session values
///   are on disk when the call completes. Concurrent operations share one sync.
/// - The last use of a session reaches the disk within about a second. After a crash, such a
///   session may end slightly early.
/// - An operation is submitted when its method is called, and is carried out even if its future is
///   dropped.
/// - Reads never wait.
///
/// After a disk error, such as a full disk, the store recovers by itself:
///
/// - The file is opened again, so that reads go on, and a write is tried at growing intervals of up
///   to 5 seconds, or longer if opening the file takes long. Until one succeeds [`is_writable`] is
///   false, and readiness reports 503.
/// - Nothing is acknowledged that was not written. A call that takes rights away (a logout, a
///   revocation, other rights of a user) fails too, but takes effect in this process: it is kept in
///   memory, and written first when the disk works again. If more than 100,000 of these wait, reads
///   fail as well.
///
/// [`is_writable`]: super::SessionStore::is_writable
///
/// ```
/// use policy_server::store::{EmbeddedStore, SessionStore};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir();
/// let store = EmbeddedStore::new(folder.join("sessions.redb"));
/// SessionStore::open(&store).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct EmbeddedStore(Arc<Shared>);

struct Shared {
    path: PathBuf,
    page_cache: usize,
    anonymous: AnonymousLimit,
    opening: Mutex<()>,
    open: OnceLock<Open>,
}

/// An open file.
struct Open {
    core: Arc<Core>,
    writer: Writer,
}

impl EmbeddedStore {
    /// A store in the file at `path`, whose folder must exist. Nothing is opened yet.
    ///
    /// The file is created when the store is first opened, readable by its owner only.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::at(path.into(), Self::PAGE_CACHE, AnonymousLimit::default())
    }

    /// The default size of the page cache: 256 MiB, which the sessions of a million users fill.
    pub const PAGE_CACHE: usize = 256 * 1024 * 1024;

    /// How many bytes of the file are kept in memory at most: the pages that were read or written
    /// most recently, so that a smaller file takes less. The operating system has a cache of its own
    /// below it, from which a read takes about two and a half times as long.
    ///
    /// The settings of a store that was opened do not change: this returns a new one for the same
    /// file.
    #[must_use]
    pub fn page_cache(self, bytes: usize) -> Self {
        Self::at(self.0.path.clone(), bytes, self.0.anonymous)
    }

    /// How many anonymous sessions are kept: 100,000 with 64 MiB of values by default.
    #[must_use]
    pub fn anonymous_limit(self, limit: AnonymousLimit) -> Self {
        Self::at(self.0.path.clone(), self.0.page_cache, limit)
    }

    fn at(path: PathBuf, page_cache: usize, anonymous: AnonymousLimit) -> Self {
        let (opening, open) = (Mutex::new(()), OnceLock::new());
        Self(Arc::new(Shared { path, page_cache, anonymous, opening, open }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Opens the file, once for all clones.
    fn open_file(&self) -> Result<(), StoreError> {
        let _one_at_a_time = lock(&self.0.opening);
        if self.0.open.get().is_none() {
            let (path, page_cache) = (self.0.path.clone(), self.0.page_cache);
            let opener = move |opening| file::open(&path, page_cache, opening);
            let open = Open::start(Box::new(opener), self.0.anonymous)?;
            // No other call sets it.
            let _ = self.0.open.set(open);
        }
        Ok(())
    }

    fn require_open(&self) -> Result<&Open, StoreError> {
        self.0
            .open
            .get()
            .ok_or_else(|| StoreError::new(format!("`{}` was not opened", self.0.path.display())))
    }

    /// Reads in a transaction of its own, on this thread.
    fn read<T>(
        &self,
        read: impl FnOnce(&ReadTransaction, &EndedView<'_>) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        let core = &self.require_open()?.core;
        let begun = Instant::now();
        let done = || {
            // Before the transaction: endings that are written and forgotten later are in it.
            let ended = core.ended.view()?;
            let in_use = core.current.in_use();
            let transaction = in_use.database()?.begin_read().map_err(StoreError::new)?;
            read(&transaction, &ended).map_err(StoreError::new)
        };
        let done = done();
        count(Count::StoreCall { store: NAME, begun, is_failed: done.is_err() });
        done
    }

    /// Submits an operation to the writer thread.
    fn write<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tables<'_>) -> Result<T, redb::Error> + Send + 'static,
    ) -> StoreFuture<'a, T> {
        self.submit(Kind::Change, work)
    }

    /// Submits an operation that takes rights away. It takes effect even if it cannot be written.
    fn end<'a, T: Send + 'static>(
        &self,
        ending: Ending,
        work: impl FnOnce(&mut Tables<'_>) -> Result<T, redb::Error> + Send + 'static,
    ) -> StoreFuture<'a, T> {
        self.submit(Kind::Ending(ending), work)
    }

    fn submit<'a, T: Send + 'static>(
        &self,
        kind: Kind,
        work: impl FnOnce(&mut Tables<'_>) -> Result<T, redb::Error> + Send + 'static,
    ) -> StoreFuture<'a, T> {
        match self.require_open() {
            Ok(open) => open.writer.submit(kind, work),
            Err(error) => StoreFuture::ready(Err(error)),
        }
    }

    /// Whether the last write succeeded.
    fn can_write(&self) -> bool {
        self.0.open.get().is_none_or(|open| open.core.is_writable.load(Ordering::Acquire))
    }

    /// Removes up to `limit` expired rows in short transactions, between which others write.
    fn purge_in_steps(
        &self,
        now: Timestamp,
        limit: usize,
        step: fn(&mut Tables<'_>, Timestamp, usize) -> Result<PurgeStep, redb::Error>,
    ) -> StoreFuture<'_, usize> {
        StoreFuture::new(async move {
            let mut removed = 0;
            while removed < limit {
                let rest = limit - removed;
                let done = self.submit(Kind::Purge, move |tables| step(tables, now, rest)).await?;
                removed += done.removed;
                if done.is_done {
                    break;
                }
            }
            Ok(removed)
        })
    }

    /// The secret with this name; stores `fresh` if there is none yet.
    fn stored_secret(&self, name: &'static str, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        let stored = self.read(|transaction, _| {
            let meta = transaction.open_table(file::META)?;
            Ok(meta.get(name)?.and_then(|secret| secret.value().try_into().ok()))
        });
        match stored {
            Ok(Some(secret)) => StoreFuture::ready(Ok(secret)),
            Ok(None) => self.write(move |tables| tables.secret(name, fresh)),
            Err(error) => StoreFuture::ready(Err(error)),
        }
    }
}

/// The store in the file at a path, with the default settings.
impl<P: Into<PathBuf>> From<P> for EmbeddedStore {
    fn from(path: P) -> Self {
        Self::new(path)
    }
}

impl Open {
    fn start(opener: Opener, anonymous: AnonymousLimit) -> Result<Self, StoreError> {
        let core = Arc::new(Core::open(opener, anonymous)?);
        let writer = Writer::start(Arc::clone(&core)).map_err(StoreError::new)?;
        Ok(Self { core, writer })
    }
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EmbeddedStore").field(&self.0.path).finish()
    }
}

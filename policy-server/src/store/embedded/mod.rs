//! A store for sessions, refresh tokens and revocations in one redb file.

mod anonymous;
pub(crate) mod codec;
#[cfg(test)]
mod crash;
mod deadlines;
mod file;
mod owned_rows;
mod session_tables;
mod sessions;
#[cfg(test)]
mod tests;
mod token_tables;
mod tokens;
mod writer;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use policy_core::time::Timestamp;
use redb::{Database, ReadTransaction, ReadableDatabase};

use self::{
    deadlines::Purged,
    writer::{Tables, Writer},
};
use super::{AnonymousLimit, Answer, StoreError};

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
/// After a disk error every operation fails until the app is restarted.
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
    database: Arc<Database>,
    writer: Writer,
}

impl EmbeddedStore {
    /// A store in the file at `path`, whose folder must exist. Nothing is opened yet.
    ///
    /// The file is created when the store is first opened, readable by its owner only.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::at(path.into(), Self::PAGE_CACHE, AnonymousLimit::default())
    }

    /// The default size of the page cache: 64 MiB.
    pub const PAGE_CACHE: usize = 64 * 1024 * 1024;

    /// How many bytes of the file are kept in memory. The operating system has a cache of its own
    /// below it; a read of a page that only that one has takes about six times as long.
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
        let _one_at_a_time = self.0.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if self.0.open.get().is_none() {
            let open = {
                let database = file::open(&self.0.path, self.0.page_cache)?;
                Open::start(database, self.0.anonymous)?
            };
            // No other call sets it.
            let _ = self.0.open.set(open);
        }
        Ok(())
    }

    fn opened(&self) -> Result<&Open, StoreError> {
        self.0
            .open
            .get()
            .ok_or_else(|| StoreError::new(format!("`{}` was not opened", self.0.path.display())))
    }

    /// Reads in a transaction of its own, on this thread.
    fn read<T>(
        &self,
        read: impl FnOnce(&ReadTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, StoreError> {
        let transaction = self.opened()?.database.begin_read().map_err(StoreError::new)?;
        read(&transaction).map_err(StoreError::new)
    }

    /// Submits an operation to the writer thread.
    fn write<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tables<'_>) -> Result<T, redb::Error> + Send + 'static,
    ) -> Answer<'a, T> {
        match self.opened() {
            Ok(open) => open.writer.submit(work),
            Err(error) => Answer::ready(Err(error)),
        }
    }

    /// Removes up to `limit` expired rows in short transactions.
    fn purge_in_steps(
        &self,
        now: Timestamp,
        limit: usize,
        step: fn(&mut Tables<'_>, Timestamp, usize) -> Result<Purged, redb::Error>,
    ) -> Answer<'_, usize> {
        Answer::later(async move {
            let mut removed = 0;
            while removed < limit {
                let rest = limit - removed;
                let done = self.write(move |tables| step(tables, now, rest)).await?;
                removed += done.removed;
                if done.is_done {
                    break;
                }
            }
            Ok(removed)
        })
    }

    /// The secret with this name; stores `fresh` if there is none yet.
    fn stored_secret(&self, name: &'static str, fresh: [u8; 32]) -> Answer<'_, [u8; 32]> {
        let stored = self.read(|transaction| {
            let meta = transaction.open_table(file::META)?;
            Ok(meta.get(name)?.and_then(|secret| secret.value().try_into().ok()))
        });
        match stored {
            Ok(Some(secret)) => Answer::ready(Ok(secret)),
            Ok(None) => self.write(move |tables| tables.secret(name, fresh)),
            Err(error) => Answer::ready(Err(error)),
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
    fn start(database: Database, anonymous: AnonymousLimit) -> Result<Self, StoreError> {
        let database = Arc::new(database);
        let writer = Writer::start(Arc::clone(&database), anonymous).map_err(StoreError::new)?;
        Ok(Self { database, writer })
    }
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EmbeddedStore").field(&self.0.path).finish()
    }
}

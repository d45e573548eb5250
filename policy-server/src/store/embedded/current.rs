//! The open database, which is closed and opened again after an error of the disk.

use std::sync::{RwLock, RwLockReadGuard};

use redb::Database;

use crate::{
    base::locks::{read, write},
    store::StoreError,
};

/// How a database is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// When the app starts; it is created if there is none.
    First,
    /// After an error: the file exists, unless it was removed.
    Again,
}

/// Opens the database.
pub(super) type Opener = Box<dyn Fn(Opening) -> Result<Database, StoreError> + Send + Sync>;

/// redb refuses every write after one has failed, and every read of what it does not have in
/// memory. Only a database that is opened again, and thereby repaired, shows what is on the disk.
pub(super) struct Current {
    /// `None` while it is being opened, and if that failed.
    database: RwLock<Option<Database>>,
    opener: Opener,
}

/// The open database, which is not closed meanwhile.
pub(super) struct InUse<'a>(RwLockReadGuard<'a, Option<Database>>);

impl Current {
    pub(super) fn open(opener: Opener) -> Result<Self, StoreError> {
        let database = RwLock::new(Some(opener(Opening::First)?));
        Ok(Self { database, opener })
    }

    /// The database; an error while it is not open. This waits only while the database is replaced.
    pub(super) fn in_use(&self) -> InUse<'_> {
        InUse(read(&self.database))
    }

    /// Closes the database, if it is open, and opens it. Only the writer thread does.
    pub(super) fn reopen(&self) -> Result<(), StoreError> {
        // Reads fail meanwhile, and do not wait: a repair may read the whole file.
        drop(self.replace(None));
        let database = (self.opener)(Opening::Again)?;
        self.replace(Some(database));
        Ok(())
    }

    fn replace(&self, database: Option<Database>) -> Option<Database> {
        let mut current = write(&self.database);
        std::mem::replace(&mut *current, database)
    }
}

impl InUse<'_> {
    pub(super) fn database(&self) -> Result<&Database, StoreError> {
        self.0.as_ref().ok_or_else(|| StoreError::new("the file is closed after an error"))
    }
}

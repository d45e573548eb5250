//! Opens the file of an embedded store.

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind, Read, Seek},
    path::Path,
};

use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, StorageError, TableDefinition, TableError,
};

use policy_core::Rule;

use super::{current::Opening, session_tables::SessionTables, token_tables::TokenTables};
use crate::{
    base::secret_file,
    store::{AnonymousLimit, StoreError},
};

/// Metadata of the file: its format and the secrets.
pub(super) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");

const FORMAT: &str = "format";

/// The version of the set of tables. Row layouts have versions of their own.
const FORMAT_NUMBER: u32 = 3;

/// The oldest version that is brought up to date. It has no index of sessions by handle, and none
/// of anonymous ones; the second one has no numbers of cut-offs.
const OLDEST_FORMAT: u32 = 1;

/// Opens or creates the file.
pub(super) fn open(
    path: &Path,
    page_cache: usize,
    opening: Opening,
) -> Result<Database, StoreError> {
    let name = path.display();
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        let text = format!("the folder `{}` of `{name}` does not exist", folder.display());
        return Err(StoreError::new(text));
    }
    if opening == Opening::First
        && let Some(rule @ Rule::SecretWritable) = secret_file::broken_rule(path)
    {
        let text = format!("`{name}`: {} ({}): {}", rule.message(), rule.code(), rule.help());
        return Err(StoreError::new(text));
    }
    let is_new = !path.exists();
    if opening == Opening::Again && path.metadata().map_or(0, |file| file.len()) == 0 {
        // A new one would have none of the sessions, and another secret.
        return Err(StoreError::new(format!("`{name}` was removed")));
    }
    let file = options().open(path).map_err(|error| {
        let help = match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                "; the process must be allowed to write the file and its folder: change the owner, mount \
                 a volume, or name another path"
            }
            ErrorKind::IsADirectory => "; name a file in it",
            _ => "",
        };
        StoreError::new(format!("`{name}` cannot be opened: {error}{help}"))
    })?;
    let database = remove_unfinished(&file)
        .map_err(DatabaseError::from)
        .and_then(|()| Builder::new().set_cache_size(page_cache).create_file(file))
        .map_err(|error| {
            StoreError::new(match error {
                DatabaseError::DatabaseAlreadyOpen => {
                    format!("`{name}` is open in another process, or twice in this one")
                }
                DatabaseError::Storage(StorageError::Io(error))
                    if error.kind() == ErrorKind::InvalidData =>
                {
                    format!("`{name}` is not a redb database")
                }
                error => format!("`{name}` cannot be opened: {error}"),
            })
        })?;
    check_format(&database).map_err(|error| StoreError::new(format!("`{name}` {error}")))?;
    if is_new {
        sync_folder(folder)
            .map_err(|error| StoreError::new(format!("`{name}` is not durable: {error}")))?;
    }
    Ok(database)
}

/// Empties a file whose creation was interrupted by a crash, which redb would refuse. No call had
/// completed on it.
fn remove_unfinished(file: &File) -> io::Result<()> {
    let head = || {
        let mut head = Vec::with_capacity(HEAD);
        let mut file = file;
        file.rewind()?;
        file.take(HEAD as u64).read_to_end(&mut head)?;
        Ok::<_, io::Error>(head)
    };
    if !is_unfinished(&head()?, file.metadata()?.len()) {
        return Ok(());
    }
    // The owner of a lock is using the file.
    if file.try_lock().is_ok() {
        if is_unfinished(&head()?, file.metadata()?.len()) {
            file.set_len(0)?;
        }
        file.unlock()?;
    }
    Ok(())
}

/// The length of the magic number with which redb begins a complete file; it is written last.
pub(super) const HEAD: usize = 9;

/// Whether a file with these first bytes and this length is one whose creation redb has not
/// completed.
pub(super) fn is_unfinished(head: &[u8], length: u64) -> bool {
    // A new file has about a megabyte; a larger one is something else.
    0 < length && length <= 4 * 1024 * 1024 && head.iter().all(|byte| *byte == 0)
}

/// Marks an empty database as ours, and brings one of an earlier version up to date; refuses one of
/// a later version, or of another program.
pub(super) fn check_format(database: &Database) -> Result<(), String> {
    let stored = stored_format(database).map_err(|error| format!("cannot be read: {error}"))?;
    let written = |result: Result<(), redb::Error>| {
        result.map_err(|error| format!("cannot be written: {error}"))
    };
    match stored {
        Format::Empty => written(mark(database, false)),
        Format::Is(Some(FORMAT_NUMBER)) => Ok(()),
        Format::Is(Some(OLDEST_FORMAT..FORMAT_NUMBER)) => written(mark(database, true)),
        Format::Is(number) => {
            let number = number.map_or_else(|| "?".into(), |number| number.to_string());
            Err(format!(
                "has format {number}, and this version of Policy knows formats {OLDEST_FORMAT} to \
                 {FORMAT_NUMBER}"
            ))
        }
        Format::Foreign => Err("is a database of something else".to_owned()),
    }
}

enum Format {
    Empty,
    /// `None` if it is no number.
    Is(Option<u32>),
    Foreign,
}

fn stored_format(database: &Database) -> Result<Format, redb::Error> {
    let transaction = database.begin_read()?;
    match transaction.open_table(META) {
        Ok(meta) => Ok(meta.get(FORMAT)?.map_or(Format::Foreign, |number| {
            Format::Is(number.value().try_into().ok().map(u32::from_le_bytes))
        })),
        Err(TableError::TableDoesNotExist(_)) => {
            let is_empty = transaction.list_tables()?.next().is_none()
                && transaction.list_multimap_tables()?.next().is_none();
            Ok(if is_empty { Format::Empty } else { Format::Foreign })
        }
        Err(TableError::Storage(error)) => Err(error.into()),
        // A table with that name but another type.
        Err(_) => Ok(Format::Foreign),
    }
}

fn mark(database: &Database, has_rows: bool) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    transaction.open_table(META)?.insert(FORMAT, FORMAT_NUMBER.to_le_bytes().as_slice())?;
    // Creates all tables, so that reads find them before the first write.
    let mut sessions = SessionTables::open(&transaction, AnonymousLimit::default())?;
    if has_rows {
        sessions.fill_indexes()?;
    }
    drop(sessions);
    TokenTables::open(&transaction)?;
    transaction.commit()?;
    Ok(())
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    // The file contains the secret from which session keys are derived.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A new file is durable only after its folder is synced too.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

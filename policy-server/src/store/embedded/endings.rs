//! Endings that could not be written: they are kept in memory, checked at each read, and written
//! first when the disk works again.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        RwLock, RwLockReadGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use policy_core::{
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};
use redb::{Database, ReadableDatabase};

use super::{
    session_rows::{HANDLES, SESSIONS, SUCCESSORS, by_handle, stored_head, successor},
    token_tables::family_of,
    writer::Tables,
};
use crate::{
    base::locks::{read, write},
    store::{Family, Revocation, RevokeUser, StoreError, TokenHash},
};

/// The most endings that are kept, and bytes of their names. Above either, reads fail until the endings
/// are written: otherwise a session could be loaded although it ended.
const MOST: usize = 100_000;
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Something that takes rights away, with what is needed to do it again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Ending {
    Session(SessionKey),
    OfHandle {
        user: Box<str>,
        handle: Handle,
    },
    Sessions {
        user: Box<str>,
        keep: Option<SessionKey>,
    },
    /// All rights of a user beyond these.
    Rights(Identity),
    Family(TokenHash),
    Everyone,
    Revoked(Revocation),
}

/// The kept endings.
#[derive(Default)]
pub(super) struct KeptEndings {
    /// Whether any ending is kept: nearly never.
    has_endings: AtomicBool,
    state: RwLock<State>,
}

#[derive(Default)]
struct State {
    /// In the order of their calls.
    endings: Vec<Ending>,
    known: HashSet<Ending>,
    bytes: usize,
    /// Whether an ending was not kept, since there were too many.
    is_full: bool,
    /// How many endings are resolved into the fields below. If there are more, the database could
    /// not be read.
    resolved: usize,
    handles: HashSet<Handle>,
    /// The users whose sessions ended, with the session that each ending kept.
    users: HashMap<Box<str>, Vec<Option<Handle>>>,
    /// Whether the sessions of all users ended.
    is_everyone: bool,
    /// The rights that the sessions of a user have now.
    rights: HashMap<Box<str>, Identity>,
    revocations: Vec<Revocation>,
}

/// The kept endings, which are fixed for one read.
pub(super) struct EndedView<'a>(Option<RwLockReadGuard<'a, State>>);

impl KeptEndings {
    /// The kept endings. They do not change while this exists, so that a read which begins after
    /// this call sees each ending here or in the database.
    pub(super) fn view(&self) -> Result<EndedView<'_>, StoreError> {
        if !self.has_endings.load(Ordering::Acquire) {
            return Ok(EndedView(None));
        }
        let state = read(&self.state);
        if state.is_full || state.resolved < state.endings.len() {
            return Err(StoreError::new("what ended since the last write is not known"));
        }
        Ok(EndedView(Some(state)))
    }

    /// Keeps an ending that could not be written. It takes effect at once.
    pub(super) fn keep(&self, ending: Ending, database: Option<&Database>) {
        let mut state = write(&self.state);
        if let Ending::Rights(rights) = &ending {
            state.forget_rights_of(&rights.subject);
        }
        if state.known.contains(&ending) {
            return;
        }
        if state.endings.len() >= MOST || state.bytes > MOST_BYTES {
            state.is_full = true;
            return;
        }
        state.bytes += ending.size();
        state.known.insert(ending.clone());
        state.endings.push(ending);
        self.has_endings.store(true, Ordering::Release);
        if let Some(database) = database {
            // If this fails, reads are refused until it succeeds.
            let _ = state.resolve(database);
        }
    }

    /// Resolves the endings that were kept while the database could not be read.
    pub(super) fn resolve(&self, database: &Database) -> Result<(), StoreError> {
        write(&self.state).resolve(database).map_err(StoreError::new)
    }

    /// All endings that are not written, in order.
    pub(super) fn endings(&self) -> Vec<Ending> {
        read(&self.state).endings.clone()
    }

    /// Forgets all endings: they are written.
    pub(super) fn forget(&self) {
        let mut state = write(&self.state);
        *state = State::default();
        self.has_endings.store(false, Ordering::Release);
    }
}

impl State {
    fn resolve(&mut self, database: &Database) -> Result<(), redb::Error> {
        while let Some(ending) = self.endings.get(self.resolved).cloned() {
            if self.note(&ending, database)? {
                self.resolved += 1;
            } else {
                // It ends nothing: anybody could fill the memory with such endings.
                self.endings.remove(self.resolved);
                self.known.remove(&ending);
                self.bytes -= ending.size();
            }
        }
        Ok(())
    }

    /// Forgets the rights that newer ones of the same user replace.
    fn forget_rights_of(&mut self, user: &str) {
        let of_user =
            |ending: &Ending| matches!(ending, Ending::Rights(rights) if *rights.subject == *user);
        let Some(index) = self.endings.iter().position(of_user) else { return };
        let old = self.endings.remove(index);
        self.known.remove(&old);
        self.bytes -= old.size();
        if index < self.resolved {
            self.resolved -= 1;
        }
    }

    /// Records the effect of an ending. Returns whether it ends anything.
    fn note(&mut self, ending: &Ending, database: &Database) -> Result<bool, redb::Error> {
        let transaction = database.begin_read()?;
        match ending {
            Ending::Session(key) => {
                let sessions = transaction.open_table(SESSIONS)?;
                let successors = transaction.open_table(SUCCESSORS)?;
                let mut record = stored_head(&sessions, key)?;
                if record.is_none()
                    && let Some(key) = successor(&sessions, &successors, key, None)?
                {
                    record = stored_head(&sessions, &key)?;
                }
                self.handles.extend(record.as_ref().map(|record| record.handle));
                Ok(record.is_some())
            }
            Ending::OfHandle { user, handle } => {
                let sessions = transaction.open_table(SESSIONS)?;
                let handles = transaction.open_table(HANDLES)?;
                let found = by_handle(&sessions, &handles, user, *handle)?.is_some();
                self.handles.extend(found.then_some(*handle));
                Ok(found)
            }
            Ending::Sessions { user, keep } => {
                let sessions = transaction.open_table(SESSIONS)?;
                let successors = transaction.open_table(SUCCESSORS)?;
                let kept = match keep {
                    Some(key) => match stored_head(&sessions, key)? {
                        None => match successor(&sessions, &successors, key, None)? {
                            Some(key) => stored_head(&sessions, &key)?,
                            None => None,
                        },
                        kept => kept,
                    },
                    None => None,
                };
                let kept = kept.filter(|record| record.user() == Some(user));
                let kept = kept.map(|record| record.handle);
                let of_user = self.users.entry(user.clone()).or_default();
                if !of_user.contains(&kept) {
                    of_user.push(kept);
                }
                Ok(true)
            }
            Ending::Rights(rights) => {
                self.rights.insert(rights.subject.clone(), rights.clone());
                Ok(true)
            }
            Ending::Family(token) => {
                let Some(family) = family_of(&transaction, *token)? else { return Ok(false) };
                self.revocations.push(Revocation::access_tokens(family.id, end_of_access(&family)));
                Ok(true)
            }
            Ending::Everyone => {
                self.is_everyone = true;
                Ok(true)
            }
            Ending::Revoked(revocation) => {
                self.revocations.push(revocation.clone());
                Ok(true)
            }
        }
    }
}

/// When no access token of a family is valid any more, whenever the family ends.
fn end_of_access(family: &Family) -> Timestamp {
    /// Longer than any access token is valid after its family has expired.
    const LONGEST: Duration = Duration::from_secs(24 * 3600);
    family.expires.after(LONGEST)
}

impl EndedView<'_> {
    /// Whether a session ended.
    pub(super) fn includes(&self, record: &Record) -> bool {
        let Some(state) = &self.0 else { return false };
        state.handles.contains(&record.handle)
            || (state.is_everyone && record.user().is_some())
            || record
                .user()
                .and_then(|user| state.users.get(user))
                .is_some_and(|kept| kept.iter().any(|kept| *kept != Some(record.handle)))
    }

    /// A session that was read, unless it ended, with the rights that it has now.
    pub(super) fn living(&self, mut record: Record) -> Option<Record> {
        if self.includes(&record) {
            return None;
        }
        let state = self.0.as_ref();
        if let Some(rights) = record.user().and_then(|user| state?.rights.get(user)) {
            record.identity = Some(rights.clone());
        }
        Some(record)
    }

    /// Revocations that have no position in the sequence yet.
    pub(super) fn revocations(&self) -> &[Revocation] {
        self.0.as_ref().map_or(&[], |state| &state.revocations)
    }
}

impl Ending {
    /// Applies the ending within a transaction.
    pub(super) fn apply(&self, tables: &mut Tables<'_>) -> Result<(), redb::Error> {
        match self {
            Self::Session(key) => {
                tables.sessions()?.delete(key)?;
            }
            Self::OfHandle { user, handle } => {
                tables.sessions()?.delete_by_handle(user, *handle)?;
            }
            Self::Sessions { user, keep } => {
                // At the beginning of time nothing has expired, so the session to keep is kept.
                let request = RevokeUser::new(user, Timestamp::default()).keep(*keep);
                tables.sessions()?.revoke_user(request)?;
            }
            Self::Rights(rights) => {
                let request = RevokeUser::new(&rights.subject, Timestamp::default()).rights(rights);
                tables.sessions()?.revoke_user(request)?;
            }
            Self::Family(token) => {
                tables.tokens()?.end_family(*token, end_of_access)?;
            }
            Self::Everyone => {
                tables.sessions()?.revoke_everyone(Timestamp::default())?;
            }
            Self::Revoked(revocation) => {
                tables.tokens()?.revoke(revocation.clone())?;
            }
        }
        Ok(())
    }

    /// The bytes of its name; the rest has a fixed size.
    fn size(&self) -> usize {
        match self {
            Self::Session(_) | Self::Family(_) | Self::Everyone => 0,
            Self::OfHandle { user, .. } | Self::Sessions { user, .. } => user.len(),
            Self::Rights(rights) => {
                let words = rights.roles.iter().chain(&rights.scopes).chain(&rights.tenant);
                rights.subject.len() + words.map(|word| word.len()).sum::<usize>()
            }
            Self::Revoked(Revocation::Token { id, .. }) => id.len(),
            Self::Revoked(Revocation::User { user, .. } | Revocation::Session { user, .. }) => {
                user.len()
            }
            Self::Revoked(Revocation::Everyone { .. } | Revocation::All { .. }) => 0,
        }
    }
}

//! Sessions within a write transaction: every rule of the store is decided here.

use policy_core::{
    session::{Handle, Record, SessionKey},
    time::Timestamp,
};
use redb::{ReadableTable, Table, TableDefinition, WriteTransaction};

use super::{
    anonymous::Anonymous,
    codec::{Row, Successor, decode_head},
    deadlines::{Deadlines, Entry, Fate, Purge},
    owned_rows::OwnedRows,
    session_cut_offs::{CUT_OFFS, NEWEST, NUMBERS},
    session_rows::{
        HANDLES, SESSIONS, SUCCESSORS, USERS, by_handle, living, living_head, stored_head,
        successor,
    },
    writer::Effect,
};
use crate::store::{
    AnonymousLimit, Cas, CreateSession, Limit, LimitPolicy, RotateSession, SessionCreated,
    TouchSession, UpdateSession,
};

const DEADLINES: TableDefinition<'_, &[u8], ()> = TableDefinition::new("session_deadlines");

/// The most anonymous sessions that end to make room for one, so that no call takes long. A larger
/// excess (of a file from before there was a limit) ends over several calls.
const MAX_OVERFLOW: usize = 256;

/// What an entry in the deadlines is about.
const SESSION: u8 = 0;
const SUCCESSOR: u8 = 1;

pub(super) struct SessionTables<'t> {
    pub(super) sessions: OwnedRows<'t, 32>,
    handles: Table<'t, &'static [u8; 16], &'static [u8; 32]>,
    anonymous: Anonymous<'t>,
    successors: Table<'t, &'static [u8; 32], &'static [u8]>,
    pub(super) cut_offs: Table<'t, &'static str, u64>,
    pub(super) numbers: Table<'t, u64, u64>,
    deadlines: Deadlines<'t>,
    pub(super) effect: Effect,
}

impl<'t> SessionTables<'t> {
    pub(super) fn open(
        transaction: &'t WriteTransaction,
        anonymous: AnonymousLimit,
    ) -> Result<Self, redb::Error> {
        Ok(Self {
            sessions: OwnedRows::open(transaction, SESSIONS, USERS)?,
            handles: transaction.open_table(HANDLES)?,
            anonymous: Anonymous::open(transaction, anonymous)?,
            successors: transaction.open_table(SUCCESSORS)?,
            cut_offs: transaction.open_table(CUT_OFFS)?,
            numbers: transaction.open_table(NUMBERS)?,
            deadlines: Deadlines::new(transaction.open_table(DEADLINES)?),
            effect: Effect::None,
        })
    }

    /// Fills the indexes that a file of an earlier format lacks, and continues the numbers of
    /// cut-offs from the highest epoch.
    pub(super) fn fill_indexes(&mut self) -> Result<(), redb::Error> {
        let mut newest = self.number(NEWEST)?;
        for row in self.sessions.rows.iter()? {
            let (key, row) = row?;
            let key = SessionKey(*key.value());
            let Some(record) = Record::decode(row.value()) else { continue };
            newest = newest.max(record.epoch);
            match record.user() {
                Some(_) => drop(self.handles.insert(&record.handle.0, &key.0)?),
                None => self.anonymous.put(&key, record.created, record.data.len() as u64)?,
            }
        }
        self.numbers.insert(NEWEST, newest)?;
        Ok(())
    }

    pub(super) fn create(&mut self, request: CreateSession) -> Result<SessionCreated, redb::Error> {
        let CreateSession { key, mut record, limit, began, now } = request;
        if self.is_known(&key)? {
            return Ok(SessionCreated::KeyTaken);
        }
        if self.is_cut_off(&record, began)? {
            return Ok(SessionCreated::CutOff);
        }
        let Some(evicted) = self.make_room(record.user(), None, limit, now)? else {
            return Ok(SessionCreated::LimitReached);
        };
        record.epoch = self.epoch(record.user())?;
        record.version = 1;
        self.insert(&key, &record)?;
        Ok(SessionCreated::Done { evicted })
    }

    pub(super) fn update(&mut self, request: UpdateSession) -> Result<Cas, redb::Error> {
        let UpdateSession { key, expected, data, now } = request;
        let mut record = match self.expect(&key, expected, now)? {
            Ok(record) => record,
            Err(refused) => return Ok(refused),
        };
        record.version += 1;
        record.data = data;
        self.replace(&key, &record)?;
        self.effect = Effect::Durable;
        Ok(Cas::Done { version: record.version, evicted: vec![] })
    }

    pub(super) fn touch(&mut self, request: TouchSession) -> Result<bool, redb::Error> {
        let TouchSession { key, idle_deadline, now } = request;
        let key = self.current(&key, Some(now))?;
        let Some(mut record) = living(&self.sessions.rows, &key, now)? else {
            return Ok(false);
        };
        record.idle_deadline = record.idle_deadline.max(idle_deadline);
        record.last_seen = record.last_seen.max(now);
        self.replace(&key, &record)?;
        // If it is lost in a crash, the session ends a little early.
        self.effect = self.effect.max(Effect::Soft);
        Ok(true)
    }

    pub(super) fn rotate(&mut self, request: RotateSession) -> Result<Cas, redb::Error> {
        let RotateSession { old, new, expected, mut record, grace, limit, began, now, .. } =
            request;
        let current = match self.expect(&old, expected, now)? {
            Ok(record) => record,
            Err(refused) => return Ok(refused),
        };
        if self.is_cut_off(&record, began)? {
            return Ok(Cas::CutOff);
        }
        // If the new key exists, the caller draws another, as after any conflict.
        if self.is_known(&new)? {
            return Ok(Cas::Conflict);
        }
        let Some(evicted) = self.make_room(record.user(), Some(&old), limit, now)? else {
            return Ok(Cas::LimitReached);
        };
        self.remove(&old, &current)?;
        record.epoch = self.epoch(record.user())?;
        record.version = expected + 1;
        self.insert(&new, &record)?;
        if let Some(grace) = grace.filter(|grace| now < *grace) {
            let row = Successor { key: new, grace }.encode();
            self.successors.insert(&old.0, row.as_slice())?;
            self.deadlines.add(grace, SUCCESSOR, &old.0)?;
        }
        Ok(Cas::Done { version: record.version, evicted })
    }

    pub(super) fn delete(&mut self, key: &SessionKey) -> Result<bool, redb::Error> {
        let key = self.current(key, None)?;
        if let Some(record) = stored_head(&self.sessions.rows, &key)? {
            self.remove(&key, &record)?;
            self.effect = Effect::Durable;
            return Ok(true);
        }
        // A later release wrote a row that cannot be read, and must not find it either.
        if self.sessions.remove(&key.0, None)? {
            self.effect = Effect::Durable;
        }
        Ok(false)
    }

    pub(super) fn delete_by_handle(
        &mut self,
        user: &str,
        handle: Handle,
    ) -> Result<bool, redb::Error> {
        let Some((key, record)) = by_handle(&self.sessions.rows, &self.handles, user, handle)?
        else {
            return Ok(false);
        };
        self.remove(&key, &record)?;
        self.effect = Effect::Durable;
        Ok(true)
    }

    /// The session of this version, or the result to return.
    fn expect(
        &self,
        key: &SessionKey,
        expected: u64,
        now: Timestamp,
    ) -> Result<Result<Record, Cas>, redb::Error> {
        Ok(match living(&self.sessions.rows, key, now)? {
            Some(record) if record.version == expected => Ok(record),
            Some(_) => Err(Cas::Conflict),
            // The session has another key now, which loading it again returns.
            None if self.current(key, Some(now))? != *key => Err(Cas::Conflict),
            None => Err(Cas::Gone),
        })
    }

    /// The key that a session is under now: `key` itself unless a rotation replaced it.
    pub(super) fn current(
        &self,
        key: &SessionKey,
        now: Option<Timestamp>,
    ) -> Result<SessionKey, redb::Error> {
        if self.sessions.rows.get(&key.0)?.is_some() {
            return Ok(*key);
        }
        Ok(successor(&self.sessions.rows, &self.successors, key, now)?.unwrap_or(*key))
    }

    /// Whether the key was ever given to a session that is still remembered.
    fn is_known(&self, key: &SessionKey) -> Result<bool, redb::Error> {
        Ok(self.sessions.rows.get(&key.0)?.is_some() || self.successors.get(&key.0)?.is_some())
    }

    /// Ends sessions of a user until one more is allowed; `None` if that is refused. `replaced`
    /// does not count.
    fn make_room(
        &mut self,
        user: Option<&str>,
        replaced: Option<&SessionKey>,
        limit: Option<Limit>,
        now: Timestamp,
    ) -> Result<Option<Vec<Handle>>, redb::Error> {
        let (Some(user), Some(limit)) = (user, limit) else {
            return Ok(Some(vec![]));
        };
        // This includes the replaced one and dead ones.
        if self.sessions.count_of(user)? < u64::from(limit.sessions) {
            return Ok(Some(vec![]));
        }
        let mut others = vec![];
        for key in self.keys_of(user)? {
            if Some(&key) != replaced
                && let Some(record) = living_head(&self.sessions.rows, &key, now)?
            {
                others.push((key, record));
            }
        }
        let excess = (others.len() + 1).saturating_sub(limit.sessions as usize);
        if excess == 0 {
            return Ok(Some(vec![]));
        }
        match limit.policy {
            LimitPolicy::Deny => Ok(None),
            LimitPolicy::EvictOldest => {
                others.sort_by_key(|(_, record)| (record.created, record.handle));
                let mut evicted = vec![];
                for (key, record) in others.iter().take(excess) {
                    self.remove(key, record)?;
                    evicted.push(record.handle);
                }
                Ok(Some(evicted))
            }
        }
    }

    fn insert(&mut self, key: &SessionKey, record: &Record) -> Result<(), redb::Error> {
        self.sessions.insert(&key.0, &record.encode(), record.user())?;
        if record.user().is_some() {
            self.handles.insert(&record.handle.0, &key.0)?;
        }
        self.limit_anonymous(key, record)?;
        let deadline = record.idle_deadline.min(record.absolute_deadline);
        self.deadlines.add(deadline, SESSION, &key.0)?;
        self.effect = Effect::Durable;
        Ok(())
    }

    pub(super) fn replace(&mut self, key: &SessionKey, record: &Record) -> Result<(), redb::Error> {
        self.sessions.replace(&key.0, &record.encode())?;
        self.limit_anonymous(key, record)
    }

    /// Removes a session. Its entry in the deadlines stays until it is due.
    pub(super) fn remove(&mut self, key: &SessionKey, record: &Record) -> Result<(), redb::Error> {
        self.sessions.remove(&key.0, record.user())?;
        if record.user().is_none() {
            return self.anonymous.remove(key, record.created);
        }
        let is_its = self.handles.get(&record.handle.0)?.is_some_and(|of| *of.value() == key.0);
        if is_its {
            self.handles.remove(&record.handle.0)?;
        }
        Ok(())
    }

    /// Counts a session that was written, if it is anonymous, and ends the oldest ones above the
    /// limit.
    fn limit_anonymous(&mut self, key: &SessionKey, record: &Record) -> Result<(), redb::Error> {
        if record.user().is_some() {
            return Ok(());
        }
        self.anonymous.put(key, record.created, record.data.len() as u64)?;
        for _ in 0..MAX_OVERFLOW {
            let Some(oldest) = self.anonymous.take_overflow(key)? else { break };
            self.sessions.remove(&oldest.0, None)?;
        }
        Ok(())
    }

    pub(super) fn keys_of(&self, user: &str) -> Result<Vec<SessionKey>, redb::Error> {
        Ok(self.sessions.keys_of(user)?.into_iter().map(SessionKey).collect())
    }
}

impl<'t> Purge<'t> for SessionTables<'t> {
    fn deadlines(&mut self) -> (&mut Deadlines<'t>, &mut Effect) {
        (&mut self.deadlines, &mut self.effect)
    }

    fn purge_entry(&mut self, entry: &Entry, now: Timestamp) -> Result<Fate, redb::Error> {
        let Ok(key) = entry.id.as_slice().try_into().map(SessionKey) else {
            return Ok(Fate::Gone);
        };
        match entry.kind {
            SESSION => {
                let row = self.sessions.rows.get(&key.0)?.map(|row| decode_head(row.value()));
                Ok(match row {
                    Some(Some(record)) if record.is_expired(now) => {
                        self.remove(&key, &record)?;
                        Fate::Removed
                    }
                    // The session was used since: its deadline is later now.
                    Some(Some(record)) => {
                        Fate::Lives(record.idle_deadline.min(record.absolute_deadline))
                    }
                    Some(None) => Fate::Lives(now.after(Deadlines::UNREADABLE)),
                    None => Fate::Gone,
                })
            }
            SUCCESSOR => {
                self.successors.remove(&key.0)?;
                Ok(Fate::Removed)
            }
            _ => Ok(Fate::Gone),
        }
    }
}

//! The session tables.

use std::sync::{
    Arc, MutexGuard,
    atomic::{AtomicU64, Ordering},
};

use policy_core::{
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};

use super::{
    Inner, MemoryStore, first,
    shards::Shard,
    user::{self, User, Users},
};
use crate::store::{
    Answer, Cas, CreateSession, Created, CutOff, Limit, LimitPolicy, ListSessions, Loaded,
    RevokeUser, RotateSession, SessionStore, Summary, TouchSession, UpdateSession,
};

/// The row of a key.
pub(super) enum Row {
    Session {
        record: Arc<Record>,
        /// The user's epoch; `None` in an anonymous session.
        epoch: Option<Arc<AtomicU64>>,
    },
    /// A rotation replaced the key.
    Moved(Box<Moved>),
}

pub(super) struct Moved {
    to: SessionKey,
    until: Timestamp,
}

type Sessions = Shard<SessionKey, Row>;

impl Row {
    /// Whether no revocation has ended it.
    fn is_current(&self) -> bool {
        match self {
            Self::Session { record, epoch: Some(epoch) } => {
                // It is higher while the rights of the user's sessions change one by one.
                record.epoch >= epoch.load(Ordering::Acquire)
            }
            Self::Session { .. } => true,
            Self::Moved(_) => false,
        }
    }

    /// The record, if the session is live.
    fn living(&self, now: Timestamp) -> Option<&Arc<Record>> {
        match self {
            Self::Session { record, .. } if self.is_current() && !record.is_expired(now) => {
                Some(record)
            }
            _ => None,
        }
    }

    /// The record for a change, if the session is live. It is copied if a request still reads it.
    fn living_mut(&mut self, now: Timestamp) -> Option<&mut Arc<Record>> {
        self.living(now)?;
        match self {
            Self::Session { record, .. } => Some(record),
            Self::Moved(_) => None,
        }
    }
}

impl SessionStore for MemoryStore {
    fn secret(&self, fresh: [u8; 32]) -> Answer<'_, [u8; 32]> {
        Answer::ready(Ok(first(&self.0.session_secret, fresh)))
    }

    fn create(&self, request: CreateSession) -> Answer<'_, Created> {
        Answer::ready(Ok(self.0.create(request)))
    }

    fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> Answer<'a, Option<Loaded>> {
        Answer::ready(Ok(self.0.load(key, now)))
    }

    fn update(&self, request: UpdateSession) -> Answer<'_, Cas> {
        Answer::ready(Ok(self.0.update(request)))
    }

    fn touch(&self, request: TouchSession) -> Answer<'_, bool> {
        Answer::ready(Ok(self.0.touch(request).is_some()))
    }

    fn rotate(&self, request: RotateSession) -> Answer<'_, Cas> {
        Answer::ready(Ok(self.0.rotate(request)))
    }

    fn delete<'a>(&'a self, key: &'a SessionKey) -> Answer<'a, bool> {
        Answer::ready(Ok(self.0.delete(key).is_some()))
    }

    fn list<'a>(&'a self, request: ListSessions<'a>) -> Answer<'a, Vec<Summary>> {
        Answer::ready(Ok(self.0.list(request)))
    }

    fn lives<'a>(&'a self, user: &'a str, handle: Handle, now: Timestamp) -> Answer<'a, bool> {
        Answer::ready(Ok(self.0.lives(user, handle, now)))
    }

    fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> Answer<'a, bool> {
        Answer::ready(Ok(self.0.delete_by_handle(user, handle).is_some()))
    }

    fn revoke_user<'a>(&'a self, request: RevokeUser<'a>) -> Answer<'a, CutOff> {
        Answer::ready(Ok(self.0.revoke_user(request)))
    }

    fn revoke_everyone(&self, now: Timestamp) -> Answer<'_, CutOff> {
        Answer::ready(Ok(self.0.revoke_everyone(now)))
    }

    fn cut_offs(&self) -> Answer<'_, u64> {
        Answer::ready(Ok(self.0.cut_offs.newest()))
    }

    /// Scans all rows, a thousandth at a time, and yields in between.
    fn purge(&self, now: Timestamp, limit: usize) -> Answer<'_, usize> {
        Answer::later(async move {
            let step = |sessions: MutexGuard<'_, Sessions>, most| self.0.purge(sessions, now, most);
            Ok(self.0.sessions.sweep(limit, step).await)
        })
    }
}

impl Inner {
    fn create(&self, request: CreateSession) -> Created {
        let CreateSession { key, mut record, limit, began, now } = request;
        record.version = 1;
        let Some(user) = record.user().map(Box::<str>::from) else {
            let overflow = {
                let mut sessions = self.sessions.lock(&key);
                if sessions.contains_key(&key) {
                    return Created::KeyTaken;
                }
                self.insert_anonymous(&mut sessions, key, record)
            };
            self.end_overflow(overflow);
            return Created::Done { evicted: Vec::new() };
        };
        let mut users = self.users.lock(&*user);
        if self.is_cut_off(&user, began) {
            return Created::CutOff;
        }
        let Some(oldest) = self.room(&users, &user, limit, None, now) else {
            return Created::LimitReached;
        };
        {
            let mut sessions = self.sessions.lock(&key);
            if sessions.contains_key(&key) {
                return Created::KeyTaken;
            }
            self.insert(&mut sessions, &mut users, &user, key, record);
        }
        Created::Done { evicted: self.evict(&mut users, &user, oldest) }
    }

    fn load(&self, key: &SessionKey, now: Timestamp) -> Option<Loaded> {
        let sessions = self.sessions.lock(key);
        match sessions.get(key)? {
            row @ Row::Session { .. } => {
                let record = Arc::clone(row.living(now)?);
                Some(Loaded { record, successor: None })
            }
            Row::Moved(_) => {
                drop(sessions);
                let (successor, sessions) = self.current(key, Some(now))?;
                let record = Arc::clone(sessions.get(&successor)?.living(now)?);
                Some(Loaded { record, successor: (successor != *key).then_some(successor) })
            }
        }
    }

    fn update(&self, request: UpdateSession) -> Cas {
        let UpdateSession { key, expected, data, now } = request;
        let mut sessions = self.sessions.lock(&key);
        if let Err(refused) = expect(&sessions, &key, expected, now) {
            return refused;
        }
        let Some(record) = sessions.get_mut(&key).and_then(|row| row.living_mut(now)) else {
            return Cas::Gone;
        };
        let record = Arc::make_mut(record);
        record.data = data;
        record.version = expected.saturating_add(1);
        let version = record.version;
        let overflow = self.anonymous.put(key, record);
        drop(sessions);
        self.end_overflow(overflow);
        Cas::Done { version, evicted: Vec::new() }
    }

    fn touch(&self, request: TouchSession) -> Option<()> {
        let TouchSession { key, idle_deadline, now } = request;
        let (key, mut sessions) = self.current(&key, Some(now))?;
        let record = sessions.get_mut(&key)?.living_mut(now)?;
        if idle_deadline > record.idle_deadline || now > record.last_seen {
            let record = Arc::make_mut(record);
            record.idle_deadline = record.idle_deadline.max(idle_deadline);
            record.last_seen = record.last_seen.max(now);
        }
        Some(())
    }

    fn rotate(&self, request: RotateSession) -> Cas {
        let RotateSession { old, new, expected, mut record, grace, limit, began, now } = request;
        // Users are locked before sessions, but only the session states its user, so it is read
        // twice.
        let before = match expect(&self.sessions.lock(&old), &old, expected, now) {
            Ok(before) => before,
            Err(refused) => return refused,
        };
        let to = record.user().map(Box::<str>::from);
        let mut users = match (before.user(), to.as_deref()) {
            (Some(from), Some(to)) => Some(self.users.lock_two(from, to)),
            (Some(user), None) | (None, Some(user)) => Some(self.users.lock_two(user, user)),
            (None, None) => None,
        };
        if to.as_deref().is_some_and(|to| self.is_cut_off(to, began)) {
            return Cas::CutOff;
        }
        let mut oldest = Vec::new();
        if let (Some(users), Some(to)) = (&mut users, &to) {
            match self.room(users.b(), to, limit, Some(&old), now) {
                Some(room) => oldest = room,
                None => return Cas::LimitReached,
            }
        }
        let mut sessions = self.sessions.lock_two(&old, &new);
        match expect(sessions.a(), &old, expected, now) {
            Ok(again) if again.user() == before.user() => {}
            Ok(_) => return Cas::Conflict,
            Err(refused) => return refused,
        }
        if sessions.b().contains_key(&new) {
            return Cas::Conflict;
        }
        match grace.filter(|until| *until > now) {
            Some(until) => sessions.a().insert(old, Row::Moved(Box::new(Moved { to: new, until }))),
            None => sessions.a().remove(&old),
        };
        self.anonymous.remove(old, &before);
        let version = expected.saturating_add(1);
        record.version = version;
        let mut overflow = Vec::new();
        match (&mut users, &to) {
            (Some(users), Some(to)) => self.insert(sessions.b(), users.b(), to, new, record),
            _ => overflow = self.insert_anonymous(sessions.b(), new, record),
        }
        drop(sessions);
        // After the insertion, so that the user's entry is not removed in between.
        if let (Some(users), Some(from)) = (&mut users, before.user()) {
            user::remove(users.a(), from, &old);
        }
        let evicted = match (&mut users, &to) {
            (Some(users), Some(to)) => self.evict(users.b(), to, oldest),
            _ => Vec::new(),
        };
        self.end_overflow(overflow);
        Cas::Done { version, evicted }
    }

    fn delete(&self, key: &SessionKey) -> Option<()> {
        let (key, mut sessions) = self.current(key, None)?;
        let record = self.end(&mut sessions, &key)?;
        drop(sessions);
        if let Some(user) = record.user() {
            user::remove(&mut self.users.lock(user), user, &key);
        }
        Some(())
    }

    fn list(&self, request: ListSessions<'_>) -> Vec<Summary> {
        let ListSessions { user, limit, now } = request;
        let mut records = self.living_of(&self.users.lock(user), user, now);
        records.sort_by_key(|(_, record)| (record.last_seen, record.created, record.handle));
        let latest = records.iter().rev().take(limit);
        latest.map(|(_, record)| Summary::from(&**record)).collect()
    }

    fn delete_by_handle(&self, user: &str, handle: Handle) -> Option<()> {
        let mut users = self.users.lock(user);
        let key = users.get(user)?.key(handle)?;
        self.end(&mut self.sessions.lock(&key), &key)?;
        user::remove(&mut users, user, &key);
        Some(())
    }

    fn lives(&self, user: &str, handle: Handle, now: Timestamp) -> bool {
        let users = self.users.lock(user);
        let Some(key) = users.get(user).and_then(|user| user.key(handle)) else { return false };
        let sessions = self.sessions.lock(&key);
        sessions.get(&key).is_some_and(|row| row.living(now).is_some())
    }

    /// Whether a user whose shard is locked was cut off after the cut-off that a request knew.
    fn is_cut_off(&self, user: &str, began: Option<u64>) -> bool {
        began.is_some_and(|began| began < self.cut_offs.of(user))
    }

    fn revoke_user(&self, request: RevokeUser<'_>) -> CutOff {
        let RevokeUser { user, keep, rights, now } = request;
        let mut users = self.users.lock(user);
        let (before, next) = self.cut_offs.cut(user);
        let cut = |sessions| CutOff::new(sessions, before, next);
        let Some(entry) = users.get_mut(user) else { return cut(0) };
        if let Some(rights) = rights {
            return cut(self.change_rights(entry, rights, next, now));
        }
        let epoch = Arc::clone(&entry.epoch);
        let keep = keep.and_then(|keep| {
            let (keep, mut sessions) = self.current(&keep, Some(now))?;
            let record = sessions.get_mut(&keep)?.living_mut(now)?;
            if record.user() != Some(user) {
                return None;
            }
            Arc::make_mut(record).epoch = next;
            let handle = record.handle;
            // The kept session is locked, so that it is never seen with the old epoch.
            epoch.store(next, Ordering::Release);
            Some((handle, keep))
        });
        epoch.store(next, Ordering::Release);
        let mut dead = match keep {
            Some(keep) => std::mem::replace(&mut entry.sessions, vec![keep]),
            None => std::mem::take(&mut entry.sessions),
        };
        if keep.is_none() {
            users.remove(user);
        }
        drop(users);
        // They are dead already; this frees the memory and keeps the count right.
        dead.retain(|one| Some(*one) != keep);
        let mut ended = 0;
        for (_, key) in dead {
            let mut sessions = self.sessions.lock(&key);
            if let Some(Row::Session { record, epoch: Some(of) }) = sessions.get(&key)
                && Arc::ptr_eq(of, &epoch)
            {
                ended += u64::from(!record.is_expired(now));
                sessions.remove(&key);
            }
        }
        cut(ended)
    }

    /// Gives all live sessions of a user these rights, under the epoch of their cut-off.
    fn change_rights(&self, user: &User, rights: &Identity, epoch: u64, now: Timestamp) -> u64 {
        let mut changed = 0;
        for (_, key) in &user.sessions {
            let mut sessions = self.sessions.lock(key);
            if let Some(record) = sessions.get_mut(key).and_then(|row| row.living_mut(now)) {
                let record = Arc::make_mut(record);
                record.identity = Some(rights.clone());
                record.epoch = epoch;
                // So that no request that read the old rights writes them again.
                record.version = record.version.saturating_add(1);
                changed += 1;
            }
        }
        user.epoch.store(epoch, Ordering::Release);
        changed
    }

    fn revoke_everyone(&self, now: Timestamp) -> CutOff {
        let (before, number) = self.cut_offs.cut_everyone();
        let mut dead = Vec::new();
        self.users.each(|mut users| {
            for (_, user) in users.drain() {
                user.epoch.store(number, Ordering::Release);
                dead.extend(user.sessions.into_iter().map(|(_, key)| key));
            }
        });
        let mut ended = 0;
        for key in dead {
            let mut sessions = self.sessions.lock(&key);
            if let Some(Row::Session { record, epoch: Some(of) }) = sessions.get(&key)
                && record.epoch < of.load(Ordering::Acquire)
            {
                ended += u64::from(!record.is_expired(now));
                sessions.remove(&key);
            }
        }
        CutOff::new(ended, before, number)
    }

    /// Removes up to `limit` dead rows of one shard.
    fn purge(&self, mut sessions: MutexGuard<'_, Sessions>, now: Timestamp, limit: usize) -> usize {
        let mut dead = Vec::new();
        sessions.retain(|key, row| {
            let is_enough = dead.len() >= limit;
            match row {
                Row::Session { .. } if is_enough || row.living(now).is_some() => true,
                Row::Session { record, .. } => {
                    self.anonymous.remove(*key, record);
                    dead.push((*key, Arc::clone(record)));
                    false
                }
                Row::Moved(moved) => moved.until > now,
            }
        });
        // Returns memory after a flood of sessions.
        if sessions.capacity() > 4 * sessions.len() {
            let twice = 2 * sessions.len();
            sessions.shrink_to(twice);
        }
        drop(sessions);
        // One pass per user, who may have many.
        dead.sort_unstable_by(|(a, of_a), (b, of_b)| (of_a.user(), a).cmp(&(of_b.user(), b)));
        for of_user in dead.chunk_by(|(_, a), (_, b)| a.user() == b.user()) {
            if let Some(user) = of_user.first().and_then(|(_, record)| record.user()) {
                let is_dead = |key: &SessionKey| of_user.binary_search_by_key(key, |dead| dead.0);
                let mut users = self.users.lock(user);
                user::retain(&mut users, user, |key| is_dead(key).is_err());
            }
        }
        dead.len()
    }

    /// The key under which a session is stored now, and the locked shard.
    fn current(
        &self,
        key: &SessionKey,
        now: Option<Timestamp>,
    ) -> Option<(SessionKey, MutexGuard<'_, Sessions>)> {
        let mut key = *key;
        // This terminates: a rotation moves to a key without a row, so there is no cycle.
        loop {
            let sessions = self.sessions.lock(&key);
            match sessions.get(&key)? {
                Row::Session { .. } => return Some((key, sessions)),
                Row::Moved(moved) if now.is_none_or(|now| moved.until > now) => key = moved.to,
                Row::Moved(_) => return None,
            }
        }
    }

    /// The live sessions of a user.
    fn living_of(
        &self,
        users: &Users,
        user: &str,
        now: Timestamp,
    ) -> Vec<(SessionKey, Arc<Record>)> {
        let living = |(_, key): &(Handle, SessionKey)| {
            let sessions = self.sessions.lock(key);
            let record = sessions.get(key)?.living(now)?;
            Some((*key, Arc::clone(record)))
        };
        users
            .get(user)
            .map(|user| user.sessions.iter().filter_map(living).collect())
            .unwrap_or_default()
    }

    /// The sessions that must end so that the user can have one more besides `but`; `None` if that
    /// is refused.
    fn room(
        &self,
        users: &Users,
        user: &str,
        limit: Option<Limit>,
        but: Option<&SessionKey>,
        now: Timestamp,
    ) -> Option<Vec<SessionKey>> {
        let Some(limit) = limit else { return Some(Vec::new()) };
        let most = limit.sessions as usize;
        // With the replaced one and dead ones.
        if users.get(user).is_none_or(|user| user.sessions.len() < most) {
            return Some(Vec::new());
        }
        let mut sessions = self.living_of(users, user, now);
        sessions.retain(|(key, _)| Some(key) != but);
        if sessions.len() < most {
            return Some(Vec::new());
        }
        match limit.policy {
            LimitPolicy::Deny => None,
            LimitPolicy::EvictOldest => {
                sessions.sort_by_key(|(_, record)| (record.created, record.handle));
                let excess = sessions.len() + 1 - most.max(1);
                Some(sessions.into_iter().take(excess).map(|(key, _)| key).collect())
            }
        }
    }

    /// Ends sessions of a user, and returns the handles of those that had not ended meanwhile.
    fn evict(&self, users: &mut Users, user: &str, keys: Vec<SessionKey>) -> Vec<Handle> {
        let mut evicted = Vec::new();
        for key in keys {
            if let Some(record) = self.end(&mut self.sessions.lock(&key), &key) {
                user::remove(users, user, &key);
                evicted.push(record.handle);
            }
        }
        evicted
    }

    /// Inserts a session of a user whose shard is locked, so that the epoch cannot change
    /// meanwhile.
    fn insert(
        &self,
        sessions: &mut Sessions,
        users: &mut Users,
        user: &str,
        key: SessionKey,
        mut record: Record,
    ) {
        let epoch = match users.get(user) {
            Some(user) => Arc::clone(&user.epoch),
            None => Arc::new(AtomicU64::new(self.cut_offs.of(user))),
        };
        record.epoch = epoch.load(Ordering::Relaxed);
        let handle = record.handle;
        let record = Arc::new(record);
        sessions.insert(key, Row::Session { record, epoch: Some(Arc::clone(&epoch)) });
        user::add(users, user, epoch, (handle, key));
    }

    /// Inserts an anonymous session. Returns those that must end to make room.
    fn insert_anonymous(
        &self,
        sessions: &mut Sessions,
        key: SessionKey,
        mut record: Record,
    ) -> Vec<SessionKey> {
        record.epoch = 0;
        let record = Arc::new(record);
        let overflow = self.anonymous.put(key, &record);
        sessions.insert(key, Row::Session { record, epoch: None });
        overflow
    }

    /// Ends anonymous sessions for which there is no room.
    fn end_overflow(&self, keys: Vec<SessionKey>) {
        for key in keys {
            self.end(&mut self.sessions.lock(&key), &key);
        }
    }

    /// Ends a session that no revocation has ended yet. The user's list keeps the key for now.
    fn end(&self, sessions: &mut Sessions, key: &SessionKey) -> Option<Arc<Record>> {
        if !sessions.get(key)?.is_current() {
            return None;
        }
        match sessions.remove(key)? {
            Row::Session { record, .. } => {
                self.anonymous.remove(*key, &record);
                Some(record)
            }
            Row::Moved(_) => None,
        }
    }
}

/// The record of a live session with this version, or the result to return.
fn expect(
    sessions: &Sessions,
    key: &SessionKey,
    expected: u64,
    now: Timestamp,
) -> Result<Arc<Record>, Cas> {
    match sessions.get(key) {
        // The session now has another key, which loading it again returns.
        Some(Row::Moved(moved)) if moved.until > now => Err(Cas::Conflict),
        Some(row) => match row.living(now) {
            Some(record) if record.version == expected => Ok(Arc::clone(record)),
            Some(_) => Err(Cas::Conflict),
            None => Err(Cas::Gone),
        },
        None => Err(Cas::Gone),
    }
}

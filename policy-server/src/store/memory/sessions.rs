//! The session tables.

use std::sync::{Arc, MutexGuard};

use policy_core::{
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};

use super::{
    Inner, MemoryStore, first,
    row::{MovedSession, Row, Sessions, expect},
    user,
};
use crate::store::{
    Cas, CreateSession, CutOff, ListSessions, Loaded, News, NewsReader, RevokeUser, RotateSession,
    SessionCreated, SessionStore, StoreFuture, Summary, TouchSession, UpdateSession,
};

impl SessionStore for MemoryStore {
    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        StoreFuture::ready(Ok(first(&self.0.session_secret, fresh)))
    }

    fn create(&self, request: CreateSession) -> StoreFuture<'_, SessionCreated> {
        let created = self.0.create(request);
        if let SessionCreated::Done { evicted } = &created {
            self.0.tell_of(evicted);
        }
        StoreFuture::ready(Ok(created))
    }

    fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> StoreFuture<'a, Option<Loaded>> {
        StoreFuture::ready(Ok(self.0.load(key, now)))
    }

    fn update(&self, request: UpdateSession) -> StoreFuture<'_, Cas> {
        StoreFuture::ready(Ok(self.0.update(request)))
    }

    fn touch(&self, request: TouchSession) -> StoreFuture<'_, bool> {
        StoreFuture::ready(Ok(self.0.touch(request).is_some()))
    }

    fn rotate(&self, request: RotateSession) -> StoreFuture<'_, Cas> {
        let ends = request.ends;
        let rotated = self.0.rotate(request);
        if let Cas::Done { evicted, .. } = &rotated {
            self.0.tell_of(evicted);
            self.0.tell_of(ends.as_slice());
        }
        StoreFuture::ready(Ok(rotated))
    }

    fn delete<'a>(&'a self, key: &'a SessionKey) -> StoreFuture<'a, bool> {
        let deleted = self.0.delete(key);
        self.0.tell_of(deleted.as_slice());
        StoreFuture::ready(Ok(deleted.is_some()))
    }

    fn list<'a>(&'a self, request: ListSessions<'a>) -> StoreFuture<'a, Vec<Summary>> {
        StoreFuture::ready(Ok(self.0.list(request)))
    }

    fn identity<'a>(
        &'a self,
        user: &'a str,
        handle: Handle,
        now: Timestamp,
    ) -> StoreFuture<'a, Option<Identity>> {
        StoreFuture::ready(Ok(self.0.identity(user, handle, now)))
    }

    fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> StoreFuture<'a, bool> {
        let deleted = self.0.delete_by_handle(user, handle);
        self.0.tell_of(deleted.as_slice());
        StoreFuture::ready(Ok(deleted.is_some()))
    }

    fn revoke_user<'a>(&'a self, request: RevokeUser<'a>) -> StoreFuture<'a, CutOff> {
        let (cut, keep) = self.0.revoke_user(request);
        self.0.news.tell(News::SessionsOf { user: request.user.into(), keep });
        StoreFuture::ready(Ok(cut))
    }

    fn revoke_everyone(&self, now: Timestamp) -> StoreFuture<'_, CutOff> {
        let cut = self.0.revoke_everyone(now);
        self.0.news.tell(News::AllSessions);
        StoreFuture::ready(Ok(cut))
    }

    fn cut_offs(&self) -> StoreFuture<'_, u64> {
        StoreFuture::ready(Ok(self.0.cut_offs.newest()))
    }

    fn count(&self, now: Timestamp) -> StoreFuture<'_, Option<u64>> {
        let mut count = 0;
        self.0.sessions.each(|sessions| {
            count += sessions.values().filter(|row| row.living(now).is_some()).count() as u64;
        });
        StoreFuture::ready(Ok(Some(count)))
    }

    fn news(&self) -> Option<NewsReader> {
        Some(self.0.news.reader())
    }

    /// Scans all rows, a thousandth at a time, and yields in between.
    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize> {
        StoreFuture::new(async move {
            let step = |sessions: MutexGuard<'_, Sessions>, most| self.0.purge(sessions, now, most);
            Ok(self.0.sessions.sweep(limit, step).await)
        })
    }
}

impl Inner {
    fn tell_of(&self, ended: &[Handle]) {
        ended.iter().for_each(|handle| self.news.tell(News::Session(*handle)));
    }

    fn create(&self, request: CreateSession) -> SessionCreated {
        let CreateSession { key, mut record, limit, began, now } = request;
        record.version = 1;
        let Some(user) = record.user().map(Box::<str>::from) else {
            let overflow = {
                let mut sessions = self.sessions.lock(&key);
                if sessions.contains_key(&key) {
                    return SessionCreated::KeyTaken;
                }
                self.insert_anonymous(&mut sessions, key, record)
            };
            self.end_overflow(overflow);
            return SessionCreated::Done { evicted: Vec::new() };
        };
        let mut users = self.users.lock(&*user);
        if self.is_cut_off(&user, began) {
            return SessionCreated::CutOff;
        }
        let Some(oldest) = self.room(&users, &user, limit, None, now) else {
            return SessionCreated::LimitReached;
        };
        {
            let mut sessions = self.sessions.lock(&key);
            if sessions.contains_key(&key) {
                return SessionCreated::KeyTaken;
            }
            self.insert(&mut sessions, &mut users, &user, key, record);
        }
        SessionCreated::Done { evicted: self.evict(&mut users, &user, oldest) }
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
        let RotateSession { old, new, expected, mut record, grace, limit, began, now, .. } =
            request;
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
            Some(until) => {
                sessions.a().insert(old, Row::Moved(Box::new(MovedSession { to: new, until })))
            }
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

    fn delete(&self, key: &SessionKey) -> Option<Handle> {
        let (key, mut sessions) = self.current(key, None)?;
        let record = self.end(&mut sessions, &key)?;
        drop(sessions);
        if let Some(user) = record.user() {
            user::remove(&mut self.users.lock(user), user, &key);
        }
        Some(record.handle)
    }

    fn list(&self, request: ListSessions<'_>) -> Vec<Summary> {
        let ListSessions { user, limit, now } = request;
        let mut records = self.living_of(&self.users.lock(user), user, now);
        records.sort_by_key(|(_, record)| (record.last_seen, record.created, record.handle));
        let latest = records.iter().rev().take(limit);
        latest.map(|(_, record)| Summary::from(&**record)).collect()
    }

    fn delete_by_handle(&self, user: &str, handle: Handle) -> Option<Handle> {
        let mut users = self.users.lock(user);
        let keys: Vec<_> = users.get(user)?.keys(handle).collect();
        let mut ended = false;
        for key in keys {
            ended |= self.end(&mut self.sessions.lock(&key), &key).is_some();
            user::remove(&mut users, user, &key);
        }
        ended.then_some(handle)
    }

    fn identity(&self, user: &str, handle: Handle, now: Timestamp) -> Option<Identity> {
        let users = self.users.lock(user);
        let mut keys = users.get(user)?.keys(handle);
        keys.find_map(|key| {
            let sessions = self.sessions.lock(&key);
            sessions.get(&key)?.living(now)?.identity.clone()
        })
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
    pub(super) fn current(
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
    pub(super) fn end(&self, sessions: &mut Sessions, key: &SessionKey) -> Option<Arc<Record>> {
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

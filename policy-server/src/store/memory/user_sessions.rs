//! The sessions of a user: how many there may be, and which must end for another one.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use policy_core::{
    session::{Handle, Record, SessionKey},
    time::Timestamp,
};

use super::{
    Inner,
    row::{Row, Sessions},
    user::{self, Users},
};
use crate::store::{Limit, LimitPolicy};

impl Inner {
    /// The live sessions of a user.
    pub(super) fn living_of(
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
    pub(super) fn room(
        &self,
        users: &Users,
        user: &str,
        limit: Option<Limit>,
        but: Option<&SessionKey>,
        now: Timestamp,
    ) -> Option<Vec<SessionKey>> {
        let Some(limit) = limit else { return Some(Vec::new()) };
        let most = limit.sessions as usize;
        // This includes the replaced one and dead ones.
        if users.get(user).map_or(0, |user| user.sessions.len()) < most {
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
    pub(super) fn evict(
        &self,
        users: &mut Users,
        user: &str,
        keys: Vec<SessionKey>,
    ) -> Vec<Handle> {
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
    pub(super) fn insert(
        &self,
        sessions: &mut Sessions,
        users: &mut Users,
        user: &str,
        key: SessionKey,
        mut record: Record,
    ) {
        let epoch = match users.get(user) {
            Some(user) => Arc::clone(&user.epoch),
            None => Arc::new(AtomicU64::new(self.cut_offs.epoch(user))),
        };
        record.epoch = epoch.load(Ordering::Relaxed);
        let handle = record.handle;
        let record = Arc::new(record);
        sessions.insert(key, Row::Session { record, epoch: Some(Arc::clone(&epoch)) });
        user::add(users, user, epoch, (handle, key));
    }
}

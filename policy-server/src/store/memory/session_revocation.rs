//! Ends the sessions of one user or of everyone at once, or gives them other rights.

use std::sync::{Arc, atomic::Ordering};

use policy_core::{
    session::{Handle, Identity},
    time::Timestamp,
};

use super::{Inner, row::Row, user::User};
use crate::store::{CutOff, RevokeUser};

impl Inner {
    /// Whether a user whose shard is locked was cut off after the cut-off that a request knew, or
    /// the request knew a cut-off that does not exist.
    pub(super) fn is_cut_off(&self, user: &str, began: Option<u64>) -> bool {
        let cut_offs = &self.cut_offs;
        began.is_some_and(|began| began < cut_offs.epoch(user) || began > cut_offs.newest())
    }

    /// Returns the handle of the kept session as well.
    pub(super) fn revoke_user(&self, request: RevokeUser<'_>) -> (CutOff, Option<Handle>) {
        let RevokeUser { user, keep, rights, now } = request;
        let mut users = self.users.lock(user);
        let (before, next) = self.cut_offs.cut(user);
        let cut = |sessions| CutOff::new(sessions, before, next);
        let Some(entry) = users.get_mut(user) else { return (cut(0), None) };
        if let Some(rights) = rights {
            return (cut(self.change_rights(entry, rights, next, now)), None);
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
        (cut(ended), keep.map(|(handle, _)| handle))
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
                // This keeps requests that read the old rights from writing them again.
                record.version = record.version.saturating_add(1);
                changed += 1;
            }
        }
        user.epoch.store(epoch, Ordering::Release);
        changed
    }

    pub(super) fn revoke_everyone(&self, now: Timestamp) -> CutOff {
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
}

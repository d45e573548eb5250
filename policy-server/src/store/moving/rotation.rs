//! Moves a session from the other store to the first, with a new key.
//!
//! 1. The session is created in the first store under the new key, which is secret. The store compares the
//!    cut-offs of the user with the one that the request knew when it began.
//! 2. In the other store the old key is replaced by a random one, if the session is still live and has the
//!    version that the request saw. This decides: an earlier logout, cut-off, change of values or other move
//!    refuses it, and a later one finds the session in the first store or not at all, as after any change of
//!    an id.
//! 3. If step 2 was refused, step 1 is undone. A crash in between leaves a session whose key is unknown, with
//!    the handle of the one that continues, until it expires.

use std::{collections::HashSet, sync::Mutex};

use policy_core::{
    session::{Handle, Record, SessionKey},
    time::Timestamp,
};

use super::{Cas, CreateSession, Moving, RotateSession, SessionCreated, SessionStore, StoreError};
use crate::{base::locks::lock, store::LimitPolicy};

impl Moving {
    /// Gives a session a new key.
    pub(super) async fn replace(&self, mut request: RotateSession) -> Result<Cas, StoreError> {
        let (limit, now, own) = (request.limit, request.now, request.record.handle);
        request.began = self.began(request.began);
        let user = request.record.user().map(Box::<str>::from);
        if let Some(user) = &user {
            request.limit = self.limit_of_first(user, own, limit, now).await?;
        }
        let mut done = match self.first.rotate(request.clone()).await? {
            Cas::Gone => self.replace_in_other(request).await?,
            done => done,
        };
        if let (Cas::Done { evicted, .. }, Some(user)) = (&mut done, &user) {
            evicted.extend(self.make_room(user, own, limit, now).await?);
        }
        Ok(done)
    }

    /// A renewal stays in its store, since the old key has to lead to the new one for a while. A
    /// grant of rights moves, since the first store has the numbers of the cut-offs that requests
    /// know.
    async fn replace_in_other(&self, request: RotateSession) -> Result<Cas, StoreError> {
        if request.grace.is_some_and(|until| until > request.now) && request.began.is_none() {
            return self.other.rotate(request).await;
        }
        let RotateSession { old, new, expected, record, ends, limit, began, now, .. } = request;
        // A store of one process has no two sessions with one handle.
        let Some(_under_way) = self.begin_move(old) else { return Ok(Cas::Conflict) };
        let before = match self.other.load(&old, now).await? {
            None => return Ok(Cas::Gone),
            Some(loaded) if loaded.successor.is_some() => return Ok(Cas::Conflict),
            Some(loaded) if loaded.record.version != expected => return Ok(Cas::Conflict),
            Some(loaded) => loaded.record,
        };
        // A limit that ends the oldest session applies after the move.
        let limit = limit.filter(|limit| limit.policy == LimitPolicy::Deny);
        let create = CreateSession::new(new, record.clone(), now).limit(limit).began(began);
        match self.first.create(create).await? {
            SessionCreated::Done { .. } => {}
            SessionCreated::KeyTaken => return Ok(Cas::Conflict),
            SessionCreated::CutOff => return Ok(Cas::CutOff),
            SessionCreated::LimitReached => return Ok(Cas::LimitReached),
        }
        match self.retire(&*self.other, old, &before, ends, now).await {
            Ok(Cas::Done { .. }) => Ok(Cas::Done { version: 1, evicted: Vec::new() }),
            refused => {
                // If this fails, the session remains until it expires, and its key is unknown.
                let _ = self.undo(new, Record { version: 1, ..record }, now).await;
                refused
            }
        }
    }

    fn begin_move(&self, key: SessionKey) -> Option<UnderWay<'_>> {
        let mut under_way = lock(&self.under_way);
        under_way.insert(key).then(|| UnderWay { keys: &self.under_way, key })
    }

    /// Ends a session that did not move.
    async fn undo(&self, new: SessionKey, begun: Record, now: Timestamp) -> Result<(), StoreError> {
        match self.retire(&*self.first, new, &begun, None, now).await? {
            Cas::Done { .. } => Ok(()),
            // A change of the rights of its user gave it another version, and ended its streams.
            _ => self.first.delete(&new).await.map(drop),
        }
    }

    /// Removes a session of this version. There is news only of one that `ends`, since others continue
    /// elsewhere: the key is replaced by one of an expired session with another handle.
    async fn retire(
        &self,
        store: &dyn SessionStore,
        key: SessionKey,
        record: &Record,
        ends: Option<Handle>,
        now: Timestamp,
    ) -> Result<Cas, StoreError> {
        let unknown = SessionKey(self.random.draw().map_err(StoreError::new)?);
        let expired = Record {
            handle: Handle(self.random.draw().map_err(StoreError::new)?),
            idle_deadline: now,
            absolute_deadline: now,
            data: Box::default(),
            ..record.clone()
        };
        let retired = RotateSession::new(key, unknown, record.version, expired, now).ends(ends);
        let retired = store.rotate(retired).await?;
        if let Cas::Done { .. } = retired {
            // A purge would remove it as well.
            let _ = store.delete(&unknown).await;
        }
        Ok(retired)
    }
}

/// A key whose session moves, until this is dropped.
struct UnderWay<'a> {
    keys: &'a Mutex<HashSet<SessionKey>>,
    key: SessionKey,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        lock(self.keys).remove(&self.key);
    }
}

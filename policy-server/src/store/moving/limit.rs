//! How many sessions a user may have in both stores together.

use policy_core::{session::Handle, time::Timestamp};

use super::{CreateSession, ListSessions, Moving, SessionCreated, StoreError};
use crate::store::{Limit, LimitPolicy};

impl Moving {
    /// Begins a session.
    pub(super) async fn begin(
        &self,
        mut request: CreateSession,
    ) -> Result<SessionCreated, StoreError> {
        let (limit, now) = (request.limit, request.now);
        request.began = self.began(request.began);
        let of = request.record.user().map(|user| (Box::<str>::from(user), request.record.handle));
        let Some((user, own)) = of else { return self.first.create(request).await };
        request.limit = self.limit_of_first(&user, own, limit, now).await?;
        let mut created = self.first.create(request).await?;
        if let SessionCreated::Done { evicted } = &mut created {
            evicted.extend(self.make_room(&user, own, limit, now).await?);
        }
        Ok(created)
    }

    /// What a refusing limit leaves for the first store. Sessions of users only leave the other
    /// store, so no more are live there when the first one decides. A session that moves meanwhile
    /// is counted in both: for a moment this refuses too much, and never too little.
    pub(super) async fn limit_of_first(
        &self,
        user: &str,
        own: Handle,
        limit: Option<Limit>,
        now: Timestamp,
    ) -> Result<Option<Limit>, StoreError> {
        let Some(Limit { sessions, policy: LimitPolicy::Deny }) = limit else { return Ok(limit) };
        let others = self.other.list(ListSessions::new(user, usize::MAX, now)).await?;
        let others = others.iter().filter(|one| one.handle != own).count();
        let left = sessions.saturating_sub(u32::try_from(others).unwrap_or(u32::MAX));
        Ok(Some(Limit::new(left, LimitPolicy::Deny)))
    }

    /// Ends the oldest sessions of a user in both stores, except `own`, if a limit says so.
    /// Instances that do this at the same moment end the same ones.
    pub(super) async fn make_room(
        &self,
        user: &str,
        own: Handle,
        limit: Option<Limit>,
        now: Timestamp,
    ) -> Result<Vec<Handle>, StoreError> {
        let Some(Limit { sessions, policy: LimitPolicy::EvictOldest }) = limit else {
            return Ok(Vec::new());
        };
        let mut all = self.all_of(user, now).await?;
        let excess = all.len().saturating_sub(sessions.max(1) as usize);
        all.retain(|one| one.handle != own);
        all.sort_by_key(|one| (one.created, one.handle));
        let mut evicted = Vec::new();
        for one in all.iter().take(excess) {
            if self.end(user, one.handle).await? {
                evicted.push(one.handle);
            }
        }
        Ok(evicted)
    }
}

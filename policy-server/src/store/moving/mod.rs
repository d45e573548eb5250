//! Sessions in two stores, while an app moves from one to the other.

mod limit;
mod rotation;
#[cfg(test)]
mod tests;

use std::{
    collections::HashSet,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use policy_core::{
    session::{Handle, Identity, SessionKey},
    time::Timestamp,
};

use super::{
    Cas, CreateSession, CutOff, ERA, ListSessions, Loaded, NewsReader, RevokeUser, RotateSession,
    SessionCreated, SessionStore, StoreError, StoreFuture, Summary, TouchSession, UpdateSession,
    era,
};
use crate::base::{clock::Random, event::log};

/// The error of loads from the other store until the caller knows of its new era.
const UNREPORTED: &str = "the store that the app moves from or to has lost writes";

/// Two stores as one.
///
/// INVARIANT: a key never changes its store. Two stores have no common transaction, so a session that
/// changed its store under one key could come back: it would be copied at one instance while it ends at
/// another. A session begins in the first store, and stays where it is for as long as it keeps its key.
/// It moves to the first store with a new key, which is unknown to all others until the old one has ended
/// (see `rotation`).
///
/// A call that ends several sessions calls the other store before the first one, since sessions move in that
/// direction: one that moves meanwhile is found in one of them.
pub(crate) struct Moving {
    /// Where sessions begin.
    first: Arc<dyn SessionStore>,
    other: Arc<dyn SessionStore>,
    phase: Phase,
    random: Random,
    /// The keys of sessions that move in this process.
    under_way: Mutex<HashSet<SessionKey>>,
    /// The number of sessions in the old store that was last logged.
    logged: AtomicU64,
    /// The era of the other store, which is added to that of the first.
    era_of_other: AtomicU64,
    /// The era of the other store that was returned to the caller. Until then the other store may load
    /// sessions whose end it has lost.
    reported_era: AtomicU64,
}

/// The phase of the move, since instances do not all start a release at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Sessions begin in the old store. Those that other instances begin in the new one are loaded.
    To,
    /// Sessions begin in the new store.
    From,
}

impl Moving {
    pub(crate) fn new(
        first: Arc<dyn SessionStore>,
        other: Arc<dyn SessionStore>,
        phase: Phase,
        random: Random,
    ) -> Self {
        let (under_way, logged) = (Mutex::default(), AtomicU64::new(u64::MAX));
        let (era_of_other, reported_era) = Default::default();
        Self { first, other, phase, random, under_way, logged, era_of_other, reported_era }
    }

    /// The offset of the numbers of the first store: a new era of either store is a new era of both.
    fn lost_by_other(&self) -> u64 {
        self.era_of_other.load(Ordering::Acquire) * ERA
    }

    /// The cut-off that a request knows, as a number of the first store. It is too low where the other store
    /// has lost something meanwhile, and the request is refused.
    pub(super) fn began(&self, began: Option<u64>) -> Option<u64> {
        began.map(|began| began.saturating_sub(self.lost_by_other()))
    }

    /// Records an era of the other store.
    fn record_era(&self, number_of_other: u64) {
        self.era_of_other.fetch_max(era(number_of_other), Ordering::AcqRel);
    }

    /// The offset of a number that is returned to the caller, who then knows of the era.
    fn report_era(&self) -> u64 {
        let era = self.era_of_other.load(Ordering::Acquire);
        self.reported_era.fetch_max(era, Ordering::AcqRel);
        era * ERA
    }

    /// A cut-off of both stores.
    async fn cut(
        &self,
        of_other: StoreFuture<'_, CutOff>,
        of_first: impl Future<Output = Result<CutOff, StoreError>>,
    ) -> Result<CutOff, StoreError> {
        let of_other = of_other.await.inspect(|cut| self.record_era(cut.number));
        let of_first = of_first.await?;
        let (of_other, lost) = (of_other?, self.report_era());
        let sessions = of_other.sessions + of_first.sessions;
        Ok(CutOff::new(sessions, of_first.before + lost, of_first.number + lost))
    }

    /// The secret of the old store, which becomes that of the new one.
    async fn shared_secret(&self, fresh: [u8; 32]) -> Result<[u8; 32], StoreError> {
        let (old, new) = match self.phase {
            Phase::To => (&self.first, &self.other),
            Phase::From => (&self.other, &self.first),
        };
        let secret = old.secret(fresh).await?;
        if new.secret(secret).await? == secret {
            return Ok(secret);
        }
        Err(StoreError::new(
            "the store that the app moves to was used before, and has a secret of its own, with which \
             the sessions of the old store would not be valid: empty it, or name another database, \
             `schema=` or `prefix=` in its URL",
        ))
    }

    /// The live sessions of a user in both stores, each once, in no order. Instances that begin
    /// sessions in different stores move them in either direction. A session may move to the other
    /// store after the first query, so that store is queried again.
    async fn all_of(&self, user: &str, now: Timestamp) -> Result<Vec<Summary>, StoreError> {
        let request = ListSessions::new(user, usize::MAX, now);
        let mut of_other = self.other.list(request).await?;
        let mut all = self.first.list(request).await?;
        of_other.extend(self.other.list(request).await?);
        // A session that moves is in both stores for a moment.
        let mut seen: HashSet<_> = all.iter().map(|one| one.handle).collect();
        all.extend(of_other.into_iter().filter(|one| seen.insert(one.handle)));
        Ok(all)
    }

    /// Ends one session of a user, which may have moved to the other store after the first call.
    async fn end(&self, user: &str, handle: Handle) -> Result<bool, StoreError> {
        let was_live = self.other.delete_by_handle(user, handle).await?
            | self.first.delete_by_handle(user, handle).await?;
        Ok(was_live || self.other.delete_by_handle(user, handle).await?)
    }

    /// Logs how many sessions the old store still has, each time the number has halved.
    async fn log_rest(&self, now: Timestamp) {
        if self.phase == Phase::To {
            return;
        }
        let Ok(Some(left)) = self.other.count(now).await else { return };
        let before = self.logged.load(Ordering::Relaxed);
        if before == u64::MAX || left <= before / 2 && left < before {
            self.logged.store(left, Ordering::Relaxed);
            if left == 0 {
                log!(StoreMoved);
            } else {
                log!(StoreMoving, left);
            }
        }
    }
}

impl SessionStore for Moving {
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::new(async move {
            self.first.open().await?;
            let opened = self.other.open().await;
            opened.map_err(|error| {
                let side = if self.phase == Phase::From { "from" } else { "to" };
                StoreError::new(format!("the store that the app moves {side}: {error}"))
            })
        })
    }

    fn secret(&self, fresh: [u8; 32]) -> StoreFuture<'_, [u8; 32]> {
        StoreFuture::new(self.shared_secret(fresh))
    }

    fn create(&self, request: CreateSession) -> StoreFuture<'_, SessionCreated> {
        StoreFuture::new(self.begin(request))
    }

    fn load<'a>(&'a self, key: &'a SessionKey, now: Timestamp) -> StoreFuture<'a, Option<Loaded>> {
        StoreFuture::new(async move {
            if let Some(loaded) = self.first.load(key, now).await? {
                return Ok(Some(loaded));
            }
            let mut loaded = self.other.load(key, now).await?;
            if self.reported_era.load(Ordering::Acquire) < self.era_of_other.load(Ordering::Acquire)
            {
                return Err(StoreError::new(UNREPORTED));
            }
            if let Some(loaded) = &mut loaded {
                // An epoch of the other store means nothing to the first one.
                Arc::make_mut(&mut loaded.record).epoch = 0;
            }
            Ok(loaded)
        })
    }

    fn update(&self, request: UpdateSession) -> StoreFuture<'_, Cas> {
        StoreFuture::new(async move {
            match self.first.update(request.clone()).await? {
                Cas::Gone => self.other.update(request).await,
                done => Ok(done),
            }
        })
    }

    fn touch(&self, request: TouchSession) -> StoreFuture<'_, bool> {
        StoreFuture::new(async move {
            Ok(self.first.touch(request).await? || self.other.touch(request).await?)
        })
    }

    fn rotate(&self, request: RotateSession) -> StoreFuture<'_, Cas> {
        StoreFuture::new(self.replace(request))
    }

    fn delete<'a>(&'a self, key: &'a SessionKey) -> StoreFuture<'a, bool> {
        StoreFuture::new(async move {
            Ok(self.first.delete(key).await? || self.other.delete(key).await?)
        })
    }

    fn list<'a>(&'a self, request: ListSessions<'a>) -> StoreFuture<'a, Vec<Summary>> {
        StoreFuture::new(async move {
            let mut all = self.all_of(request.user, request.now).await?;
            all.sort_by_key(|one| std::cmp::Reverse((one.last_seen, one.created, one.handle)));
            all.truncate(request.limit);
            Ok(all)
        })
    }

    fn identity<'a>(
        &'a self,
        user: &'a str,
        handle: Handle,
        now: Timestamp,
    ) -> StoreFuture<'a, Option<Identity>> {
        StoreFuture::new(async move {
            // The last call finds a session that moved after the first.
            for store in [&self.first, &self.other, &self.first] {
                if let Some(identity) = store.identity(user, handle, now).await? {
                    return Ok(Some(identity));
                }
            }
            Ok(None)
        })
    }

    fn delete_by_handle<'a>(&'a self, user: &'a str, handle: Handle) -> StoreFuture<'a, bool> {
        StoreFuture::new(self.end(user, handle))
    }

    fn revoke_user<'a>(&'a self, request: RevokeUser<'a>) -> StoreFuture<'a, CutOff> {
        let of_other = self.other.revoke_user(request);
        StoreFuture::new(self.cut(of_other, async move { self.first.revoke_user(request).await }))
    }

    fn revoke_everyone(&self, now: Timestamp) -> StoreFuture<'_, CutOff> {
        let of_other = self.other.revoke_everyone(now);
        StoreFuture::new(self.cut(of_other, async move { self.first.revoke_everyone(now).await }))
    }

    /// The numbers of the first store, since rights are granted there. An era of the other store is added:
    /// sessions may come back where it has lost their end.
    fn cut_offs(&self) -> StoreFuture<'_, u64> {
        StoreFuture::new(async move {
            self.record_era(self.other.cut_offs().await?);
            Ok(self.first.cut_offs().await? + self.report_era())
        })
    }

    /// The later of both times, so that instances of both phases use the same clock.
    fn time(&self) -> StoreFuture<'_, Option<Timestamp>> {
        StoreFuture::new(async move { Ok(self.other.time().await?.max(self.first.time().await?)) })
    }

    fn purge(&self, now: Timestamp, limit: usize) -> StoreFuture<'_, usize> {
        StoreFuture::new(async move {
            let purged = self.other.purge(now, limit).await?;
            if purged >= limit {
                return Ok(purged);
            }
            self.log_rest(now).await;
            Ok(purged + self.first.purge(now, limit - purged).await?)
        })
    }

    fn count(&self, now: Timestamp) -> StoreFuture<'_, Option<u64>> {
        StoreFuture::new(async move {
            let of_other = self.other.count(now).await?;
            let of_first = self.first.count(now).await?;
            Ok(of_other.zip(of_first).map(|(other, first)| other + first))
        })
    }

    fn news(&self) -> Option<NewsReader> {
        match (self.first.news(), self.other.news()) {
            (Some(first), Some(other)) => Some(first.and(other)),
            (first, other) => first.or(other),
        }
    }

    fn is_writable(&self) -> bool {
        self.first.is_writable() && self.other.is_writable()
    }
}

impl fmt::Debug for Moving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Moving")
            .field("first", &self.first)
            .field("other", &self.other)
            .finish_non_exhaustive()
    }
}

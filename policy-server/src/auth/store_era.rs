//! Detects that a store has lost acknowledged writes: its numbers then have another era.

use std::{
    collections::VecDeque,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use policy_core::{
    session::{Handle, SessionKey},
    time::Timestamp,
};

use crate::{
    base::{event::log, locks::lock},
    store::{StoreError, era},
};

/// Before anything was read.
const NOTHING: u64 = u64::MAX;

/// How long, and how many, ended sessions are remembered: longer than a store keeps writes only in
/// memory, and longer than a replica lags behind.
const REMEMBERED_FOR: Duration = Duration::from_secs(3600);
const REMEMBERED: usize = 10_000;

/// Why a process cannot continue with a store that lost its secret.
pub(crate) const OTHER_SECRET: &str =
    "the secret of the store has changed, so this instance has to be restarted";

/// Why a process that is behind accepts no session and no refresh token.
const BEHIND: &str =
    "the store has lost writes, and this instance is repeating the endings that it knows";

/// The newest era that this process has seen, and the newest one that it has read completely.
#[derive(Debug)]
pub(crate) struct StoreEra {
    seen: AtomicU64,
    read: AtomicU64,
    catching_up: tokio::sync::Mutex<()>,
}

impl StoreEra {
    pub(crate) fn new() -> Self {
        let (seen, read) = (AtomicU64::new(0), AtomicU64::new(NOTHING));
        Self { seen, read, catching_up: tokio::sync::Mutex::default() }
    }

    /// Whether the store has lost writes since this process read everything. The process is then
    /// [behind](Self::is_behind) until it [has caught up](Self::catch_up).
    pub(crate) fn is_over(&self, number: u64, store: &str) -> bool {
        let seen = era(number);
        let is_over = self.read.load(Ordering::Acquire) < seen;
        if is_over && self.seen.fetch_max(seen, Ordering::AcqRel) < seen {
            log!(StoreLostWrites, store);
        }
        is_over
    }

    /// Records that everything up to this number was read. If the store has lost writes, `again` reads
    /// everything again and stores what only this process knew. It runs once, however many requests
    /// detect the loss.
    pub(crate) async fn catch_up(
        &self,
        number: u64,
        store: &str,
        again: impl Future<Output = Result<(), StoreError>>,
    ) -> Result<(), StoreError> {
        if self.is_over(number, store) {
            let _alone = self.catching_up.lock().await;
            if self.is_over(number, store) {
                again.await?;
            }
            self.has_caught_up(number);
        }
        Ok(())
    }

    /// Records that everything up to this number is known. Of two concurrent reads, the older one may
    /// end last.
    pub(crate) fn has_caught_up(&self, number: u64) {
        let caught_up =
            |read| Some(if read == NOTHING { era(number) } else { era(number).max(read) });
        let _ = self.read.fetch_update(Ordering::AcqRel, Ordering::Acquire, caught_up);
    }

    /// Whether the store has lost writes, and this process has not yet read everything again.
    pub(crate) fn is_behind(&self) -> bool {
        self.check().is_err()
    }

    /// Refuses credentials while this process is behind, since the store may have lost their end.
    /// Returns the era for [`is_still`](Self::is_still).
    pub(crate) fn check(&self) -> Result<u64, StoreError> {
        let seen = self.seen.load(Ordering::Acquire);
        if self.read.load(Ordering::Acquire) < seen {
            Err(StoreError::new(BEHIND))
        } else {
            Ok(seen)
        }
    }

    /// Refuses a result that was read in this era, if another era was seen meanwhile.
    pub(crate) fn is_still(&self, era: u64) -> Result<(), StoreError> {
        if self.seen.load(Ordering::Acquire) == era { Ok(()) } else { Err(StoreError::new(BEHIND)) }
    }
}

/// Sessions that this process ended, to end them again if the store loses these writes.
#[derive(Clone, Debug)]
pub(crate) enum EndedSessions {
    One { user: Box<str>, handle: Handle },
    OfUser { user: Box<str>, keep: Option<SessionKey> },
    All,
}

/// The sessions that this process recently ended.
#[derive(Debug, Default)]
pub(crate) struct RecentEndings(Mutex<VecDeque<(Timestamp, EndedSessions)>>);

impl RecentEndings {
    pub(crate) fn remember(&self, ended: EndedSessions, now: Timestamp) {
        let mut all = lock(&self.0);
        while all.len() >= REMEMBERED
            || all.front().is_some_and(|(then, _)| now.since(*then) > REMEMBERED_FOR)
        {
            all.pop_front();
        }
        all.push_back((now, ended));
    }

    /// Whether this one session of the user was ended.
    pub(crate) fn has_ended(&self, user: &str, handle: Handle) -> bool {
        lock(&self.0).iter().any(|(_, ended)| match ended {
            EndedSessions::One { user: owner, handle: session } => {
                *session == handle && **owner == *user
            }
            EndedSessions::OfUser { .. } | EndedSessions::All => false,
        })
    }

    /// The ended sessions, in order.
    pub(crate) fn all(&self) -> Vec<EndedSessions> {
        lock(&self.0).iter().map(|(_, ended)| ended.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ERA;

    #[test]
    fn results_of_an_earlier_era_are_refused() {
        let store = StoreEra::new();
        store.has_caught_up(7);
        let era = store.check().unwrap();
        assert!(store.is_still(era).is_ok());
        assert!(store.is_over(ERA + 8, "sessions"));
        assert!(store.check().is_err());
        store.has_caught_up(ERA + 8);
        assert!(store.check().is_ok() && store.is_still(era).is_err());
    }

    #[test]
    fn a_process_is_behind_from_a_new_era_until_it_has_caught_up() {
        let store = StoreEra::new();
        assert!(!store.is_over(3 * ERA, "tokens"), "nothing was known before");
        store.has_caught_up(3 * ERA);
        assert!(!store.is_over(3 * ERA + 40, "tokens") && !store.is_behind());
        assert!(store.is_over(4 * ERA, "tokens") && store.is_behind());
        assert!(store.is_over(4 * ERA, "tokens"), "until it has caught up");
        store.has_caught_up(3 * ERA + 41);
        assert!(store.is_behind(), "by a look that began before");
        store.has_caught_up(4 * ERA);
        store.has_caught_up(3 * ERA + 42);
        assert!(!store.is_over(4 * ERA, "tokens") && !store.is_behind());
    }

    #[tokio::test]
    async fn lost_writes_are_repeated_once_until_they_succeed() {
        let (store, count) = (StoreEra::new(), AtomicU64::new(0));
        store.has_caught_up(0);
        let fails = async { Err(StoreError::new("the store is away")) };
        assert!(store.catch_up(ERA, "tokens", fails).await.is_err() && store.check().is_err());
        let again = async || {
            count.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            Ok(())
        };
        let (one, other) = tokio::join!(
            store.catch_up(ERA, "tokens", again()),
            store.catch_up(ERA, "tokens", again()),
        );
        assert!(one.is_ok() && other.is_ok() && store.check().is_ok());
        assert_eq!(count.into_inner(), 1);
    }

    #[test]
    fn endings_are_remembered_for_an_hour_and_bounded() {
        let recent = RecentEndings::default();
        let at = Timestamp::from_seconds;
        (0..REMEMBERED + 5).for_each(|_| recent.remember(EndedSessions::All, at(100)));
        assert_eq!(recent.all().len(), REMEMBERED);
        recent.remember(EndedSessions::All, at(3701));
        assert_eq!(recent.all().len(), 1);
    }
}

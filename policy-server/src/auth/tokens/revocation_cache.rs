//! The revocations of the store, as one process knows them.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use policy_core::{
    time::Timestamp,
    token::{RevocationSet, RevocationStatus, TokenNames},
};

use crate::{
    auth::revocation_events::{RevocationBus, RevocationEvent},
    store::{Revocation, RevocationBatch},
};

/// The most entries that one step removes, so that no request waits long for the lock.
const FORGOTTEN_AT_ONCE: usize = 1000;

/// A copy of the revocations in the store, consulted for every token.
#[derive(Debug)]
pub(super) struct RevocationCache {
    state: RwLock<State>,
    revocation_bus: RevocationBus,
}

#[derive(Debug)]
struct State {
    set: RevocationSet,
    /// The position in the store's sequence up to which the copy is complete.
    sequence: u64,
    /// The number of cut-offs.
    cuts: u64,
}

impl RevocationCache {
    pub(super) fn new(set: RevocationSet, revocation_bus: RevocationBus) -> Self {
        Self { state: RwLock::new(State { set, sequence: 0, cuts: 0 }), revocation_bus }
    }

    #[inline]
    pub(super) fn standing<'a>(
        &self,
        issued: Timestamp,
        now: Timestamp,
        names: impl FnOnce() -> TokenNames<'a>,
    ) -> RevocationStatus {
        self.read().set.status(issued, now, names)
    }

    pub(super) fn issue_time(&self, user: &str, now: Timestamp) -> Timestamp {
        self.read().set.issue_time(user, now)
    }

    /// The number of cut-offs that this process has seen.
    pub(super) fn cuts(&self) -> u64 {
        self.read().cuts
    }

    /// The `iat` of something issued to a user now, based on a store that was queried after
    /// [`cuts`](Self::cuts) were seen. A cut-off in between may be meant to revoke it, so the time
    /// is then not moved past the cut-off.
    pub(super) fn issue_time_since(&self, cuts: u64, user: &str, now: Timestamp) -> Timestamp {
        let state = self.read();
        if state.cuts == cuts { state.set.issue_time(user, now) } else { now }
    }

    pub(super) fn cut_off(&self, user: &str, now: Timestamp) -> u64 {
        self.read().set.cut_off(user, now)
    }

    pub(super) fn cut_off_of_all(&self, now: Timestamp) -> u64 {
        self.read().set.cut_off_of_all(now)
    }

    /// The position from which to query the store.
    pub(super) fn sequence(&self) -> u64 {
        self.read().sequence
    }

    /// Applies the store's response to a query made at `asked`.
    pub(super) fn apply(&self, batch: RevocationBatch, asked: Timestamp) {
        let mut state = self.write();
        for revocation in batch.revocations {
            if let Some(ended) = state.revoke(revocation) {
                self.revocation_bus.publish(ended);
            }
        }
        state.sequence = state.sequence.max(batch.sequence);
        state.set.caught_up(asked);
        state.set.expire(asked, FORGOTTEN_AT_ONCE);
    }

    /// Applies a revocation of this process. It is read again later at its position in the
    /// sequence, with any that others made before it.
    pub(super) fn revoke(&self, revocation: Revocation) {
        if let Some(ended) = self.write().revoke(revocation) {
            self.revocation_bus.publish(ended);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.read().set.len()
    }

    #[inline]
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Adds a revocation; returns the event for open streams if it was unknown.
    fn revoke(&mut self, revocation: Revocation) -> Option<RevocationEvent> {
        match revocation {
            Revocation::Token { id, until } => {
                self.set.revoke_token(&id, until).then_some(RevocationEvent::Token(id))
            }
            Revocation::User { user, before } => {
                self.cuts += 1;
                self.set
                    .revoke_user(&user, before)
                    .then_some(RevocationEvent::TokensOf { user, before })
            }
            Revocation::All { before } => {
                self.cuts += 1;
                self.set.revoke_all(before).then_some(RevocationEvent::AllTokens { before })
            }
        }
    }
}

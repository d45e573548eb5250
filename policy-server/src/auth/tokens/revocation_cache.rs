//! The revocations of the store, as one process knows them.

use std::{
    collections::HashMap,
    sync::{
        PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use policy_core::{
    time::Timestamp,
    token::{RevocationSet, RevocationStatus, TokenCutOff, TokenNames},
};

use crate::{
    auth::revocation_events::{RevocationBus, RevocationEvent},
    store::{Revocation, RevocationBatch},
};

/// The maximum number of entries that one step removes, so that no request waits long for the lock.
const FORGOTTEN_AT_ONCE: usize = 1000;

/// A copy of the revocations in the store, consulted for every token.
#[derive(Debug)]
pub(super) struct RevocationCache {
    state: RwLock<State>,
    /// The highest position of a revocation that is applied here.
    newest: AtomicU64,
    revocation_bus: RevocationBus,
}

#[derive(Debug)]
struct State {
    set: RevocationSet,
    /// The position in the store's sequence up to which the copy is complete.
    sequence: u64,
    /// The second of the last cut-off of everyone, which ends families too.
    everyone: u64,
}

impl RevocationCache {
    pub(super) fn new(set: RevocationSet, revocation_bus: RevocationBus) -> Self {
        let state = RwLock::new(State { set, sequence: 0, everyone: 0 });
        Self { state, newest: AtomicU64::new(0), revocation_bus }
    }

    #[inline]
    pub(super) fn standing<'a>(
        &self,
        issued: Timestamp,
        now: Duration,
        names: impl FnOnce() -> TokenNames<'a>,
    ) -> RevocationStatus {
        self.read().set.status(issued, now, names)
    }

    pub(super) fn issue_time(&self, user: &str, now: Timestamp) -> Timestamp {
        self.read().set.issue_time(user, now)
    }

    /// The position of the newest revocation that this process knows.
    pub(super) fn newest(&self) -> u64 {
        self.newest.load(Ordering::Acquire)
    }

    /// Whether a user was cut off after the revocation at `known`.
    pub(super) fn is_cut_off(&self, user: &str, known: u64) -> bool {
        self.read().set.is_cut_off(user, known)
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

    /// Applies the store's response to a query made at `asked`, a time since the fixed point of the
    /// clock.
    pub(super) fn apply(&self, batch: RevocationBatch, query_time: Duration) {
        let mut state = self.write();
        for (position, revocation) in batch.revocations {
            if let Some(ended) = state.revoke(position, revocation) {
                self.revocation_bus.publish(ended);
            }
        }
        state.sequence = state.sequence.max(batch.sequence);
        state.set.caught_up(query_time);
        self.newest.fetch_max(batch.sequence, Ordering::AcqRel);
    }

    /// The revocations that are known here and missing in the store.
    pub(super) fn besides(&self, stored: &RevocationBatch) -> Vec<Revocation> {
        let (mut tokens, mut users) = (HashMap::new(), HashMap::new());
        let (mut all, mut everyone) = (0, 0);
        for (_, revocation) in &stored.revocations {
            match revocation {
                Revocation::Token { id, until } => drop(tokens.insert(id.to_string(), *until)),
                Revocation::Session { session, until, .. } => {
                    tokens.insert(session.to_string(), *until);
                }
                Revocation::User { user, before } => drop(users.insert(&**user, *before)),
                Revocation::Everyone { before } => everyone = *before,
                Revocation::All { before } => all = *before,
            }
        }
        let state = self.read();
        let lost_tokens = state
            .set
            .tokens()
            .filter(|(id, until)| tokens.get(*id).is_none_or(|stored| stored < until));
        let lost_users = state
            .set
            .users()
            .filter(|(user, cut)| users.get(user).is_none_or(|stored| *stored < cut.before));
        let lost_tokens = lost_tokens.map(|(id, until)| Revocation::Token { id: id.into(), until });
        let lost_users = lost_users
            .map(|(user, cut)| Revocation::User { user: user.into(), before: cut.before });
        let mut lost: Vec<_> = lost_tokens.chain(lost_users).collect();
        if everyone < state.everyone {
            lost.push(Revocation::Everyone { before: state.everyone });
        }
        let before = state.set.all().before;
        if all.max(everyone).max(state.everyone) < before {
            lost.push(Revocation::All { before });
        }
        lost
    }

    /// Drops some of the entries that no longer cover a live token. Returns whether there may be more.
    pub(super) fn forget(&self, now: Timestamp) -> bool {
        self.write().set.expire(now, FORGOTTEN_AT_ONCE)
    }

    /// Applies a revocation of this process. It is read again later at its position in the
    /// sequence, with those that others made before it.
    ///
    /// Without a position, the store did not accept it. A cut-off then applies by its second alone,
    /// so that it locks no user out if it is never stored.
    pub(super) fn revoke(&self, position: Option<u64>, revocation: Revocation) {
        let position = position.unwrap_or_default();
        let ended = self.write().revoke(position, revocation);
        // After it is applied: a request that knows the position must find it here.
        self.newest.fetch_max(position, Ordering::AcqRel);
        if let Some(ended) = ended {
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
    fn revoke(&mut self, number: u64, revocation: Revocation) -> Option<RevocationEvent> {
        match revocation {
            Revocation::Token { id, until } => {
                self.set.revoke_token(&id, until).then_some(RevocationEvent::Token(id))
            }
            Revocation::Session { session, until, .. } => {
                let id: Box<str> = session.to_string().into();
                self.set.revoke_token(&id, until).then_some(RevocationEvent::Token(id))
            }
            Revocation::User { user, before } => {
                let cut = TokenCutOff { before, number };
                self.set.revoke_user(&user, cut).then_some(RevocationEvent::TokensOf { user, cut })
            }
            Revocation::Everyone { before } | Revocation::All { before } => {
                if matches!(revocation, Revocation::Everyone { .. }) {
                    self.everyone = self.everyone.max(before);
                }
                let cut = TokenCutOff { before, number };
                self.set.revoke_all(cut).then_some(RevocationEvent::AllTokens { cut })
            }
        }
    }
}

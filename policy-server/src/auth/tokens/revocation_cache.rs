//! The revocations of the store, as one process knows them.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use policy_core::{
    session::Handle,
    time::Timestamp,
    token::{RevocationSet, RevocationStatus, TokenCutOff, TokenNames},
};

use crate::{
    auth::revocation_events::{RevocationBus, RevocationEvent},
    base::locks::{read, write},
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
    /// The users of the revoked sessions, whose names are in the set, by the end of their rows.
    sessions: BTreeMap<(Timestamp, Handle), Box<str>>,
}

impl RevocationCache {
    pub(super) fn new(set: RevocationSet, revocation_bus: RevocationBus) -> Self {
        let state = State { set, sequence: 0, everyone: 0, sessions: BTreeMap::new() };
        let state = RwLock::new(state);
        Self { state, newest: AtomicU64::new(0), revocation_bus }
    }

    #[inline]
    pub(super) fn standing<'a>(
        &self,
        issued: Timestamp,
        now: Duration,
        names: impl FnOnce() -> TokenNames<'a>,
    ) -> RevocationStatus {
        read(&self.state).set.status(issued, now, names)
    }

    pub(super) fn issue_time(&self, user: &str, now: Timestamp) -> Timestamp {
        read(&self.state).set.issue_time(user, now)
    }

    /// The position of the newest revocation that this process knows.
    pub(super) fn newest(&self) -> u64 {
        self.newest.load(Ordering::Acquire)
    }

    /// Whether a user was cut off after the revocation at `known`.
    pub(super) fn is_cut_off(&self, user: &str, known: u64) -> bool {
        read(&self.state).set.is_cut_off(user, known)
    }

    pub(super) fn cut_off(&self, user: &str, now: Timestamp) -> u64 {
        read(&self.state).set.cut_off(user, now)
    }

    pub(super) fn cut_off_of_all(&self, now: Timestamp) -> u64 {
        read(&self.state).set.cut_off_of_all(now)
    }

    /// The position from which to query the store.
    pub(super) fn sequence(&self) -> u64 {
        read(&self.state).sequence
    }

    /// Applies the store's response to a query made at `asked`, a time since the fixed point of the
    /// clock.
    pub(super) fn apply(&self, batch: RevocationBatch, query_time: Duration) {
        let mut state = write(&self.state);
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
        let mut sessions = HashMap::new();
        let (mut all, mut everyone) = (0, 0);
        for (position, revocation) in &stored.revocations {
            match revocation {
                Revocation::Token { id, until } => drop(tokens.insert(id.to_string(), *until)),
                Revocation::Session { session, until, .. } => {
                    sessions.insert(*session, *until);
                }
                Revocation::User { user, before } => {
                    users.insert(&**user, (*before, *position));
                }
                Revocation::Everyone { before } => everyone = *before,
                Revocation::All { before } => all = *before,
            }
        }
        let state = read(&self.state);
        let lost_sessions = state
            .sessions
            .iter()
            .filter(|((until, session), _)| {
                sessions.get(session).is_none_or(|stored| stored < until)
            })
            .map(|((until, session), user)| Revocation::Session {
                user: user.clone(),
                session: *session,
                until: *until,
            });
        let mut lost: Vec<_> = lost_sessions.collect();
        // The set has these names, too, and they are no tokens.
        let known = state.sessions.keys().map(|(until, session)| (*session, *until));
        let named = sessions.into_iter().chain(known);
        tokens.extend(named.map(|(session, until)| (session.to_string(), until)));
        let lost_tokens = state
            .set
            .tokens()
            .filter(|(id, until)| tokens.get(*id).is_none_or(|stored| stored < until));
        let lost_users = state
            .set
            .users()
            // Two cut-offs of one second differ by their position only.
            .filter(|(user, cut)| {
                users.get(user).is_none_or(|stored| *stored < (cut.before, cut.number))
            });
        let lost_tokens = lost_tokens.map(|(id, until)| Revocation::Token { id: id.into(), until });
        let lost_users = lost_users
            .map(|(user, cut)| Revocation::User { user: user.into(), before: cut.before });
        lost.extend(lost_tokens.chain(lost_users));
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
        let mut state = write(&self.state);
        let may_be_more = state.forget_sessions(now);
        state.set.expire(now, FORGOTTEN_AT_ONCE) || may_be_more
    }

    /// Applies a revocation of this process. It is read again later at its position in the
    /// sequence, with those that others made before it.
    ///
    /// A cut-off without a position, which the store did not accept, applies by its second alone, so that it
    /// locks no user out if it is never stored. The revocation of a token needs no position.
    pub(super) fn revoke(&self, position: Option<u64>, revocation: Revocation) {
        let position = position.unwrap_or_default();
        let ended = write(&self.state).revoke(position, revocation);
        // After it is applied: a request that knows the position must find it here.
        self.newest.fetch_max(position, Ordering::AcqRel);
        if let Some(ended) = ended {
            self.revocation_bus.publish(ended);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        read(&self.state).set.len()
    }
}

impl State {
    fn forget_sessions(&mut self, now: Timestamp) -> bool {
        for _ in 0..FORGOTTEN_AT_ONCE {
            match self.sessions.first_entry() {
                Some(first) if first.key().0 <= now => drop(first.remove()),
                _ => return false,
            }
        }
        true
    }

    /// Adds a revocation; returns the event for open streams if it was unknown.
    fn revoke(&mut self, number: u64, revocation: Revocation) -> Option<RevocationEvent> {
        match revocation {
            Revocation::Token { id, until } => {
                self.set.revoke_token(&id, until).then_some(RevocationEvent::Token(id))
            }
            Revocation::Session { user, session, until } => {
                self.sessions.insert((until, session), user);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    /// The end of a session ends families, too, which the revocation of its name would not.
    #[test]
    fn a_lost_revocation_is_returned_as_it_was_made() {
        let set = RevocationSet::new(Duration::from_secs(100), Duration::from_secs(5));
        let cache = RevocationCache::new(set, RevocationBus::default());
        let made = [
            Revocation::Session { user: "ada".into(), session: Handle([1; 16]), until: at(200) },
            Revocation::Token { id: "j".into(), until: at(200) },
            Revocation::User { user: "bob".into(), before: 100 },
            Revocation::Everyone { before: 90 },
        ];
        let numbered = || (1..).zip(made.clone());
        for (position, revocation) in numbered() {
            cache.revoke(Some(position), revocation);
        }
        assert_eq!(cache.besides(&RevocationBatch::default()), made);
        assert!(cache.besides(&RevocationBatch::new(numbered().collect(), 4)).is_empty());
        // Of two cut-offs of one second, the store has the first.
        let first = vec![(2, made[2].clone())];
        assert!(cache.besides(&RevocationBatch::new(first, 2)).contains(&made[2]));
        assert!(!cache.forget(at(200)));
        assert_eq!(cache.besides(&RevocationBatch::default()), made[3..]);
    }
}

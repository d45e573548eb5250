//! Revocations that the store did not take: it failed, or the client went away meanwhile.

use std::{collections::BTreeMap, ops::Bound, sync::Mutex, time::Duration};

use policy_core::{
    session::{Handle, SessionKey},
    time::Timestamp,
};

use crate::{base::locks::lock, store::Revocation};

/// The most revocations that are kept. Clients get an error for those above.
const MOST: usize = 100_000;

/// Ends of sessions and tokens that are still to be stored, each of them once. A session that ended is
/// not found again, so nobody could repeat the end of its tokens. Cut-offs are not kept: their callers
/// repeat them, and a later one would end what its user began since.
#[derive(Debug)]
pub(super) struct UnstoredRevocations {
    all: Mutex<All>,
    /// How long a family lives at most.
    families: Duration,
}

#[derive(Debug, Default)]
struct All {
    entries: BTreeMap<Subject, Entry>,
    /// What was last tried again. The turn continues after it, so that a revocation that the store
    /// never takes delays no other.
    last: Option<Subject>,
}

/// The id of a token, or the user and handle of a session.
type Subject = (Box<str>, Option<Handle>);

#[derive(Debug)]
struct Entry {
    revocation: Revocation,
    /// The key of the session whose logout made it.
    key: Option<SessionKey>,
    /// How many calls of the store have it.
    calls: u32,
}

/// A revocation on its way to the store. It is kept until this is [finished](Self::finish).
pub(super) struct Storing<'a> {
    unstored: &'a UnstoredRevocations,
    /// `None` for a cut-off.
    call: Option<(Subject, Timestamp)>,
}

impl UnstoredRevocations {
    /// An empty queue, for an app whose families live this long at most.
    pub(super) fn new(families: Duration) -> Self {
        Self { all: Mutex::default(), families }
    }

    /// Keeps a revocation, made by the logout of the session with this key if there is one.
    pub(super) fn begin(&self, revocation: &Revocation, key: Option<SessionKey>) -> Storing<'_> {
        let (subject, until): (Subject, _) = match revocation {
            Revocation::Token { id, until } => ((id.clone(), None), *until),
            Revocation::Session { user, session, until } => {
                ((user.clone(), Some(*session)), *until)
            }
            Revocation::User { .. } | Revocation::Everyone { .. } | Revocation::All { .. } => {
                return Storing { unstored: self, call: None };
            }
        };
        let mut revocation = revocation.clone();
        let mut all = lock(&self.all);
        if let Some(entry) = all.entries.get_mut(&subject) {
            revocation.cover(&entry.revocation);
            entry.revocation = revocation;
            entry.key = key.or(entry.key);
            entry.calls = entry.calls.saturating_add(1);
        } else if all.entries.len() < MOST {
            all.entries.insert(subject.clone(), Entry { revocation, key, calls: 1 });
        }
        Storing { unstored: self, call: Some((subject, until)) }
    }

    /// The next one that no call has, with the key of its session.
    pub(super) fn next(&self) -> Option<(Revocation, Option<SessionKey>)> {
        let mut guard = lock(&self.all);
        let all = &mut *guard;
        let after = all.last.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let (subject, entry) = all
            .entries
            .range::<Subject, _>((after, Bound::Unbounded))
            .chain(&all.entries)
            .find(|(_, entry)| entry.calls == 0)?;
        all.last = Some(subject.clone());
        Some((entry.revocation.clone(), entry.key))
    }

    /// The revocations that the logout of the session with this key made.
    pub(super) fn revocations_by(&self, key: SessionKey) -> Vec<Revocation> {
        let all = lock(&self.all);
        let own = all.entries.values().filter(|entry| entry.key == Some(key));
        own.map(|entry| entry.revocation.clone()).collect()
    }

    /// Drops revocations that cover no live token. The end of a session also ends its families, which live
    /// longer than their access tokens.
    pub(super) fn forget(&self, now: Timestamp) {
        lock(&self.all).entries.retain(|_, Entry { revocation, .. }| {
            let families = match revocation {
                Revocation::Session { .. } => self.families,
                _ => Duration::ZERO,
            };
            revocation.until().is_some_and(|until| now <= until.after(families))
        });
    }
}

impl Storing<'_> {
    /// The store has taken it.
    pub(super) fn finish(self) {
        if let Some((subject, until)) = &self.call {
            let mut all = lock(&self.unstored.all);
            // Another call may have one that has to last longer.
            let kept = all.entries.get(subject).map(|entry| &entry.revocation);
            if kept.is_some_and(|kept| kept.until() <= Some(*until)) {
                all.entries.remove(subject);
            }
        }
    }
}

impl Drop for Storing<'_> {
    fn drop(&mut self) {
        if let Some((subject, _)) = &self.call
            && let Some(entry) = lock(&self.unstored.all).entries.get_mut(subject)
        {
            entry.calls = entry.calls.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

    fn token(id: &str) -> Revocation {
        Revocation::Token { id: id.into(), until: Timestamp::from_seconds(100) }
    }

    fn session(user: &str) -> Revocation {
        let until = Timestamp::from_seconds(100);
        Revocation::Session { user: user.into(), session: Handle([1; 16]), until }
    }

    fn next(unstored: &UnstoredRevocations) -> Option<Revocation> {
        unstored.next().map(|(revocation, _)| revocation)
    }

    #[test]
    fn a_revocation_that_the_store_never_takes_delays_no_other() {
        let unstored = UnstoredRevocations::new(WEEK);
        for id in ["a", "b", "c"] {
            drop(unstored.begin(&token(id), None));
        }
        for id in ["a", "b", "c", "a"] {
            assert_eq!(next(&unstored), Some(token(id)));
            drop(unstored.begin(&token(id), None));
        }
        for id in ["b", "c"] {
            assert_eq!(next(&unstored), Some(token(id)));
            unstored.begin(&token(id), None).finish();
        }
        assert_eq!(next(&unstored), Some(token("a")), "only that one is left");
    }

    #[test]
    fn an_equal_revocation_is_kept_once() {
        let unstored = UnstoredRevocations::new(WEEK);
        for _ in 0..2 {
            drop(unstored.begin(&session("ada"), None));
        }
        assert_eq!(next(&unstored), Some(session("ada")));
        unstored.begin(&session("ada"), None).finish();
        assert_eq!(next(&unstored), None);
    }

    #[test]
    fn a_logout_waits_for_its_revocation_while_another_call_stores_it() {
        let (own, other) = (SessionKey([1; 32]), SessionKey([2; 32]));
        let unstored = UnstoredRevocations::new(WEEK);
        drop(unstored.begin(&session("ada"), Some(own)));
        let storing = unstored.begin(&session("ada"), None);
        assert_eq!(next(&unstored), None, "a call has it");
        assert_eq!(unstored.revocations_by(own), [session("ada")]);
        assert!(unstored.revocations_by(other).is_empty());
        storing.finish();
        assert!(unstored.revocations_by(own).is_empty());
    }

    #[test]
    fn a_revocation_is_dropped_when_nothing_that_it_covers_is_live() {
        let unstored = UnstoredRevocations::new(WEEK);
        drop(unstored.begin(&token("a"), None));
        drop(unstored.begin(&session("ada"), None));
        let end = Timestamp::from_seconds(101);
        unstored.forget(end);
        assert_eq!(next(&unstored), Some(session("ada")), "its refresh tokens are live");
        unstored.forget(end.after(WEEK));
        assert_eq!(next(&unstored), None);
    }
}

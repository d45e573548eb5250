//! Revocations in order of arrival.

use std::collections::{BTreeMap, HashMap};

use policy_core::{session::Handle, time::Timestamp};

use crate::store::{Revocation, RevocationBatch};

#[derive(Default)]
pub(super) struct Revocations {
    /// The last position that was assigned.
    sequence: u64,
    by_place: BTreeMap<u64, Revocation>,
    /// The position of each subject, so that a later revocation of the same one replaces it.
    places: HashMap<RevokedSubject, u64>,
}

/// The subject of a revocation.
#[derive(PartialEq, Eq, Hash)]
enum RevokedSubject {
    Token(Box<str>),
    Session(Handle),
    User(Box<str>),
    Everyone,
    All,
}

impl Revocations {
    /// Adds a revocation in place of an existing one of the same subject, and returns its position.
    pub(super) fn add(&mut self, mut revocation: Revocation) -> u64 {
        let revoked = RevokedSubject::by(&revocation);
        let existing = self.places.get(&revoked).and_then(|place| self.by_place.remove(place));
        if let Some(existing) = existing {
            revocation.cover(&existing);
        }
        self.sequence += 1;
        self.by_place.insert(self.sequence, revocation);
        self.places.insert(revoked, self.sequence);
        self.sequence
    }

    /// The position of the last cut-off of a user or of everyone.
    pub(super) fn cut_off(&self, user: &str) -> u64 {
        self.place(&RevokedSubject::User(user.into())).max(self.place(&RevokedSubject::Everyone))
    }

    /// The position at which a session ended.
    pub(super) fn end_of(&self, session: Handle) -> u64 {
        self.place(&RevokedSubject::Session(session))
    }

    fn place(&self, revoked: &RevokedSubject) -> u64 {
        self.places.get(revoked).copied().unwrap_or_default()
    }

    /// The last position.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    pub(super) fn since(&self, place: u64) -> RevocationBatch {
        let behind = self.by_place.range(place.saturating_add(1)..);
        let revocations = behind.map(|(place, revocation)| (*place, revocation.clone())).collect();
        RevocationBatch { revocations, sequence: self.sequence }
    }

    /// Removes what is no longer needed among the next `most` revocations after `from`. Returns how
    /// many were removed, and where to continue.
    pub(super) fn purge(&mut self, from: u64, most: usize, now: Timestamp) -> (usize, Option<u64>) {
        let mut next = None;
        let mut dead = Vec::new();
        for (looked_at, (place, revocation)) in self.by_place.range(from..).enumerate() {
            if looked_at == most {
                next = Some(*place);
                break;
            }
            if revocation.until().is_some_and(|until| until <= now) {
                dead.push(*place);
            }
        }
        for place in &dead {
            if let Some(revocation) = self.by_place.remove(place) {
                self.places.remove(&RevokedSubject::by(&revocation));
            }
        }
        (dead.len(), next)
    }
}

impl RevokedSubject {
    fn by(revocation: &Revocation) -> Self {
        match revocation {
            Revocation::Token { id, .. } => Self::Token(id.clone()),
            Revocation::Session { session, .. } => Self::Session(*session),
            Revocation::User { user, .. } => Self::User(user.clone()),
            Revocation::Everyone { .. } => Self::Everyone,
            Revocation::All { .. } => Self::All,
        }
    }
}

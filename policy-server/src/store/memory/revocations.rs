//! Revocations in order of arrival.

use std::collections::{BTreeMap, HashMap};

use policy_core::time::Timestamp;

use crate::store::{Revocation, RevocationBatch};

#[derive(Default)]
pub(super) struct Revocations {
    /// The last position that was assigned.
    sequence: u64,
    by_place: BTreeMap<u64, Revocation>,
    /// The position of each subject, so that a later revocation of the same one replaces it.
    places: HashMap<Revoked, u64>,
}

/// The subject of a revocation.
#[derive(PartialEq, Eq, Hash)]
enum Revoked {
    Token(Box<str>),
    User(Box<str>),
    All,
}

impl Revocations {
    /// Adds a revocation, unless an existing one of the same subject covers it. Returns the
    /// position of the one in force.
    pub(super) fn add(&mut self, revocation: Revocation) -> u64 {
        let revoked = Revoked::by(&revocation);
        if let Some(place) = self.places.get(&revoked) {
            if self.by_place.get(place).is_some_and(|old| until(old) >= until(&revocation)) {
                return *place;
            }
            self.by_place.remove(place);
        }
        self.sequence += 1;
        self.by_place.insert(self.sequence, revocation);
        self.places.insert(revoked, self.sequence);
        self.sequence
    }

    pub(super) fn since(&self, place: u64) -> RevocationBatch {
        let behind = self.by_place.range(place.saturating_add(1)..);
        let revocations = behind.map(|(_, revocation)| revocation.clone()).collect();
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
            if matches!(revocation, Revocation::Token { until, .. } if *until <= now) {
                dead.push(*place);
            }
        }
        for place in &dead {
            if let Some(revocation) = self.by_place.remove(place) {
                self.places.remove(&Revoked::by(&revocation));
            }
        }
        (dead.len(), next)
    }
}

impl Revoked {
    fn by(revocation: &Revocation) -> Self {
        match revocation {
            Revocation::Token { id, .. } => Self::Token(id.clone()),
            Revocation::User { user, .. } => Self::User(user.clone()),
            Revocation::All { .. } => Self::All,
        }
    }
}

/// The value that never decreases.
fn until(revocation: &Revocation) -> u64 {
    match revocation {
        Revocation::Token { until, .. } => until.millis(),
        Revocation::User { before, .. } | Revocation::All { before } => *before,
    }
}

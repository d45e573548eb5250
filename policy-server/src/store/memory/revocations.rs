//! The revocations in the order they came.

use std::collections::{BTreeMap, HashMap};

use policy_core::time::Timestamp;

use crate::store::{Revocation, RevocationBatch};

#[derive(Default)]
pub(super) struct Revocations {
    /// The last place that was given.
    sequence: u64,
    by_place: BTreeMap<u64, Revocation>,
    /// The place of what is revoked, so that a later word on the same replaces it.
    places: HashMap<Revoked, u64>,
}

/// What a revocation is about.
#[derive(PartialEq, Eq, Hash)]
enum Revoked {
    Token(Box<str>),
    User(Box<str>),
    All,
}

impl Revocations {
    /// Adds a revocation, unless one of the same says as much already. Gives the place of the one
    /// that holds.
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

    /// Removes what no longer matters among the `most` at `from` and behind it. Gives how many,
    /// and where to go on.
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

/// What never moves back.
fn until(revocation: &Revocation) -> u64 {
    match revocation {
        Revocation::Token { until, .. } => until.millis(),
        Revocation::User { before, .. } | Revocation::All { before } => *before,
    }
}

//! Revocations that the store did not take: it failed, or the client went away meanwhile.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::store::Revocation;

/// The most revocations that are kept. Clients get an error for those above.
const MOST: usize = 100_000;

/// Ends of sessions and tokens that are still to be stored. A session that ended is not found again, so
/// nobody could repeat the end of its tokens. Cut-offs are not kept: their callers repeat them, and a
/// later one would end what its user began since.
#[derive(Debug, Default)]
pub(super) struct UnstoredRevocations(Mutex<VecDeque<Revocation>>);

/// A revocation on its way to the store. If this is dropped and not [finished](Self::finish), the
/// revocation is kept.
pub(super) struct Storing<'a> {
    all: &'a UnstoredRevocations,
    revocation: Option<Revocation>,
}

impl UnstoredRevocations {
    pub(super) fn begin(&self, revocation: &Revocation) -> Storing<'_> {
        let is_kept = revocation.until().is_some();
        Storing { all: self, revocation: is_kept.then(|| revocation.clone()) }
    }

    /// Takes the oldest one out.
    pub(super) fn take(&self) -> Option<Revocation> {
        self.lock().pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Revocation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Storing<'_> {
    /// The store has taken it.
    pub(super) fn finish(mut self) {
        self.revocation = None;
    }
}

impl Drop for Storing<'_> {
    fn drop(&mut self) {
        if let Some(revocation) = self.revocation.take() {
            let mut all = self.all.lock();
            if all.len() < MOST {
                all.push_back(revocation);
            }
        }
    }
}

//! The numbers that a store counts with, and how an instance notices that a store lost some of them.
//!
//! A store counts what takes rights away: cut-offs of sessions, and revocations of tokens. An instance asks
//! what came after the number that it knows, and a request that grants rights states it. That is right only
//! as long as the number is one of the store. It is not any more after a restored copy, or a failover to a
//! server that had not got everything: the store continues with lower numbers, or has given the same number
//! to something else. So each number is stored with a random mark, and is stated together with it.

/// Numbers of an era. A store that has not got a number that an instance knows continues with the first
/// number of the next era, which is higher than any number that was given out and lost.
pub const ERA: u64 = 1 << 32;

/// How often the store was found to have lost numbers.
pub(crate) const fn era(number: u64) -> u64 {
    number / ERA
}

#[cfg(any(feature = "postgres", feature = "redis"))]
mod shared {
    use std::{
        collections::BTreeMap,
        sync::{Mutex, MutexGuard, PoisonError},
    };

    /// The most marks that an instance keeps: of more numbers than are given out while a request runs.
    const KEPT: usize = 4096;

    /// Why a call is refused until this instance has read everything anew.
    pub(in crate::store) const LOST: &str =
        "the store has lost revocations that this instance knows, which reads everything anew";

    /// A number, and the mark with which the store gave it out; `None` if this instance does not know it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(in crate::store) struct Known {
        pub(in crate::store) number: u64,
        pub(in crate::store) mark: Option<i64>,
    }

    /// What one instance knows of one sequence of numbers.
    #[derive(Debug, Default)]
    pub(in crate::store) struct Numbers(Mutex<State>);

    #[derive(Debug, Default)]
    struct State {
        /// Up to where this instance has read.
        read: Known,
        marks: BTreeMap<u64, Option<i64>>,
    }

    impl Numbers {
        /// Up to where this instance has read.
        pub(in crate::store) fn read(&self) -> Known {
            self.lock().read
        }

        /// A number, with its mark if this instance got it from the store.
        pub(in crate::store) fn known(&self, number: u64) -> Known {
            Known { number, mark: self.lock().marks.get(&number).copied().flatten() }
        }

        /// Notes a number that a change got.
        pub(in crate::store) fn got(&self, known: Known) {
            self.lock().note(known);
        }

        /// Notes up to where everything was read.
        pub(in crate::store) fn has_read(&self, known: Known) {
            let mut state = self.lock();
            state.note(known);
            if known.number >= state.read.number {
                state.read = known;
            }
        }

        fn lock(&self) -> MutexGuard<'_, State> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    impl State {
        fn note(&mut self, known: Known) {
            self.marks.insert(known.number, known.mark);
            if self.marks.len() > KEPT {
                self.marks.pop_first();
            }
        }
    }
}

#[cfg(any(feature = "postgres", feature = "redis"))]
pub(super) use self::shared::{Known, LOST, Numbers};

//! The numbers that a store counts with, and how an instance notices that a store lost some of them.
//!
//! A store counts what takes rights away: cut-offs of sessions, and revocations of tokens. An instance asks
//! what came after the number that it knows, and a request that grants rights states it. That is right only
//! as long as the number is one of the store. It is not any more after a restored copy, or a failover to a
//! server that had not got everything: the store continues with lower numbers, or has given the same number
//! to something else. So each number is stored with a random mark, and is stated together with it.
//!
//! The end of one session has no number, since there are too many of them. The next look leaves in the store how
//! often it came after some.

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
        sync::{
            Mutex, MutexGuard, OnceLock, PoisonError,
            atomic::{AtomicBool, AtomicU64, Ordering},
        },
    };

    use crate::{base::clock::Random, store::StoreError};

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
    pub(in crate::store) struct Numbers(Mutex<BTreeMap<u64, Option<i64>>>);

    impl Numbers {
        /// The highest number that the store gave out to this instance, or told it.
        pub(in crate::store) fn newest(&self) -> Known {
            let newest = self.lock().last_key_value().map(|(number, mark)| (*number, *mark));
            newest.map_or_else(Known::default, |(number, mark)| Known { number, mark })
        }

        /// A number, with its mark if this instance got it from the store.
        pub(in crate::store) fn known(&self, number: u64) -> Known {
            Known { number, mark: self.lock().get(&number).copied().flatten() }
        }

        /// Notes a number that came from the store.
        pub(in crate::store) fn note(&self, known: Known) {
            let mut marks = self.lock();
            marks.insert(known.number, known.mark);
            if marks.len() > KEPT {
                marks.pop_first();
            }
        }

        fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Option<i64>>> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    /// How often a look of this instance came after ends of single sessions. A store that knows of fewer has
    /// lost some.
    #[derive(Debug, Default)]
    pub(in crate::store) struct Endings {
        instance: OnceLock<i64>,
        count: AtomicU64,
        is_new: AtomicBool,
    }

    /// What a look states of them.
    pub(in crate::store) struct Look {
        pub(in crate::store) instance: i64,
        pub(in crate::store) count: u64,
        pub(in crate::store) is_new: bool,
    }

    impl Endings {
        /// Notes that sessions were ended.
        pub(in crate::store) fn note(&self) {
            self.is_new.store(true, Ordering::Release);
        }

        pub(in crate::store) fn look(&self) -> Result<Look, StoreError> {
            let drawn = i64::from_ne_bytes(Random::system().draw().map_err(StoreError::new)?);
            Ok(Look {
                instance: *self.instance.get_or_init(|| drawn),
                count: self.count.load(Ordering::Acquire),
                is_new: self.is_new.swap(false, Ordering::AcqRel),
            })
        }

        /// Notes what a look left in the store; `None` if it failed.
        pub(in crate::store) fn left(&self, look: &Look, count: Option<u64>) {
            match count {
                Some(count) => drop(self.count.fetch_max(count, Ordering::AcqRel)),
                None if look.is_new => self.note(),
                None => (),
            }
        }
    }
}

#[cfg(any(feature = "postgres", feature = "redis"))]
pub(super) use self::shared::{Endings, Known, LOST, Numbers};

//! Numbers of cut-offs and revocations, and how an instance notices that a store lost some of them.
//!
//! A store numbers its cut-offs of sessions and its revocations of tokens. An instance reads those after the
//! newest number that it knows, and a request that grants rights states that number. After a restored copy, or
//! a failover to a server that lagged behind, the store no longer has the number, or has given it to another
//! cut-off. So each number is stored with a random mark, and an instance states both.
//!
//! The end of one session has no number, since there are too many. In its place an instance keeps a count in the
//! store, which it increments at the next poll after it ended sessions.

/// How many numbers an era has. A store that lacks a number that an instance knows continues with the first
/// number of the next era, which is higher than all numbers that were assigned and lost.
pub const ERA: u64 = 1 << 32;

/// The era of a number: how many losses the store has noticed.
pub(crate) const fn era(number: u64) -> u64 {
    number / ERA
}

#[cfg(any(feature = "postgres", feature = "redis"))]
mod shared {
    use std::{
        collections::BTreeMap,
        sync::{
            Mutex, OnceLock,
            atomic::{AtomicBool, AtomicU64, Ordering},
        },
    };

    use crate::{
        base::{clock::Random, locks::lock},
        store::StoreError,
    };

    /// The most marks that an instance keeps: more than numbers are assigned while a request runs.
    const KEPT: usize = 4096;

    /// The error of calls until this instance has read all cut-offs and revocations again.
    pub(in crate::store) const LOST: &str =
        "the store has lost revocations that this instance knows, which reads everything anew";

    /// A number and its mark; `None` if this instance does not know the mark.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(in crate::store) struct MarkedNumber {
        pub(in crate::store) number: u64,
        pub(in crate::store) mark: Option<i64>,
    }

    /// The numbers of one sequence that an instance knows, with their marks.
    #[derive(Debug, Default)]
    pub(in crate::store) struct Numbers(Mutex<BTreeMap<u64, Option<i64>>>);

    impl Numbers {
        /// The highest number that this instance got from the store.
        pub(in crate::store) fn newest(&self) -> MarkedNumber {
            let newest = lock(&self.0).last_key_value().map(|(number, mark)| (*number, *mark));
            newest
                .map_or_else(MarkedNumber::default, |(number, mark)| MarkedNumber { number, mark })
        }

        /// A number, with its mark if this instance got it from the store.
        pub(in crate::store) fn with_mark(&self, number: u64) -> MarkedNumber {
            MarkedNumber { number, mark: lock(&self.0).get(&number).copied().flatten() }
        }

        /// Records a number that the store returned.
        pub(in crate::store) fn record(&self, number: MarkedNumber) {
            let mut marks = lock(&self.0);
            marks.insert(number.number, number.mark);
            if marks.len() > KEPT {
                marks.pop_first();
            }
        }
    }

    /// The count that this instance keeps in the store: how many of its polls came after ends of single
    /// sessions. A store with a lower count has lost writes.
    #[derive(Debug, Default)]
    pub(in crate::store) struct EndingCount {
        instance: OnceLock<i64>,
        count: AtomicU64,
        is_new: AtomicBool,
    }

    /// The count, as a poll states it. The next poll states the same ends, unless this one
    /// [records](Self::record) that the store has their count.
    pub(in crate::store) struct EndingPoll<'a> {
        endings: &'a EndingCount,
        pub(in crate::store) instance: i64,
        pub(in crate::store) count: u64,
        pub(in crate::store) is_new: bool,
    }

    impl EndingCount {
        /// Records that this instance ended sessions.
        pub(in crate::store) fn record_end(&self) {
            self.is_new.store(true, Ordering::Release);
        }

        pub(in crate::store) fn poll(&self) -> Result<EndingPoll<'_>, StoreError> {
            let drawn = i64::from_ne_bytes(Random::system().draw().map_err(StoreError::new)?);
            Ok(EndingPoll {
                endings: self,
                instance: *self.instance.get_or_init(|| drawn),
                count: self.count.load(Ordering::Acquire),
                is_new: self.is_new.swap(false, Ordering::AcqRel),
            })
        }
    }

    impl EndingPoll<'_> {
        /// Records the count that this poll left in the store.
        pub(in crate::store) fn record(mut self, count: u64) {
            self.endings.count.fetch_max(count, Ordering::AcqRel);
            self.is_new = false;
        }
    }

    /// A poll that failed, or whose request was dropped while it waited.
    impl Drop for EndingPoll<'_> {
        fn drop(&mut self) {
            if self.is_new {
                self.endings.record_end();
            }
        }
    }
}

#[cfg(any(feature = "postgres", feature = "redis"))]
pub(super) use self::shared::{EndingCount, LOST, MarkedNumber, Numbers};

#[cfg(all(test, any(feature = "postgres", feature = "redis")))]
mod tests {
    use super::*;

    #[test]
    fn ends_are_stated_until_a_poll_has_recorded_their_count() {
        let endings = EndingCount::default();
        endings.record_end();
        drop(endings.poll().unwrap());
        let poll = endings.poll().unwrap();
        assert!(poll.is_new);
        poll.record(1);
        let next = endings.poll().unwrap();
        assert_eq!((next.is_new, next.count), (false, 1));
    }
}

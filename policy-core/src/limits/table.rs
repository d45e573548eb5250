//! Rate accounts of all clients, in bounded memory.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use siphasher::sip::SipHasher13;

use super::{
    Granted, Rate, Refused,
    gcra::{Account, Pace, nanos},
};

/// Decides how often each client may call, for any number of clients, in memory of fixed size.
///
/// No client ever gets more than its rate, whatever others do. A client keeps its own account as
/// long as its requests matter. The account is in one of a few cells that the hash of its key
/// selects. If all of them are taken, new clients share one account, and a client that gets its own
/// account later starts it with the grants of the shared one. So a flood of addresses can keep new
/// clients out while it lasts, but no client that called before, and it gains nothing itself.
///
/// ```
/// use std::time::Duration;
/// use policy_core::limits::{Rate, RateTable};
///
/// let table = RateTable::new(10_000, [1, 2]);
/// let (rate, now) = (Rate::per_second(1), Duration::from_secs(7));
/// assert!(table.take(&rate, b"ada", now).is_ok());
/// assert!(table.take(&rate, b"eve", now).is_ok());
/// let refused = table.take(&rate, b"ada", now).unwrap_err();
/// assert_eq!(refused.retry_after, Duration::from_secs(1));
/// ```
pub struct RateTable {
    /// One lock for each, so that two requests hardly ever wait for each other.
    sets: Box<[Mutex<Set>]>,
    /// Keyed by the seed.
    hasher: SipHasher13,
}

/// The number of cells that one key can use.
const WAYS: usize = 7;

#[derive(Clone, Copy)]
struct Set {
    cells: [Cell; WAYS],
    /// The shared account of all clients without a cell. It is used for one rate at a time.
    shared: Cell,
}

#[derive(Clone, Copy)]
struct Cell {
    tag: u64,
    account: Account,
}

const EMPTY: Cell = Cell { tag: 0, account: Account::EMPTY };

impl RateTable {
    /// A table with cells of 56 bytes for at least `capacity` clients. The seed must be random, so
    /// that an attacker cannot choose addresses whose hashes collide.
    pub fn new(capacity: usize, [key_0, key_1]: [u64; 2]) -> Self {
        let count = capacity.div_ceil(WAYS).max(1);
        let set = Set { cells: [EMPTY; WAYS], shared: EMPTY };
        let sets = (0..count).map(|_| Mutex::new(set)).collect();
        Self { sets, hasher: SipHasher13::new_with_keys(key_0, key_1) }
    }

    /// Decides about a request of `key` that comes at `now`. Requests with the same key are counted
    /// together: it names the client, and the route if each route counts by itself. `now` is the
    /// time since a point that is the same for all calls, by a monotonic clock. If calls overtake
    /// each other, the decision is off by the time between them.
    ///
    /// # Errors
    ///
    /// [`Refused`], with the time to wait.
    pub fn take(&self, rate: &Rate, key: &[u8], now: Duration) -> Result<Granted, Refused> {
        let Some(pace) = Pace::new(rate) else { return Err(Refused { retry_after: rate.per }) };
        let now = nanos(now);
        // The same key with another rate counts as another client. Rates are not chosen by
        // attackers, so collisions do not matter.
        let of_rate = nanos(rate.per).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(rate.count);
        let tag = self.hasher.hash(key) ^ of_rate;
        let Some(set) = self.sets.get(scaled(tag, self.sets.len())) else {
            return Err(Refused { retry_after: rate.per });
        };
        let mut set = set.lock().unwrap_or_else(PoisonError::into_inner);
        match set.cells.iter_mut().find(|cell| cell.tag == tag) {
            Some(cell) => cell.account.take_at(&pace, now),
            None => set.take_as_new(tag, of_rate, &pace, now),
        }
    }
}

impl Set {
    /// Decides about a client without a cell. It needs none until a request is granted.
    #[cold]
    fn take_as_new(
        &mut self,
        tag: u64,
        rate: u64,
        pace: &Pace,
        now: u64,
    ) -> Result<Granted, Refused> {
        let is_other = self.shared.tag != rate;
        let Some(cell) = self.cells.iter_mut().find(|cell| cell.account.is_free(now)) else {
            if is_other && !self.shared.account.is_free(now) {
                return Err(Refused { retry_after: self.shared.account.time_until_free(now) });
            }
            self.shared.tag = rate;
            return self.shared.account.take_at(pace, now);
        };
        let mut account = if is_other { Account::EMPTY } else { self.shared.account };
        let granted = account.take_at(pace, now)?;
        *cell = Cell { tag, account };
        Ok(granted)
    }
}

/// A number below `end`, by the upper bits of a hash.
fn scaled(hash: u64, end: usize) -> usize {
    ((u128::from(hash) * end as u128) >> 64) as usize
}

impl fmt::Debug for RateTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateTable").field("sets", &self.sets.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_56_bytes() {
        assert_eq!(size_of::<Mutex<Set>>(), 56 * WAYS);
        for (capacity, sets) in [(0, 1), (1, 1), (7, 1), (8, 2), (65_536, 9_363)] {
            assert_eq!(RateTable::new(capacity, [0; 2]).sets.len(), sets);
        }
    }

    #[test]
    fn every_set_is_used_and_none_by_many_more_than_others() {
        let table = RateTable::new(70 * WAYS, [5, 6]);
        for client in 0..70_000_u32 {
            let _ = table.take(&Rate::per_hour(9), &client.to_be_bytes(), Duration::from_secs(1));
        }
        let full = |set: &Mutex<Set>| {
            let set = set.lock().unwrap();
            set.cells.iter().chain([&set.shared]).all(|cell| cell.tag != 0)
        };
        assert!(table.sets.iter().all(full));
        let hashes = (0..1_000_u64).map(|n| n << 54);
        assert!(hashes.map(|hash| scaled(hash, 70)).is_sorted());
        assert_eq!((scaled(0, 70), scaled(u64::MAX, 70)), (0, 69));
    }

    #[test]
    fn the_seed_decides_who_meets_whom() {
        let met = |seed| {
            let (table, rate) = (RateTable::new(64 * WAYS, seed), Rate::per_hour(1));
            (0..1_000_u32)
                .filter(|client| {
                    table.take(&rate, &client.to_be_bytes(), Duration::from_secs(1)).is_err()
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(met([1, 2]), met([1, 2]));
        assert_ne!(met([1, 2]), met([1, 3]));
        assert_ne!(met([1, 2]), met([2, 2]));
    }

    #[test]
    fn a_rate_of_nothing_grants_nothing() {
        let (table, nothing) = (RateTable::new(1, [0; 2]), Rate::per_second(0));
        let refused = table.take(&nothing, b"ada", Duration::from_secs(1));
        assert_eq!(refused, Err(Refused { retry_after: nothing.per }));
    }

    #[test]
    fn the_ends_of_time_are_no_end_of_the_program() {
        for (per, now) in [
            (Duration::MAX, Duration::MAX),
            (Duration::MAX, Duration::ZERO),
            (Duration::ZERO, Duration::MAX),
            (Duration::from_nanos(1), Duration::ZERO),
        ] {
            let rate = Rate { per, ..Rate::per_second(u32::MAX) };
            let table = RateTable::new(1, [0; 2]);
            for back in [now, Duration::ZERO, now] {
                for key in 0..20_u8 {
                    let _ = table.take(&rate, &[key], back);
                }
            }
        }
    }
}

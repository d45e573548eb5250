//! The accounts of many clients with one rate, in memory of fixed size.

use std::sync::{Mutex, PoisonError};

use super::{
    Rate, RateGrant, RateRefusal,
    gcra::{Account, Pace},
};

/// Accounts of clients, which are named by hashes.
///
/// A client has a cell in one of two sets that its hash selects, and keeps it as long as its
/// requests matter. If both sets are full, the client is counted in two shared accounts, together
/// with a few others. Each of the two counts every grant of the client, so the client is granted a
/// request if one of them grants it. A client that gets a cell later starts it with the grants of
/// a shared account. So no client ever gets more than its rate.
pub(super) struct Accounts {
    pace: Option<Pace>,
    rate: Rate,
    shards: Box<[Mutex<Shard>]>,
}

/// The account that counts a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccountKind {
    /// A separate cell.
    Own,
    /// Accounts that are shared with other clients.
    Shared,
}

/// A part of the accounts under one lock. It allocates its sets at its first client, and its
/// shared accounts at the first client without a cell.
///
/// Accounts are stored as integers: zeroed memory is not written before it is used, and so is not
/// resident.
struct Shard {
    /// The number of sets, whether they are allocated or not.
    size: usize,
    sets: Vec<Set>,
    shared: Vec<StoredAccount>,
}

/// An account as it is stored.
type StoredAccount = [u64; 5];

/// The cells of a set: first their tags, which fill one cache line, then their accounts.
type Set = [[u64; WAYS]; 6];

const WAYS: usize = 8;

/// The number of bits by which a hash is rotated to select each of the two sets of a client. The
/// upper bits of the hash itself select the shard.
const CHOICES: [u32; 2] = [16, 40];

/// The shared accounts for each set.
const SHARED: usize = 2;

/// The maximum number of locks. A decision holds one for about 100 ns.
const SHARDS: usize = 64;

/// The minimum number of sets behind one lock, if there is more than one lock.
const SETS_OF_SHARD: usize = 64;

/// The number of shards, and of sets in each.
const fn layout(clients: usize) -> (usize, usize) {
    let sets = clients.div_ceil(WAYS);
    let shards = match sets / SETS_OF_SHARD {
        0 => 1,
        shards if shards > SHARDS => SHARDS,
        shards => shards,
    };
    let sets = sets.div_ceil(shards);
    (shards, if sets == 0 { 1 } else { sets })
}

/// The memory of the accounts for this many clients, in bytes.
pub(super) const fn memory(clients: usize) -> usize {
    let (shards, sets) = layout(clients);
    shards
        .saturating_mul(sets)
        .saturating_mul(size_of::<Set>() + SHARED * size_of::<StoredAccount>())
}

impl Accounts {
    /// Creates accounts for at least this many clients.
    pub(super) fn new(rate: Rate, clients: usize) -> Self {
        let (shards, sets) = layout(clients);
        let shard = |_| Mutex::new(Shard { size: sets, sets: Vec::new(), shared: Vec::new() });
        Self { pace: Pace::new(&rate), rate, shards: (0..shards).map(shard).collect() }
    }

    /// Decides about a request. `admit` is called before the client is counted for a new stretch,
    /// and for every request of a client without a cell.
    #[inline]
    pub(super) fn take(
        &self,
        hash: u64,
        now: u64,
        admit: impl FnOnce(AccountKind) -> Result<(), RateRefusal>,
    ) -> Result<RateGrant, RateRefusal> {
        self.decide::<true>(hash, now, admit)
    }

    /// Decides as [`take`](Self::take) would, and counts nothing.
    pub(super) fn peek(
        &self,
        hash: u64,
        now: u64,
        admit: impl FnOnce(AccountKind) -> Result<(), RateRefusal>,
    ) -> Result<(), RateRefusal> {
        self.decide::<false>(hash, now, admit).map(drop)
    }

    #[inline]
    fn decide<const COUNTS: bool>(
        &self,
        hash: u64,
        now: u64,
        admit: impl FnOnce(AccountKind) -> Result<(), RateRefusal>,
    ) -> Result<RateGrant, RateRefusal> {
        let shard = self.shards.get(scaled(hash, self.shards.len()));
        let (Some(pace), Some(shard)) = (&self.pace, shard) else {
            return Err(RateRefusal { retry_after: self.rate.per });
        };
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        for bits in CHOICES {
            let index = shard.set_of(hash, bits);
            let Some((tags, accounts)) = shard.set(index) else { continue };
            let Some(way) = tags.iter().position(|tag| *tag == hash) else { continue };
            let Some(words) = accounts.get_mut(way) else { continue };
            let mut account = Account::from_words(*words);
            if account.advance(pace, now) {
                admit(AccountKind::Own)?;
            }
            let decision = account.decide(pace, now);
            if COUNTS {
                *words = account.to_words();
            }
            return decision;
        }
        shard.decide_as_new::<COUNTS>(hash, pace, now, admit)
    }
}

impl Accounts {
    /// The share of the cells that are in use, from 0 to 1, measured in one shard: hashes spread
    /// clients evenly.
    pub(super) fn utilization(&self, now: u64) -> f64 {
        let Some(shard) = self.shards.first() else { return 0.0 };
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let (sets, cells) = (shard.sets.len(), shard.size * WAYS);
        let free: usize = (0..sets).map(|set| shard.free_cells(set, now)).sum();
        (sets * WAYS - free) as f64 / cells as f64
    }
}

impl Shard {
    /// A set in which a client may have a cell.
    fn set_of(&self, hash: u64, bits: u32) -> usize {
        scaled(hash.rotate_left(bits), self.size)
    }

    /// The two accounts that count a client without a cell.
    fn shared_of(&self, hash: u64) -> [usize; 2] {
        // Odd constants without structure: clients that share sets do not share accounts.
        let factors = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f_u64];
        factors.map(|factor| scaled(hash.wrapping_mul(factor), self.size * SHARED))
    }

    /// The tags of a set, and its accounts.
    fn set(&mut self, index: usize) -> Option<(&mut [u64; WAYS], &mut [StoredAccount])> {
        let (tags, accounts) = self.sets.get_mut(index)?.split_first_mut()?;
        Some((tags, accounts.as_flattened_mut().as_chunks_mut().0))
    }

    /// Decides about a client without a cell. It gets none until a request is granted.
    #[cold]
    fn decide_as_new<const COUNTS: bool>(
        &mut self,
        hash: u64,
        pace: &Pace,
        now: u64,
        admit: impl FnOnce(AccountKind) -> Result<(), RateRefusal>,
    ) -> Result<RateGrant, RateRefusal> {
        if self.sets.is_empty() {
            self.sets = vec![[[0; WAYS]; 6]; self.size];
        }
        let shared = self.shared_of(hash);
        let [one, other] = shared.map(|index| {
            let words = self.shared.get(index).copied().unwrap_or_default();
            let mut account = Account::from_words(words);
            (account.take_at(pace, now), account)
        });
        let (decision, account) = if is_better(&one.0, &other.0) { one } else { other };
        let granted = decision?;
        // The emptier set, so that few sets are full while others have free cells.
        let [first, second] = CHOICES.map(|bits| self.set_of(hash, bits));
        let is_first = self.free_cells(first, now) >= self.free_cells(second, now);
        match self.free_cell(if is_first { first } else { second }, now) {
            Some((tag, words)) => {
                admit(AccountKind::Own)?;
                if COUNTS {
                    (*tag, *words) = (hash, account.to_words());
                }
            }
            None => {
                admit(AccountKind::Shared)?;
                if COUNTS {
                    self.charge(shared, pace, now);
                }
            }
        }
        Ok(granted)
    }

    fn free_cells(&mut self, set: usize, now: u64) -> usize {
        let is_free = |words: &&mut StoredAccount| Account::from_words(**words).is_free(now);
        self.set(set).map_or(0, |(_, accounts)| accounts.iter_mut().filter(is_free).count())
    }

    fn free_cell(&mut self, set: usize, now: u64) -> Option<(&mut u64, &mut StoredAccount)> {
        let (tags, accounts) = self.set(set)?;
        tags.iter_mut().zip(accounts).find(|(_, words)| Account::from_words(**words).is_free(now))
    }

    /// Counts a granted request in both accounts, even in one that would have refused it.
    fn charge(&mut self, [one, other]: [usize; 2], pace: &Pace, now: u64) {
        if self.shared.is_empty() {
            self.shared = vec![[0; 5]; self.size * SHARED];
        }
        let distinct = [Some(one), (other != one).then_some(other)];
        for index in distinct.into_iter().flatten() {
            if let Some(words) = self.shared.get_mut(index) {
                let mut account = Account::from_words(*words);
                account.charge(pace, now);
                *words = account.to_words();
            }
        }
    }
}

/// Whether the first decision grants more, or refuses for a shorter time.
fn is_better(one: &Result<RateGrant, RateRefusal>, other: &Result<RateGrant, RateRefusal>) -> bool {
    match (one, other) {
        (Ok(one), Ok(other)) => one.remaining >= other.remaining,
        (Err(one), Err(other)) => one.retry_after <= other.retry_after,
        (one, _) => one.is_ok(),
    }
}

/// A number below `end`, by the upper bits of a hash.
fn scaled(hash: u64, end: usize) -> usize {
    ((u128::from(hash) * end as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const RATE: Rate = Rate::per_hour(9);

    fn take(accounts: &Accounts, hash: u64) -> Option<AccountKind> {
        let mut held = None;
        let decision = accounts.take(hash, 1, |kind| {
            held = Some(kind);
            Ok(())
        });
        decision.ok().and(held)
    }

    /// Spreads the numbers as a keyed hash does.
    fn hash(client: u64) -> u64 {
        siphasher::sip::SipHasher13::new_with_keys(5, 6).hash(&client.to_le_bytes())
    }

    #[test]
    fn a_client_takes_58_bytes_of_the_documented_memory() {
        assert_eq!(size_of::<Set>() + SHARED * size_of::<StoredAccount>(), 58 * WAYS);
        for (clients, shards, sets) in
            [(0, 1, 1), (1, 1, 1), (8, 1, 1), (9, 1, 2), (8_192, 16, 64), (1 << 20, 64, 2_048)]
        {
            let accounts = Accounts::new(RATE, clients);
            assert_eq!(accounts.shards.len(), shards, "{clients}");
            let mut words = 0;
            for (index, shard) in accounts.shards.iter().enumerate() {
                let first = ((index as u128) << 64).div_ceil(shards as u128) as u64;
                assert_eq!(take(&accounts, first), Some(AccountKind::Own));
                let mut shard = shard.lock().unwrap();
                assert!(shard.shared.is_empty(), "{clients}");
                shard.charge([0, 0], &Pace::new(&RATE).unwrap(), 1);
                assert_eq!(shard.sets.len(), sets, "{clients}");
                words += shard.sets.as_flattened().as_flattened().len();
                words += shard.shared.as_flattened().len();
            }
            assert_eq!(words * size_of::<u64>(), memory(clients));
            assert!(memory(clients) >= 58 * clients);
        }
    }

    #[test]
    fn sets_fill_evenly_and_so_do_shared_accounts() {
        let accounts = Accounts::new(RATE, 8_192);
        // With one set to choose from, a twentieth of these clients would share accounts.
        let is_shared = |client: &u64| take(&accounts, hash(*client)) == Some(AccountKind::Shared);
        assert!((0..6_144).filter(is_shared).count() < 10);
        for client in 10_000..30_000 {
            let _ = take(&accounts, hash(client));
        }
        for shard in &accounts.shards {
            let shard = shard.lock().unwrap();
            let is_used = |words: &&StoredAccount| **words != [0; 5];
            let accounts =
                || shard.sets.iter().flat_map(|set| set[1..].as_flattened().as_chunks().0);
            assert!(accounts().all(|words: &StoredAccount| is_used(&words)));
            assert!(
                shard.shared.iter().filter(is_used).count() > SHARED * shard.sets.len() * 9 / 10
            );
        }
    }

    #[test]
    fn a_client_with_a_cell_is_admitted_once_per_period_and_others_each_time() {
        let accounts = Accounts::new(RATE, 8);
        let firsts = (0..8).map(|client| take(&accounts, hash(client))).collect::<Vec<_>>();
        assert_eq!(firsts, [Some(AccountKind::Own); 8]);
        assert_eq!(take(&accounts, hash(0)), None);
        for _ in 0..3 {
            assert_eq!(take(&accounts, hash(9)), Some(AccountKind::Shared));
        }
    }

    #[test]
    fn rejected_clients_are_not_counted() {
        let accounts = Accounts::new(RATE, 8);
        let no = RateRefusal { retry_after: Duration::from_secs(7) };
        for client in 0..20 {
            assert_eq!(accounts.take(hash(client), 1, |_| Err(no)), Err(no));
        }
        assert!((0..8).all(|client| take(&accounts, hash(client)) == Some(AccountKind::Own)));
        assert!((0..20).all(|_| accounts.take(hash(9), 1, |_| Err(no)) == Err(no)));
        let left = accounts.take(hash(9), 1, |_| Ok(())).map(|granted| granted.remaining);
        assert_eq!(left, Ok(8));
    }

    #[test]
    fn both_shared_accounts_count_a_client_and_either_grants() {
        let accounts = Accounts::new(RATE, 8);
        for client in 0..8 {
            let _ = take(&accounts, hash(client));
        }
        let client_of = |shared| {
            let is_of = |hash: &u64| accounts.shards[0].lock().unwrap().shared_of(*hash) == shared;
            (10..).map(hash).find(is_of).unwrap()
        };
        let granted = |hash| (0..20).filter(|_| take(&accounts, hash).is_some()).count();
        assert_eq!(granted(client_of([0, 0])), 9);
        assert_eq!(granted(client_of([0, 1])), 9, "one of two accounts is full");
        assert_eq!(granted(client_of([1, 1])), 0);
    }

    #[test]
    fn hashes_are_scaled_in_order_and_to_the_end() {
        assert!((0..1_000_u64).map(|n| scaled(n << 54, 70)).is_sorted());
        assert_eq!((scaled(0, 70), scaled(u64::MAX, 70)), (0, 69));
    }
}

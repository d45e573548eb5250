//! A map in many shards, each with its own lock.

use std::{
    collections::HashMap,
    hash::{BuildHasher, BuildHasherDefault, Hash, Hasher},
    sync::{
        Mutex, MutexGuard, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::base::locks::lock;

/// One shard of a [`Shards`].
pub(super) type Shard<K, V, S = BuildHasherDefault<KeyHasher>> = HashMap<K, V, S>;

/// All shards.
type Table<K, V, S> = Box<[Mutex<Shard<K, V, S>>]>;

/// Scanning one shard of a million rows takes a tenth of a millisecond.
const SHARDS: usize = 1024;

/// The most rows removed in one step.
const STEP: usize = 128;

/// A map that is locked one shard at a time. Its keys are hashes already, unless another hasher is
/// given.
pub(super) struct Shards<K, V, S = BuildHasherDefault<KeyHasher>> {
    /// Made when it is first locked: most apps use few tables of a store.
    shards: OnceLock<Table<K, V, S>>,
    hasher: S,
    /// Where the next sweep begins.
    cursor: AtomicUsize,
}

impl<K, V, S: Default> Default for Shards<K, V, S> {
    fn default() -> Self {
        Self { shards: OnceLock::new(), hasher: S::default(), cursor: AtomicUsize::new(0) }
    }
}

impl<K, V, S: BuildHasher + Clone> Shards<K, V, S> {
    /// Locks the shard of a key.
    pub(super) fn lock<Q: Hash + ?Sized>(&self, key: &Q) -> MutexGuard<'_, Shard<K, V, S>> {
        self.at(self.number(key))
    }

    /// Locks the shards of two keys, the smaller number first; only one if they share it.
    pub(super) fn lock_two<Q: Hash + ?Sized>(
        &self,
        a: &Q,
        b: &Q,
    ) -> Two<MutexGuard<'_, Shard<K, V, S>>> {
        let (a, b) = (self.number(a), self.number(b));
        let low = self.at(a.min(b));
        Two { is_swapped: a > b, low, high: (a != b).then(|| self.at(a.max(b))) }
    }

    /// Visits every shard, one after the other.
    pub(super) fn each(&self, mut visit: impl FnMut(MutexGuard<'_, Shard<K, V, S>>)) {
        self.shards.get().into_iter().flatten().for_each(|shard| visit(lock(shard)));
    }

    /// Removes up to `limit` rows, a few per step, from where the last sweep ended. `step` gets a
    /// shard and the most rows to remove, and returns how many it removed. Other tasks run in
    /// between.
    pub(super) async fn sweep(
        &self,
        limit: usize,
        mut step: impl FnMut(MutexGuard<'_, Shard<K, V, S>>, usize) -> usize,
    ) -> usize {
        if self.shards.get().is_none() {
            return 0;
        }
        let mut removed = 0;
        for _ in 0..SHARDS {
            let number = self.cursor.fetch_add(1, Ordering::Relaxed) % SHARDS;
            loop {
                let most = STEP.min(limit - removed);
                let count = step(self.at(number), most);
                removed += count;
                if removed >= limit {
                    return removed;
                }
                tokio::task::yield_now().await;
                if count < most {
                    break;
                }
            }
        }
        removed
    }

    /// Uses other bits of the hash than the map of a shard does.
    fn number<Q: Hash + ?Sized>(&self, key: &Q) -> usize {
        (self.hasher.hash_one(key) >> 40) as usize % SHARDS
    }

    #[expect(clippy::indexing_slicing, reason = "numbers are below SHARDS, the length")]
    fn at(&self, number: usize) -> MutexGuard<'_, Shard<K, V, S>> {
        lock(&self.shards.get_or_init(|| self.empty())[number])
    }

    #[cold]
    fn empty(&self) -> Table<K, V, S> {
        let shard = || Mutex::new(HashMap::with_hasher(self.hasher.clone()));
        std::iter::repeat_with(shard).take(SHARDS).collect()
    }
}

/// One or two locked shards.
pub(super) struct Two<G> {
    is_swapped: bool,
    low: G,
    high: Option<G>,
}

impl<G> Two<G> {
    /// The shard of the first key.
    pub(super) fn a(&mut self) -> &mut G {
        match &mut self.high {
            Some(high) if self.is_swapped => high,
            _ => &mut self.low,
        }
    }

    /// The shard of the second key.
    pub(super) fn b(&mut self) -> &mut G {
        match &mut self.high {
            Some(high) if !self.is_swapped => high,
            _ => &mut self.low,
        }
    }
}

/// The first bytes of a key are its hash.
#[derive(Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*first);
        }
    }

    /// The length, which is the same for all keys.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

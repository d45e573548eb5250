//! A filter that excludes most names that are not in a set, without a look-up in the set.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// The number of bits of the filter for each name of its capacity.
const BITS_OF_NAME: usize = 10;

/// The number of bits that a name sets, all in one line: the optimum for the number of bits per
/// name.
const BITS_SET: u32 = 6;

/// The number of bits that select a bit of a line.
const BITS_OF_INDEX: u32 = Line::BITS.ilog2();

/// A Bloom filter in front of a large set of names. A query for a name that is not in the set reads
/// one cache line of a table with about ten bits per name, while a look-up in the set would read
/// several lines of a table with a hundred bytes per name. A million names fit into the cache of
/// one core.
///
/// It has no false negatives. False positives only cost time, so the hash has no key: an attacker
/// who chooses colliding names causes only the cost of a set without a filter.
///
/// Names that leave the set stay in the filter until it is rebuilt, which happens when it has
/// reached its capacity. Its capacity is one and a half times the size of the set, so the cost of
/// rebuilding is constant per name.
#[derive(Debug, Default)]
pub(super) struct NameFilter {
    lines: Box<[Line]>,
    /// The number of names that can still be added.
    room: usize,
}

/// As large as a cache line.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
struct Line([u64; 8]);

/// The hash of a name, which a set keeps so that it can rebuild its filter without the names.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameHash(u64);

impl NameHash {
    #[inline]
    pub(super) fn new(name: &str) -> Self {
        let mut hasher = FxHasher::default();
        hasher.write(name.as_bytes());
        Self(hasher.finish())
    }

    /// The index of the line, among this many lines.
    #[inline]
    fn line(self, lines: usize) -> usize {
        ((u128::from(self.0) * lines as u128) >> u64::BITS) as usize
    }

    /// The positions of the bits in the line: the index of a word, and the bit in the word.
    #[inline]
    fn bits(self) -> impl Iterator<Item = (usize, u64)> {
        // The upper bits of the hash select the line; here each bit depends on more of it.
        let mixed = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (1..=BITS_SET).map(move |number| {
            let index = mixed >> (u64::BITS - BITS_OF_INDEX * number);
            ((index / 64) as usize % 8, 1 << (index % 64))
        })
    }
}

impl Line {
    const BITS: u32 = 512;

    fn insert(&mut self, hash: NameHash) {
        for (word, bit) in hash.bits() {
            if let Some(word) = self.0.get_mut(word) {
                *word |= bit;
            }
        }
    }

    #[inline]
    fn may_have(&self, hash: NameHash) -> bool {
        let has = |(word, bit)| self.0.get(word).is_none_or(|word| word & bit != 0);
        // No early exit at the first unset bit: the reads overlap, and no branch is mispredicted.
        hash.bits().fold(true, |all, bit| all & has(bit))
    }
}

impl NameFilter {
    /// The filter of a set, with room for half as many additional names.
    pub(super) fn from_hashes(names: impl Iterator<Item = NameHash>, count: usize) -> Self {
        let lines = (count * 3 / 2 * BITS_OF_NAME).div_ceil(Line::BITS as usize).max(1);
        let room = lines * Line::BITS as usize / BITS_OF_NAME;
        let mut filter = Self { lines: vec![Line::default(); lines].into(), room };
        names.for_each(|name| filter.insert(name));
        filter
    }

    /// Whether the filter should be rebuilt before the next name.
    pub(super) fn is_full(&self) -> bool {
        self.room == 0
    }

    /// Adds a name that the set does not have.
    pub(super) fn insert(&mut self, name: NameHash) {
        self.room = self.room.saturating_sub(1);
        let index = name.line(self.lines.len());
        if let Some(line) = self.lines.get_mut(index) {
            line.insert(name);
        }
    }

    /// Whether the set may have this name. There are no false negatives.
    #[inline]
    pub(super) fn may_have(&self, name: &str) -> bool {
        let name = NameHash::new(name);
        let index = name.line(self.lines.len());
        self.lines.get(index).is_none_or(|line| line.may_have(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter_of(names: &[String]) -> NameFilter {
        NameFilter::from_hashes(names.iter().map(|name| NameHash::new(name)), names.len())
    }

    fn names(range: std::ops::Range<u32>) -> Vec<String> {
        range.map(|number| format!("name-{number}")).collect()
    }

    /// Also beyond its capacity, and for the empty set.
    #[test]
    fn a_name_of_the_set_is_never_denied() {
        let names = names(0..2000);
        for count in [0, 1, 50, 100, 1000] {
            let mut filter = filter_of(&names[..count]);
            for (number, name) in names.iter().enumerate().skip(count) {
                filter.insert(NameHash::new(name));
                assert!(names[..=number].iter().step_by(17).all(|name| filter.may_have(name)));
                assert!(filter.may_have(name));
            }
        }
    }

    /// As many as the theory of Bloom filters predicts, even when it is full: 1.3 in a hundred,
    /// since the lines are filled unequally at random.
    #[test]
    fn few_other_names_are_not_denied() {
        let (known, others) = (names(0..75_000), names(75_000..175_000));
        let mut filter = filter_of(&known[..50_000]);
        let mut added = known[50_000..].iter();
        while !filter.is_full()
            && let Some(name) = added.next()
        {
            filter.insert(NameHash::new(name));
        }
        assert!(added.len() < 100, "{} more names have no room", added.len());
        let not_denied = others.iter().filter(|name| filter.may_have(name)).count();
        assert!(not_denied < 2000, "{not_denied}");
    }
}

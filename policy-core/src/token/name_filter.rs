//! Tells that a name is not in a set, without a look at the set.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// The bits of the filter for each name that it has room for.
const BITS_OF_NAME: usize = 10;

/// The bits that a name sets, all in one line: the best number for as many bits of each name.
const BITS_SET: u32 = 6;

/// The bits of a number that select one of a line.
const BITS_OF_INDEX: u32 = Line::BITS.ilog2();

/// A Bloom filter in front of a large set of names. A question about a name that is not in the set
/// reads one line of a cache, out of about ten bits for each name of the set, where a look at the
/// set would read several lines out of a hundred bytes each. A million names fit into the cache of
/// one core.
///
/// It never denies a name of the set. That it does not deny another one only costs time, so the
/// hash has no key: who chooses names that collide gets the cost of a set without a filter.
///
/// Names that leave the set stay in the filter until it is made anew, which it is when as many were
/// added as it has room for. Its room is half as much again as the set had names, so the cost of
/// that is a constant for each name.
#[derive(Debug, Default)]
pub(super) struct NameFilter {
    lines: Box<[Line]>,
    /// How many more names there is room for.
    room: usize,
}

/// As large as a line of a cache.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
struct Line([u64; 8]);

/// The hash of a name, which a set keeps so that it can make its filter anew without its names.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameHash(u64);

impl NameHash {
    #[inline]
    pub(super) fn of(name: &str) -> Self {
        let mut hasher = FxHasher::default();
        hasher.write(name.as_bytes());
        Self(hasher.finish())
    }

    /// The index among so many lines.
    #[inline]
    fn line(self, lines: usize) -> usize {
        ((u128::from(self.0) * lines as u128) >> u64::BITS) as usize
    }

    /// The indexes of the bits in the line, as a word and a bit of it.
    #[inline]
    fn bits(self) -> impl Iterator<Item = (usize, u64)> {
        // The index of the line is of the upper bits of the hash: here each bit depends on more.
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
        // Without an end at the first that is not set: the reads overlap, and no branch is guessed.
        hash.bits().fold(true, |all, bit| all & has(bit))
    }
}

impl NameFilter {
    /// The filter of a set, with room for half as many names again.
    pub(super) fn of(names: impl Iterator<Item = NameHash>, count: usize) -> Self {
        let lines = (count * 3 / 2 * BITS_OF_NAME).div_ceil(Line::BITS as usize).max(1);
        let room = lines * Line::BITS as usize / BITS_OF_NAME;
        let mut filter = Self { lines: vec![Line::default(); lines].into(), room };
        names.for_each(|name| filter.insert(name));
        filter
    }

    /// Whether the filter should be made anew before the next name.
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

    /// Whether the set may have this name: always, if it has.
    #[inline]
    pub(super) fn may_have(&self, name: &str) -> bool {
        let name = NameHash::of(name);
        let index = name.line(self.lines.len());
        self.lines.get(index).is_none_or(|line| line.may_have(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter_of(names: &[String]) -> NameFilter {
        NameFilter::of(names.iter().map(|name| NameHash::of(name)), names.len())
    }

    fn names(range: std::ops::Range<u32>) -> Vec<String> {
        range.map(|number| format!("name-{number}")).collect()
    }

    /// Also beyond its room, and of the empty set.
    #[test]
    fn a_name_of_the_set_is_never_denied() {
        let names = names(0..2000);
        for count in [0, 1, 50, 100, 1000] {
            let mut filter = filter_of(&names[..count]);
            for (number, name) in names.iter().enumerate().skip(count) {
                filter.insert(NameHash::of(name));
                assert!(names[..=number].iter().step_by(17).all(|name| filter.may_have(name)));
                assert!(filter.may_have(name));
            }
        }
    }

    /// As many as the arithmetic of Bloom filters says, even when it is full: 1.3 in a hundred,
    /// where lines are as unequal as chance makes them.
    #[test]
    fn few_other_names_are_not_denied() {
        let (known, others) = (names(0..75_000), names(75_000..175_000));
        let mut filter = filter_of(&known[..50_000]);
        let mut added = known[50_000..].iter();
        while !filter.is_full()
            && let Some(name) = added.next()
        {
            filter.insert(NameHash::of(name));
        }
        assert!(added.len() < 100, "{} more names have no room", added.len());
        let not_denied = others.iter().filter(|name| filter.may_have(name)).count();
        assert!(not_denied < 2000, "{not_denied}");
    }
}

//! Tells that a name is not in a set, without a look at the set.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// The most names of a line on average. So few lines are full that it does not matter.
const NAMES_OF_LINE: usize = 16;

/// A filter in front of a large set of names. A question about a name that is not in the set reads
/// one line of a cache, out of four bytes for each name of the set, where a look at the set would
/// read several lines out of a hundred bytes each.
///
/// It never denies a name of the set. That it does not deny another one only costs time, so the
/// hash has no key: who chooses names that collide gets the cost of a set without a filter.
#[derive(Debug, Default)]
pub(super) struct NameFilter {
    /// As many as a power of two, or none.
    lines: Box<[Line]>,
    names: usize,
}

/// The tags of the names whose hash selects this line; 0 is none. The last number counts the names
/// for which there was no room; at its maximum it stays.
// INVARIANT: each tag stands here at most as often as names have it, and the names beyond that are
// counted.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
struct Line([u16; 32]);

impl NameFilter {
    /// The filter of a set, with room for as many names again.
    pub(super) fn of<'n>(names: impl Iterator<Item = &'n str>, count: usize) -> Self {
        let lines = (2 * count).div_ceil(NAMES_OF_LINE).next_power_of_two();
        let mut filter = Self { lines: vec![Line::default(); lines].into(), names: 0 };
        names.for_each(|name| filter.insert(name));
        filter
    }

    /// Whether the filter should be made anew before the next name.
    pub(super) fn is_full(&self) -> bool {
        self.names >= self.lines.len() * NAMES_OF_LINE
    }

    /// Adds a name that the set does not have.
    pub(super) fn insert(&mut self, name: &str) {
        self.names += 1;
        let (index, tag) = self.select(name);
        if let Some(line) = self.lines.get_mut(index) {
            line.insert(tag);
        }
    }

    /// Removes a name that the set has.
    pub(super) fn remove(&mut self, name: &str) {
        self.names -= 1;
        let (index, tag) = self.select(name);
        if let Some(line) = self.lines.get_mut(index) {
            line.remove(tag);
        }
    }

    /// Whether the set may have this name: always, if it has.
    #[inline]
    pub(super) fn may_have(&self, name: &str) -> bool {
        let (index, tag) = self.select(name);
        self.lines.get(index).is_none_or(|line| line.may_have(tag))
    }

    /// The line of a name, and its tag.
    #[inline]
    fn select(&self, name: &str) -> (usize, u16) {
        let mut hasher = FxHasher::default();
        hasher.write(name.as_bytes());
        let hash = hasher.finish();
        let index = hash as usize & self.lines.len().wrapping_sub(1);
        (index, (hash >> 48) as u16 | 1)
    }
}

impl Line {
    fn insert(&mut self, tag: u16) {
        let Self([tags @ .., others]) = self;
        match tags.iter_mut().find(|free| **free == 0) {
            Some(free) => *free = tag,
            None => *others = others.saturating_add(1),
        }
    }

    fn remove(&mut self, tag: u16) {
        let Self([tags @ .., others]) = self;
        match tags.iter_mut().find(|known| **known == tag) {
            Some(known) => *known = 0,
            None if *others < u16::MAX => *others = others.saturating_sub(1),
            None => (),
        }
    }

    #[inline]
    fn may_have(&self, tag: u16) -> bool {
        let Self(words @ [.., others]) = self;
        // Without an end at the first that is equal: all are compared at once.
        let is_known = words.iter().fold(false, |known, word| known | (*word == tag));
        is_known || *others > 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn filter_of(names: &[String], count: usize) -> NameFilter {
        NameFilter::of(names.iter().map(String::as_str), count)
    }

    fn names(range: std::ops::Range<u32>) -> Vec<String> {
        range.map(|number| format!("name-{number}")).collect()
    }

    /// Also in lines that are too full, from which names are removed in any order.
    #[test]
    fn a_name_of_the_set_is_never_denied() {
        let names = names(0..400);
        for step in [1, 3, 7, 131] {
            // One line, which has room for 31.
            let mut filter = filter_of(&[], 0);
            let mut set = HashSet::new();
            for name in &names {
                filter.insert(name);
                set.insert(name.clone());
                assert!(set.iter().all(|name| filter.may_have(name)));
            }
            for index in 0..names.len() {
                let name = &names[index * step % names.len()];
                filter.remove(name);
                set.remove(name);
                assert!(set.iter().all(|name| filter.may_have(name)), "{step}: after {index}");
            }
            assert!(!names.iter().any(|name| filter.may_have(name)), "{step}: {filter:?}");
        }
    }

    #[test]
    fn few_other_names_are_not_denied() {
        let (known, others) = (names(0..50_000), names(50_000..150_000));
        let mut filter = filter_of(&known[..25_000], 25_000);
        assert!(!filter.is_full());
        known[25_000..].iter().for_each(|name| filter.insert(name));
        let not_denied = others.iter().filter(|name| filter.may_have(name)).count();
        // A tag has 15 bits, and a line 16 of them at most on average.
        assert!(not_denied < 200, "{not_denied}");
    }

    #[test]
    fn a_count_at_its_maximum_stays() {
        let mut line = Line::default();
        let all = u32::from(u16::MAX) + 100;
        (0..all).for_each(|_| line.insert(7));
        (0..all - 1).for_each(|_| line.remove(7));
        assert!(line.may_have(7));
    }
}

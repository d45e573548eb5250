//! Sets of ports.

use std::collections::BTreeSet;

use policy_core::origin::Port;

/// A combination of two sets: whether it has a port, given whether the first and the second have
/// it.
pub(super) type Combination<'a> = &'a dyn Fn(bool, bool) -> bool;

/// Stands for the default port, which is never written. No port has this number.
pub(super) const DEFAULT_PORT: u16 = 0;

/// A set of ports, as inclusive ranges in order with gaps between them, so that equal sets are
/// written alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PortSet(Vec<(u16, u16)>);

impl PortSet {
    pub(super) const fn empty() -> Self {
        Self(Vec::new())
    }

    pub(super) fn all() -> Self {
        Self(vec![(0, u16::MAX)])
    }

    pub(super) fn one(port: u16) -> Self {
        Self(vec![(port, port)])
    }

    /// The ports that a pattern matches.
    pub(super) fn from_port(port: Port) -> Self {
        match port {
            Port::Default => Self::one(DEFAULT_PORT),
            Port::Number(number) => Self::one(number),
            Port::Any => Self::all(),
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn contains(&self, port: u16) -> bool {
        let before = self.0.partition_point(|(_, last)| *last < port);
        self.0.get(before).is_some_and(|(first, _)| *first <= port)
    }

    /// Whether it has more ports than it leaves out.
    pub(super) fn has_most(&self) -> bool {
        let sizes = self.0.iter().map(|(first, last)| u32::from(last - first) + 1);
        sizes.sum::<u32>() > u32::from(u16::MAX / 2) + 1
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u16> {
        self.0.iter().flat_map(|(first, last)| *first..=*last)
    }

    pub(super) fn combine(&self, other: &Self, has: Combination<'_>) -> Self {
        // Where membership in one of the two may change.
        let starts: BTreeSet<u16> = self.starts().chain(other.starts()).chain([0]).collect();
        let mut ranges: Vec<(u16, u16)> = Vec::new();
        let mut rest = starts.into_iter().peekable();
        while let Some(first) = rest.next() {
            let last = rest.peek().map_or(u16::MAX, |next| next - 1);
            if !has(self.contains(first), other.contains(first)) {
                continue;
            }
            match ranges.last_mut() {
                Some((_, end)) if first > 0 && *end == first - 1 => *end = last,
                _ => ranges.push((first, last)),
            }
        }
        Self(ranges)
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        self.combine(other, &|a, b| a || b)
    }

    pub(super) fn difference(&self, other: &Self) -> Self {
        self.combine(other, &|a, b| a && !b)
    }

    fn starts(&self) -> impl Iterator<Item = u16> {
        self.0.iter().flat_map(|(first, last)| [Some(*first), last.checked_add(1)]).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_are_one() {
        let low = PortSet::all().difference(&PortSet(vec![(100, u16::MAX)]));
        let high = PortSet::all().difference(&PortSet(vec![(0, 99)]));
        assert_eq!((&low.0, &high.0), (&vec![(0, 99)], &vec![(100, u16::MAX)]));
        assert_eq!(low.union(&high), PortSet::all());
        assert_eq!(low.union(&PortSet::one(100)).0, [(0, 100)]);
    }

    #[test]
    fn most_ports_are_more_than_half() {
        assert!(PortSet::all().has_most());
        assert!(!PortSet(vec![(0, 0x7fff)]).has_most());
        assert!(PortSet(vec![(0, 0x7fff), (0x9000, 0x9000)]).has_most());
    }
}

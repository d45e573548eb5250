//! Sets of names: those listed, or all others.

use std::{borrow::Borrow, collections::BTreeSet, fmt};

/// A set that lists its members, or the names that it leaves out: methods, scopes, roles.
///
/// There are infinitely many names, so a set that leaves some out is never empty, and sets are
/// equal exactly if they are written alike.
///
/// ```
/// use policy_manifest::algebra::NameSet;
///
/// let read = NameSet::only(["GET", "HEAD"]);
/// let not_delete = NameSet::all_but(["DELETE"]);
/// assert!(not_delete.includes(&read));
/// assert_eq!(read.complement(), NameSet::all_but(["GET", "HEAD"]));
/// assert_eq!(not_delete.difference(&read).to_string(), "all but DELETE, GET, HEAD");
/// assert_eq!(read.difference(&not_delete).witness(["PURGE"]), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameSet<T: Ord = String> {
    names: BTreeSet<T>,
    /// Whether the names are those that are not in the set.
    is_cofinite: bool,
}

impl<T: Ord> NameSet<T> {
    /// The set without members.
    pub const fn empty() -> Self {
        Self { names: BTreeSet::new(), is_cofinite: false }
    }

    /// The set of all names.
    pub const fn all() -> Self {
        Self { names: BTreeSet::new(), is_cofinite: true }
    }

    /// The set of these names.
    pub fn only(names: impl IntoIterator<Item = T>) -> Self {
        Self { names: names.into_iter().collect(), is_cofinite: false }
    }

    /// The set of all names but these.
    pub fn all_but(names: impl IntoIterator<Item = T>) -> Self {
        Self { names: names.into_iter().collect(), is_cofinite: true }
    }

    /// Whether the set has this name.
    pub fn contains<Q: Ord + ?Sized>(&self, name: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.names.contains(name) != self.is_cofinite
    }

    /// Whether the set has no names.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && !self.is_cofinite
    }

    /// Whether the set has all names but finitely many.
    pub const fn is_cofinite(&self) -> bool {
        self.is_cofinite
    }

    /// The listed names: the members, or for a cofinite set the names that it leaves out.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &T> {
        self.names.iter()
    }

    /// Whether every name of `other` is in this set.
    pub fn includes(&self, other: &Self) -> bool {
        match (self.is_cofinite, other.is_cofinite) {
            (false, false) => self.names.is_superset(&other.names),
            (true, true) => self.names.is_subset(&other.names),
            (true, false) => self.names.is_disjoint(&other.names),
            (false, true) => false,
        }
    }
}

impl<T: Ord + Clone> NameSet<T> {
    /// The names that are in one of the sets.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a || b)
    }

    /// The names that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a && b)
    }

    /// The names of this set that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a && !b)
    }

    /// The names that are not in the set.
    #[must_use]
    pub fn complement(&self) -> Self {
        Self { names: self.names.clone(), is_cofinite: !self.is_cofinite }
    }

    /// A member: the first that is listed, or for a cofinite set the first of `unlisted` that it
    /// does not leave out. `None` if the set is empty, or leaves all of `unlisted` out.
    pub fn witness(&self, unlisted: impl IntoIterator<Item = T>) -> Option<T> {
        if self.is_cofinite {
            unlisted.into_iter().find(|name| self.contains(name))
        } else {
            self.names.first().cloned()
        }
    }

    fn combine(&self, other: &Self, has: impl Fn(bool, bool) -> bool) -> Self {
        let is_cofinite = has(self.is_cofinite, other.is_cofinite);
        let named = self.names.union(&other.names);
        let is_named = |name: &&T| has(self.contains(*name), other.contains(*name)) != is_cofinite;
        Self { names: named.filter(is_named).cloned().collect(), is_cofinite }
    }
}

impl<T: Ord> Default for NameSet<T> {
    fn default() -> Self {
        Self::empty()
    }
}

/// The members with commas between them, `none`, `all`, or `all but` some.
impl<T: Ord + fmt::Display> fmt::Display for NameSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = match (self.is_cofinite, self.names.is_empty()) {
            (false, true) => return f.write_str("none"),
            (true, true) => return f.write_str("all"),
            (true, false) => "all but ",
            (false, false) => "",
        };
        for name in &self.names {
            write!(f, "{before}{name}")?;
            before = ", ";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every set that may list the names 0 to 3.
    fn sets() -> Vec<NameSet<u8>> {
        let listed = |bits: u8| NameSet::only((0..4).filter(move |name| bits >> name & 1 == 1));
        (0..16).flat_map(|bits| [listed(bits), listed(bits).complement()]).collect()
    }

    fn pairs() -> impl Iterator<Item = (NameSet<u8>, NameSet<u8>)> {
        let sets = sets();
        sets.clone()
            .into_iter()
            .flat_map(move |a| sets.clone().into_iter().map(move |b| (a.clone(), b)))
    }

    /// Whether each name is a member, and one that no set lists.
    fn members(set: &NameSet<u8>) -> [bool; 5] {
        [0, 1, 2, 3, 4].map(|name| set.contains(&name))
    }

    #[test]
    fn a_combination_has_the_names_that_it_says() {
        for (a, b) in pairs() {
            let both = |has: fn(bool, bool) -> bool| {
                [0, 1, 2, 3, 4].map(|name| has(a.contains(&name), b.contains(&name)))
            };
            assert_eq!(members(&a.union(&b)), both(|a, b| a || b), "{a:?} {b:?}");
            assert_eq!(members(&a.intersection(&b)), both(|a, b| a && b), "{a:?} {b:?}");
            assert_eq!(members(&a.difference(&b)), both(|a, b| a && !b), "{a:?} {b:?}");
            assert_eq!(members(&a.complement()), both(|a, _| !a), "{a:?}");
        }
    }

    #[test]
    fn sets_are_compared_by_their_members() {
        for (a, b) in pairs() {
            let (in_a, in_b) = (members(&a), members(&b));
            assert_eq!(a == b, in_a == in_b, "{a:?} {b:?}");
            let has_all = in_a.iter().zip(in_b).all(|(a, b)| *a || !b);
            assert_eq!(a.includes(&b), has_all, "{a:?} {b:?}");
        }
    }

    #[test]
    fn a_set_has_a_witness_unless_it_is_empty() {
        for set in sets() {
            let witness = set.witness([0, 4]);
            assert_eq!(witness.is_none(), set.is_empty(), "{set:?}");
            assert_eq!(set.is_empty(), members(&set) == [false; 5], "{set:?}");
            assert!(witness.is_none_or(|name| set.contains(&name)), "{set:?}");
        }
    }

    #[test]
    fn sets_are_written_as_people_say_them() {
        let texts =
            [NameSet::empty(), NameSet::all(), NameSet::only([2, 1]), NameSet::all_but([1])]
                .map(|set| set.to_string());
        assert_eq!(texts, ["none", "all", "1, 2", "all but 1"]);
    }
}

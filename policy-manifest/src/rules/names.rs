//! Sets of names: those listed, or all others.

use std::collections::BTreeSet;

/// A set that lists its members, or the names that it leaves out: roles, scopes.
///
/// There are infinitely many names, so a set that leaves some out is never empty, and sets are
/// equal exactly if they are written alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NameSet {
    names: BTreeSet<String>,
    /// Whether the names are those that are not in the set.
    is_cofinite: bool,
}

impl NameSet {
    /// The set of all names.
    pub(super) const fn all() -> Self {
        Self { names: BTreeSet::new(), is_cofinite: true }
    }

    /// The set of these names.
    pub(super) fn only(names: impl IntoIterator<Item = String>) -> Self {
        Self { names: names.into_iter().collect(), is_cofinite: false }
    }

    /// The set of all names but these.
    pub(super) fn all_but(names: impl IntoIterator<Item = String>) -> Self {
        Self { names: names.into_iter().collect(), is_cofinite: true }
    }

    /// Whether the set has this name.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.names.contains(name) != self.is_cofinite
    }

    /// Whether the set has all names but finitely many.
    pub(super) const fn is_cofinite(&self) -> bool {
        self.is_cofinite
    }

    /// The listed names: the members, or for a cofinite set the names that it leaves out.
    pub(super) fn names(&self) -> impl ExactSizeIterator<Item = &String> {
        self.names.iter()
    }
}

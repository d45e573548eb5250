//! What a change of a facet does to access.

use std::collections::BTreeSet;

use super::ManifestRoute;
use crate::Manifest;

/// A route, and the manifest that has it.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The manifest.
    pub manifest: &'a Manifest,
    /// The route.
    pub route: &'a ManifestRoute,
}

/// The effect of a change on access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Something is allowed that was refused, or a protection is gone, weaker, or of unknown strength.
    Opens,
    /// Something is refused that was allowed, which may break clients.
    Narrows,
    /// Both, for different requests.
    OpensAndNarrows,
    /// Responses differ, but no access is gained or lost.
    Shifts,
}

impl Direction {
    /// Whether the change allows a request that was refused.
    pub fn opens(self) -> bool {
        matches!(self, Self::Opens | Self::OpensAndNarrows)
    }

    /// Whether the change refuses a request that was allowed.
    pub fn narrows(self) -> bool {
        matches!(self, Self::Narrows | Self::OpensAndNarrows)
    }

    /// The direction of a change with these effects; `None` if it has neither.
    pub(crate) fn from_effects(opens: bool, narrows: bool) -> Option<Self> {
        match (opens, narrows) {
            (true, true) => Some(Self::OpensAndNarrows),
            (true, false) => Some(Self::Opens),
            (false, true) => Some(Self::Narrows),
            (false, false) => None,
        }
    }
}

/// The effects of several differences, in words.
#[derive(Default)]
pub(super) struct Effects {
    pub(super) opens: bool,
    pub(super) narrows: bool,
    pub(super) words: Vec<String>,
}

impl Effects {
    pub(super) fn add(&mut self, direction: Direction, words: impl Into<String>) {
        self.opens |= direction.opens();
        self.narrows |= direction.narrows();
        self.words.push(words.into());
    }

    /// Adds what a list of this name gains and loses.
    pub(super) fn add_lists(&mut self, name: &str, old: &[String], new: &[String]) {
        if let Some((direction, words)) = sets(&set(old), &set(new)) {
            self.add(direction, format!("{name} {words}"));
        }
    }

    /// All of them as one change; `None` if there are none.
    pub(super) fn change(self, separator: &str) -> Option<(Direction, String)> {
        let direction = Direction::from_effects(self.opens, self.narrows);
        let direction = direction.unwrap_or(Direction::Shifts);
        (!self.words.is_empty()).then(|| (direction, self.words.join(separator)))
    }
}

/// The members that a set gains and loses; more members open access.
pub(crate) fn sets(old: &BTreeSet<String>, new: &BTreeSet<String>) -> Option<(Direction, String)> {
    let (gained, lost) = (new.difference(old), old.difference(new));
    let mut found = Effects::default();
    for (direction, verb, names) in
        [(Direction::Opens, "gain", gained), (Direction::Narrows, "lose", lost)]
    {
        let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
        if !names.is_empty() {
            found.add(direction, format!("{verb} {}", names.join(" ")));
        }
    }
    found.change(", ")
}

pub(crate) fn set(list: &[String]) -> BTreeSet<String> {
    list.iter().cloned().collect()
}

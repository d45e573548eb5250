//! The changes that cause findings.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    finding::{Axis, PathMethods},
    side::plain_template,
};
use crate::{Change, facets};

/// The changes between two apps, by their paths, and which of them cause findings.
pub(super) struct Causes<'a> {
    changes: &'a [Change],
    /// The indices of the changes of each path, by its [`plain_template`].
    of_path: BTreeMap<String, Vec<usize>>,
    explained: BTreeSet<usize>,
}

impl<'a> Causes<'a> {
    /// If `is_same_app`, no fact of the app that changes decides about a request.
    pub(super) fn new(changes: &'a [Change], is_same_app: bool) -> Self {
        let mut of_path: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, change) in changes.iter().enumerate() {
            of_path.entry(plain_template(&change.path)).or_default().push(index);
        }
        if is_same_app {
            of_path.remove("app");
        }
        Self { changes, of_path, explained: BTreeSet::new() }
    }

    /// The changes of the deciding facets at the places of a finding.
    pub(super) fn find(
        &mut self,
        axis: Axis,
        places: &[PathMethods],
        decisive: &BTreeSet<&str>,
    ) -> Vec<Change> {
        let here: BTreeSet<usize> = places.iter().flat_map(|place| self.at(place)).collect();
        let decides = |index: &usize| {
            let facet = self.changes.get(*index).map(|change| change.facet);
            facet.is_some_and(|facet| decisive.contains(facet) || facet == "route")
        };
        let deciding: BTreeSet<usize> = here.iter().copied().filter(decides).collect();
        let found = match (deciding.is_empty(), here.is_empty()) {
            (false, _) => deciding,
            (true, false) => here,
            (true, true) => self.of_path.get("app").into_iter().flatten().copied().collect(),
        };
        // What opens is not explained by requests that lose access: JSONP refuses requests without a
        // callback, and lets every page read the response to those with one.
        let is_explained = |index: &&usize| {
            let opens = self.changes.get(**index).is_some_and(|change| change.direction.opens());
            axis == Axis::Widened || !opens
        };
        self.explained.extend(found.iter().filter(is_explained));
        found.iter().filter_map(|index| self.changes.get(*index)).cloned().collect()
    }

    /// The changes at a place by which access can differ.
    fn at(&self, place: &PathMethods) -> Vec<usize> {
        let paths = [Some(&place.path), place.before.as_ref(), place.after.as_ref()];
        let paths = paths.into_iter().flatten().map(|path| plain_template(path));
        let of_paths = paths.filter_map(|path| self.of_path.get(&path));
        let is_here = |index: &usize| {
            self.changes.get(*index).is_some_and(|change| {
                let is_method = change.methods.is_empty()
                    || place.every_other_method
                    || change.methods.iter().any(|method| place.methods.contains(method));
                let facet = facets::ALL.iter().find(|facet| facet.name == change.facet);
                is_method && facet.is_none_or(|facet| facet.decides_access)
            })
        };
        of_paths.flatten().copied().filter(is_here).collect()
    }

    /// The changes that cause no finding.
    pub(super) fn unexplained(self) -> Vec<Change> {
        let changes = self.changes.iter().enumerate();
        let unexplained = changes.filter(|(index, _)| !self.explained.contains(index));
        unexplained.map(|(_, change)| change.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;

    #[test]
    fn a_fact_is_a_cause_elsewhere_if_facts_decide() {
        let fact = Change {
            path: "app".to_owned(),
            methods: Vec::new(),
            facet: "sessions",
            direction: Direction::Opens,
            words: String::new(),
            gained: None,
        };
        let place = PathMethods {
            path: "/a".to_owned(),
            methods: vec!["GET".to_owned()],
            every_other_method: false,
            encoded_slash: false,
            before: None,
            after: None,
        };
        let (changes, places) = ([fact], [place]);
        for (is_same_app, count) in [(true, 0), (false, 1)] {
            let mut causes = Causes::new(&changes, is_same_app);
            let found = causes.find(Axis::Widened, &places, &BTreeSet::new());
            assert_eq!(found.len(), count, "{is_same_app}");
            assert_eq!(causes.unexplained().len(), 1 - count, "{is_same_app}");
        }
    }
}

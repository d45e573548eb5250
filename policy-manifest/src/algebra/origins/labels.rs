//! Sets of labels at one level of a name, by prefix and suffix.

use std::collections::{BTreeMap, BTreeSet};

use policy_core::origin::MAX_LABEL_LEN;

use super::ports::{Combination, PortSet};

/// Ports of labels by suffix and prefix, where they differ from the ports of all other labels.
///
/// The longest matching suffix applies, and of its prefixes the longest, if at least one character
/// is between prefix and suffix. Each suffix lists all prefixes that apply to it, including those
/// of shorter suffixes. Entries that make no difference are left out, so equal sets have one
/// representation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Labels(BTreeMap<Box<str>, Beginnings>);

/// Ports by prefix; the empty prefix applies to every label.
type Beginnings = BTreeMap<Box<str>, PortSet>;

impl Labels {
    /// The labels with this prefix and suffix.
    pub(super) fn new(prefix: &str, suffix: &str, ports: PortSet) -> Self {
        Self(BTreeMap::from([(suffix.into(), BTreeMap::from([(prefix.into(), ports)]))]))
    }

    /// The ports of a label; `None` if it has those of all others.
    pub(super) fn ports(&self, label: &str) -> Option<&PortSet> {
        self.entry(label).map(|(_, _, ports)| ports)
    }

    /// The entry for a label: prefix, suffix and ports.
    pub(super) fn entry(&self, label: &str) -> Option<(&str, &str, &PortSet)> {
        if self.0.is_empty() {
            return None;
        }
        let suffixes = (1..label.len()).filter_map(|at| label.split_at_checked(at));
        let (rest, suffix, beginnings) = suffixes
            .filter_map(|(rest, suffix)| {
                let (suffix, beginnings) = self.0.get_key_value(suffix)?;
                Some((rest, suffix, beginnings))
            })
            .next()?;
        let prefixes = (0..rest.len()).rev().filter_map(|len| rest.get(..len));
        let (prefix, ports) = prefixes.filter_map(|it| beginnings.get_key_value(it)).next()?;
        Some((prefix, suffix, ports))
    }

    /// All entries as prefix, suffix and ports, the shortest first: a later entry overrides those
    /// before it.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str, &PortSet)> {
        let mut entries: Vec<_> = self
            .0
            .iter()
            .flat_map(|(suffix, all)| {
                all.iter().map(move |(prefix, ports)| (&**prefix, &**suffix, ports))
            })
            .collect();
        entries.sort_by_key(|(prefix, suffix, _)| (suffix.len(), *suffix, prefix.len(), *prefix));
        entries.into_iter()
    }

    /// Adds an entry; the others stay as they are.
    pub(super) fn insert(&mut self, prefix: &str, suffix: &str, ports: PortSet) {
        self.0.entry(suffix.into()).or_default().insert(prefix.into(), ports);
    }

    /// The ports of all entries whose suffix ends `end` and whose prefix begins `front`, if the two
    /// together have at most `room` bytes.
    pub(super) fn all_ports(&self, front: &str, end: &str, room: usize) -> PortSet {
        let mut all = PortSet::empty();
        let ends = (0..end.len()).filter_map(|at| self.0.get_key_value(end.get(at..)?));
        for (suffix, beginnings) in ends {
            let Some(room) = room.checked_sub(suffix.len()) else { continue };
            let longest = front.len().min(room);
            let prefixes = (0..=longest).filter_map(|len| beginnings.get(front.get(..len)?));
            all = prefixes.fold(all, |all, ports| all.union(ports));
        }
        all
    }

    /// Combines two lists. `others` are the ports of all other labels: in each list, and in the
    /// combination. Also returns the labels for which the combination may be wrong, since they are
    /// too short for both prefix and suffix.
    pub(super) fn combine(
        &self,
        other: &Self,
        others: [&PortSet; 3],
        has: Combination<'_>,
    ) -> (Self, BTreeSet<String>) {
        let [of_self, of_other, of_rest] = others;
        let (mut combined, mut short) = (Self::default(), BTreeSet::new());
        let mut suffixes: Vec<&str> = self.0.keys().chain(other.0.keys()).map(|it| &**it).collect();
        suffixes.sort_by_key(|suffix| (suffix.len(), *suffix));
        suffixes.dedup();
        let none = Beginnings::new();
        for suffix in suffixes {
            let [one, another] = [self, other].map(|it| it.at_end(suffix).unwrap_or(&none));
            let mut prefixes: Vec<&str> =
                one.keys().chain(another.keys()).map(|it| &**it).chain([""]).collect();
            prefixes.sort_by_key(|prefix| (prefix.len(), *prefix));
            prefixes.dedup();
            let mut beginnings = Beginnings::new();
            // No label is long enough for a longer prefix and suffix.
            let fits = |prefix: &&str| prefix.len() + suffix.len() < MAX_LABEL_LEN;
            for prefix in prefixes.into_iter().filter(fits) {
                let [a, b] = [(one, of_self), (another, of_other)]
                    .map(|(of, rest)| longest(of, prefix).unwrap_or(rest));
                let ports = a.combine(b, has);
                if longest(&beginnings, prefix).unwrap_or(of_rest) != &ports {
                    beginnings.insert(prefix.into(), ports);
                }
                short.extend(join(prefix, suffix));
            }
            if combined.at_end(suffix).unwrap_or(&none) != &beginnings {
                combined.0.insert(suffix.into(), beginnings);
            }
        }
        (combined, short)
    }

    /// The prefixes that apply to long labels with this suffix.
    fn at_end(&self, suffix: &str) -> Option<&Beginnings> {
        let ends = (0..suffix.len()).filter_map(|at| suffix.get(at..));
        ends.filter_map(|end| self.0.get(end)).next()
    }
}

/// The ports of the longest listed prefix of `prefix`.
fn longest<'a>(beginnings: &'a Beginnings, prefix: &str) -> Option<&'a PortSet> {
    if beginnings.is_empty() {
        return None;
    }
    let shorter = (0..=prefix.len()).rev().filter_map(|len| prefix.get(..len));
    shorter.filter_map(|it| beginnings.get(it)).next()
}

/// The labels with this prefix and suffix and no character between the two.
fn join(prefix: &str, suffix: &str) -> impl Iterator<Item = String> {
    let overlaps = 0..=prefix.len().min(suffix.len());
    overlaps.filter_map(move |overlap| {
        let (shared, rest) = suffix.split_at_checked(overlap)?;
        prefix.ends_with(shared).then(|| format!("{prefix}{rest}"))
    })
}

#[cfg(test)]
mod tests {
    use crate::algebra::OriginRegion;

    fn region(text: &str) -> OriginRegion {
        text.parse().unwrap()
    }

    /// Where the fixed parts of two patterns overlap, labels are compared one by one.
    #[test]
    fn crossing_patterns_intersect_in_their_common_origins() {
        let both = region("https://a-*-c.t").intersection(&region("https://*-b-c.t"));
        for (label, is_in) in [
            ("a-x-b-c", true),
            ("a--b-c", true),
            ("a-b-c", true),
            ("a-b-b-c", true),
            ("a-c", false),
            ("b-c", false),
            ("a-b-c-c", false),
            ("x-b-c", false),
        ] {
            assert_eq!(both.contains(format!("https://{label}.t").as_bytes()), is_in, "{label}");
        }
        assert_eq!(both.to_string(), "https://a-*-b-c.t, https://a--b-c.t, https://a-b-c.t");
    }

    #[test]
    fn patterns_too_long_for_a_label_have_no_intersection() {
        let [one, two] = [60, 60].map(|len| "l".repeat(len));
        let (a, b) = (format!("https://{one}*-a.t"), format!("https://*-{two}.t"));
        assert!(region(&a).intersection(&region(&b)).is_empty());
    }

    #[test]
    fn a_label_with_fixed_parts_has_a_witness() {
        let witness = region("https://shop-*-acme.vercel.app").witness().unwrap();
        assert_eq!(witness.origin(), "https://shop-evil-acme.vercel.app");
        let region = region("https://s-*-a.test except https://s-evil-a.test, https://s-o*-a.test");
        assert_eq!(region.witness().unwrap().origin(), "https://s-a-a.test");
    }
}

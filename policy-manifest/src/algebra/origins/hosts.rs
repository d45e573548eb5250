//! The hosts of one scheme, each with its ports.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use policy_core::origin::HostPattern;

use super::{
    in_pairs,
    labels::Labels,
    ports::{Combination, PortSet},
};

/// Ports of every host of a scheme; only of finitely many addresses, and of names below finitely
/// many others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Hosts {
    /// The root of all names, which is not a name itself.
    pub(super) names: Names,
    /// Addresses without ports are not listed.
    pub(super) addresses: BTreeMap<Box<str>, PortSet>,
}

/// The ports of a name, and of the names below it.
///
/// An unlisted child has the ports that `labels` states for its prefix and suffix, or else those of
/// `below`; every name under it has those of `below`. A child is listed only if it differs from
/// that, so equal trees have one representation. There are infinitely many labels, so `below`
/// always applies to some name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Names {
    pub(super) here: PortSet,
    pub(super) below: PortSet,
    pub(super) labels: Labels,
    pub(super) children: BTreeMap<Box<str>, Names>,
}

impl Hosts {
    /// The hosts that a pattern matches: the host itself, or names below it.
    pub(super) fn new(host: &str, hosts: HostPattern<'_>, ports: PortSet) -> Self {
        if is_address(host) {
            let addresses = BTreeMap::from([(host.into(), ports)]);
            return Self { addresses, ..Self::default() };
        }
        let leaf = match hosts {
            HostPattern::One => Names { here: ports, ..Names::default() },
            HostPattern::Below => Names { below: ports, ..Names::default() },
            HostPattern::Label { prefix, suffix } => {
                Names { labels: Labels::new(prefix, suffix, ports), ..Names::default() }
            }
        };
        let names = host.split('.').fold(leaf, |node, label| Names {
            children: BTreeMap::from([(label.into(), node)]),
            ..Names::default()
        });
        Self { names, ..Self::default() }
    }

    pub(super) fn ports(&self, host: &str) -> Option<&PortSet> {
        if is_address(host) { self.addresses.get(host) } else { Some(self.names.ports(host)) }
    }

    /// The union of sets of hosts.
    pub(super) fn union(all: Vec<Self>) -> Self {
        let (mut names, mut addresses) = (Vec::new(), BTreeMap::<_, Vec<PortSet>>::new());
        for hosts in all {
            names.push(hosts.names);
            for (address, ports) in hosts.addresses {
                addresses.entry(address).or_default().push(ports);
            }
        }
        let addresses = addresses
            .into_iter()
            .map(|(address, ports)| (address, in_pairs(ports, PortSet::union)));
        Self { names: Names::union(names), addresses: addresses.collect() }
    }

    /// The combination of two sets. `has` must not contain ports that neither has.
    pub(super) fn combine(&self, other: &Self, has: Combination<'_>) -> Self {
        let none = PortSet::empty();
        let addresses: BTreeSet<_> = self.addresses.keys().chain(other.addresses.keys()).collect();
        let addresses = addresses.into_iter().filter_map(|address| {
            let [one, another] = [self, other].map(|of| of.addresses.get(address).unwrap_or(&none));
            let ports = one.combine(another, has);
            (!ports.is_empty()).then(|| (address.clone(), ports))
        });
        Self { addresses: addresses.collect(), names: self.names.combine(&other.names, has) }
    }
}

impl Names {
    /// The listed children with their names. `name` is the name of this node: empty if only the
    /// final dot of a name was read, `None` for the root.
    pub(super) fn children_of(&self, name: Option<&str>) -> impl Iterator<Item = (String, &Self)> {
        self.children.iter().map(move |(label, child)| match name {
            None => (label.to_string(), child),
            Some(name) => (format!("{label}.{name}"), child),
        })
    }

    fn ports(&self, name: &str) -> &PortSet {
        let mut node = self;
        let mut labels = name.rsplit('.');
        while let Some(label) = labels.next() {
            match node.children.get(label) {
                Some(child) => node = child,
                None if labels.next().is_some() => return &node.below,
                None => return node.ports_of(label),
            }
        }
        &node.here
    }

    fn child(&self, label: &str) -> Cow<'_, Self> {
        match self.children.get(label) {
            Some(child) => Cow::Borrowed(child),
            None => Cow::Owned(self.unlisted(label)),
        }
    }

    /// The ports of an unlisted child.
    pub(super) fn ports_of(&self, label: &str) -> &PortSet {
        self.labels.ports(label).unwrap_or(&self.below)
    }

    /// Whether neither an unlisted child nor any name below it has ports.
    fn has_none_at(&self, label: &str) -> bool {
        self.below.is_empty() && self.ports_of(label).is_empty()
    }

    /// Combines the node with one that has no ports: the node itself if it is kept, else an empty
    /// one.
    fn if_kept(&self, is_kept: bool) -> Self {
        if is_kept { self.clone() } else { Self::default() }
    }

    /// The subtree of an unlisted child.
    fn unlisted(&self, label: &str) -> Self {
        let (here, below) = (self.ports_of(label).clone(), self.below.clone());
        Self { here, below, labels: Labels::default(), children: BTreeMap::new() }
    }

    /// The union of nodes. If only names are listed, no other set states anything about a child, so
    /// that each child is joined once.
    fn union(mut all: Vec<Self>) -> Self {
        if all.len() < 2 {
            return all.pop().unwrap_or_default();
        }
        let is_list = |node: &Self| node.below.is_empty() && node.labels == Labels::default();
        let (lists, mut others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_list);
        let (mut here, mut children) = (Vec::new(), BTreeMap::<_, Vec<Self>>::new());
        for list in lists {
            here.push(list.here);
            for (label, child) in list.children {
                children.entry(label).or_default().push(child);
            }
        }
        let children = children.into_iter().map(|(label, child)| (label, Self::union(child)));
        let (here, children) = (in_pairs(here, PortSet::union), children.collect());
        others.push(Self { here, children, ..Self::default() });
        in_pairs(others, |one, another| one.combine(another, &|a, b| a || b))
    }

    fn combine(&self, other: &Self, has: Combination<'_>) -> Self {
        let below = self.below.combine(&other.below, has);
        let (labels, short) =
            self.labels.combine(&other.labels, [&self.below, &other.below, &below], has);
        let here = self.here.combine(&other.here, has);
        let mut combined = Self { here, below, labels, children: BTreeMap::new() };
        let listed = self.children.keys().chain(other.children.keys());
        let listed: BTreeSet<&str> = listed.map(|label| &**label).collect();
        for label in &listed {
            let child = match (self.children.get(*label), other.children.get(*label)) {
                (Some(child), None) if other.has_none_at(label) => child.if_kept(has(true, false)),
                (None, Some(child)) if self.has_none_at(label) => child.if_kept(has(false, true)),
                _ => self.child(label).combine(&other.child(label), has),
            };
            if child != combined.unlisted(label) {
                combined.children.insert((*label).into(), child);
            }
        }
        for label in short.iter().filter(|label| !listed.contains(label.as_str())) {
            let here = self.ports_of(label).combine(other.ports_of(label), has);
            if here != *combined.ports_of(label) {
                let child = Self { here, ..combined.unlisted(label) };
                combined.children.insert(label.as_str().into(), child);
            }
        }
        combined
    }
}

/// Whether browsers would read the host as an address, which has no names below it (URL Standard,
/// host parsing: the last label is a number).
fn is_address(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host);
    let last = name.rsplit('.').next().unwrap_or(name);
    last.starts_with(|first: char| first.is_ascii_digit()) || host.starts_with('[')
}

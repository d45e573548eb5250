//! The hosts of one scheme, each with its ports.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use super::ports::{Combination, PortSet};

/// Ports of every host of a scheme; only of finitely many addresses, and of names below finitely
/// many others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Hosts {
    /// The root of all names, which is no name itself.
    pub(super) names: Names,
    /// Addresses without ports are not listed.
    pub(super) addresses: BTreeMap<Box<str>, PortSet>,
}

/// The ports of a name, and of the names below it.
///
/// A child that is not listed has the ports of `below`, as has every name under it. A child that
/// would say the same is not listed, so equal trees are written alike. There are infinitely many
/// labels, so `below` always speaks of some name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Names {
    pub(super) here: PortSet,
    pub(super) below: PortSet,
    pub(super) children: BTreeMap<Box<str>, Names>,
}

impl Hosts {
    /// The hosts that a pattern matches: this one, or every name below it.
    pub(super) fn of(host: &str, is_wildcard: bool, ports: PortSet) -> Self {
        if is_address(host) {
            let addresses = BTreeMap::from([(host.into(), ports)]);
            return Self { addresses, ..Self::default() };
        }
        let leaf = if is_wildcard {
            Names { below: ports, ..Names::default() }
        } else {
            Names { here: ports, ..Names::default() }
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

    /// `has` must leave out what neither has.
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
    fn uniform(ports: PortSet) -> Self {
        Self { here: ports.clone(), below: ports, children: BTreeMap::new() }
    }

    /// The listed children with their names. This node has the given one, which is empty where
    /// only the final dot of a name was read; the root has none.
    pub(super) fn children_of(&self, name: Option<&str>) -> impl Iterator<Item = (String, &Self)> {
        self.children.iter().map(move |(label, child)| match name {
            None => (label.to_string(), child),
            Some(name) => (format!("{label}.{name}"), child),
        })
    }

    fn ports(&self, name: &str) -> &PortSet {
        let mut node = self;
        for label in name.rsplit('.') {
            match node.children.get(label) {
                Some(child) => node = child,
                None => return &node.below,
            }
        }
        &node.here
    }

    fn child(&self, label: &str) -> Cow<'_, Self> {
        match self.children.get(label) {
            Some(child) => Cow::Borrowed(child),
            None => Cow::Owned(Self::uniform(self.below.clone())),
        }
    }

    fn combine(&self, other: &Self, has: Combination<'_>) -> Self {
        let below = self.below.combine(&other.below, has);
        let unlisted = Self::uniform(below.clone());
        let labels: BTreeSet<_> = self.children.keys().chain(other.children.keys()).collect();
        let children = labels.into_iter().filter_map(|label| {
            let child = self.child(label).combine(&other.child(label), has);
            (child != unlisted).then(|| (label.clone(), child))
        });
        Self { children: children.collect(), here: self.here.combine(&other.here, has), below }
    }
}

/// Whether browsers would read the host as an address, which has no names below it (URL Standard,
/// host parsing: the last label is a number).
fn is_address(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host);
    let last = name.rsplit('.').next().unwrap_or(name);
    last.starts_with(|first: char| first.is_ascii_digit()) || host.starts_with('[')
}

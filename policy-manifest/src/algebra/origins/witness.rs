//! Examples of the origins of a region.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use policy_core::origin::{MAX_LABEL_LEN, OriginPattern, has_public_names};

use super::{
    OriginRegion,
    hosts::{Hosts, Names},
    ports::{DEFAULT_PORT, PortSet},
};

/// The maximum length of a name (RFC 1035 2.3.4).
const MAX_NAME_LEN: usize = 253;

/// An example of an origin of a region.
///
/// ```
/// use policy_manifest::algebra::{OriginRegion, WitnessKind};
///
/// let region: OriginRegion = "http://*.shop.example:8443".parse()?;
/// let witness = region.witness().unwrap();
/// assert_eq!(witness.origin(), "http://evil.shop.example:8443");
/// assert_eq!(
///     witness.kinds(),
///     [WitnessKind::Subdomain, WitnessKind::SchemeDowngrade, WitnessKind::PortVariant],
/// );
/// # Ok::<_, policy_manifest::algebra::ParseOriginRegionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OriginWitness {
    origin: String,
    kinds: Vec<WitnessKind>,
}

/// The kind of origins that a witness is an example of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum WitnessKind {
    /// A name that a pattern mentions.
    Named,
    /// A name that no pattern mentions, directly below one that a pattern does: a sibling of the
    /// mentioned names.
    Subdomain,
    /// A name further below one that a pattern mentions.
    Descendant,
    /// A name that anyone can register.
    AttackerDomain,
    /// An IP address.
    Address,
    /// `null`, the origin of sandboxed frames and local files.
    Null,
    /// The scheme is `http`: an attacker on the network can impersonate the host.
    SchemeDowngrade,
    /// The scheme is neither `https` nor `http`.
    OtherScheme,
    /// The port is not the default of the scheme.
    PortVariant,
}

impl OriginWitness {
    /// The value of an `Origin` header.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The kinds that the origin is an example of: the kind of its host, then its unusual
    /// properties.
    pub fn kinds(&self) -> &[WitnessKind] {
        &self.kinds
    }
}

impl fmt::Display for OriginWitness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)
    }
}

impl OriginRegion {
    /// The most readable example; `None` if the region is empty.
    pub fn witness(&self) -> Option<OriginWitness> {
        self.witnesses(1).into_iter().next()
    }

    /// Up to `limit` different examples, the most readable first. They show every kind that the
    /// region has, if `limit` allows it.
    ///
    /// ```
    /// use policy_manifest::algebra::OriginRegion;
    ///
    /// let region: OriginRegion = "https://*.shop.example:* except https://api.shop.example".parse()?;
    /// let witnesses: Vec<_> = region.witnesses(4).iter().map(ToString::to_string).collect();
    /// assert_eq!(witnesses, [
    ///     "https://api.shop.example:3000",
    ///     "https://evil.shop.example",
    ///     "https://evil.api.shop.example",
    ///     "https://deep.evil.shop.example",
    /// ]);
    /// # Ok::<_, policy_manifest::algebra::ParseOriginRegionError>(())
    /// ```
    pub fn witnesses(&self, limit: usize) -> Vec<OriginWitness> {
        let mut found = self.candidates();
        found.sort();
        let mut kinds: BTreeSet<WitnessKind> = BTreeSet::new();
        let (first, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|candidate| {
            let before = kinds.len();
            kinds.extend(&candidate.kinds);
            kinds.len() > before
        });
        let mut chosen: Vec<_> = first.into_iter().chain(others).take(limit).collect();
        chosen.sort();
        let witnesses = chosen.into_iter();
        witnesses.map(|Candidate { origin, kinds, .. }| OriginWitness { origin, kinds }).collect()
    }

    /// An example of every cell of the region, so there is none only if the region is empty.
    fn candidates(&self) -> Vec<Candidate> {
        let none = Hosts::default();
        let mut schemes: BTreeMap<&str, &Hosts> =
            self.schemes.iter().map(|(scheme, hosts)| (&**scheme, hosts)).collect();
        if self.is_cofinite {
            for scheme in ["https", "http", "app"] {
                schemes.entry(scheme).or_insert(&none);
            }
        }
        let mut found = Vec::new();
        for (scheme, hosts) in schemes {
            let mut origins = Origins { scheme, is_cofinite: self.is_cofinite, found: &mut found };
            origins.add_names(&hosts.names, None, false);
            origins.add_addresses(&hosts.addresses);
        }
        if self.null != self.is_cofinite {
            let (origin, kinds) = ("null".to_owned(), vec![WitnessKind::Null]);
            found.push(Candidate { cost: 5, len: origin.len(), origin, kinds });
        }
        found
    }
}

/// Ordered by readability: by cost, then the shortest first, then by the text.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    cost: u8,
    len: usize,
    origin: String,
    kinds: Vec<WitnessKind>,
}

/// Collects the examples of one scheme.
struct Origins<'a> {
    scheme: &'a str,
    is_cofinite: bool,
    found: &'a mut Vec<Candidate>,
}

impl Origins<'_> {
    /// A node is inherited if its parent implies it without listing it.
    fn add_names(&mut self, node: &Names, name: Option<&str>, is_inherited: bool) {
        match name {
            None => {
                let top = unlisted(node, ["example", "test"], MAX_NAME_LEN);
                let name = format!("evil.{top}");
                self.add(&name, WitnessKind::AttackerDomain, 0, &node.below);
            }
            // The names below a final dot are those of the root again.
            Some("") => (),
            Some(name) => self.add_name(node, name, is_inherited),
        }
        for ((label, _), (name, child)) in node.children.iter().zip(node.children_of(name)) {
            let is_inherited = child.here == *node.ports_of(label);
            self.add_names(child, Some(&name), is_inherited);
        }
    }

    fn add_name(&mut self, node: &Names, name: &str, is_inherited: bool) {
        let is_suffix = has_public_names(name);
        // Mentioned only as the end of other names, a public suffix is no example.
        if !(is_inherited && is_suffix) {
            self.add(name, WitnessKind::Named, if is_inherited { 2 } else { 0 }, &node.here);
        }
        let (kind, cost) =
            if is_suffix { (WitnessKind::AttackerDomain, 0) } else { (WitnessKind::Subdomain, 2) };
        let room = MAX_NAME_LEN.saturating_sub(name.len() + 1);
        let child = format!("{}.{name}", unlisted(node, ["evil", "other"], room));
        self.add(&child, kind, cost, &node.below);
        let descendant = format!("deep.{child}");
        if descendant.len() <= MAX_NAME_LEN {
            self.add(&descendant, WitnessKind::Descendant, 4, &node.below);
        }
        // One more than are listed, so at least one is unlisted, unless all that could follow are
        // listed.
        let count = node.children.len() + node.labels.iter().count() + 1;
        for (prefix, suffix, ports) in node.labels.iter() {
            if let Some(label) = label_of(node, (prefix, suffix), count, room) {
                self.add(&format!("{label}.{name}"), kind, cost, ports);
            }
        }
    }

    fn add_addresses(&mut self, addresses: &BTreeMap<Box<str>, PortSet>) {
        for (address, ports) in addresses {
            self.add(address, WitnessKind::Address, 1, ports);
        }
        // For documentation (RFC 5737), then others.
        let documented = (7..=255).map(|last| format!("203.0.113.{last}"));
        let private = (0..=u16::MAX).map(u16::to_be_bytes).map(|[a, b]| format!("10.0.{a}.{b}"));
        let mut unlisted = documented.chain(private);
        if let Some(address) = unlisted.find(|address| !addresses.contains_key(address.as_str())) {
            self.add(&address, WitnessKind::Address, 4, &PortSet::empty());
        }
    }

    /// Adds the host with the default port, and with another, if it has these.
    fn add(&mut self, host: &str, kind: WitnessKind, cost: u8, listed: &PortSet) {
        let ports = listed.combine(&PortSet::empty(), &|has, _| has != self.is_cofinite);
        let (scheme_kind, scheme_cost) = match self.scheme {
            "https" => (None, 0),
            "http" => (Some(WitnessKind::SchemeDowngrade), 3),
            _ => (Some(WitnessKind::OtherScheme), 6),
        };
        let kinds = [Some(kind), scheme_kind].into_iter().flatten();
        let origin = format!("{}://{host}", self.scheme);
        let cost = cost + scheme_cost;
        if let Some(port) = unusual_port(&origin, &ports) {
            let origin = format!("{origin}:{port}");
            let kinds = kinds.clone().chain([WitnessKind::PortVariant]).collect();
            self.found.push(Candidate { cost: cost + 1, len: origin.len(), origin, kinds });
        }
        if ports.contains(DEFAULT_PORT) {
            let kinds = kinds.collect();
            self.found.push(Candidate { cost, len: origin.len(), origin, kinds });
        }
    }
}

/// A port that developers know, or else the first; the default port by its number, which browsers
/// do not write, only if there is no other.
fn unusual_port(origin: &str, ports: &PortSet) -> Option<u16> {
    let is_written = |port: &u16| OriginPattern::parse(&format!("{origin}:{port}")).is_ok();
    let others = || ports.iter().filter(|port| *port != DEFAULT_PORT);
    let known = [3000, 8080, 8443].into_iter().find(|port| ports.contains(*port));
    known.or_else(|| others().find(is_written)).or_else(|| others().next())
}

/// A label with this prefix and suffix that the node does not list, and for which it has no longer
/// prefix or suffix; `None` if there is no room for one.
fn label_of(
    node: &Names,
    (prefix, suffix): (&str, &str),
    count: usize,
    room: usize,
) -> Option<String> {
    let letters = ('a'..='z').map(String::from);
    let numbered = (0..count).map(|number| format!("x{number}"));
    let middles = ["evil", "other"].map(str::to_owned).into_iter().chain(letters).chain(numbered);
    let is_free = |label: &String| {
        let entry = node.labels.entry(label);
        label.len() <= room.min(MAX_LABEL_LEN)
            && !node.children.contains_key(label.as_str())
            && entry.is_some_and(|(front, end, _)| (front, end) == (prefix, suffix))
    };
    middles.map(|middle| format!("{prefix}{middle}{suffix}")).find(is_free)
}

/// A label that the node does not list: one of the readable ones that fit into the room, or a
/// short one.
fn unlisted(node: &Names, readable: [&str; 2], room: usize) -> String {
    let readable = readable.into_iter().filter(|label| label.len() <= room).map(str::to_owned);
    let letters = ('a'..='z').map(String::from);
    // One more than are listed, so one of them is not.
    let numbered = (0..=node.children.len()).map(|number| format!("x{number}"));
    let mut labels = readable.chain(letters).chain(numbered);
    labels.find(|label| !node.children.contains_key(label.as_str())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> OriginWitness {
        text.parse::<OriginRegion>().unwrap().witness().unwrap()
    }

    #[test]
    fn a_domain_that_anybody_can_register_is_an_attackers() {
        for (text, origin) in [
            ("* except null", "https://evil.example"),
            ("* except https://a.example", "https://evil.test"),
            ("https://*.github.io", "https://evil.github.io"),
            ("https://*.co.uk. except https://evil.co.uk.", "https://other.co.uk."),
        ] {
            let witness = first(text);
            assert_eq!(
                (witness.origin(), witness.kinds()),
                (origin, &[WitnessKind::AttackerDomain][..])
            );
        }
        assert_eq!(first("https://*.shop.github.io").kinds(), [WitnessKind::Subdomain]);
    }

    #[test]
    fn long_names_have_witnesses() {
        let label = "l".repeat(61);
        let name = format!("{label}.{label}.{label}.{label}.tt");
        assert_eq!(name.len(), 250);
        assert_eq!(first(&format!("https://*.{name}")).origin(), format!("https://a.{name}"));
        let letters: Vec<_> =
            ('a'..='z').map(|letter| format!("https://{letter}.{name}")).collect();
        let witness = first(&format!("https://*.{name} except {}", letters.join(", ")));
        assert_eq!(witness.origin(), format!("https://x0.{name}"));
    }

    #[test]
    fn the_port_of_a_witness_is_one_that_browsers_write() {
        let all_known =
            "https://a.test, https://a.test:3000, https://a.test:8080, https://a.test:8443";
        let witness = first(&format!("https://a.test:* except {all_known}"));
        assert_eq!(witness.origin(), "https://a.test:1");
        let low: Vec<_> = (1..443).map(|port| format!("https://a.test:{port}")).collect();
        let witness = first(&format!("https://a.test:* except {all_known}, {}", low.join(", ")));
        assert_eq!(witness.origin(), "https://a.test:444");
    }

    #[test]
    fn addresses_that_are_listed_are_not_the_unlisted_one() {
        let listed: Vec<_> = (7..=255).map(|last| format!("https://203.0.113.{last}")).collect();
        let region: OriginRegion = format!("* except {}", listed.join(", ")).parse().unwrap();
        let witnesses = region.witnesses(usize::MAX);
        let mut addresses =
            witnesses.iter().filter(|witness| witness.kinds() == [WitnessKind::Address]);
        assert_eq!(addresses.next().unwrap().origin(), "https://10.0.0.0");
    }
}

//! Sets of origins that are closed under every combination.

mod hosts;
mod labels;
mod ports;
mod text;
mod witness;

use std::collections::{BTreeMap, BTreeSet};

pub use text::ParseOriginRegionError;
pub use witness::{OriginWitness, WitnessKind};

use policy_core::origin::{HostPattern, Origin, OriginPattern, Port};

use self::{
    hosts::Hosts,
    ports::{Combination, DEFAULT_PORT, PortSet},
};

/// A set of origins: those that some patterns match, the complement, and every combination of such
/// sets.
///
/// [`OriginSet`](policy_core::origin::OriginSet) decides requests; this decides questions about
/// policies. Sets are equal exactly if they have the same origins, even if they were made of
/// different patterns. Their text consists of patterns and exceptions, and
/// [`witnesses`](Self::witnesses) are examples of their members.
///
/// The origins are `null` and those that [`Origin::parse`] reads, of any length: comparisons ignore
/// whether there is room for one more label in front of a name.
///
/// ```
/// use policy_manifest::algebra::OriginRegion;
///
/// let old: OriginRegion = "https://app.example.com, https://*.preview.example.com".parse()?;
/// let new: OriginRegion = "https://*.example.com:* except https://admin.example.com:*".parse()?;
///
/// assert!(new.includes(&old));
/// let added = new.difference(&old);
/// assert!(added.contains(b"https://app.example.com:3000"));
/// // The exception does not cover the names below it.
/// assert!(added.contains(b"https://evil.admin.example.com"));
/// assert_eq!(
///     added.to_string(),
///     "https://*.example.com:* except https://admin.example.com:*, https://app.example.com, \
///      https://*.preview.example.com",
/// );
/// # Ok::<_, policy_manifest::algebra::ParseOriginRegionError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OriginRegion {
    /// Whether the region is the complement of the rest.
    is_cofinite: bool,
    null: bool,
    /// Schemes without hosts are not listed.
    schemes: BTreeMap<Box<str>, Hosts>,
}

impl OriginRegion {
    /// The set without origins.
    pub const fn empty() -> Self {
        Self { is_cofinite: false, null: false, schemes: BTreeMap::new() }
    }

    /// The set of all origins and `null`: `*` in a policy.
    pub const fn all() -> Self {
        Self { is_cofinite: true, null: false, schemes: BTreeMap::new() }
    }

    /// The set of `null` alone, which stands for every opaque origin.
    pub const fn null() -> Self {
        Self { is_cofinite: false, null: true, schemes: BTreeMap::new() }
    }

    /// Whether the set has the value of an `Origin` header: `null`, or an origin byte for byte. No
    /// set contains any other value.
    ///
    /// ```
    /// # use policy_manifest::algebra::OriginRegion;
    /// let region = OriginRegion::all();
    /// assert!(region.contains(b"null"));
    /// assert!(!region.contains(b"https://a.example/"));
    /// ```
    pub fn contains(&self, value: &[u8]) -> bool {
        if value == b"null" {
            return self.null != self.is_cofinite;
        }
        Origin::parse(value).is_some_and(|origin| self.lists(&origin) != self.is_cofinite)
    }

    /// Whether the set has no origin.
    pub fn is_empty(&self) -> bool {
        *self == Self::empty()
    }

    /// Whether the set has origins of any domain: all except those that finitely many patterns
    /// match.
    pub const fn is_cofinite(&self) -> bool {
        self.is_cofinite
    }

    /// Whether every origin of `other` is in this set.
    pub fn includes(&self, other: &Self) -> bool {
        other.difference(self).is_empty()
    }

    /// The origins that are in one of the sets.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.combine(other, &|a, b| a || b)
    }

    /// The origins that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.combine(other, &|a, b| a && b)
    }

    /// The origins of this set that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.combine(other, &|a, b| a && !b)
    }

    /// The origins that are not in the set, `null` included.
    #[must_use]
    pub fn complement(&self) -> Self {
        Self { is_cofinite: !self.is_cofinite, ..self.clone() }
    }

    fn from_parts(scheme: &str, host: &str, hosts: HostPattern<'_>, ports: PortSet) -> Self {
        let hosts = Hosts::new(host, hosts, ports);
        Self { schemes: BTreeMap::from([(scheme.into(), hosts)]), ..Self::empty() }
    }

    fn lists(&self, origin: &Origin<'_>) -> bool {
        let port = match origin.port() {
            Port::Number(number) => number,
            Port::Default | Port::Any => DEFAULT_PORT,
        };
        let text = |bytes| str::from_utf8(bytes).ok();
        text(origin.scheme())
            .and_then(|scheme| self.schemes.get(scheme))
            .and_then(|hosts| hosts.ports(text(origin.host())?))
            .is_some_and(|ports| ports.contains(port))
    }

    fn combine(&self, other: &Self, has: Combination<'_>) -> Self {
        let is_cofinite = has(self.is_cofinite, other.is_cofinite);
        // INVARIANT: the combination lists only entries that one of the two lists.
        let lists = |a, b| has(a != self.is_cofinite, b != other.is_cofinite) != is_cofinite;
        let none = Hosts::default();
        let schemes: BTreeSet<_> = self.schemes.keys().chain(other.schemes.keys()).collect();
        let schemes = schemes.into_iter().filter_map(|scheme| {
            let [one, another] = [self, other].map(|of| of.schemes.get(scheme).unwrap_or(&none));
            let hosts = one.combine(another, &lists);
            (hosts != none).then(|| (scheme.clone(), hosts))
        });
        Self { schemes: schemes.collect(), null: lists(self.null, other.null), is_cofinite }
    }
}

impl From<&OriginPattern<'_>> for OriginRegion {
    fn from(pattern: &OriginPattern<'_>) -> Self {
        let ports = PortSet::from_port(pattern.port());
        Self::from_parts(pattern.scheme(), pattern.host(), pattern.hosts(), ports)
    }
}

/// The origins that one of the patterns matches.
impl<'a> FromIterator<OriginPattern<'a>> for OriginRegion {
    fn from_iter<I: IntoIterator<Item = OriginPattern<'a>>>(patterns: I) -> Self {
        patterns.into_iter().map(|pattern| Self::from(&pattern)).collect()
    }
}

/// The origins that are in one of the sets. Sets are joined in pairs, so that a long list takes
/// little longer than sorting: joined one after the other, each would be copied with all before it.
impl FromIterator<Self> for OriginRegion {
    fn from_iter<I: IntoIterator<Item = Self>>(sets: I) -> Self {
        let (mut sets, listed): (Vec<_>, Vec<_>) = sets.into_iter().partition(Self::is_cofinite);
        let null = listed.iter().any(|set| set.null);
        let mut schemes: BTreeMap<_, Vec<Hosts>> = BTreeMap::new();
        for (scheme, hosts) in listed.into_iter().flat_map(|set| set.schemes) {
            schemes.entry(scheme).or_default().push(hosts);
        }
        let schemes = schemes.into_iter().map(|(scheme, hosts)| (scheme, Hosts::union(hosts)));
        sets.push(Self { is_cofinite: false, null, schemes: schemes.collect() });
        in_pairs(sets, Self::union)
    }
}

/// Joins neighbours until one is left.
fn in_pairs<T: Clone + Default>(mut all: Vec<T>, join: impl Fn(&T, &T) -> T) -> T {
    while all.len() > 1 {
        let pairs = all.chunks(2).map(|pair| match pair {
            [one, another] => join(one, another),
            rest => rest.first().cloned().unwrap_or_default(),
        });
        all = pairs.collect();
    }
    all.pop().unwrap_or_default()
}

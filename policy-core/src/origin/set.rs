//! Sets of origins: whether one contains an origin, and whether one contains another.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    hash::{BuildHasherDefault, Hasher},
    iter::successors,
};

#[cfg(feature = "engine")]
use http::HeaderValue;

use super::{HostPattern, MAX_ORIGIN_LEN, Origin, OriginPattern, Port, pattern::OwnedPattern};
use crate::catalogue::Rule;

/// A set of origins, built once from patterns.
///
/// A listed origin costs one hash and one comparison. For wildcards and any port the host is walked
/// once from its end, with one table look-up at every label. So the time of a look-up grows with
/// the length of the origin and not with the size of the set. A look-up does not allocate.
///
/// ```
/// use policy_core::origin::OriginSet;
///
/// let partners = OriginSet::new(["https://app.example", "https://*.partner.example"])?;
/// assert!(partners.matches(b"https://shop.partner.example"));
/// assert!(!partners.matches(b"https://partner.example"));
/// assert!(!partners.matches(b"https://evilpartner.example"));
///
/// let bound = OriginSet::new(["https://*.example"])?;
/// assert!(bound.includes(&partners));
/// # Ok::<_, policy_core::Rule>(())
/// ```
#[derive(Clone, Default)]
pub struct OriginSet {
    patterns: Vec<OwnedPattern>,
    /// The previous pattern with the same key in the same index.
    next: Vec<Option<u32>>,
    /// Single origins, by their whole text.
    single: Index,
    /// Patterns that match many origins, by their parts.
    families: Index,
    /// The fixed suffixes of labels, hashed with the text after them: a quick test whether a
    /// pattern can match.
    label_ends: HashSet<u64, BuildHasherDefault<KeyHasher>>,
    has_wildcard: bool,
    has_any_port: bool,
}

/// Indexes into a list of patterns.
type Index = HashMap<u64, u32, BuildHasherDefault<KeyHasher>>;

impl OriginSet {
    /// Builds a set of patterns; `*` alone is not a pattern and is refused.
    ///
    /// # Errors
    ///
    /// The rule that the first malformed pattern breaks.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, Rule> {
        let mut set = Self::default();
        for text in texts {
            set.insert(&OriginPattern::parse(text)?);
        }
        Ok(set)
    }

    /// Adds a pattern.
    pub fn insert(&mut self, pattern: &OriginPattern<'_>) {
        let Ok(index) = u32::try_from(self.patterns.len()) else { return };
        if self.has(pattern) {
            return;
        }
        let owned = OwnedPattern::from(pattern);
        let before = if pattern.is_single() {
            self.single.insert(hash_text(owned.text().as_bytes()), index)
        } else {
            self.families.insert(key_of(pattern), index)
        };
        if let HostPattern::Label { suffix, .. } = pattern.hosts() {
            self.label_ends.insert(end_key(base_of(pattern), suffix.as_bytes()));
        }
        self.patterns.push(owned);
        self.next.push(before);
        self.has_wildcard |= pattern.is_wildcard();
        self.has_any_port |= pattern.port() == Port::Any;
    }

    /// Whether the value of an Origin header is in the set, byte for byte.
    pub fn matches(&self, value: &[u8]) -> bool {
        self.single(value).is_some() || self.has_in_family(value)
    }

    /// The origin to write into a response, if it is in the set. The bytes are copied, so that the
    /// server can reuse the memory of the request.
    #[cfg(feature = "engine")]
    pub(crate) fn echo(&self, value: &HeaderValue) -> Option<HeaderValue> {
        if let Some(known) = self.single(value.as_bytes()) {
            return Some(known.value().clone());
        }
        let copy = || HeaderValue::from_bytes(value.as_bytes()).ok();
        self.has_in_family(value.as_bytes()).then(copy).flatten()
    }

    /// Whether the set contains everything that `pattern` matches. It compares with one entry at a
    /// time, which misses only one case: all 65535 ports listed one by one.
    pub fn includes_pattern(&self, pattern: &OriginPattern<'_>) -> bool {
        self.has(pattern) || self.covers_by_another(pattern)
    }

    /// Whether one entry of the set, other than `pattern` itself, covers everything that it
    /// matches.
    pub fn covers_by_another(&self, pattern: &OriginPattern<'_>) -> bool {
        let hosts = match pattern.hosts() {
            HostPattern::One => HostQuery::One,
            HostPattern::Below => HostQuery::Below,
            HostPattern::Label { prefix, suffix } => {
                HostQuery::Label(prefix.as_bytes(), suffix.as_bytes())
            }
        };
        let (scheme, host) = (pattern.scheme().as_bytes(), pattern.host().as_bytes());
        self.covers((scheme, host, pattern.port()), hosts, Some(pattern))
    }

    /// Whether every origin of `other` is in this set.
    pub fn includes(&self, other: &Self) -> bool {
        other.patterns().all(|pattern| self.includes_pattern(&pattern))
    }

    /// The patterns, without repetitions.
    pub fn patterns(&self) -> impl ExactSizeIterator<Item = OriginPattern<'_>> {
        self.patterns.iter().map(OwnedPattern::borrow)
    }

    /// The number of patterns.
    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Whether the set has no origin.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether the set has exactly this pattern.
    fn has(&self, pattern: &OriginPattern<'_>) -> bool {
        if pattern.is_single() {
            self.single(pattern.to_string().as_bytes()).is_some()
        } else {
            self.chain(&self.families, key_of(pattern)).any(|known| known.borrow() == *pattern)
        }
    }

    /// The single origin with this text.
    fn single(&self, value: &[u8]) -> Option<&OwnedPattern> {
        let is_value = |known: &&OwnedPattern| known.text().as_bytes() == value;
        // Comparing a few lengths costs less than a hash. The text of a wildcard, such as
        // `https://*.test`, is not an origin, but a header may contain it.
        if self.patterns.len() <= 8 {
            return self.patterns.iter().find(|known| is_value(known) && known.is_single());
        }
        let is_possible = value.len() <= MAX_ORIGIN_LEN;
        is_possible.then(|| self.chain(&self.single, hash_text(value)).find(is_value)).flatten()
    }

    fn has_in_family(&self, value: &[u8]) -> bool {
        !self.families.is_empty()
            && Origin::parse(value).is_some_and(|origin| {
                let parts = (origin.scheme(), origin.host(), origin.port());
                self.covers(parts, HostQuery::One, None)
            })
    }

    /// Whether a family of the set matches all of these hosts, leaving out one pattern. Walks
    /// from the top-level label to the whole host, with a look-up for a wildcard at every dot and for
    /// the host at the end.
    fn covers(
        &self,
        (scheme, host, port): (&[u8], &[u8], Port),
        hosts: HostQuery<'_>,
        except: Option<&OriginPattern<'_>>,
    ) -> bool {
        let salt = hash_from_end(0, scheme);
        let ports = [Some(port), self.has_any_port.then_some(Port::Any)];
        let ports = ports.into_iter().flatten();
        let families = ports.map(|port| Family { set: self, scheme, salt, port, except });
        let is_covered = |state: u64, name: &[u8], hosts: HostQuery<'_>| {
            families.clone().any(|family| family.matches(state, name, hosts))
        };
        let has_labels = hosts.is_one() && !self.label_ends.is_empty();
        let mut state = 0;
        if self.has_wildcard {
            for (at, byte) in host.iter().enumerate().rev() {
                // A dot at the very front leaves no label for the `*`.
                if *byte == b'.'
                    && at > 0
                    && let Some((front, [_, name @ ..])) = host.split_at_checked(at)
                    && (is_covered(state, name, HostQuery::Below)
                        || (has_labels && is_covered(state, name, HostQuery::Word(front))))
                {
                    return true;
                }
                state = step(state, u64::from(*byte));
            }
        } else {
            state = hash_from_end(0, host);
        }
        is_covered(state, host, hosts)
            || (hosts.is_label() && is_covered(state, host, HostQuery::Below))
    }

    /// The patterns under a key, including those that have it due to a collision.
    fn chain(&self, index: &Index, key: u64) -> impl Iterator<Item = &OwnedPattern> {
        let first = index.get(&key).copied();
        let chain = successors(first, |next| self.next.get(*next as usize).copied().flatten());
        chain.filter_map(|entry| self.patterns.get(entry as usize))
    }
}

impl PartialEq for OriginSet {
    /// Sets are equal if they have the same origins, even by different patterns.
    fn eq(&self, other: &Self) -> bool {
        self.includes(other) && other.includes(self)
    }
}

impl Eq for OriginSet {}

impl fmt::Debug for OriginSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.patterns.iter()).finish()
    }
}

/// The hosts that are looked up in a set.
#[derive(Clone, Copy)]
enum HostQuery<'a> {
    /// The host itself.
    One,
    /// Every name below it.
    Below,
    /// Names with one additional label, which has this prefix and suffix.
    Label(&'a [u8], &'a [u8]),
    /// The name with this text and a dot in front. The text may contain dots itself.
    Word(&'a [u8]),
}

impl HostQuery<'_> {
    const fn is_one(self) -> bool {
        matches!(self, Self::One)
    }

    const fn is_label(self) -> bool {
        matches!(self, Self::Label(..))
    }
}

/// The families of a set with a scheme and a port.
#[derive(Clone, Copy)]
struct Family<'a> {
    set: &'a OriginSet,
    scheme: &'a [u8],
    salt: u64,
    port: Port,
    except: Option<&'a OriginPattern<'a>>,
}

impl Family<'_> {
    /// Whether a family with this name, whose hash is `state`, matches all of these hosts.
    fn matches(&self, state: u64, name: &[u8], hosts: HostQuery<'_>) -> bool {
        let (front, end, room) = match hosts {
            HostQuery::One => {
                return self.has(key(state ^ self.salt, self.port, 0), name, HostPattern::One);
            }
            HostQuery::Below => {
                return self.has(key(state ^ self.salt, self.port, 1), name, HostPattern::Below);
            }
            HostQuery::Label(prefix, suffix) => (prefix, suffix, usize::MAX),
            // At least one character has to be between prefix and suffix.
            HostQuery::Word(label) => (label, label, label.len().saturating_sub(1)),
        };
        if front.contains(&b'.') {
            return false;
        }
        let base = key(state ^ self.salt, self.port, 2);
        let ends = end.iter().enumerate().filter(|(_, byte)| **byte == b'-');
        ends.filter_map(|(at, _)| end.get(at..)).any(|suffix| {
            let key = end_key(base, suffix);
            self.set.label_ends.contains(&key)
                && room
                    .checked_sub(suffix.len())
                    .is_some_and(|room| self.has_label(key, name, (front, suffix), room))
        })
    }

    /// Whether a family has a label with this suffix, and a prefix that begins `front` and has at
    /// most `room` bytes.
    fn has_label(
        &self,
        end: u64,
        name: &[u8],
        (front, end_text): (&[u8], &[u8]),
        room: usize,
    ) -> bool {
        let mut key = end;
        (0..=front.len().min(room)).any(|len| {
            if let Some(byte) = len.checked_sub(1).and_then(|last| front.get(last)) {
                key = step(key, u64::from(*byte));
            }
            let texts = [front.get(..len), Some(end_text)].map(|it| it.map(str::from_utf8));
            let [Some(Ok(prefix)), Some(Ok(suffix))] = texts else { return false };
            self.has(key, name, HostPattern::Label { prefix, suffix })
        })
    }

    fn has(&self, key: u64, name: &[u8], hosts: HostPattern<'_>) -> bool {
        self.set.chain(&self.set.families, key).any(|known| {
            let known = known.borrow();
            known.host().as_bytes() == name
                && known.scheme().as_bytes() == self.scheme
                && known.port() == self.port
                && known.hosts() == hosts
                && self.except != Some(&known)
        })
    }
}

fn key_of(pattern: &OriginPattern<'_>) -> u64 {
    match pattern.hosts() {
        HostPattern::One | HostPattern::Below => base_of(pattern),
        HostPattern::Label { prefix, suffix } => {
            let end = end_key(base_of(pattern), suffix.as_bytes());
            prefix.bytes().fold(end, |state, byte| step(state, u64::from(byte)))
        }
    }
}

/// The key of a pattern without the fixed parts of its label.
fn base_of(pattern: &OriginPattern<'_>) -> u64 {
    let name = hash_from_end(0, pattern.host().as_bytes());
    let salt = hash_from_end(0, pattern.scheme().as_bytes());
    let hosts = match pattern.hosts() {
        HostPattern::One => 0,
        HostPattern::Below => 1,
        HostPattern::Label { .. } => 2,
    };
    key(name ^ salt, pattern.port(), hosts)
}

fn key(name: u64, port: Port, hosts: u64) -> u64 {
    let port = match port {
        Port::Default => 0,
        Port::Number(number) => u64::from(number),
        Port::Any => 1 << 16,
    };
    step(name, port << 2 | hosts)
}

/// The key of labels with this suffix.
fn end_key(base: u64, suffix: &[u8]) -> u64 {
    hash_from_end(base, suffix)
}

/// Hashes from the last byte to the first, so that hashing a host also yields the hashes of its
/// suffixes.
fn hash_from_end(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(state, |state, byte| step(state, u64::from(*byte)))
}

/// Hashes eight bytes at a time; the last eight may overlap those before.
fn hash_text(bytes: &[u8]) -> u64 {
    let Some(last) = bytes.last_chunk::<8>() else { return hash_from_end(0, bytes) };
    let (chunks, _) = bytes.as_chunks::<8>();
    let chunks = chunks.iter().chain([last]);
    chunks.fold(bytes.len() as u64, |state, chunk| step(state, u64::from_le_bytes(*chunk)))
}

/// One step of a multiplicative hash. It need not resist an adversary: only a policy's own origins
/// are ever stored, and after a hit by hash the request is compared byte by byte.
fn step(state: u64, input: u64) -> u64 {
    let mixed = (state.rotate_left(5) ^ input).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ (mixed >> 32)
}

/// Passes on a key that is already a hash.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash_from_end(self.0, bytes);
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(texts: &[&str]) -> OriginSet {
        OriginSet::new(texts.iter().copied()).unwrap()
    }

    #[test]
    fn a_wildcard_needs_a_label_in_front() {
        let set = set(&["https://*.a.test:*"]);
        for origin in ["https://x.a.test", "https://x.y.a.test:8443"] {
            assert!(set.matches(origin.as_bytes()), "{origin}");
        }
        for origin in ["https://a.test", "https://.a.test", "https://evila.test", "http://x.a.test"]
        {
            assert!(!set.matches(origin.as_bytes()), "{origin}");
        }
    }

    /// The suffix begins with a hyphen, and the `*` stands for at least one character.
    #[test]
    fn a_part_of_a_label_matches_between_its_fixed_ends() {
        let set = set(&["https://shop-*-acme.vercel.app", "https://*-team.test:*"]);
        for origin in [
            "https://shop-1f2e3d-acme.vercel.app",
            "https://shop-git-main-acme.vercel.app",
            "https://shop---acme.vercel.app",
            "https://x-team.test:8443",
            "https://a-team-team.test",
        ] {
            assert!(set.matches(origin.as_bytes()), "{origin}");
        }
        for origin in [
            "https://shop-acme.vercel.app",
            "https://shop--acme.vercel.app",
            "https://evil-shop-x-acme.vercel.app",
            "https://shop-x-evilacme.vercel.app",
            "https://shop-x-acme-evil.vercel.app",
            "https://shop-x.evil-acme.vercel.app",
            "https://shop-x-acme.evil.vercel.app",
            "https://evil.shop-x-acme.vercel.app",
            "https://shop-x-acme.vercel.app.evil.test",
            "https://shop-x-acme.vercel.app:8443",
            "http://shop-x-acme.vercel.app",
            "https://-team.test",
            "https://shop-*-acme.vercel.app.",
        ] {
            assert!(!set.matches(origin.as_bytes()), "{origin}");
        }
    }

    #[test]
    fn inclusion_follows_the_parts_of_labels() {
        let bound = set(&["https://shop-*-acme.test", "https://*.b.test"]);
        for inside in [
            "https://shop-x-acme.test",
            "https://shop-*-acme.test",
            "https://shop-pr-*-acme.test",
            "https://shop-*-x-acme.test",
            "https://*-acme.b.test",
            "https://*-acme.a.b.test",
        ] {
            assert!(bound.includes(&set(&[inside])), "{inside}");
        }
        for outside in [
            "https://shop--acme.test",
            "https://*-acme.test",
            "https://sho*-acme.test",
            "https://shop-*-cme.test",
            "https://*.test",
            "https://shop-*-acme.test:*",
            "https://*.shop-x-acme.test",
            "https://shop-*-acme.c.test",
        ] {
            assert!(!bound.includes(&set(&[outside])), "{outside}");
        }
    }

    #[test]
    fn inclusion_follows_wildcards_and_ports() {
        let bound = set(&["https://*.a.test", "http://localhost:*", "https://b.test"]);
        for inside in [
            "https://x.a.test",
            "https://*.x.a.test",
            "https://*.a.test",
            "http://localhost:1",
            "http://localhost",
            "http://localhost:*",
            "https://b.test",
        ] {
            assert!(bound.includes(&set(&[inside])), "{inside}");
        }
        for outside in [
            "https://a.test",
            "https://x.a.test:1",
            "https://*.test",
            "https://*.a.test:*",
            "https://*.b.test",
            "https://b.test:*",
            "http://b.test",
            "http://*.localhost",
        ] {
            assert!(!bound.includes(&set(&[outside])), "{outside}");
        }
    }

    #[test]
    fn inclusion_is_of_every_pattern() {
        let bound = set(&["https://*.a.test", "https://b.test"]);
        assert!(bound.includes(&set(&["https://x.a.test", "https://b.test"])));
        for other in [["https://x.a.test", "https://c.test"], ["https://c.test", "https://b.test"]]
        {
            assert!(!bound.includes(&set(&other)), "{other:?}");
        }
        assert!(bound.includes(&set(&[])));
    }

    #[test]
    fn equality_ignores_order_and_repetition() {
        assert_eq!(
            set(&["https://a.test", "https://b.test"]),
            set(&["https://b.test", "https://a.test", "https://b.test"])
        );
        assert_ne!(set(&["https://a.test"]), set(&["https://a.test:*"]));
    }

    #[test]
    fn equality_ignores_covered_patterns() {
        let short = set(&["https://*.a.test"]);
        assert_eq!(set(&["https://x.a.test", "https://*.a.test"]), short);
        assert_ne!(set(&["https://a.test", "https://*.a.test"]), short);
    }

    #[test]
    fn colliding_keys_are_distinguished() {
        let names: Vec<_> = ('a'..='z').map(|name| format!("https://{name}.test")).collect();
        let mut set = OriginSet::new(names.iter().map(String::as_str)).unwrap();
        // As if all of them had one key: a chain through `next`.
        set.single.clear();
        set.single.insert(hash_text(b"https://a.test"), 25);
        set.next = (0..26).map(|index: u32| index.checked_sub(1)).collect();
        assert!(set.matches(b"https://a.test"));
    }
}

//! Sets of origins: who is in, and which set lies inside another.

use std::{
    collections::HashMap,
    fmt,
    hash::{BuildHasherDefault, Hasher},
};

use super::{Origin, OriginPattern, Port, pattern::OwnedPattern};
use crate::catalogue::Rule;

/// A set of origins, built once from patterns.
///
/// A look-up walks the host once from its end and asks one table at every label, so its time
/// grows with the length of the origin and not with the set. Nothing is allocated.
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
    /// Indices into `patterns` by key; patterns whose keys collide hang on `next`.
    index: HashMap<u64, u32, BuildHasherDefault<KeyHasher>>,
    next: Vec<Option<u32>>,
    has_wildcard: bool,
    has_any_port: bool,
}

impl OriginSet {
    /// Builds a set of patterns; `*` alone is none and is refused.
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

    /// Adds what a pattern stands for.
    pub fn insert(&mut self, pattern: &OriginPattern<'_>) {
        let key = Key::of(pattern);
        if self.find(&key, pattern.scheme().as_bytes(), pattern.host().as_bytes()) {
            return;
        }
        let Ok(place) = u32::try_from(self.patterns.len()) else { return };
        self.patterns.push(OwnedPattern::from(pattern));
        self.next.push(self.index.insert(key.number, place));
        self.has_wildcard |= pattern.is_wildcard();
        self.has_any_port |= pattern.port() == Port::Any;
    }

    /// Whether the value of an Origin header is in the set, byte for byte.
    pub fn matches(&self, value: &[u8]) -> bool {
        Origin::parse(value)
            .is_some_and(|origin| self.covers(origin.scheme(), origin.host(), origin.port(), false))
    }

    /// Whether everything that `pattern` stands for is in the set. It is decided against one
    /// entry at a time, which misses no case but one: all 65535 ports listed one by one.
    pub fn includes_pattern(&self, pattern: &OriginPattern<'_>) -> bool {
        self.covers(
            pattern.scheme().as_bytes(),
            pattern.host().as_bytes(),
            pattern.port(),
            pattern.is_wildcard(),
        )
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

    /// Walks from the top-level label to the whole host, and asks at every dot for a wildcard
    /// and at the end for the host itself.
    fn covers(&self, scheme: &[u8], host: &[u8], port: Port, wildcard: bool) -> bool {
        let salt = hash(0, scheme);
        let mut state = 0;
        if self.has_wildcard {
            for (at, byte) in host.iter().enumerate().rev() {
                // A dot at the very front leaves no label for the `*`.
                if *byte == b'.'
                    && at > 0
                    && let Some(suffix) = host.get(at + 1..)
                    && self.has(state ^ salt, port, true, scheme, suffix)
                {
                    return true;
                }
                state = hash_byte(state, *byte);
            }
        } else {
            state = hash(0, host);
        }
        self.has(state ^ salt, port, wildcard, scheme, host)
    }

    fn has(&self, name: u64, port: Port, wildcard: bool, scheme: &[u8], host: &[u8]) -> bool {
        self.find(&Key::new(name, port, wildcard), scheme, host)
            || (self.has_any_port
                && port != Port::Any
                && self.find(&Key::new(name, Port::Any, wildcard), scheme, host))
    }

    fn find(&self, key: &Key, scheme: &[u8], host: &[u8]) -> bool {
        let mut place = self.index.get(&key.number).copied();
        while let Some(at) = place {
            let at = at as usize;
            if self.patterns.get(at).is_some_and(|pattern| {
                let pattern = pattern.borrow();
                pattern.host().as_bytes() == host
                    && pattern.scheme().as_bytes() == scheme
                    && pattern.port() == key.port
                    && pattern.is_wildcard() == key.wildcard
            }) {
                return true;
            }
            place = self.next.get(at).copied().flatten();
        }
        false
    }
}

impl PartialEq for OriginSet {
    /// Sets are equal if they have the same patterns, in whatever order.
    fn eq(&self, other: &Self) -> bool {
        let holds_all = |outer: &Self, inner: &Self| {
            inner.patterns().all(|pattern| {
                let key = Key::of(&pattern);
                outer.find(&key, pattern.scheme().as_bytes(), pattern.host().as_bytes())
            })
        };
        self.len() == other.len() && holds_all(self, other)
    }
}

impl Eq for OriginSet {}

impl fmt::Debug for OriginSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.patterns.iter()).finish()
    }
}

struct Key {
    number: u64,
    port: Port,
    wildcard: bool,
}

impl Key {
    fn of(pattern: &OriginPattern<'_>) -> Self {
        let name = hash(0, pattern.host().as_bytes()) ^ hash(0, pattern.scheme().as_bytes());
        Self::new(name, pattern.port(), pattern.is_wildcard())
    }

    fn new(name: u64, port: Port, wildcard: bool) -> Self {
        let port_number = match port {
            Port::Default => 0,
            Port::Number(number) => u64::from(number),
            Port::Any => 1 << 16,
        };
        let number = hash_byte(name ^ (port_number << 40) ^ (u64::from(wildcard) << 57), 0);
        Self { number, port, wildcard }
    }
}

/// Hashes from the last byte to the first, so that a suffix of a host has its hash on the way.
fn hash(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(state, |state, byte| hash_byte(state, *byte))
}

/// One step of a multiplicative hash. It need not resist an adversary: only a policy's own
/// origins are ever stored, and a request that finds one by its hash is compared byte by byte.
fn hash_byte(state: u64, byte: u8) -> u64 {
    (state.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Passes a key on that is a hash already.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash(self.0, bytes);
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
        for origin in ["https://a.test", "https://.a.test", "https://xa.test", "http://x.a.test"] {
            assert!(!set.matches(origin.as_bytes()), "{origin}");
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
    fn equality_ignores_order_and_repetition() {
        assert_eq!(
            set(&["https://a.test", "https://b.test"]),
            set(&["https://b.test", "https://a.test", "https://b.test"])
        );
        assert_ne!(set(&["https://a.test"]), set(&["https://a.test:*"]));
    }

    #[test]
    fn keys_that_collide_are_told_apart() {
        let mut set = set(&["https://a.test", "https://b.test", "https://c.test"]);
        // As if all three had one key: a chain through `next`.
        let key = Key::of(&OriginPattern::parse("https://a.test").unwrap()).number;
        set.index.clear();
        set.index.insert(key, 2);
        set.next = vec![None, Some(0), Some(1)];
        assert!(set.matches(b"https://a.test"));
    }
}

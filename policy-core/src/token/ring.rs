//! Current, upcoming and retiring keys.

use super::{Key, KeyError};
use crate::time::Timestamp;

/// A key and when it is used.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RingKey {
    /// The key.
    pub key: Key,
    /// When the key begins to sign. Deploy it to every server some minutes earlier: all servers
    /// must be able to verify its first signature.
    pub signs_from: Timestamp,
    /// When the key stops verifying: at the earliest when the last token that it signed has
    /// expired.
    pub retires: Option<Timestamp>,
}

impl RingKey {
    /// A key that signs at once and never retires.
    pub fn new(key: Key) -> Self {
        Self { key, signs_from: Timestamp::default(), retires: None }
    }

    pub(super) fn is_live(&self, now: Timestamp) -> bool {
        is_before(self.retires, now)
    }
}

/// Whether a key that retires at this time, if ever, is still used.
pub(super) fn is_before(retires: Option<Timestamp>, now: Timestamp) -> bool {
    retires.is_none_or(|retires| now < retires)
}

/// Keys by their ids: every key that is not retired verifies, and the newest key whose `signs_from`
/// has passed signs.
#[derive(Debug)]
pub struct KeyRing(Box<[RingKey]>);

impl KeyRing {
    /// A ring of keys in any order.
    ///
    /// # Errors
    ///
    /// If there is no key, or two have one id.
    pub fn new(mut keys: Vec<RingKey>) -> Result<Self, KeyError> {
        keys.sort_by_key(|entry| std::cmp::Reverse(entry.signs_from));
        let mut ids: Vec<&str> = keys.iter().map(|entry| entry.key.id()).collect();
        ids.sort_unstable();
        if ids.is_empty() {
            Err(KeyError::Empty)
        } else if ids.windows(2).any(|pair| pair.first() == pair.last()) {
            Err(KeyError::DuplicateId)
        } else {
            Ok(Self(keys.into()))
        }
    }

    /// The keys; the key with the latest `signs_from` is first.
    pub fn keys(&self) -> impl Iterator<Item = &RingKey> {
        self.0.iter()
    }

    /// Whether a key has this id.
    pub fn has(&self, id: &str) -> bool {
        self.keys().any(|entry| entry.key.id() == id)
    }

    /// The key whose prepared header these bytes begin with, retired or not.
    #[inline]
    pub(super) fn by_header(&self, token: &[u8]) -> Option<&RingKey> {
        self.0.iter().find(|entry| token.starts_with(entry.key.header()))
    }

    /// The key with this id, retired or not; without an id, the only key of a ring of one.
    pub(super) fn by_id(&self, id: Option<&str>) -> Option<&RingKey> {
        match (id, &*self.0) {
            (Some(id), keys) => keys.iter().find(|entry| entry.key.id() == id),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }

    /// The key that signs now: the newest one that may.
    pub fn signer(&self, now: Timestamp) -> Option<&Key> {
        let may_sign = |entry: &&RingKey| {
            entry.signs_from <= now && entry.is_live(now) && entry.key.can_sign()
        };
        self.0.iter().find(may_sign).map(|entry| &entry.key)
    }
}

//! Deriving the next id of a session, so that no store keeps it.

use std::fmt;

use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::SessionId;
use crate::secret::SecretKey;

/// Derives the id that a periodic renewal sets. Every request that presents the old id during its
/// grace period gets the same new id, although no store has either of them in clear.
///
/// Changes of rights use random ids instead. An attacker who obtains this key later cannot compute
/// the id after a login from the id before it.
#[derive(Clone)]
pub struct SuccessorKey(Hmac<Sha256>);

impl SuccessorKey {
    /// The key of a store's secret.
    pub fn new(secret: &SecretKey) -> Self {
        Self(secret.derive("session successor").hmac())
    }

    /// The next id. Its first two bytes stay the same, because clusters choose the node by them.
    #[must_use]
    pub fn successor(&self, id: &SessionId) -> SessionId {
        let mut mac = self.0.clone();
        mac.update(b"sid\x01");
        mac.update(id.bytes());
        let tag = mac.finalize().into_bytes();
        let mut bytes = *id.bytes();
        for (byte, derived) in bytes.iter_mut().skip(2).zip(tag) {
            *byte = derived;
        }
        SessionId::from_bytes(bytes)
    }
}

impl fmt::Debug for SuccessorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SuccessorKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_successor_depends_on_key_and_id_only() {
        let key = SuccessorKey::new(&SecretKey::from_bytes([1; 32]));
        let other = SuccessorKey::new(&SecretKey::from_bytes([2; 32]));
        let id = SessionId::from_bytes([7; 32]);
        let next = key.successor(&id);
        assert_eq!(next.bytes(), key.successor(&id).bytes());
        assert_eq!(next.bytes()[..2], id.bytes()[..2]);
        assert_ne!(next.bytes()[2..], id.bytes()[2..]);
        assert_ne!(next.bytes(), other.successor(&id).bytes());
        assert_ne!(next.bytes(), key.successor(&next).bytes());
    }
}

//! Derives each refresh token from the previous one.

use std::fmt;

use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::{OpaqueKind, OpaqueToken};
use crate::secret::SecretKey;

/// Derives the successor of a refresh token from the token itself.
///
/// A store keeps only hashes. Still, a client that repeats a token shortly after its use gets the
/// token that is valid now, from every instance of an app: several tabs that refresh at once, or a
/// client whose response was lost, stay logged in, and the token family does not fork (RFC 9700
/// 4.14.2).
///
/// ```
/// use policy_core::{secret::SecretKey, token::{OpaqueKind, OpaqueToken, RefreshKey}};
///
/// let key = RefreshKey::new(&SecretKey::from_bytes([1; 32]));
/// let first = OpaqueToken::from_bytes(OpaqueKind::Refresh, [7; 32]);
/// assert_eq!(key.successor(&first).text(), key.successor(&first).text());
/// assert_ne!(key.successor(&first).text(), first.text());
/// ```
pub struct RefreshKey(Hmac<Sha256>);

impl RefreshKey {
    /// Derives the key from a secret that all instances of an app share.
    pub fn new(secret: &SecretKey) -> Self {
        Self(secret.derive("refresh token").hmac())
    }

    /// `HMAC-SHA-256(key, "rt" || token)`.
    pub fn successor(&self, token: &OpaqueToken) -> OpaqueToken {
        let mut mac = self.0.clone();
        mac.update(b"rt");
        mac.update(token.bytes());
        OpaqueToken::from_bytes(OpaqueKind::Refresh, mac.finalize().into_bytes().into())
    }
}

impl fmt::Debug for RefreshKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RefreshKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_chain_does_not_come_back() {
        let key = RefreshKey::new(&SecretKey::from_bytes([1; 32]));
        let mut token = OpaqueToken::from_bytes(OpaqueKind::Refresh, [0; 32]);
        let mut seen = HashSet::new();
        for _ in 0..1000 {
            assert!(seen.insert(token.hash()));
            token = key.successor(&token);
        }
    }

    /// Computed with Python's `hmac`: HKDF without salt over 32 ones, info `refresh token`, then
    /// HMAC over `rt` and 32 sevens.
    #[test]
    fn a_successor_is_the_hmac_of_its_predecessor() {
        let key = RefreshKey::new(&SecretKey::from_bytes([1; 32]));
        let successor = key.successor(&OpaqueToken::from_bytes(OpaqueKind::Refresh, [7; 32]));
        assert_eq!(successor.text(), "rt_DLY_24Z2OMOssaR3B4zKJpjYRjMJRiFxsGaLgex-bpc");
    }
}

//! CSRF tokens.

use std::fmt;

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::{base64url, secret::SecretKey};

/// Makes and checks CSRF tokens:
/// `base64url(nonce ‖ HMAC-SHA-256(key, "csrf" ‖ 01 ‖ binding ‖ nonce))`.
///
/// A token is valid for the value that it is bound to: the session's id at its last change of
/// rights. It has no expiry. Each token is a different text, so that compression reveals nothing
/// about it (BREACH).
///
/// ```
/// use policy_core::{csrf::{CsrfKey, TokenVerdict}, secret::SecretKey};
///
/// let key = CsrfKey::new(&SecretKey::from_bytes([1; 32]));
/// let token = key.token(&[2; 32], [3; 16]);
/// assert_eq!(token.len(), 64);
/// assert_eq!(key.verify(&[2; 32], token.as_bytes()), TokenVerdict::Valid);
/// assert_eq!(key.verify(&[9; 32], token.as_bytes()), TokenVerdict::Invalid);
/// assert_eq!(key.verify(&[2; 32], b""), TokenVerdict::Malformed);
/// ```
#[derive(Clone)]
pub struct CsrfKey(Hmac<Sha256>);

/// The verdict on a presented token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenVerdict {
    /// Made with this key for this binding.
    Valid,
    /// Of the right form, but made with another key or for another binding.
    Invalid,
    /// Not a token at all; an absent one is empty text.
    Malformed,
}

impl CsrfKey {
    /// Takes a key that is used for nothing else.
    pub fn new(key: &SecretKey) -> Self {
        Self(key.hmac())
    }

    /// A token for this binding; `nonce` is random and different each time.
    pub fn token(&self, binding: &[u8; 32], nonce: [u8; 16]) -> String {
        let tag = self.mac(binding, &nonce).finalize().into_bytes();
        base64url::encode(&[&nonce[..], &tag[..]].concat())
    }

    /// Checks a token, in constant time.
    pub fn verify(&self, binding: &[u8; 32], token: &[u8]) -> TokenVerdict {
        let Some(bytes) = base64url::decode_exact::<48>(token) else {
            return TokenVerdict::Malformed;
        };
        let (nonce, tag) = bytes.split_at(16);
        match self.mac(binding, nonce).verify_slice(tag) {
            Ok(()) => TokenVerdict::Valid,
            Err(_) => TokenVerdict::Invalid,
        }
    }

    fn mac(&self, binding: &[u8; 32], nonce: &[u8]) -> Hmac<Sha256> {
        self.0.clone().chain_update(b"csrf\x01").chain_update(binding).chain_update(nonce)
    }
}

impl fmt::Debug for CsrfKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CsrfKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_token_is_refused() {
        let key = CsrfKey::new(&SecretKey::from_bytes([1; 32]));
        let token = key.token(&[2; 32], [3; 16]);
        for at in 0..token.len() {
            for byte in 0..=u8::MAX {
                let mut changed = token.clone().into_bytes();
                changed[at] = byte;
                let is_valid = key.verify(&[2; 32], &changed) == TokenVerdict::Valid;
                assert_eq!(is_valid, changed == token.as_bytes(), "{at} {byte}");
            }
        }
    }

    #[test]
    fn tokens_of_one_session_differ_and_all_hold() {
        let key = CsrfKey::new(&SecretKey::from_bytes([1; 32]));
        let tokens = [key.token(&[2; 32], [3; 16]), key.token(&[2; 32], [4; 16])];
        assert_ne!(tokens[0], tokens[1]);
        for token in &tokens {
            assert_eq!(key.verify(&[2; 32], token.as_bytes()), TokenVerdict::Valid);
            let other = CsrfKey::new(&SecretKey::from_bytes([9; 32]));
            assert_eq!(other.verify(&[2; 32], token.as_bytes()), TokenVerdict::Invalid);
        }
    }
}

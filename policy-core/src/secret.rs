//! Secret keys: generated, stored and derived without being printed.

use std::fmt;

use base64ct::{Base64Unpadded, Base64UrlUnpadded, Encoding};
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::catalogue::{Rule, broken_rules};

broken_rules! {
    /// Why bytes are not a key.
    SecretError {
        /// Fewer than 32 bytes (RFC 7518 3.2 for HS256).
        TooShort SecretTooShort,
        /// All bytes are equal.
        Constant SecretConstant,
        /// Text of fewer than 64 characters: probably typed and not random.
        Guessable SecretGuessable,
        /// Text that is neither base64 nor hexadecimal.
        Encoding SecretEncoding,
    }
}

/// At least 32 secret bytes. They are wiped when the key is dropped, and nothing prints them.
///
/// ```
/// use policy_core::secret::{SecretError, SecretKey};
///
/// assert_eq!(SecretKey::new(b"secret").unwrap_err(), SecretError::TooShort);
/// assert_eq!(SecretKey::new(&[7; 32]).unwrap_err(), SecretError::Constant);
/// assert_eq!(SecretKey::new(b"correct horse battery staple 1234").unwrap_err(), SecretError::Guessable);
/// let drawn: Vec<u8> = (100..140).collect();
/// assert_eq!(format!("{:?}", SecretKey::new(&drawn).unwrap()), "SecretKey(..)");
/// ```
#[derive(Clone)]
pub struct SecretKey(Zeroizing<Vec<u8>>);

impl SecretKey {
    /// The minimum length of a key in bytes.
    pub const MIN: usize = 32;

    /// Makes a key of these bytes.
    ///
    /// # Errors
    ///
    /// Why the bytes are not a key.
    pub fn new(bytes: &[u8]) -> Result<Self, SecretError> {
        let is_text = bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
        if bytes.len() < Self::MIN {
            Err(SecretError::TooShort)
        } else if bytes.iter().all(|byte| Some(byte) == bytes.first()) {
            Err(SecretError::Constant)
        } else if is_text && bytes.len() < 64 {
            Err(SecretError::Guessable)
        } else {
            Ok(Self(Zeroizing::new(bytes.to_vec())))
        }
    }

    /// Reads a key as `openssl rand -hex 32` or `openssl rand -base64 32` writes it, with or
    /// without padding, in either alphabet of RFC 4648.
    ///
    /// # Errors
    ///
    /// The reason why the text is not a key.
    ///
    /// ```
    /// use policy_core::secret::SecretKey;
    ///
    /// assert!(SecretKey::decode("/9ylw38tQfz6gRMxEYZzv2V4mKJ0mNUSgAOC3kKJB54=").is_ok());
    /// assert!(SecretKey::decode("not a key").is_err());
    /// ```
    pub fn decode(text: &str) -> Result<Self, SecretError> {
        let text = text.trim().trim_end_matches('=');
        let decoded = base16ct::mixed::decode_vec(text)
            .or_else(|_no_hex| Base64Unpadded::decode_vec(text))
            .or_else(|_other_alphabet| Base64UrlUnpadded::decode_vec(text))
            .map_err(|_no_base64| SecretError::Encoding)?;
        Self::new(&Zeroizing::new(decoded))
    }

    /// Makes a key of bytes that a random source filled, without checking them.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes.to_vec()))
    }

    /// The bytes, for computing with them.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Derives the key for one purpose (HKDF-SHA-256, RFC 5869, with `purpose` as info). The key of
    /// one purpose reveals nothing about that of another.
    #[must_use]
    pub fn derive(&self, purpose: &str) -> Self {
        let mut derived = Zeroizing::new(vec![0; 32]);
        // HKDF can expand to far more than 32 bytes.
        let _ = Hkdf::<Sha256>::new(None, &self.0).expand(purpose.as_bytes(), &mut derived);
        Self(derived)
    }

    /// HMAC-SHA-256 (RFC 2104) with this key, prepared once and cloned for each use.
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
    pub(crate) fn hmac(&self) -> Hmac<Sha256> {
        Hmac::new_from_slice(&self.0).expect("any length")
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_and_malformed_keys_break_a_rule() {
        let rule = |bytes: &[u8]| SecretKey::new(bytes).unwrap_err().rule();
        assert_eq!(rule(b"secret"), Rule::SecretTooShort);
        assert_eq!(rule(&[7; 32]), Rule::SecretConstant);
        assert_eq!(rule(b"correct horse battery staple 1234"), Rule::SecretGuessable);
        assert_eq!(SecretKey::decode("not a key").unwrap_err().rule(), Rule::SecretEncoding);
    }
}

//! Keys of the asymmetric algorithms (RFC 7518 3.3 and 3.4, RFC 8037 3.1).

use aws_lc_rs::signature::{ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256};
use ed25519_dalek::Signer as _;
use p256::{
    ecdsa::{self, signature::Verifier as _},
    pkcs8::{DecodePrivateKey, DecodePublicKey, Document},
};

use super::{
    Algorithm, Key, KeyError,
    key::{Material, SignatureFault, exact},
};
use crate::base64url;

/// A public key, with its private key if it signs.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "a ring has few keys, and they are boxed")]
pub(super) enum AsymmetricKey {
    Es256(ecdsa::VerifyingKey, Option<ecdsa::SigningKey>),
    Ed25519(ed25519_dalek::VerifyingKey, Option<ed25519_dalek::SigningKey>),
    Rs256(ParsedPublicKey),
}

/// Keys are read from PEM or DER: private ones from PKCS#8 (RFC 5958), public ones from
/// `SubjectPublicKeyInfo` (RFC 5280 4.1).
impl Key {
    /// A key of ES256 that signs and verifies, from its private key.
    ///
    /// # Errors
    ///
    /// If the key or the id is invalid.
    pub fn es256(id: &str, private: &[u8]) -> Result<Self, KeyError> {
        let key: ecdsa::SigningKey = private_key(private)?;
        AsymmetricKey::Es256(*key.verifying_key(), Some(key)).into_key(id)
    }

    /// A key of ES256 that only verifies.
    ///
    /// # Errors
    ///
    /// If the key or the id is invalid.
    pub fn es256_public(id: &str, public: &[u8]) -> Result<Self, KeyError> {
        AsymmetricKey::Es256(public_key(public)?, None).into_key(id)
    }

    /// A key of Ed25519 that signs and verifies, from its private key.
    ///
    /// # Errors
    ///
    /// If the key or the id is invalid.
    pub fn ed25519(id: &str, private: &[u8]) -> Result<Self, KeyError> {
        let key: ed25519_dalek::SigningKey = private_key(private)?;
        AsymmetricKey::Ed25519(key.verifying_key(), Some(key)).into_key(id)
    }

    /// A key of Ed25519 that only verifies.
    ///
    /// # Errors
    ///
    /// If the key or the id is invalid.
    pub fn ed25519_public(id: &str, public: &[u8]) -> Result<Self, KeyError> {
        AsymmetricKey::Ed25519(public_key(public)?, None).into_key(id)
    }

    /// A public key for RS256, of 2048 to 8192 bits. Only external issuers use it; this service
    /// never signs with RS256.
    ///
    /// # Errors
    ///
    /// If the key or the id is invalid.
    pub fn rs256_public(id: &str, public: &[u8]) -> Result<Self, KeyError> {
        let document = match pem(public) {
            Some(pem) => match Document::from_pem(pem).map_err(|_pem| KeyError::Encoding)? {
                ("PUBLIC KEY", document) => document.into_vec(),
                _ => return Err(KeyError::Encoding),
            },
            None => public.to_vec(),
        };
        let key = ParsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, document);
        AsymmetricKey::Rs256(key.map_err(|_rejected| KeyError::Encoding)?).into_key(id)
    }
}

fn pem(text: &[u8]) -> Option<&str> {
    str::from_utf8(text).ok().filter(|text| text.trim_start().starts_with("-----BEGIN "))
}

fn private_key<K: DecodePrivateKey>(bytes: &[u8]) -> Result<K, KeyError> {
    pem(bytes)
        .map_or_else(|| K::from_pkcs8_der(bytes), K::from_pkcs8_pem)
        .map_err(|_pkcs8| KeyError::Encoding)
}

fn public_key<K: DecodePublicKey>(bytes: &[u8]) -> Result<K, KeyError> {
    pem(bytes)
        .map_or_else(|| K::from_public_key_der(bytes), K::from_public_key_pem)
        .map_err(|_spki| KeyError::Encoding)
}

impl AsymmetricKey {
    pub(super) fn into_key(self, id: &str) -> Result<Key, KeyError> {
        Key::new(id, Material::Asymmetric(Box::new(self)))
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        match self {
            Self::Es256(..) => Algorithm::Es256,
            Self::Ed25519(..) => Algorithm::Ed25519,
            Self::Rs256(_) => Algorithm::Rs256,
        }
    }

    pub(super) fn can_sign(&self) -> bool {
        matches!(self, Self::Es256(_, Some(_)) | Self::Ed25519(_, Some(_)))
    }

    pub(super) fn has_public_key_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Es256(own, _), Self::Es256(other, _)) => own == other,
            (Self::Ed25519(own, _), Self::Ed25519(other, _)) => own == other,
            (Self::Rs256(own), Self::Rs256(other)) => {
                AsRef::<[u8]>::as_ref(own) == AsRef::<[u8]>::as_ref(other)
            }
            _ => false,
        }
    }

    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), SignatureFault> {
        let is_valid = match self {
            // Refuses r and s outside of 1 to n - 1. A high s is as valid as its counterpart.
            Self::Es256(key, _) => ecdsa::Signature::from_slice(&exact::<64>(signature)?)
                .is_ok_and(|signature| key.verify(message, &signature).is_ok()),
            // Strict: one signature has one encoding, and keys of small order are refused.
            Self::Ed25519(key, _) => {
                let signature = ed25519_dalek::Signature::from_bytes(&exact::<64>(signature)?);
                key.verify_strict(message, &signature).is_ok()
            }
            Self::Rs256(key) => {
                let mut bytes = Vec::new();
                base64url::decode(signature, &mut bytes).ok_or(SignatureFault::Malformed)?;
                key.verify_sig(message, &bytes).is_ok()
            }
        };
        if is_valid { Ok(()) } else { Err(SignatureFault::Bad) }
    }

    /// The signature of a key that [can sign](Self::can_sign).
    pub(super) fn sign(&self, message: &[u8]) -> Option<[u8; 64]> {
        match self {
            Self::Es256(_, Some(key)) => {
                let signature: ecdsa::Signature = key.sign(message);
                Some(signature.to_bytes().into())
            }
            Self::Ed25519(_, Some(key)) => Some(key.sign(message).to_bytes()),
            _ => None,
        }
    }
}

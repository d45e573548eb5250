//! Keys: an id, one algorithm, and state that is prepared once.

use std::fmt;

use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::{KeyError, profile::ACCESS_TOKEN};
use crate::base64url;
use crate::secret::SecretKey;

/// A signature algorithm. `none` does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// HMAC with SHA-256 (RFC 7518 3.2).
    Hs256,
    /// ECDSA on P-256 with SHA-256 (RFC 7518 3.4).
    #[cfg(feature = "asym")]
    Es256,
    /// Ed25519, named `EdDSA` or `Ed25519` (RFC 8037 3.1, RFC 9864 2.2).
    #[cfg(feature = "asym")]
    Ed25519,
    /// RSA with PKCS#1 padding and SHA-256 (RFC 7518 3.3): verified only.
    #[cfg(feature = "asym")]
    Rs256,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: &[Self] = &[
        Self::Hs256,
        #[cfg(feature = "asym")]
        Self::Es256,
        #[cfg(feature = "asym")]
        Self::Ed25519,
        #[cfg(feature = "asym")]
        Self::Rs256,
    ];

    /// The asymmetric algorithms: those that external issuers may sign with.
    #[cfg(feature = "asym")]
    pub const ASYMMETRIC: &[Self] = &[Self::Es256, Self::Ed25519, Self::Rs256];

    /// The name in the header of a token of this server.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            #[cfg(feature = "asym")]
            Self::Es256 => "ES256",
            // The name that every library accepts.
            #[cfg(feature = "asym")]
            Self::Ed25519 => "EdDSA",
            #[cfg(feature = "asym")]
            Self::Rs256 => "RS256",
        }
    }

    /// The algorithm that a header states by this name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "HS256" => Some(Self::Hs256),
            #[cfg(feature = "asym")]
            "ES256" => Some(Self::Es256),
            #[cfg(feature = "asym")]
            "EdDSA" | "Ed25519" => Some(Self::Ed25519),
            #[cfg(feature = "asym")]
            "RS256" => Some(Self::Rs256),
            _ => None,
        }
    }
}

/// Why a signature is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignatureFault {
    /// The text is not base64url.
    Malformed,
    /// It is not a signature by this key.
    Bad,
}

/// A key: an id, exactly one algorithm, and the prepared key material.
///
/// Nothing prints its secret, which is wiped when the key is dropped.
///
/// ```
/// use policy_core::{secret::SecretKey, token::{Key, KeyError}};
///
/// let secret = SecretKey::decode("/9ylw38tQfz6gRMxEYZzv2V4mKJ0mNUSgAOC3kKJB54=").unwrap();
/// let key = Key::hs256("2027-01", &secret).unwrap();
/// assert_eq!(format!("{key:?}"), r#"Key { id: "2027-01", algorithm: Hs256, .. }"#);
/// assert_eq!(Key::hs256("../key", &secret).unwrap_err(), KeyError::Id);
/// ```
#[derive(Clone)]
pub struct Key {
    id: Box<str>,
    /// The first part of every token signed with this key, up to and including the first dot.
    header: Box<str>,
    material: Material,
}

#[derive(Clone)]
pub(super) enum Material {
    /// Already keyed: a clone of it hashes the message without the blocks of the key.
    Hs256(Hmac<Sha256>),
    #[cfg(feature = "asym")]
    Asymmetric(Box<super::asym::AsymmetricKey>),
}

impl Key {
    /// A key of HS256.
    ///
    /// # Errors
    ///
    /// If the id is invalid.
    pub fn hs256(id: &str, secret: &SecretKey) -> Result<Self, KeyError> {
        Self::new(id, Material::Hs256(secret.hmac()))
    }

    pub(super) fn new(id: &str, material: Material) -> Result<Self, KeyError> {
        let is_id = if material.can_sign() { is_key_id(id) } else { is_public_key_id(id) };
        if !is_id {
            return Err(KeyError::Id);
        }
        let algorithm = material.algorithm().name();
        let mut header = String::new();
        let json = format!(r#"{{"alg":"{algorithm}","typ":"{ACCESS_TOKEN}","kid":"{id}"}}"#);
        base64url::append(json.as_bytes(), &mut header);
        header.push('.');
        Ok(Self { id: id.into(), header: header.into(), material })
    }

    /// The id by which tokens name the key (`kid`).
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The one algorithm it is used with.
    pub fn algorithm(&self) -> Algorithm {
        self.material.algorithm()
    }

    /// Whether the key can sign.
    pub fn can_sign(&self) -> bool {
        self.material.can_sign()
    }

    /// Whether both keys verify the same signatures, whatever their ids are and whether they sign.
    pub fn has_material_of(&self, other: &Self) -> bool {
        match (&self.material, &other.material) {
            (Material::Hs256(own), Material::Hs256(other)) => {
                // In constant time: the secrets are compared by what they sign.
                let tag = own.clone().finalize().into_bytes();
                other.clone().verify_slice(&tag).is_ok()
            }
            #[cfg(feature = "asym")]
            (Material::Asymmetric(own), Material::Asymmetric(other)) => {
                own.has_public_key_of(other)
            }
            #[cfg(feature = "asym")]
            _ => false,
        }
    }

    pub(super) fn header(&self) -> &[u8] {
        self.header.as_bytes()
    }

    /// Whether `signature` is the text of this key's signature of `message`.
    #[inline]
    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), SignatureFault> {
        match &self.material {
            Material::Hs256(mac) => {
                let signature = exact::<32>(signature)?;
                // In constant time.
                mac.clone()
                    .chain_update(message)
                    .verify_slice(&signature)
                    .map_err(|_mac| SignatureFault::Bad)
            }
            #[cfg(feature = "asym")]
            Material::Asymmetric(key) => key.verify(message, signature),
        }
    }

    /// Appends header, payload and signature to `token`, which is empty.
    pub(super) fn sign(&self, payload: &[u8], token: &mut String) {
        token.push_str(&self.header);
        base64url::append(payload, token);
        let message = token.as_bytes();
        match &self.material {
            Material::Hs256(mac) => {
                let tag = mac.clone().chain_update(message).finalize().into_bytes();
                token.push('.');
                base64url::append(&tag, token);
            }
            #[cfg(feature = "asym")]
            Material::Asymmetric(key) => {
                if let Some(signature) = key.sign(message) {
                    token.push('.');
                    base64url::append(&signature, token);
                }
            }
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut key = f.debug_struct("Key");
        key.field("id", &self.id).field("algorithm", &self.algorithm()).finish_non_exhaustive()
    }
}

impl Material {
    fn can_sign(&self) -> bool {
        match self {
            Self::Hs256(_) => true,
            #[cfg(feature = "asym")]
            Self::Asymmetric(key) => key.can_sign(),
        }
    }

    fn algorithm(&self) -> Algorithm {
        match self {
            Self::Hs256(_) => Algorithm::Hs256,
            #[cfg(feature = "asym")]
            Self::Asymmetric(key) => key.algorithm(),
        }
    }
}

/// Whether tokens of this server may use this id of a key: no path, no query, nothing to escape.
pub(super) fn is_key_id(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

/// Whether another issuer may use this id of a key. Many issuers write base64, and the id is only
/// compared.
fn is_public_key_id(id: &str) -> bool {
    (1..=128).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
}

/// The bytes of a signature, whose text must encode exactly `N` bytes.
pub(super) fn exact<const N: usize>(text: &[u8]) -> Result<[u8; N], SignatureFault> {
    base64url::decode_exact(text).ok_or_else(|| {
        let is_base64url = base64url::decode(text, &mut Vec::new()).is_some();
        if is_base64url { SignatureFault::Bad } else { SignatureFault::Malformed }
    })
}

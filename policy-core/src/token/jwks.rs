//! JWK Sets, as issuers publish them (RFC 7517 5).

use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use p256::ecdsa;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use super::{Key, KeyError, asym::AsymmetricKey};
use crate::base64url;

/// The public keys of an issuer.
///
/// An entry is used only with the algorithm that its type, curve and `alg` name, and only if its
/// `use` and `key_ops` allow verification. Other entries are skipped and reported.
///
/// ```
/// use policy_core::token::{Algorithm, JwkFault, Jwks};
///
/// let document = br#"{"keys":[
///     {"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
///     {"kty":"oct","kid":"b","k":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"}
/// ]}"#;
/// let jwks = Jwks::parse(document).unwrap();
/// assert_eq!(jwks.keys[0].algorithm(), Algorithm::Ed25519);
/// assert_eq!((&*jwks.skipped[0].id, jwks.skipped[0].fault), ("b", JwkFault::Secret));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Jwks {
    /// The keys that can verify, each id once.
    pub keys: Vec<Key>,
    /// The entries that were skipped.
    pub skipped: Vec<SkippedJwk>,
}

/// An entry that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedJwk {
    /// The id that the entry states: any text up to 64 characters. Escape it in output.
    pub id: Box<str>,
    /// Why it is not used.
    pub fault: JwkFault,
}

/// Why an entry of a set of keys is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JwkFault {
    /// A member has an invalid type.
    Malformed,
    /// A symmetric or private key: every reader of the document can sign with it.
    Secret,
    /// The key is for a purpose other than verifying signatures (`use`, `key_ops`).
    Use,
    /// The type, the curve or the algorithm is not supported.
    Algorithm,
    /// The id is missing, or not one that tokens can name.
    Id,
    /// An earlier entry has the same id.
    Duplicate,
    /// The numbers are not a valid key.
    Value,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    r#use: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
    d: Option<IgnoredAny>,
    k: Option<IgnoredAny>,
}

impl Jwks {
    /// The maximum size of a document in bytes.
    pub const MAX_LEN: usize = 64 * 1024;

    /// The maximum number of entries of a document.
    pub const MAX_KEYS: usize = 64;

    /// Reads a document.
    ///
    /// # Errors
    ///
    /// [`KeyError::Encoding`] if it is not a set of keys, or exceeds a limit.
    pub fn parse(document: &[u8]) -> Result<Self, KeyError> {
        // serde also reads the members of a struct from an array, by position.
        let is_object = document.trim_ascii_start().starts_with(b"{");
        if document.len() > Self::MAX_LEN || !is_object {
            return Err(KeyError::Encoding);
        }
        let document: Document =
            serde_json::from_slice(document).map_err(|_json| KeyError::Encoding)?;
        if document.keys.len() > Self::MAX_KEYS {
            return Err(KeyError::Encoding);
        }
        let mut jwks = Self { keys: Vec::new(), skipped: Vec::new() };
        for entry in document.keys {
            let id = entry.get("kid").and_then(Value::as_str).unwrap_or_default();
            let id: String = id.chars().take(64).collect();
            match jwks.key(entry) {
                Ok(key) => jwks.keys.push(key),
                Err(fault) => jwks.skipped.push(SkippedJwk { id: id.into(), fault }),
            }
        }
        Ok(jwks)
    }

    fn key(&self, entry: Value) -> Result<Key, JwkFault> {
        if !entry.is_object() {
            return Err(JwkFault::Malformed);
        }
        let jwk: Jwk = serde_json::from_value(entry).map_err(|_json| JwkFault::Malformed)?;
        let is_for_signatures = jwk.r#use.as_deref().is_none_or(|it| it == "sig");
        let verifies = jwk
            .key_ops
            .as_ref()
            .is_none_or(|all| all.iter().any(|operation| operation == "verify"));
        if jwk.kty == "oct" || jwk.k.is_some() || jwk.d.is_some() {
            return Err(JwkFault::Secret);
        }
        if !is_for_signatures || !verifies {
            return Err(JwkFault::Use);
        }
        let read = match (&*jwk.kty, jwk.crv.as_deref(), jwk.alg.as_deref()) {
            ("EC", Some("P-256"), None | Some("ES256")) => jwk.es256(),
            ("OKP", Some("Ed25519"), None | Some("EdDSA" | "Ed25519")) => jwk.ed25519(),
            ("RSA", _, None | Some("RS256")) => jwk.rs256(),
            _ => return Err(JwkFault::Algorithm),
        };
        let id = jwk.kid.as_deref().ok_or(JwkFault::Id)?;
        let key = read.ok_or(JwkFault::Value)?.into_key(id).map_err(|_id| JwkFault::Id)?;
        if self.keys.iter().any(|other| other.id() == id) {
            Err(JwkFault::Duplicate)
        } else {
            Ok(key)
        }
    }
}

impl Jwk {
    fn es256(&self) -> Option<AsymmetricKey> {
        let coordinate = |text: &Option<String>| base64url::decode_exact(text.as_ref()?.as_bytes());
        let (x, y): ([u8; 32], [u8; 32]) = (coordinate(&self.x)?, coordinate(&self.y)?);
        // An uncompressed point (SEC 1 2.3.3); one that is not on the curve is refused.
        let point = [&[4], &x[..], &y[..]].concat();
        let key = ecdsa::VerifyingKey::from_sec1_bytes(&point).ok()?;
        Some(AsymmetricKey::Es256(key, None))
    }

    fn ed25519(&self) -> Option<AsymmetricKey> {
        let point = base64url::decode_exact(self.x.as_ref()?.as_bytes())?;
        let key = ed25519_dalek::VerifyingKey::from_bytes(&point).ok()?;
        (!key.is_weak()).then_some(AsymmetricKey::Ed25519(key, None))
    }

    fn rs256(&self) -> Option<AsymmetricKey> {
        let number = |text: &Option<String>| {
            let mut bytes = Vec::new();
            base64url::decode(text.as_ref()?.as_bytes(), &mut bytes).map(|()| bytes)
        };
        let (n, e) = (number(&self.n)?, number(&self.e)?);
        if !(256..=1024).contains(&n.len()) {
            return None;
        }
        let key = RsaPublicKeyComponents { n, e }.to_parsed_public_key(&RSA_PKCS1_2048_8192_SHA256);
        key.ok().map(AsymmetricKey::Rs256)
    }
}

//! Signed tokens: JSON Web Tokens in the compact form (RFC 7515, RFC 7519).
//!
//! A [`Key`] has an id and exactly one algorithm; a [`KeyRing`] holds the current keys, upcoming
//! keys and keys that are being retired. A [`Profile`] states what a token must look like, and a
//! [`Verifier`] checks tokens against it: first the cheap form checks, then the signature, then the
//! claims, so that nothing unauthenticated is ever parsed as claims. The checks that depend on the
//! time come last and are separate: they are repeated if the same token arrives again.
//!
//! ```
//! use policy_core::{
//!     secret::SecretKey,
//!     time::Timestamp,
//!     token::{Key, KeyRing, NewClaims, Profile, RingKey, Verifier},
//! };
//!
//! let secret = SecretKey::decode("/9ylw38tQfz6gRMxEYZzv2V4mKJ0mNUSgAOC3kKJB54=").unwrap();
//! let now = Timestamp::from_seconds(1_800_000_000);
//! let keys = KeyRing::new(vec![RingKey::new(Key::hs256("2027-01", &secret).unwrap())]).unwrap();
//! let own = "https://api.example";
//! let mut claims = NewClaims::new(own, own, "user-1", "a1", now);
//! claims.expires = Timestamp::from_seconds(1_800_000_300);
//! claims.scope = Some("orders:read");
//! let token = keys.sign(&claims, now).unwrap();
//!
//! let verifier = Verifier::new(Profile::new("https://api.example", "https://api.example").unwrap());
//! let verified = verifier.verify(&keys, token.as_bytes(), now).unwrap();
//! assert_eq!(verified.claims().subject(), "user-1");
//! assert!(verified.claims().has_scope("orders:read"));
//! ```

#[cfg(feature = "asym")]
mod asym;
mod claims;
mod error;
mod fields;
mod header;
mod issue;
mod json;
#[cfg(feature = "asym")]
mod jwks;
mod jws;
mod key;
mod name_filter;
mod opaque;
mod profile;
mod refresh;
mod revocation;
mod ring;
mod verifier;

pub use claims::{Claims, Token};
pub use error::{Claim, KeyError, SignError, TokenError};
pub use issue::NewClaims;
#[cfg(feature = "asym")]
pub use jwks::{JwkFault, Jwks, SkippedJwk};
#[cfg(feature = "asym")]
pub use jws::key_id;
pub use jws::verify_jws;
pub use key::{Algorithm, Key};
pub use opaque::{OpaqueKind, OpaqueToken};
pub use profile::Profile;
pub use refresh::RefreshKey;
pub use revocation::{RevocationSet, RevocationStatus, TokenCutOff, TokenNames};
pub use ring::{KeyRing, RingKey};
pub use verifier::{SignedToken, Verifier};

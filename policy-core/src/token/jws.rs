//! The signature layer: three segments, a header, a key (RFC 7515). It does not interpret the
//! payload.

use super::{Algorithm, KeyRing, TokenError, header::Header, key::SignatureFault};
use crate::base64url;
use crate::time::Timestamp;

/// The parts of a compact JWS.
#[derive(Clone, Copy)]
pub(super) struct Segments<'t> {
    pub(super) payload: &'t [u8],
    pub(super) signature: &'t [u8],
    /// The signed bytes: header, dot and payload.
    pub(super) message: &'t [u8],
}

impl<'t> Segments<'t> {
    /// Splits a token into its header and the other segments. A token has exactly three segments,
    /// none of them empty, of base64url characters.
    pub(super) fn split(token: &'t [u8]) -> Result<(&'t [u8], Self), TokenError> {
        Self::split_loosely(token).and_then(|(header, segments)| {
            if segments.payload.is_empty() {
                Err(TokenError::Malformed)
            } else {
                Ok((header, segments))
            }
        })
    }

    /// Splits a JWS as [`split`](Self::split) does, but accepts an empty payload, which RFC 7515
    /// does not forbid.
    fn split_loosely(token: &'t [u8]) -> Result<(&'t [u8], Self), TokenError> {
        let is_character =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let mut dots =
            token.iter().enumerate().filter(|(_, byte)| **byte == b'.').map(|(at, _)| at);
        let (Some(first), Some(second), None) = (dots.next(), dots.next(), dots.next()) else {
            return Err(TokenError::Malformed);
        };
        let split = || {
            let segments = Self {
                payload: token.get(first + 1..second)?,
                signature: token.get(second + 1..)?,
                message: token.get(..second)?,
            };
            Some((token.get(..first)?, segments))
        };
        split()
            .filter(|(header, rest)| !header.is_empty() && !rest.signature.is_empty())
            .filter(|_| token.iter().all(is_character))
            .ok_or(TokenError::Malformed)
    }
}

impl From<SignatureFault> for TokenError {
    fn from(fault: SignatureFault) -> Self {
        match fault {
            SignatureFault::Malformed => Self::Malformed,
            SignatureFault::Bad => Self::BadSignature,
        }
    }
}

/// Verifies only the signature of a compact JWS and returns its payload: no claim, type or expiry
/// is checked. For tokens use a [`Verifier`](super::Verifier).
///
/// # Errors
///
/// The token is malformed, its key or algorithm is not accepted, or its signature is wrong.
///
/// ```
/// use policy_core::{
///     secret::SecretKey,
///     time::Timestamp,
///     token::{Algorithm, Key, KeyRing, RingKey, TokenError, verify_jws},
/// };
///
/// let secret = SecretKey::decode("/9ylw38tQfz6gRMxEYZzv2V4mKJ0mNUSgAOC3kKJB54=").unwrap();
/// let keys = KeyRing::new(vec![RingKey::new(Key::hs256("a", &secret).unwrap())]).unwrap();
/// let now = Timestamp::from_seconds(1_800_000_000);
/// let fault = verify_jws(&keys, &[Algorithm::Hs256], b"eyJhbGciOiJub25lIn0.Zm9v.AA", now);
/// assert_eq!(fault.unwrap_err(), TokenError::AlgNotAllowed);
/// ```
pub fn verify_jws(
    keys: &KeyRing,
    algorithms: &[Algorithm],
    token: &[u8],
    now: Timestamp,
) -> Result<Vec<u8>, TokenError> {
    let (header, segments) = Segments::split_loosely(token)?;
    let entry = Header::parse(header)?.key(keys, algorithms, |_any| true)?;
    if !entry.is_live(now) {
        return Err(TokenError::UnknownKey);
    }
    entry.key.verify(segments.message, segments.signature)?;
    let mut payload = Vec::new();
    base64url::decode(segments.payload, &mut payload).ok_or(TokenError::Malformed)?;
    Ok(payload)
}

/// The key id that a token names in its header (`kid`). It is not verified: it only selects the
/// issuer whose keys are tried.
///
/// # Errors
///
/// The token is malformed: it does not have three parts, or its header cannot be read.
///
/// ```
/// use policy_core::token::key_id;
///
/// let token = b"eyJhbGciOiJFUzI1NiIsImtpZCI6IjIwMjctMDEifQ.e30.AA";
/// assert_eq!(key_id(token)?.as_deref(), Some("2027-01"));
/// assert_eq!(key_id(b"eyJhbGciOiJFUzI1NiJ9.e30.AA")?, None);
/// # Ok::<(), policy_core::token::TokenError>(())
/// ```
#[cfg(feature = "asym")]
pub fn key_id(token: &[u8]) -> Result<Option<String>, TokenError> {
    let (header, _) = Segments::split(token)?;
    Ok(Header::parse(header)?.into_key_id())
}

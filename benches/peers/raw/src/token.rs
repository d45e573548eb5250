//! HS256 for tokens with one fixed header and two claims.

use std::time::{SystemTime, UNIX_EPOCH};

use base64_simd::{Out, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac, digest::InvalidLength};
use sha2::Sha256;

/// `{"alg":"HS256","typ":"JWT"}` and its dot. Any other header is refused.
const HEADER: &[u8] = b"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.";

/// The length of the signature part: a dot and 43 characters.
const SIGNATURE: usize = 44;

/// An HMAC key whose two states are precomputed.
pub(crate) struct Verifier(Hmac<Sha256>);

#[derive(serde::Deserialize)]
struct Claims<'a> {
    sub: &'a str,
    exp: u64,
}

impl Verifier {
    pub(crate) fn new(secret: &[u8]) -> Result<Self, InvalidLength> {
        Hmac::new_from_slice(secret).map(Self)
    }

    /// The subject of a valid token. Its claims are decoded into `decoded`, so nothing is
    /// allocated.
    #[inline]
    pub(crate) fn verify<'a>(&self, token: &[u8], decoded: &'a mut [u8; 512]) -> Option<&'a str> {
        let (signed, signature) = token.split_at_checked(token.len().checked_sub(SIGNATURE)?)?;
        let claims = signed.strip_prefix(HEADER)?;
        let mut bytes = [0; 32];
        let signature = URL_SAFE_NO_PAD
            .decode(signature.strip_prefix(b".")?, Out::from_slice(&mut bytes))
            .ok()?;
        let mut keyed = self.0.clone();
        keyed.update(signed);
        keyed.verify_slice(signature).ok()?;
        // At most 512 bytes.
        if claims.len() > 682 {
            return None;
        }
        let json = URL_SAFE_NO_PAD.decode(claims, Out::from_slice(decoded)).ok()?;
        let claims: Claims<'_> = serde_json::from_slice(json).ok()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        (claims.exp > now.as_secs()).then_some(claims.sub)
    }
}

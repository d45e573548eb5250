//! Cookies that the client can read and keep, but not change.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::CookieError;
use crate::{base64url, grammar::is_token, secret::SecretKey, time::Timestamp};

/// Signs the values of cookies, for data that is not secret and grants no rights: a preference, a
/// draft, the page where a login began. Sessions use their own cookies.
///
/// The signature covers the cookie's name, its purpose (the context), the value and the expiry, so
/// that none of them can be exchanged. Several keys may be known; the first one signs.
///
/// ```
/// use std::time::Duration;
/// use policy_core::{cookie::{CookieError, SignedCookies}, secret::SecretKey, time::Timestamp};
///
/// let key = |first: u8| SecretKey::from_bytes(std::array::from_fn(|at| first + at as u8));
/// let before = SignedCookies::new("wizard", "2026-01", &key(1))?;
/// let now = Timestamp::from_seconds(1_800_000_000);
/// let value = before.seal("step", b"3 of 5", now.after(Duration::from_secs(60)));
///
/// let after = SignedCookies::new("wizard", "2026-02", &key(9))?.verify_with("2026-01", &key(1))?;
/// assert_eq!(after.open("step", value.as_bytes(), now)?, b"3 of 5");
/// assert_eq!(after.open("other", value.as_bytes(), now), Err(CookieError::Signature));
/// # Ok::<(), CookieError>(())
/// ```
pub struct SignedCookies {
    context: Box<str>,
    signs: Key,
    verify: Vec<Key>,
}

struct Key {
    id: Box<str>,
    state: Hmac<Sha256>,
}

impl SignedCookies {
    /// Signs for one context with this key and its id.
    ///
    /// # Errors
    ///
    /// [`CookieError::Name`] for an id that is not 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub fn new(context: &str, id: &str, key: &SecretKey) -> Result<Self, CookieError> {
        Ok(Self { context: context.into(), signs: Key::new(id, key)?, verify: Vec::new() })
    }

    /// Also accepts cookies that this key has signed.
    ///
    /// # Errors
    ///
    /// [`CookieError::Name`] if the id is invalid or belongs to another key.
    pub fn verify_with(mut self, id: &str, key: &SecretKey) -> Result<Self, CookieError> {
        if self.key(id.as_bytes()).is_some() {
            return Err(CookieError::Name);
        }
        self.verify.push(Key::new(id, key)?);
        Ok(self)
    }

    /// The value for [`CookieSpec::set`](super::CookieSpec::set).
    pub fn seal(&self, name: &str, payload: &[u8], expires: Timestamp) -> String {
        let seconds = expires.seconds();
        let tag = self.mac(&self.signs, name, payload, seconds).finalize().into_bytes();
        let (payload, tag) = (base64url::encode(payload), base64url::encode(&tag));
        format!("{payload}.{seconds}.{}.{tag}", self.signs.id)
    }

    /// The signed value of the cookie `name`.
    ///
    /// # Errors
    ///
    /// [`CookieError::Signature`] if no key has signed it for this name and context,
    /// [`CookieError::Expired`] if it has expired.
    pub fn open(&self, name: &str, value: &[u8], now: Timestamp) -> Result<Vec<u8>, CookieError> {
        let sealed = self.parse(value).ok_or(CookieError::Signature)?;
        // In constant time.
        self.mac(sealed.key, name, &sealed.payload, sealed.expires)
            .verify_slice(&sealed.tag)
            .map_err(|_error| CookieError::Signature)?;
        let is_alive = now.seconds() < sealed.expires;
        is_alive.then_some(sealed.payload).ok_or(CookieError::Expired)
    }

    fn parse(&self, value: &[u8]) -> Option<Sealed<'_>> {
        if value.len() > super::CookieSpec::MAX_LEN {
            return None;
        }
        let mut parts = value.split(|byte| *byte == b'.');
        let (payload, expires, id, tag) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        // Each number has only one text, so that no part of a cookie can be changed.
        let expires = std::str::from_utf8(expires).ok()?;
        let seconds: u64 = expires.parse().ok()?;
        (parts.next().is_none() && seconds.to_string() == expires).then_some(())?;
        let mut bytes = Vec::new();
        base64url::decode(payload, &mut bytes)?;
        let key = self.key(id)?;
        Some(Sealed { payload: bytes, expires: seconds, key, tag: base64url::decode_exact(tag)? })
    }

    fn key(&self, id: &[u8]) -> Option<&Key> {
        std::iter::once(&self.signs).chain(&self.verify).find(|key| key.id.as_bytes() == id)
    }

    /// Every part is prefixed with its length, so that different inputs never give the same bytes.
    fn mac(&self, key: &Key, name: &str, payload: &[u8], expires: u64) -> Hmac<Sha256> {
        let mut mac = key.state.clone();
        for part in [name.as_bytes(), self.context.as_bytes(), payload] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.update(&expires.to_be_bytes());
        mac
    }
}

impl std::fmt::Debug for SignedCookies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignedCookies")
            .field("context", &self.context)
            .field("signs", &self.signs.id)
            .finish_non_exhaustive()
    }
}

impl Key {
    fn new(id: &str, key: &SecretKey) -> Result<Self, CookieError> {
        let valid = is_token(id.as_bytes()) && !id.contains('.') && id.len() <= 64;
        if !valid {
            return Err(CookieError::Name);
        }
        Ok(Self { id: id.into(), state: key.derive("cookie-sign").hmac() })
    }
}

struct Sealed<'a> {
    payload: Vec<u8>,
    expires: u64,
    key: &'a Key,
    tag: [u8; 32],
}

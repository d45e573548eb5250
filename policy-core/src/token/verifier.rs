//! Verifying tokens against a profile.
//!
//! Verification has two parts. The first, [`Verifier::open`], depends on the bytes of a token and
//! on the keys alone: it checks the signature and reads the claims. The second,
//! [`SignedToken::verify_at`], depends on the time. A cache of the result of the first part for the
//! same bytes cannot skip the second part, which is the only way to the claims.

use std::{fmt, sync::Arc};

use super::{
    Algorithm, KeyRing, Profile, RingKey, Token, TokenError, fields::Fields, header::Header,
    jws::Segments, profile::ACCESS_TOKEN, ring::is_before,
};
use crate::{base64url, time::Timestamp};

/// Verifies tokens against a [`Profile`].
#[derive(Debug)]
pub struct Verifier {
    profile: Arc<Profile>,
    /// Whether the profile accepts the headers that the server's own keys write.
    takes_own_headers: bool,
}

/// A token with a valid signature. Whether it is accepted depends on the time, too.
#[derive(Clone)]
pub struct SignedToken {
    token: Token,
    /// When its key retires.
    retires: Option<Timestamp>,
    profile: Arc<Profile>,
}

impl SignedToken {
    /// Whether this verifier opened it.
    pub fn is_of(&self, verifier: &Verifier) -> bool {
        Arc::ptr_eq(&self.profile, &verifier.profile)
    }

    /// The second part of the verification: checks that the key has not retired, and that the
    /// claims meet the requirements of the profile at this time.
    ///
    /// # Errors
    ///
    /// The first reason to refuse it.
    #[inline]
    pub fn verify_at(&self, now: Timestamp) -> Result<Token, TokenError> {
        if !is_before(self.retires, now) {
            return Err(TokenError::UnknownKey);
        }
        self.token.fields().check(&self.profile, now)?;
        Ok(self.token.clone())
    }
}

impl fmt::Debug for SignedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedToken").field("token", &self.token).finish_non_exhaustive()
    }
}

impl Verifier {
    /// A verifier of this profile.
    pub fn new(profile: Profile) -> Self {
        let takes_own_headers = profile.typ.as_deref() == Some(ACCESS_TOKEN);
        Self { profile: Arc::new(profile), takes_own_headers }
    }

    /// Verifies a token: the bytes after `Bearer `.
    ///
    /// Revocation, scopes and roles are checked separately.
    ///
    /// # Errors
    ///
    /// The first reason to refuse it.
    pub fn verify(
        &self,
        keys: &KeyRing,
        token: &[u8],
        now: Timestamp,
    ) -> Result<Token, TokenError> {
        self.open(keys, token)?.verify_at(now)
    }

    /// The first part of the verification: checks the signature and reads the claims.
    ///
    /// # Errors
    ///
    /// The first reason to refuse the token at any time.
    pub fn open(&self, keys: &KeyRing, token: &[u8]) -> Result<SignedToken, TokenError> {
        if token.len() > self.profile.max_len {
            return Err(TokenError::TooLarge);
        }
        let (entry, segments) = match self.own_header(keys, token) {
            Some(found) => found,
            None => self.any_header(keys, token)?,
        };
        if let Err(fault) = entry.key.verify(segments.message, segments.signature) {
            // The segments were split without a check of their characters.
            Segments::split(token)?;
            return Err(fault.into());
        }
        let mut bytes = Vec::new();
        base64url::decode(segments.payload, &mut bytes).ok_or(TokenError::Malformed)?;
        let mut payload = String::from_utf8(bytes).map_err(|_utf8| TokenError::Malformed)?;
        let fields = Fields::read(&mut payload, &self.profile)?;
        let token = Token::new(payload, fields);
        Ok(SignedToken { token, retires: entry.retires, profile: Arc::clone(&self.profile) })
    }

    /// Whether a token *claims* to be issued by the issuer of the profile. Nothing is verified: use
    /// this only to word a refusal or to select a verifier, never to admit a caller.
    #[cfg(feature = "asym")]
    pub fn is_claimed_by(&self, token: &[u8]) -> bool {
        let payload = || {
            let token = Some(token).filter(|token| token.len() <= self.profile.max_len)?;
            let (_, segments) = Segments::split(token).ok()?;
            let mut bytes = Vec::new();
            base64url::decode(segments.payload, &mut bytes)?;
            String::from_utf8(bytes).ok()
        };
        payload().is_some_and(|mut payload| {
            let fields = Fields::read(&mut payload, &self.profile);
            fields.is_ok_and(|fields| fields.is_own_issuer())
        })
    }

    /// The key and the segments of a token that begins with a prepared header. Characters are not
    /// checked: decoding does that, and a token with invalid characters has no valid signature.
    #[inline]
    fn own_header<'k, 't>(
        &self,
        keys: &'k KeyRing,
        token: &'t [u8],
    ) -> Option<(&'k RingKey, Segments<'t>)> {
        let entry = keys.by_header(token).filter(|_| self.takes_own_headers)?;
        let key = &entry.key;
        if key.algorithm() != Algorithm::Hs256
            || !self.profile.algorithms.contains(&key.algorithm())
        {
            return None;
        }
        let (message, signature) = token.split_at_checked(token.len().checked_sub(44)?)?;
        let payload = message.get(key.header().len()..).filter(|payload| !payload.is_empty())?;
        let signature = signature.strip_prefix(b".")?;
        Some((entry, Segments { payload, signature, message }))
    }

    fn any_header<'k, 't>(
        &self,
        keys: &'k KeyRing,
        token: &'t [u8],
    ) -> Result<(&'k RingKey, Segments<'t>), TokenError> {
        let (header, segments) = Segments::split(token)?;
        let header = Header::parse(header)?;
        let entry = header.key(keys, &self.profile.algorithms, |typ| self.is_own_type(typ))?;
        Ok((entry, segments))
    }

    /// Types are compared without case, with or without `application/`.
    fn is_own_type(&self, typ: Option<&str>) -> bool {
        match (self.profile.typ.as_deref(), typ) {
            (Some(own), Some(typ)) => {
                let prefix = typ.get(..12).filter(|it| it.eq_ignore_ascii_case("application/"));
                let typ = if prefix.is_some() { typ.get(12..).unwrap_or_default() } else { typ };
                typ.eq_ignore_ascii_case(own)
            }
            (Some(_), None) => false,
            (None, None) => true,
            (None, Some(typ)) => typ.eq_ignore_ascii_case("JWT"),
        }
    }
}

//! Verifying tokens against a profile.

use super::{
    Algorithm, Claims, KeyRing, Profile, Token, TokenError, fields::Fields, header::Header,
    jws::Segments, key::Key, profile::ACCESS_TOKEN,
};
use crate::{base64url, time::Timestamp};

/// Verifies tokens against a [`Profile`].
#[derive(Debug)]
pub struct Verifier {
    profile: Profile,
    /// Whether the profile accepts the headers that our own keys write.
    takes_own_headers: bool,
}

impl Verifier {
    /// A verifier of this profile.
    pub fn new(profile: Profile) -> Self {
        let takes_own_headers = profile.typ.as_deref() == Some(ACCESS_TOKEN);
        Self { profile, takes_own_headers }
    }

    /// Verifies a token: the bytes after `Bearer `. Its claims are decoded into `payload`, whose
    /// memory is reused; for tokens made by [`KeyRing::sign`] nothing else is allocated.
    ///
    /// Revocation, scopes and roles are checked separately.
    ///
    /// # Errors
    ///
    /// The first reason to refuse it.
    #[inline]
    pub fn verify<'p>(
        &self,
        keys: &KeyRing,
        token: &[u8],
        now: Timestamp,
        payload: &'p mut String,
    ) -> Result<Claims<'p>, TokenError> {
        let fields = self.fields(keys, token, now, payload)?;
        Ok(Claims::new(payload, fields))
    }

    /// As [`verify`](Self::verify), for claims that outlive the request.
    ///
    /// # Errors
    ///
    /// The first reason to refuse the token.
    pub fn verify_owned(
        &self,
        keys: &KeyRing,
        token: &[u8],
        now: Timestamp,
    ) -> Result<Token, TokenError> {
        let mut payload = String::new();
        let fields = self.fields(keys, token, now, &mut payload)?;
        Ok(Token::new(payload, fields))
    }

    /// Whether a token *claims* to be issued by the issuer of the profile. Nothing is verified: use
    /// this only to word a refusal or to select a verifier, never to admit anybody.
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

    fn fields(
        &self,
        keys: &KeyRing,
        token: &[u8],
        now: Timestamp,
        payload: &mut String,
    ) -> Result<Fields, TokenError> {
        if token.len() > self.profile.max_len {
            return Err(TokenError::TooLarge);
        }
        let (key, segments) = match self.own_header(keys, token, now) {
            Some(found) => found,
            None => self.any_header(keys, token, now)?,
        };
        if let Err(fault) = key.verify(segments.message, segments.signature) {
            // Segments that were found without looking at their characters.
            Segments::split(token)?;
            return Err(fault.into());
        }
        let mut bytes = std::mem::take(payload).into_bytes();
        base64url::decode(segments.payload, &mut bytes).ok_or(TokenError::Malformed)?;
        *payload = String::from_utf8(bytes).map_err(|_utf8| TokenError::Malformed)?;
        let fields = Fields::read(payload, &self.profile)?;
        fields.check(&self.profile, now)?;
        Ok(fields)
    }

    /// The key and the segments of a token that begins as ours do. Characters are not looked at:
    /// decoding does that, and a token with others in it has no signature.
    #[inline]
    fn own_header<'k, 't>(
        &self,
        keys: &'k KeyRing,
        token: &'t [u8],
        now: Timestamp,
    ) -> Option<(&'k Key, Segments<'t>)> {
        let key = keys.by_header(token, now).filter(|_| self.takes_own_headers)?;
        if key.algorithm() != Algorithm::Hs256
            || !self.profile.algorithms.contains(&key.algorithm())
        {
            return None;
        }
        let (message, signature) = token.split_at_checked(token.len().checked_sub(44)?)?;
        let payload = message.get(key.header().len()..).filter(|payload| !payload.is_empty())?;
        let signature = signature.strip_prefix(b".")?;
        Some((key, Segments { payload, signature, message }))
    }

    fn any_header<'k, 't>(
        &self,
        keys: &'k KeyRing,
        token: &'t [u8],
        now: Timestamp,
    ) -> Result<(&'k Key, Segments<'t>), TokenError> {
        let (header, segments) = Segments::split(token)?;
        let header = Header::parse(header)?;
        let key = header.key(keys, &self.profile.algorithms, now, |typ| self.is_own_type(typ))?;
        Ok((key, segments))
    }

    /// Step 8: types are compared without case, with or without `application/`.
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

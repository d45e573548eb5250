//! The verification of access tokens.

use std::{cell::OnceCell, time::Duration};

use policy_core::{
    auth::OWN_ISSUER,
    time::Timestamp,
    token::{RevocationStatus, TokenError, TokenNames},
};

use super::TokenService;
use crate::auth::{
    LastCredential,
    tokens::{OnStale, VerifiedToken, scoped},
};

impl TokenService {
    /// Whether a route that names these issuers takes a token, or a ticket issued from one, of this
    /// issuer; `None` is the app itself.
    #[inline]
    pub(crate) fn takes(&self, issuers: &[&str], issuer: Option<&str>) -> bool {
        match issuer {
            None if issuers.is_empty() => true,
            None => issuers.iter().any(|taken| *taken == OWN_ISSUER || **taken == *self.issuer),
            Some(_) if issuers.is_empty() => issuer == self.only_issuer(),
            Some(issuer) => issuers.contains(&issuer),
        }
    }

    /// Verifies an access token: the bytes after `Bearer `. `issuers` are those that the route
    /// names. `last` may know its signature.
    #[inline]
    pub(crate) fn verify(
        &self,
        token: &[u8],
        issuers: &[&str],
        now: Timestamp,
        last: Option<&LastCredential>,
    ) -> Result<VerifiedToken, TokenError> {
        let signed = match &self.keys {
            Some(keys) => LastCredential::open(last, &self.verifier, &keys.load(), token),
            None => Err(TokenError::UnknownKey),
        };
        let own = match signed.and_then(|signed| signed.verify_at(now)) {
            Ok(own) => own,
            Err(fault) => return self.verify_foreign(token, issuers, now, last, fault),
        };
        if !self.takes(issuers, None) {
            return Err(TokenError::IssuerNotTaken);
        }
        let claims = own.claims();
        let user = OnceCell::new();
        self.check(claims.issued(), || TokenNames {
            id: claims.id(),
            session: claims.session(),
            user: user.get_or_init(|| scoped(None, claims.subject())),
            cut_offs: claims.cut_offs(),
        })?;
        Ok(VerifiedToken::own(own))
    }

    /// Verifies a token that this app's own keys refused with `fault`.
    #[cfg(feature = "asym")]
    #[cold]
    fn verify_foreign(
        &self,
        token: &[u8],
        issuers: &[&str],
        now: Timestamp,
        last: Option<&LastCredential>,
        fault: TokenError,
    ) -> Result<VerifiedToken, TokenError> {
        let is_taken = |issuer: &str| self.takes(issuers, Some(issuer));
        let is_own = || self.keys.is_some() && self.verifier.is_claimed_by(token);
        let (token, identity) = self.issuers.verify(token, now, last, fault, is_own, is_taken)?;
        let user = scoped(Some(token.claims().issuer()), &identity.subject).into_owned();
        let token = VerifiedToken::foreign(token, identity);
        let claims = token.claims();
        let id = token.scoped(claims.id());
        let session = claims.session().map(|session| token.scoped(session));
        self.check(claims.issued(), || TokenNames {
            id: &id,
            session: session.as_deref(),
            user: &user,
            cut_offs: None,
        })?;
        Ok(token)
    }

    /// Without the feature there are no external issuers.
    #[cfg(not(feature = "asym"))]
    fn verify_foreign(
        &self,
        _token: &[u8],
        _issuers: &[&str],
        _now: Timestamp,
        _last: Option<&LastCredential>,
        fault: TokenError,
    ) -> Result<VerifiedToken, TokenError> {
        Err(fault)
    }

    /// Whether a token issued at that time is not revoked; `None` if this is unknown.
    pub(crate) fn holds(&self, names: TokenNames<'_>, issued: Timestamp) -> Option<bool> {
        match self.check(issued, || names) {
            Err(TokenError::Revoked) => Some(false),
            Err(TokenError::StoreUnavailable) => None,
            _ => Some(true),
        }
    }

    /// Whether something issued at that time is still valid.
    #[inline]
    pub(super) fn check<'a>(
        &self,
        issued: Timestamp,
        names: impl Fn() -> TokenNames<'a>,
    ) -> Result<(), TokenError> {
        let now = self.clock.monotonic();
        match self.revocation_cache.standing(issued, now, &names) {
            RevocationStatus::Good => Ok(()),
            RevocationStatus::Revoked => Err(TokenError::Revoked),
            RevocationStatus::Stale => self.check_stale(issued, now, names()),
        }
    }

    /// A store in this process is never stale, since it responds without waiting.
    #[cold]
    fn check_stale(
        &self,
        issued: Timestamp,
        now: Duration,
        names: TokenNames<'_>,
    ) -> Result<(), TokenError> {
        if let Ok(Ok(batch)) = self.store.revocations(self.revocation_cache.sequence()).into_ready()
        {
            self.revocation_cache.apply(batch, now);
        }
        match self.revocation_cache.standing(issued, now, || names) {
            RevocationStatus::Good => Ok(()),
            RevocationStatus::Stale if self.on_stale == OnStale::Allow => Ok(()),
            RevocationStatus::Stale => Err(TokenError::StoreUnavailable),
            RevocationStatus::Revoked => Err(TokenError::Revoked),
        }
    }
}

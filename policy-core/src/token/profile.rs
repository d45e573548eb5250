//! The requirements that a token must meet.

use std::time::Duration;

use super::Algorithm;
use crate::catalogue::Rule;

/// The requirements that a token must meet: its issuer, audience and type, and how long it may be
/// valid.
///
/// The defaults are those of an access token (RFC 9068) of this service: type `at+jwt`, 30
/// seconds of leeway between clocks, at most an hour of lifetime, at most 4096 bytes, HS256.
///
/// ```
/// use std::time::Duration;
/// use policy_core::{Rule, token::Profile};
///
/// let profile = Profile::new("https://id.example", "https://api.example").unwrap();
/// assert_eq!(profile.leeway(Duration::from_secs(301)).unwrap_err(), Rule::TokenLeeway);
/// ```
#[derive(Clone, Debug)]
pub struct Profile {
    pub(super) issuer: Box<str>,
    pub(super) audience: Box<str>,
    pub(super) typ: Option<Box<str>>,
    pub(super) leeway: u64,
    pub(super) max_lifetime: u64,
    pub(super) max_len: usize,
    pub(super) has_fractional_dates: bool,
    pub(super) has_mapped_claims: bool,
    pub(super) algorithms: Box<[Algorithm]>,
}

/// The type of access tokens (RFC 9068 2.1).
pub(super) const ACCESS_TOKEN: &str = "at+jwt";

impl Profile {
    /// Access tokens of this issuer for this audience, compared byte for byte.
    ///
    /// # Errors
    ///
    /// [`Rule::TokenIssuer`] or [`Rule::TokenAudience`], if one of them is empty.
    pub fn new(issuer: &str, audience: &str) -> Result<Self, Rule> {
        if issuer.is_empty() {
            return Err(Rule::TokenIssuer);
        }
        if audience.is_empty() {
            return Err(Rule::TokenAudience);
        }
        Ok(Self {
            issuer: issuer.into(),
            audience: audience.into(),
            typ: Some(ACCESS_TOKEN.into()),
            leeway: 30,
            max_lifetime: 3600,
            max_len: 4096,
            has_fractional_dates: false,
            has_mapped_claims: false,
            algorithms: [Algorithm::Hs256].into(),
        })
    }

    /// Requires a type other than `at+jwt`, such as `secevent+jwt`.
    ///
    /// # Errors
    ///
    /// [`Rule::TokenType`], if it is not a type in lower case, or has the prefix `application/`.
    pub fn typ(self, typ: &str) -> Result<Self, Rule> {
        let is_type = !typ.is_empty()
            && typ.bytes().all(|byte| {
                matches!(byte, b'!'..=b'~')
                    && !byte.is_ascii_uppercase()
                    && !matches!(byte, b'/' | b';' | b'"' | b',')
            });
        if !is_type {
            return Err(Rule::TokenType);
        }
        Ok(Self { typ: Some(typ.into()), ..self })
    }

    /// Also accepts tokens without an explicit type: `JWT` or none. Other tokens of the same
    /// issuer, such as an ID token, may then be accepted as access tokens: prefer a type if the
    /// issuer can set one (RFC 8725 3.11).
    #[must_use]
    pub fn generic_type(self) -> Self {
        Self { typ: None, ..self }
    }

    /// Sets the maximum difference between clocks.
    ///
    /// # Errors
    ///
    /// [`Rule::TokenLeeway`], above 300 seconds.
    pub fn leeway(self, leeway: Duration) -> Result<Self, Rule> {
        if leeway > Duration::from_secs(300) {
            return Err(Rule::TokenLeeway);
        }
        Ok(Self { leeway: leeway.as_secs(), ..self })
    }

    /// Sets the maximum lifetime of a token, counted from its issue.
    ///
    /// # Errors
    ///
    /// [`Rule::TokenLifetime`], below one second.
    pub fn max_lifetime(self, lifetime: Duration) -> Result<Self, Rule> {
        if lifetime < Duration::from_secs(1) {
            return Err(Rule::TokenLifetime);
        }
        Ok(Self { max_lifetime: lifetime.as_secs(), ..self })
    }

    /// Sets the maximum length of an accepted token in bytes. It bounds the work that an attacker
    /// without a key can cause.
    ///
    /// # Errors
    ///
    /// [`Rule::TokenLength`], outside of 256 to 16384.
    pub fn max_len(self, max_len: usize) -> Result<Self, Rule> {
        if !(256..=16384).contains(&max_len) {
            return Err(Rule::TokenLength);
        }
        Ok(Self { max_len, ..self })
    }

    /// Accepts dates with a fraction or an exponent (RFC 7519 2, NumericDate), as other issuers may
    /// write them. Rounding to seconds never makes a token valid earlier or longer.
    #[must_use]
    pub fn fractional_dates(self) -> Self {
        Self { has_fractional_dates: true, ..self }
    }

    /// Leaves the audience, the subject, the scopes, the roles and the tenant to the caller, since
    /// another issuer may keep them in other claims. The code that reads them must check the
    /// audience. A token then needs no `jti`; if it has one, the `jti` may have up to 255 bytes.
    #[cfg(feature = "asym")]
    #[must_use]
    pub fn mapped_claims(self) -> Self {
        Self { has_mapped_claims: true, ..self }
    }

    /// The algorithms that tokens may name. In addition, each key accepts only its own.
    ///
    /// # Errors
    ///
    /// [`Rule::TokenAlgorithms`], if the list is empty.
    pub fn algorithms(self, algorithms: &[Algorithm]) -> Result<Self, Rule> {
        if algorithms.is_empty() {
            return Err(Rule::TokenAlgorithms);
        }
        Ok(Self { algorithms: algorithms.into(), ..self })
    }
}

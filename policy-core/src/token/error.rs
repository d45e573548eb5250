//! Errors of tokens, keys, profiles and claims to be signed.

use std::{borrow::Cow, fmt};

use crate::catalogue::{Event, Rule, broken_rules};

macro_rules! claims {
    ($($(#[$doc:meta])* $variant:ident $name:literal,)*) => {
        /// A registered claim that has rules here.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Claim { $($(#[$doc])* $variant,)* }

        impl Claim {
            /// All claims, in the order in which their faults are reported.
            pub const ALL: &[Claim] = &[$(Claim::$variant,)*];

            /// The name of the member.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            const fn missing(self) -> &'static str {
                match self { $(Self::$variant => concat!("claim_missing:", $name),)* }
            }

            const fn wrong(self) -> &'static str {
                match self { $(Self::$variant => concat!("claim_type:", $name),)* }
            }
        }
    };
}

claims! {
    /// The issuer.
    Iss "iss",
    /// The audience.
    Aud "aud",
    /// The subject.
    Sub "sub",
    /// When it was issued.
    Iat "iat",
    /// When it expires.
    Exp "exp",
    /// The id of the token.
    Jti "jti",
    /// When it becomes valid.
    Nbf "nbf",
    /// The scopes (RFC 8693 4.2).
    Scope "scope",
    /// The session it belongs to.
    Sid "sid",
    /// When its user logged in.
    AuthTime "auth_time",
    /// The roles of its user (RFC 9068 2.2.3.1).
    Roles "roles",
    /// The tenant of its user: private to this app (RFC 7519 4.3).
    Tenant "tenant",
}

/// Why a token is refused.
///
/// The detail and the [entry](Self::event) of the catalogue are for logs and metrics, in addition to
/// the code of the refusal. A client learns only whether its token is invalid or expired.
///
/// ```
/// use policy_core::token::{Claim, TokenError};
///
/// assert_eq!(TokenError::ClaimMissing(Claim::Iss).detail(), "claim_missing:iss");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TokenError {
    /// The token is longer than the limit.
    TooLarge,
    /// The token is not three segments of base64url with the JSON objects of a token.
    Malformed,
    /// The header has a critical extension that is not supported (RFC 7515 4.1.11).
    UnsupportedCritical,
    /// The algorithm is not allowed, or does not match the key.
    AlgNotAllowed,
    /// Signed for another purpose (RFC 8725 3.11).
    WrongType,
    /// No key has this id, or the key has retired.
    UnknownKey,
    /// The header has no `kid`, so that it is unknown which key of the issuer signed the token.
    KeyIdMissing,
    /// Its issuer publishes the key, but the type or algorithm of the key is not supported.
    KeyUnsupported,
    /// Its issuer publishes the key, but it cannot be used: it is a symmetric secret, for another
    /// purpose, or malformed.
    KeyUnusable,
    /// The signature does not match.
    BadSignature,
    /// A required claim is missing.
    ClaimMissing(Claim),
    /// A claim has an invalid value.
    ClaimType(Claim),
    /// The token has expired.
    Expired,
    /// The token is not valid yet.
    NotYetValid,
    /// The issue time is in the future.
    IssuedInFuture,
    /// The time of the login is in the future.
    LoginInFuture,
    /// The lifetime is longer than accepted.
    LifetimeTooLong,
    /// The issuer does not match.
    BadIssuer,
    /// The app knows neither its key nor its issuer.
    UnknownIssuer,
    /// The audience does not match.
    BadAudience,
    /// A claim does not have the value that the settings require of its issuer.
    UnexpectedClaim,
    /// The app accepts its issuer, and this route does not.
    IssuerNotTaken,
    /// The token was revoked before its expiry.
    Revoked,
    /// The revocation state is unknown, because the store is unavailable.
    StoreUnavailable,
    /// The keys of its issuer are not available at the moment.
    KeysUnavailable,
    /// The token is valid, but lacks a scope.
    InsufficientScope,
}

impl TokenError {
    /// A stable word for logs.
    pub const fn detail(self) -> &'static str {
        self.row().0
    }

    /// Its entry in the catalogue, with its code and how to fix it.
    pub const fn event(self) -> Event {
        self.row().1
    }

    const fn row(self) -> (&'static str, Event) {
        match self {
            Self::TooLarge => ("too_large", Event::TokenTooLarge),
            Self::Malformed => ("malformed", Event::TokenMalformed),
            Self::UnsupportedCritical => ("unsupported_critical", Event::TokenCritical),
            Self::AlgNotAllowed => ("alg_not_allowed", Event::TokenAlgorithm),
            Self::WrongType => ("wrong_type", Event::TokenTypeOther),
            Self::UnknownKey => ("unknown_key", Event::TokenKeyUnknown),
            Self::KeyIdMissing => ("key_id_missing", Event::TokenKeyIdMissing),
            Self::KeyUnsupported => ("key_unsupported", Event::TokenKeyUnsupported),
            Self::KeyUnusable => ("key_unusable", Event::TokenKeyUnusable),
            Self::BadSignature => ("bad_signature", Event::TokenSignature),
            Self::ClaimMissing(claim) => (claim.missing(), Event::TokenClaimMissing),
            Self::ClaimType(claim) => (claim.wrong(), Event::TokenClaimType),
            Self::Expired => ("expired", Event::TokenExpired),
            Self::NotYetValid => ("not_yet_valid", Event::TokenNotYetValid),
            Self::IssuedInFuture => ("issued_in_future", Event::TokenIssuedInFuture),
            Self::LoginInFuture => ("login_in_future", Event::TokenLoginInFuture),
            Self::LifetimeTooLong => ("lifetime_too_long", Event::TokenLifetimeTooLong),
            Self::BadIssuer => ("bad_issuer", Event::TokenIssuerOther),
            Self::UnknownIssuer => ("unknown_issuer", Event::TokenIssuerUnknown),
            Self::BadAudience => ("bad_audience", Event::TokenAudienceOther),
            Self::UnexpectedClaim => ("unexpected_claim", Event::TokenClaimUnexpected),
            Self::IssuerNotTaken => ("issuer_not_taken", Event::TokenIssuerNotTaken),
            Self::Revoked => ("revoked", Event::TokenRevoked),
            Self::StoreUnavailable => ("store_unavailable", Event::TokenRevocationsUnknown),
            Self::KeysUnavailable => ("keys_unavailable", Event::TokenIssuerKeysUnknown),
            Self::InsufficientScope => ("insufficient_scope", Event::TokenScopeInsufficient),
        }
    }

    /// Its code and message, for developers. Do not send it to clients of a deployed app.
    ///
    /// ```
    /// use policy_core::token::{Claim, TokenError};
    ///
    /// let words = TokenError::ClaimMissing(Claim::Iat).explanation();
    /// assert!(words.starts_with("token.claim-missing: ") && words.ends_with("(`iat`)"));
    /// ```
    pub fn explanation(self) -> Cow<'static, str> {
        let event = self.event();
        let words = format!("{}: {}", event.code(), event.message());
        match self {
            Self::ClaimMissing(claim) | Self::ClaimType(claim) => {
                format!("{words} (`{}`)", claim.name()).into()
            }
            _ => words.into(),
        }
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.detail())
    }
}

impl std::error::Error for TokenError {}

broken_rules! {
    /// Why a text is not a key, or keys are not a ring.
    KeyError {
        /// An invalid key id.
        Id KeyId,
        /// Two keys of one id.
        DuplicateId KeyRepeated,
        /// Another key under the id of one that is in use.
        ReusedId KeyIdReused,
        /// A ring without keys.
        Empty KeysMissing,
        /// Bytes or text that do not encode a key of this algorithm.
        Encoding KeyEncoding,
    }
}

/// Why claims are not signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignError {
    /// No key of the ring may sign now.
    NoKey,
    /// A claim that would be refused when it is read.
    Claims,
    /// A custom member has a registered name.
    Reserved,
    /// A custom value that JSON cannot represent, or that is nested too deeply.
    Custom,
}

impl fmt::Display for SignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoKey => "no key of the ring can sign now",
            Self::Claims => {
                "issuer, audience and subject are not empty, the id has 1 to 64 bytes, a tenant 1 to 200, and the expiry is after the issue"
            }
            Self::Reserved => "a custom claim has the name of a registered one",
            Self::Custom => "a custom claim is no JSON that would be read back",
        })
    }
}

impl std::error::Error for SignError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        secret::SecretKey,
        token::{Key, KeyRing, Profile, RingKey},
    };

    /// Errors of a verifier are tested where it refuses tokens.
    #[test]
    fn failures_outside_of_the_verifier_have_codes() {
        for (error, code) in [
            (TokenError::Revoked, "token.revoked"),
            (TokenError::StoreUnavailable, "token.revocations-unknown"),
            (TokenError::KeysUnavailable, "token.issuer-keys-unknown"),
            (TokenError::InsufficientScope, "token.scope-insufficient"),
        ] {
            assert_eq!(error.event().code(), code);
            assert!(error.explanation().starts_with(&format!("{code}: ")));
        }
    }

    #[test]
    fn errors_of_keys_and_profiles_are_rules() {
        let key = |id| Key::hs256(id, &SecretKey::from_bytes([1; 32]));
        let twice = ["a", "a"].map(|id| RingKey::new(key(id).unwrap())).to_vec();
        let profile = Profile::new("https://auth.example", "api").unwrap();
        assert_eq!(key("../a").unwrap_err().rule(), Rule::KeyId);
        assert_eq!(KeyRing::new(Vec::new()).unwrap_err().rule(), Rule::KeysMissing);
        assert_eq!(KeyRing::new(twice).unwrap_err().rule(), Rule::KeyRepeated);
        assert_eq!(profile.algorithms(&[]).unwrap_err(), Rule::TokenAlgorithms);
    }
}

//! Tokens of external issuers.
//!
//! A token of an external issuer is accepted if and only if:
//!
//! 1. its header names a key (`kid`) of that issuer, and the algorithm of that key;
//! 2. the signature verifies with that key;
//! 3. its type and claims satisfy the profile of that same issuer: `iss` byte for byte, dates;
//! 4. the claim with its audience names this app, and the required claims have their values
//!    (`mapping.rs`).
//!
//! Keys and profile are one value, [`Foreign`], so a key is never used with the profile of another
//! issuer: a token signed by one issuer in the name of another is refused by the third rule. No two
//! issuers have the same name, the app's own included, so at most one accepts a token. If two have
//! a key with the same id, which either can cause by publishing it, each verifies the token with
//! its own key and profile: neither can accept tokens of the other, or prevent them from being
//! accepted. Keys that the header does not name are never tried.
//!
//! The caller and their rights are read according to the settings of that issuer, which also list
//! the roles and scopes that it may give; no others count. A route takes the tokens of an issuer
//! only if it names the issuer, or if the app signs no tokens and has no other issuer.
//!
//! Each key has one algorithm, fixed by its type when it is parsed. External issuers can only use
//! asymmetric algorithms: a symmetric key given to one is a start error, and one in a fetched
//! document is skipped, so that a public key is never used as an HMAC secret (RFC 8725 2.1).

mod fetch;
mod issuer;
mod jwks;
mod mapping;
#[cfg(feature = "testing")]
mod probe;

use std::sync::Arc;

use policy_core::{
    Rule,
    session::Identity,
    time::Timestamp,
    token::{KeyRing, Token, TokenError, Verifier, key_id},
};

use self::{jwks::JwkSet, mapping::ClaimMapping};
use crate::{
    auth::LastCredential,
    base::{
        clock::{Clock, Random},
        error::StartProblem,
    },
};

pub use issuer::Issuer;

/// The external issuers of an app.
#[derive(Debug)]
pub(super) struct Issuers(Box<[Foreign]>);

/// One external issuer: its keys and the profile of its tokens.
#[derive(Debug)]
struct Foreign {
    name: Box<str>,
    audience: Box<str>,
    verifier: Verifier,
    mapping: ClaimMapping,
    keys: Keys,
}

#[derive(Debug)]
enum Keys {
    Given(Arc<KeyRing>),
    JwkSet(Arc<JwkSet>),
}

/// The app that accepts the issuers.
pub(super) struct Own<'a> {
    /// `None` if it signs no tokens.
    pub(super) issuer: Option<&'a str>,
    pub(super) audience: &'a str,
    pub(super) is_development: bool,
    pub(super) clock: &'a Clock,
    pub(super) random: &'a Random,
}

impl Issuers {
    /// Checks the settings; fetches nothing.
    pub(super) fn new(issuers: Vec<Issuer>, own: &Own<'_>) -> Result<Self, Vec<StartProblem>> {
        let mut names: Vec<Box<str>> = own.issuer.into_iter().map(Into::into).collect();
        let (mut built, mut problems) = (Vec::new(), Vec::new());
        for issuer in issuers {
            let name: Box<str> = issuer.name().into();
            let foreign = if names.contains(&name) {
                Err(StartProblem::new(Rule::IssuerRepeated, "App::tokens", &*name))
            } else {
                issuer.build(own)
            };
            match foreign {
                Ok(foreign) => built.push(foreign),
                Err(problem) => problems.push(problem),
            }
            names.push(name);
        }
        if problems.is_empty() { Ok(Self(built.into())) } else { Err(problems) }
    }

    /// The issuers whose keys are fetched.
    pub(super) fn published(&self) -> impl Iterator<Item = &Arc<JwkSet>> {
        self.0.iter().filter_map(|issuer| match &issuer.keys {
            Keys::Given(_) => None,
            Keys::JwkSet(published) => Some(published),
        })
    }

    /// The issuer, if there is only one.
    pub(super) fn only(&self) -> Option<&str> {
        match &*self.0 {
            [only] => Some(&only.name),
            _ => None,
        }
    }

    /// Verifies a token that the app's own keys refused with `fault`, by those accepted issuers
    /// that have the named key. `is_own` is whether the token claims to be from the app itself.
    pub(super) fn verify(
        &self,
        token: &[u8],
        now: Timestamp,
        last: Option<&LastCredential>,
        mut fault: TokenError,
        is_own: impl Fn() -> bool,
        is_taken: impl Fn(&str) -> bool,
    ) -> Result<(Token, Identity), TokenError> {
        if self.0.is_empty() {
            return Err(fault);
        }
        // Unverified claims decide only what is logged.
        let is_claimed = || self.0.iter().any(|issuer| issuer.verifier.is_claimed_by(token));
        let id = match key_id(token) {
            Ok(Some(id)) => id,
            Ok(None) if is_without_key(fault) && is_claimed() => {
                return Err(TokenError::KeyIdMissing);
            }
            // An app that signs no tokens has not parsed it yet.
            Err(malformed) if fault == TokenError::UnknownKey => return Err(malformed),
            _ => return Err(fault),
        };
        let mut is_known = false;
        for issuer in &self.0 {
            if !is_taken(&issuer.name) {
                if !is_signed(fault) && issuer.verifier.is_claimed_by(token) {
                    (fault, is_known) = (TokenError::IssuerNotTaken, true);
                }
                continue;
            }
            let verified = issuer.verify(&id, token, now, last);
            is_known |= verified.is_some();
            match verified {
                Some(Ok(token)) => return Ok(token),
                // The error of the issuer whose signature is valid is the most specific one.
                Some(Err(found)) if !is_signed(fault) => fault = found,
                Some(Err(_)) | None => (),
            }
        }
        if is_known || !is_without_key(fault) || is_own() {
            return Err(fault);
        }
        Err(TokenError::UnknownIssuer)
    }
}

impl Foreign {
    /// The result for a token with this key id; `None` if this issuer does not know the token.
    fn verify(
        &self,
        id: &str,
        token: &[u8],
        now: Timestamp,
        last: Option<&LastCredential>,
    ) -> Option<Result<(Token, Identity), TokenError>> {
        let verify = |keys: &Arc<KeyRing>| {
            let token = LastCredential::open(last, &self.verifier, keys, token)?.verify_at(now)?;
            let identity = self.mapping.read(token.claims(), &self.audience)?;
            Ok((token, identity))
        };
        match &self.keys {
            Keys::Given(keys) if keys.has(id) => return Some(verify(keys)),
            Keys::Given(_) => (),
            Keys::JwkSet(published) => {
                if let Some(held) = published.keys(id) {
                    return held.keys().map(verify);
                }
            }
        }
        // An unverified claim decides only how the token is refused.
        self.verifier.is_claimed_by(token).then(|| Err(self.keys.miss(id)))
    }
}

impl Keys {
    /// The error for a token of the issuer whose key id matches no key in use.
    fn miss(&self, id: &str) -> TokenError {
        match self {
            Self::Given(_) => TokenError::UnknownKey,
            Self::JwkSet(published) => published.miss(id),
        }
    }
}

/// Whether the app's own keys refused the token before its signature was checked.
fn is_without_key(fault: TokenError) -> bool {
    matches!(fault, TokenError::UnknownKey | TokenError::AlgNotAllowed | TokenError::WrongType)
}

/// Whether the signature was valid despite this error.
fn is_signed(fault: TokenError) -> bool {
    !matches!(
        fault,
        TokenError::TooLarge
            | TokenError::Malformed
            | TokenError::UnsupportedCritical
            | TokenError::AlgNotAllowed
            | TokenError::WrongType
            | TokenError::UnknownKey
            | TokenError::KeyUnsupported
            | TokenError::KeyUnusable
            | TokenError::BadSignature
            | TokenError::BadIssuer
            | TokenError::IssuerNotTaken
    )
}

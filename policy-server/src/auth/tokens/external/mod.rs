//! Tokens that somebody else issued.
//!
//! A token is accepted from a foreign issuer exactly where all of this holds:
//!
//! 1. its header names a key (`kid`) which that issuer has, and the algorithm of that key;
//! 2. the signature is that key's;
//! 3. its claims are what the profile of that same issuer asks for: `iss` byte for byte, `aud`,
//!    dates, type.
//!
//! Keys and profile are one value, [`Foreign`], so a key is never used with the profile of
//! another issuer: whoever signs with the keys of one issuer and writes the name of another is
//! refused by the third rule. No two issuers have one name, the app's own included, so at most
//! one accepts a token. Where two have a key of the same id, which either of them can bring about
//! by publishing it, each holds the token against its own key and profile: neither can take
//! tokens of the other, or keep them from being accepted. Keys that the header does not name are
//! never tried.
//!
//! Each key has one algorithm, fixed by its type when it was read. Foreign issuers have only
//! algorithms with a public half: a secret among their keys does not start, or is left out of a
//! document, so that no public key is ever taken for a secret (RFC 8725 2.1).

mod fetch;
mod issuer;
mod jwks;

use std::sync::Arc;

use policy_core::{
    Rule,
    time::Timestamp,
    token::{KeyRing, Token, TokenError, Verifier, key_id},
};

use self::{issuer::Context, jwks::JwkSet};
use crate::base::{
    clock::{Clock, Random},
    error::StartProblem,
};

pub use issuer::Issuer;

/// The issuers that an app accepts besides itself.
#[derive(Debug)]
pub(super) struct Issuers(Box<[Foreign]>);

/// One of them: its keys, and what its tokens have to look like.
#[derive(Debug)]
struct Foreign {
    verifier: Verifier,
    keys: Keys,
}

#[derive(Debug)]
enum Keys {
    Given(KeyRing),
    JwkSet(Arc<JwkSet>),
}

/// The app, as its issuers are to know it.
pub(super) struct Own<'a> {
    pub(super) issuer: &'a str,
    pub(super) audience: &'a str,
    /// Without TLS in the development profile.
    pub(super) origin: &'a str,
}

impl Issuers {
    /// Checks the settings; fetches nothing.
    pub(super) fn new(
        issuers: Vec<Issuer>,
        own: &Own<'_>,
        clock: &Clock,
        random: &Random,
    ) -> Result<Self, Vec<StartProblem>> {
        let mut names: Vec<Box<str>> = vec![own.issuer.into()];
        let (mut built, mut problems) = (Vec::new(), Vec::new());
        // Every public origin has TLS.
        let is_development = own.origin.starts_with("http:");
        for issuer in issuers {
            let context = Context { audience: own.audience, is_development, clock, random };
            let name: Box<str> = issuer.name().into();
            let foreign = if names.contains(&name) {
                Err(StartProblem::new(Rule::IssuerRepeated, "App::tokens", &*name))
            } else {
                issuer.build(&context)
            };
            match foreign {
                Ok(foreign) => built.push(foreign),
                Err(problem) => problems.push(problem),
            }
            names.push(name);
        }
        if problems.is_empty() { Ok(Self(built.into())) } else { Err(problems) }
    }

    /// Those whose keys are fetched.
    pub(super) fn published(&self) -> impl Iterator<Item = &Arc<JwkSet>> {
        self.0.iter().filter_map(|issuer| match &issuer.keys {
            Keys::Given(_) => None,
            Keys::JwkSet(published) => Some(published),
        })
    }

    /// Holds a token, which the app's own keys refused with `fault`, against the issuers that
    /// have the key which it names.
    pub(super) fn verify(
        &self,
        token: &[u8],
        now: Timestamp,
        mut fault: TokenError,
    ) -> Result<Token, TokenError> {
        if self.0.is_empty() {
            return Err(fault);
        }
        let Some(id) = key_id(token) else { return Err(fault) };
        for issuer in &self.0 {
            match issuer.verify(&id, token, now) {
                Some(Ok(token)) => return Ok(token),
                // That of the issuer who signed it says most.
                Some(Err(found)) if !is_signed(fault) => fault = found,
                Some(Err(_)) | None => (),
            }
        }
        Err(fault)
    }
}

impl Foreign {
    /// The verdict on a token that names this key; none where this issuer has nothing to say.
    fn verify(&self, id: &str, token: &[u8], now: Timestamp) -> Option<Result<Token, TokenError>> {
        let verify = |keys: &KeyRing| self.verifier.verify_owned(keys, token, now);
        match &self.keys {
            Keys::Given(keys) => keys.has(id).then(|| verify(keys)),
            Keys::JwkSet(published) => match published.keys(id, now) {
                Some(held) => held.keys().map(verify),
                // What a token says unverified decides only how it is refused.
                None => self.verifier.is_claimed_by(token).then(|| Err(published.miss(now))),
            },
        }
    }
}

/// Whether a token with this fault had a signature of the issuer that it names.
fn is_signed(fault: TokenError) -> bool {
    !matches!(
        fault,
        TokenError::TooLarge
            | TokenError::Malformed
            | TokenError::UnsupportedCritical
            | TokenError::AlgNotAllowed
            | TokenError::WrongType
            | TokenError::UnknownKey
            | TokenError::BadSignature
            | TokenError::BadIssuer
    )
}

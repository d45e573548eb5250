//! Tokens of external issuers in a proof, which replaces the keys of these issuers.

use std::sync::Arc;

use policy_core::{
    Rule,
    session::Identity,
    time::Timestamp,
    token::{Algorithm, Key, KeyError, KeyRing, NewClaims, Profile, RingKey, Verifier},
};

use super::{
    Foreign, Issuers, Keys,
    mapping::{Ceiling, ClaimMapping},
};

/// The PKCS#8 prefix of an Ed25519 private key (RFC 8410 7), before its 32 bytes.
const PKCS8: [u8; 16] = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";

/// An issuer with a key that is known here, and tokens in the form of RFC 9068. The rights that it
/// may give are unchanged.
pub(super) fn issuer(
    name: Box<str>,
    audience: &str,
    mapping: ClaimMapping,
) -> Result<Foreign, Rule> {
    let private: Vec<u8> = PKCS8.into_iter().chain([7; 32]).collect();
    let key = Key::ed25519("policy-probe", &private).map_err(KeyError::rule)?;
    let ring = KeyRing::new(vec![RingKey::new(key)]).map_err(KeyError::rule)?;
    let profile = Profile::new(&name, audience)
        .and_then(|profile| profile.algorithms(Algorithm::ASYMMETRIC))?;
    let verifier = Verifier::new(profile.mapped_claims());
    let ClaimMapping { role_ceiling, scope_ceiling, .. } = mapping;
    let mapping = ClaimMapping { role_ceiling, scope_ceiling, ..ClaimMapping::default() };
    Ok(Foreign {
        name,
        audience: audience.into(),
        verifier,
        mapping,
        keys: Keys::Given(Arc::new(ring)),
    })
}

impl Issuers {
    /// The names of the issuers.
    pub(in super::super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|issuer| &*issuer.name)
    }

    /// A token of an issuer that claims all rights of this user, and the user with those rights that
    /// the issuer may give.
    pub(in super::super) fn mint(
        &self,
        issuer: &str,
        user: &Identity,
        issued: Timestamp,
        authenticated: Option<Timestamp>,
    ) -> Option<(String, Identity)> {
        let issuer = self.0.iter().find(|known| *known.name == *issuer)?;
        let Keys::Given(keys) = &issuer.keys else { return None };
        let (roles, has_roles) = claimed(&issuer.mapping.role_ceiling, &user.roles);
        let (scopes, has_scopes) = claimed(&issuer.mapping.scope_ceiling, &user.scopes);
        let scope = scopes.join(" ");
        let mut claims =
            NewClaims::new(&issuer.name, &issuer.audience, &user.subject, &user.subject, issued);
        claims.scope = Some(&*scope).filter(|scope| !scope.is_empty());
        claims.roles = &roles;
        claims.authenticated = authenticated;
        let token = keys.sign(&claims, issued).ok()?;
        Some((token, Identity::new(&*user.subject).roles(has_roles).scopes(has_scopes)))
    }
}

/// The issuer's names of some rights, and the app's names of those that the ceiling permits.
fn claimed<'a>(ceiling: &'a Ceiling, rights: &'a [Box<str>]) -> (Vec<&'a str>, Vec<&'a str>) {
    let mut words = Vec::new();
    let mut grants = Vec::new();
    for right in rights {
        let word = ceiling.words.iter().find(|(_, ours)| ours == right);
        let is_word = ceiling.words.iter().any(|(theirs, _)| theirs == right);
        if word.is_some() || (ceiling.is_unlimited && !is_word) {
            grants.push(&**right);
        }
        words.push(word.map_or(&**right, |(theirs, _)| &**theirs));
    }
    (words, grants)
}

//! Signing the tokens of this server.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    Claim, KeyRing, SignError,
    json::{Malformed, Scanner},
};
use crate::{session::Identity, time::Timestamp};

/// The member that states the newest cut-off that was known: private to this app (RFC 7519 4.3).
pub(super) const CUT_OFFS: &str = "cut_offs";

/// The claims of a token to be signed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct NewClaims<'a> {
    /// The issuer (`iss`).
    pub issuer: &'a str,
    /// The audience (`aud`).
    pub audience: &'a str,
    /// The subject (`sub`).
    pub subject: &'a str,
    /// The id of the token (`jti`), drawn at random.
    pub id: &'a str,
    /// When it is issued (`iat`).
    pub issued: Timestamp,
    /// When it expires (`exp`).
    pub expires: Timestamp,
    /// The scopes, separated by single spaces (`scope`).
    pub scope: Option<&'a str>,
    /// The session it belongs to (`sid`).
    pub session: Option<&'a str>,
    /// When its user logged in (`auth_time`).
    pub authenticated: Option<Timestamp>,
    /// The roles of its user (`roles`).
    pub roles: &'a [&'a str],
    /// The tenant of its user (`tenant`).
    pub tenant: Option<&'a str>,
    /// The number of the newest cut-off that was known when the request that issues it began
    /// (`cut_offs`).
    pub cut_offs: Option<u64>,
    /// Further members, under names that are not registered here.
    pub custom: Option<&'a Map<String, Value>>,
}

impl<'a> NewClaims<'a> {
    /// The claims that every token has, valid for 300 seconds.
    pub fn new(
        issuer: &'a str,
        audience: &'a str,
        subject: &'a str,
        id: &'a str,
        issued: Timestamp,
    ) -> Self {
        Self {
            issuer,
            audience,
            subject,
            id,
            issued,
            expires: issued.after(std::time::Duration::from_secs(300)),
            scope: None,
            session: None,
            authenticated: None,
            roles: &[],
            tenant: None,
            cut_offs: None,
            custom: None,
        }
    }

    fn check(&self) -> Result<(), SignError> {
        let is_sound = ![self.issuer, self.audience, self.subject].contains(&"")
            && self.session != Some("")
            && (1..=64).contains(&self.id.len())
            && self.tenant.is_none_or(Identity::is_tenant)
            && self.issued.seconds() < self.expires.seconds();
        let is_registered = |name: &String| {
            name == CUT_OFFS || Claim::ALL.iter().any(|claim| claim.name() == name.as_str())
        };
        if !is_sound {
            Err(SignError::Claims)
        } else if self.custom.is_some_and(|custom| custom.keys().any(is_registered)) {
            Err(SignError::Reserved)
        } else {
            Ok(())
        }
    }
}

/// The members in the order in which they are written.
#[derive(Serialize)]
struct Members<'a> {
    iss: &'a str,
    aud: &'a str,
    sub: &'a str,
    iat: u64,
    exp: u64,
    jti: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_time: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    roles: &'a [&'a str],
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_offs: Option<u64>,
    #[serde(flatten)]
    custom: Option<&'a Map<String, Value>>,
}

impl KeyRing {
    /// Signs claims with the newest key that may sign.
    ///
    /// # Errors
    ///
    /// If no key can sign, or the verifier would refuse the token as malformed.
    pub fn sign(&self, claims: &NewClaims<'_>, now: Timestamp) -> Result<String, SignError> {
        claims.check()?;
        let key = self.signer(now).ok_or(SignError::NoKey)?;
        let members = Members {
            iss: claims.issuer,
            aud: claims.audience,
            sub: claims.subject,
            iat: claims.issued.seconds(),
            exp: claims.expires.seconds(),
            jti: claims.id,
            scope: claims.scope,
            sid: claims.session,
            auth_time: claims.authenticated.map(Timestamp::seconds),
            roles: claims.roles,
            tenant: claims.tenant,
            cut_offs: claims.cut_offs,
            custom: claims.custom,
        };
        let json = serde_json::to_string(&members).map_err(|_custom| SignError::Custom)?;
        Scanner::new(&json)
            .document(|scanner, _name| scanner.skip())
            .map_err(|Malformed| SignError::Custom)?;
        let mut token = String::new();
        key.sign(json.as_bytes(), &mut token);
        Ok(token)
    }
}

//! Where an external issuer's claims are, which of them count, and the check of the audience.

use policy_core::{
    auth::is_scope,
    session::Identity,
    token::{Claim, Claims, TokenError},
};
use serde_json::Value;

/// The names of members, from the outermost to the claim.
pub(super) type ClaimPath = Box<[Box<str>]>;

/// How the claims of an issuer are read.
#[derive(Clone, Debug)]
pub(super) struct ClaimMapping {
    pub(super) audience: ClaimPath,
    pub(super) subject: ClaimPath,
    pub(super) roles: ClaimPath,
    pub(super) scopes: ClaimPath,
    /// `None` leaves users without a tenant.
    pub(super) tenant: Option<ClaimPath>,
    /// Claims that have to have these values.
    pub(super) required: Vec<(ClaimPath, Value)>,
    pub(super) role_ceiling: Ceiling,
    pub(super) scope_ceiling: Ceiling,
}

/// The rights that an issuer may grant: each of its names, and the name in this app.
#[derive(Clone, Debug, Default)]
pub(super) struct Ceiling {
    pub(super) words: Vec<(Box<str>, Box<str>)>,
    /// Whether every other name is granted unchanged.
    pub(super) is_unlimited: bool,
}

impl Default for ClaimMapping {
    /// The claims of RFC 9068. Nothing is granted, and no tenant is named.
    fn default() -> Self {
        Self {
            audience: path(["aud"]),
            subject: path(["sub"]),
            roles: path(["roles"]),
            scopes: path(["scope"]),
            tenant: None,
            required: Vec::new(),
            role_ceiling: Ceiling::default(),
            scope_ceiling: Ceiling::default(),
        }
    }
}

pub(super) fn path<T: Into<Box<str>>>(names: impl IntoIterator<Item = T>) -> ClaimPath {
    names.into_iter().map(Into::into).collect()
}

impl ClaimMapping {
    /// Writes it into a manifest.
    #[cfg(feature = "manifest")]
    pub(super) fn describe(&self, facts: &mut policy_manifest::IssuerFacts) {
        let default = Self::default();
        let claims = [
            ("audience", &self.audience, &default.audience),
            ("subject", &self.subject, &default.subject),
            ("roles", &self.roles, &default.roles),
            ("scopes", &self.scopes, &default.scopes),
        ];
        let other = claims.into_iter().filter(|(_, path, default)| path != default);
        facts.claims = other.map(|(name, path, _)| format!("{name} {}", path.join("."))).collect();
        let required = self.required.iter();
        facts.required =
            required.map(|(path, value)| format!("{} {value}", path.join("."))).collect();
        let rights = |ceiling: &Ceiling| {
            let rights = ceiling.words.iter().map(|(theirs, ours)| match theirs == ours {
                true => ours.to_string(),
                false => format!("{theirs} as {ours}"),
            });
            rights.collect()
        };
        facts.roles = rights(&self.role_ceiling);
        facts.scopes = rights(&self.scope_ceiling);
        facts.tenant_claim = self.tenant.as_ref().map(|path| path.join("."));
        facts.trusted_in_full = self.role_ceiling.is_unlimited || self.scope_ceiling.is_unlimited;
    }

    /// Reads the claims of a token whose signature, dates and issuer are verified, and checks the
    /// audience and the required claims: the profile of an external issuer leaves them to this function.
    pub(super) fn read(&self, claims: Claims<'_>, audience: &str) -> Result<Identity, TokenError> {
        // The claims were scanned: no object at any level has a name twice.
        let all: Value =
            serde_json::from_str(claims.payload()).map_err(|_number| TokenError::Malformed)?;
        let at = |path: &ClaimPath| {
            let value = path.iter().try_fold(&all, |value, name| value.get(&**name))?;
            Some(value).filter(|value| !value.is_null())
        };
        let audiences = at(&self.audience).ok_or(TokenError::ClaimMissing(Claim::Aud))?;
        let audiences = texts(audiences).ok_or(TokenError::ClaimType(Claim::Aud))?;
        if !audiences.contains(&audience) {
            return Err(TokenError::BadAudience);
        }
        if self.required.iter().any(|(path, value)| at(path) != Some(value)) {
            return Err(TokenError::UnexpectedClaim);
        }
        let subject = at(&self.subject).ok_or(TokenError::ClaimMissing(Claim::Sub))?;
        let subject = subject.as_str().filter(|subject| !subject.is_empty());
        let subject = subject.ok_or(TokenError::ClaimType(Claim::Sub))?;
        let roles = match at(&self.roles) {
            None => Vec::new(),
            Some(value) => texts(value).ok_or(TokenError::ClaimType(Claim::Roles))?,
        };
        let scopes = match at(&self.scopes) {
            None => Vec::new(),
            Some(Value::String(list)) => list.split(' ').collect(),
            Some(value) => texts(value).ok_or(TokenError::ClaimType(Claim::Scope))?,
        };
        let tenant = match self.tenant.as_ref().and_then(at) {
            None => None,
            Some(Value::String(name)) if Identity::is_tenant(name) => Some(name.as_str().into()),
            Some(_) => return Err(TokenError::ClaimType(Claim::Tenant)),
        };
        let roles = self.role_ceiling.grant(roles).filter(|role| !role.is_empty());
        let scopes = self.scope_ceiling.grant(scopes).filter(|scope| is_scope(scope));
        let mut identity = Identity::new(subject).roles(roles).scopes(scopes);
        identity.tenant = tenant;
        Ok(identity)
    }
}

/// A string, or an array of strings.
fn texts(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::String(text) => Some(vec![text]),
        Value::Array(all) => all.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

impl Ceiling {
    /// Adds a name of the issuer and the corresponding name in this app.
    pub(super) fn add(&mut self, word: impl Into<Box<str>>, meaning: impl Into<Box<str>>) {
        self.words.push((word.into(), meaning.into()));
    }

    /// The rights that are granted for these names.
    fn grant<'a>(&'a self, words: Vec<&'a str>) -> impl Iterator<Item = &'a str> {
        words.into_iter().flat_map(|word| {
            let known = || self.words.iter().filter(move |(theirs, _)| **theirs == *word);
            let other = (self.is_unlimited && known().next().is_none()).then_some(word);
            known().map(|(_, ours)| &**ours).chain(other)
        })
    }
}

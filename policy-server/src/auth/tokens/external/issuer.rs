//! Settings of an external issuer.

use std::{sync::Arc, time::Duration};

use policy_core::{
    Rule,
    token::{Algorithm, Key, KeyRing, Profile, RingKey, Verifier},
};

use serde_json::Value;

#[cfg(feature = "testing")]
use super::probe;
use super::{
    Foreign, Keys, Own,
    fetch::{Address, Document},
    jwks::JwkSet,
    mapping::{ClaimMapping, path},
};
use crate::base::error::StartProblem;

/// An external issuer whose tokens an app accepts, such as the identity provider of a company.
///
/// Its keys are [fetched](Self::jwks) or [given](Self::keys). They are for ES256, Ed25519 or RS256,
/// and used only for tokens of this issuer. Everything else has a default: access tokens (RFC 9068)
/// for the audience of this app, 30 seconds of leeway, at most an hour of lifetime.
///
/// A token is accepted only if its header names one of these keys and that key's algorithm, the
/// signature verifies with that key, and the claims name this issuer and this audience. A key of
/// one issuer is never used for another, nor for another algorithm, even if two issuers have keys
/// with the same id or publish each other's keys. The key is chosen by its id alone; an unknown id
/// is not looked up elsewhere.
///
/// A route takes these tokens only if it names the issuer, as in `#[auth(token, issuers =
/// ["https://id.example"])]`, or if this is the only issuer of an app that [signs
/// none](crate::Tokens::accepting). Its users are not users of this app: handlers take a
/// [`Caller`](crate::Caller).
///
/// A role or scope in a token counts only if the app lets this issuer give it, by
/// [`roles`](Self::roles) and [`scopes`](Self::scopes): none by default. The claims of widely used
/// issuers are described in [`guide::issuers`](crate::guide::issuers).
///
/// ```
/// use policy_server::{Tokens, tokens::{SecretKey, Issuer}};
///
/// # let secret = SecretKey::from_bytes([1; 32]);
/// let tokens = Tokens::hs256(secret)?.accept(
///     Issuer::new("https://id.example")
///         .audience("orders")
///         .jwks("https://id.example/.well-known/jwks.json")
///         .scopes(["orders:read"]),
/// );
/// # Ok::<(), policy_server::tokens::KeyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Issuer {
    name: Box<str>,
    audience: Option<Box<str>>,
    source: Option<Source>,
    authority: Option<Box<[u8]>>,
    typ: Type,
    leeway: Duration,
    max_lifetime: Duration,
    max_len: usize,
    mapping: ClaimMapping,
    /// Whether its tokens are created by a proof.
    #[cfg(feature = "testing")]
    is_probed: bool,
}

#[derive(Clone, Debug)]
enum Source {
    Given(Vec<Key>),
    Document(Box<str>),
}

#[derive(Clone, Debug)]
enum Type {
    AccessToken,
    Generic,
    Other(Box<str>),
}

impl Issuer {
    /// The issuer with this name (`iss`), compared byte for byte.
    pub fn new(name: impl Into<Box<str>>) -> Self {
        Self {
            name: name.into(),
            audience: None,
            source: None,
            authority: None,
            typ: Type::AccessToken,
            leeway: Duration::from_secs(30),
            max_lifetime: Duration::from_secs(3600),
            max_len: 4096,
            mapping: ClaimMapping::default(),
            #[cfg(feature = "testing")]
            is_probed: false,
        }
    }

    /// The issuer's name for this app (`aud`); by default the audience of this app's own tokens.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<Box<str>>) -> Self {
        self.audience = Some(audience.into());
        self
    }

    /// The address of the issuer's JWK Set (RFC 7517 5), in place of [given](Self::keys) keys: an
    /// `https` address, or in the development profile an `http` address of this machine.
    ///
    /// The document is fetched when the app starts, and then at the interval of its `Cache-Control:
    /// max-age`, between 5 minutes and 24 hours. Only that address is contacted: redirects are
    /// not followed and proxies not used. A response may take 5 seconds and 64 KiB.
    ///
    /// A failed fetch is repeated with a delay that grows from 10 seconds to 10 minutes, and the
    /// keys of the last document stay valid for 24 more hours. After that, and before the first
    /// document, tokens of the issuer get 503 (`auth.credentials-unchecked`). Tokens of other
    /// issuers are not affected.
    ///
    /// No request waits for the network. A token of this issuer with an unknown key id gets 503
    /// with `Retry-After: 1` while the document is fetched again, and 401 if it was fetched within
    /// the last 30 seconds. Any number of unknown key ids causes at most one fetch in 30 seconds.
    ///
    /// A key that the issuer removed from its document stays valid until the next fetch, and a stream
    /// that its token opened goes on until the token expires.
    #[must_use]
    pub fn jwks(mut self, address: impl Into<Box<str>>) -> Self {
        self.source = Some(Source::Document(address.into()));
        self
    }

    /// The keys of the issuer, in place of a [JWK Set](Self::jwks) that is fetched.
    #[must_use]
    pub fn keys(mut self, keys: impl IntoIterator<Item = Key>) -> Self {
        self.source = Some(Source::Given(keys.into_iter().collect()));
        self
    }

    /// The CA certificates to trust for the server of the JWK Set, as PEM, in place of those that
    /// browsers trust: for an issuer inside a company.
    #[must_use]
    pub fn certificate_authority(mut self, pem: impl Into<Box<[u8]>>) -> Self {
        self.authority = Some(pem.into());
        self
    }

    /// The type of its tokens (`typ`), in lower case and without `application/`; `at+jwt` by
    /// default.
    #[must_use]
    pub fn typ(mut self, typ: impl Into<Box<str>>) -> Self {
        self.typ = Type::Other(typ.into());
        self
    }

    /// Accepts tokens with the generic type `JWT` or without a type. Other tokens of the same
    /// issuer for the same audience, such as ID tokens, may then pass for access tokens (RFC 8725
    /// 3.11), so use it only for issuers that cannot set a type.
    #[must_use]
    pub fn generic_type(mut self) -> Self {
        self.typ = Type::Generic;
        self
    }

    /// The maximum difference between the issuer's clock and ours: 30 seconds by default, at most 300.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self
    }

    /// The longest lifetime of an accepted token: an hour by default.
    #[must_use]
    pub fn max_lifetime(mut self, lifetime: Duration) -> Self {
        self.max_lifetime = lifetime;
        self
    }

    /// The longest token in bytes: 4096 by default, at most 16384.
    #[must_use]
    pub fn max_len(mut self, len: usize) -> Self {
        self.max_len = len;
        self
    }

    /// Lets the issuer give these roles; by default none.
    #[must_use]
    pub fn roles<T: Into<Box<str>>>(mut self, roles: impl IntoIterator<Item = T>) -> Self {
        for role in roles {
            let role = role.into();
            self.mapping.role_ceiling.add(role.clone(), role);
        }
        self
    }

    /// Lets the issuer give a role under its own name for it: `.role_as("Orders.Admin",
    /// "admin")`.
    #[must_use]
    pub fn role_as(mut self, theirs: impl Into<Box<str>>, ours: impl Into<Box<str>>) -> Self {
        self.mapping.role_ceiling.add(theirs, ours);
        self
    }

    /// Lets the issuer grant these scopes; by default none.
    #[must_use]
    pub fn scopes<T: Into<Box<str>>>(mut self, scopes: impl IntoIterator<Item = T>) -> Self {
        for scope in scopes {
            let scope = scope.into();
            self.mapping.scope_ceiling.add(scope.clone(), scope);
        }
        self
    }

    /// Lets the issuer grant a scope under its own name for it.
    #[must_use]
    pub fn scope_as(mut self, theirs: impl Into<Box<str>>, ours: impl Into<Box<str>>) -> Self {
        self.mapping.scope_ceiling.add(theirs, ours);
        self
    }

    /// Lets the issuer give every role and every scope of this app, including those that a later
    /// version adds. Use it only for an issuer that the same people operate, exclusively for this app.
    #[must_use]
    pub fn trust_in_full(mut self) -> Self {
        self.mapping.role_ceiling.is_unlimited = true;
        self.mapping.scope_ceiling.is_unlimited = true;
        self
    }

    /// The claim with the roles, a string or an array of strings: by default `["roles"]`. The names
    /// lead from the outermost member to the claim, such as `["realm_access", "roles"]`.
    #[must_use]
    pub fn roles_claim<T: Into<Box<str>>>(mut self, claim: impl IntoIterator<Item = T>) -> Self {
        self.mapping.roles = path(claim);
        self
    }

    /// The claim with the scopes, a string with spaces between them or an array of strings: by
    /// default `["scope"]`.
    #[must_use]
    pub fn scopes_claim<T: Into<Box<str>>>(mut self, claim: impl IntoIterator<Item = T>) -> Self {
        self.mapping.scopes = path(claim);
        self
    }

    /// The claim with the tenant of the user, a string. By default the users of an issuer have no
    /// tenant, whatever its tokens contain. With this claim, the issuer can name every tenant of
    /// this app. A user without the claim has none. A token is refused if the claim is not a
    /// string, is empty, or is longer than 200 bytes.
    ///
    /// ```
    /// use policy_server::tokens::Issuer;
    ///
    /// let entra = Issuer::new("https://id.example").tenant_claim(["tid"]);
    /// ```
    #[must_use]
    pub fn tenant_claim<T: Into<Box<str>>>(mut self, claim: impl IntoIterator<Item = T>) -> Self {
        self.mapping.tenant = Some(path(claim));
        self
    }

    /// The claim with the name of the user, by default `["sub"]`. The name must never change, nor
    /// belong to another user later, which e-mail addresses do not guarantee.
    #[must_use]
    pub fn subject_claim<T: Into<Box<str>>>(mut self, claim: impl IntoIterator<Item = T>) -> Self {
        self.mapping.subject = path(claim);
        self
    }

    /// The claim with the [audience](Self::audience), a string or an array of strings: by default
    /// `["aud"]`.
    #[must_use]
    pub fn audience_claim<T: Into<Box<str>>>(mut self, claim: impl IntoIterator<Item = T>) -> Self {
        self.mapping.audience = path(claim);
        self
    }

    /// Accepts only tokens in which a claim has this value, such as `["token_use"]` and `access`.
    #[must_use]
    pub fn required_claim<T: Into<Box<str>>>(
        mut self,
        claim: impl IntoIterator<Item = T>,
        value: impl Into<Value>,
    ) -> Self {
        self.mapping.required.push((path(claim), value.into()));
        self
    }

    pub(in super::super) fn name(&self) -> &str {
        &self.name
    }

    pub(in super::super) fn longest(&self) -> Duration {
        self.max_lifetime.saturating_add(self.leeway)
    }

    pub(in super::super) fn widest_leeway(&self) -> Duration {
        self.leeway
    }

    /// Replaces its keys and the form of its tokens, once they are checked.
    #[cfg(feature = "testing")]
    pub(in super::super) fn take_probe_tokens(&mut self) {
        self.is_probed = true;
    }

    /// Combines keys and profile, or reports the first problem.
    pub(super) fn build(self, app: &Own<'_>) -> Result<Foreign, StartProblem> {
        let location = format!("App::tokens: issuer `{}`", self.name.escape_debug());
        let broken = |rule| StartProblem::without_value(rule, &location);
        if self.name.chars().any(char::is_control) {
            return Err(broken(Rule::IssuerName));
        }
        let audience = self.audience.clone().unwrap_or_else(|| app.audience.into());
        let profile = self.profile(&audience).map_err(broken)?;
        let keys = match self.source {
            None => return Err(broken(Rule::IssuerKeysMissing)),
            Some(Source::Given(keys)) => {
                if keys.iter().any(|key| key.algorithm() == Algorithm::Hs256) {
                    return Err(broken(Rule::IssuerSecret));
                }
                let ring = KeyRing::new(keys.into_iter().map(RingKey::new).collect());
                Keys::Given(Arc::new(ring.map_err(|error| broken(error.rule()))?))
            }
            Some(Source::Document(address)) => {
                let document = Address::parse(&address, app.is_development)
                    .map_err(broken)
                    .and_then(|parsed| Document::new(parsed, self.authority.as_deref()))
                    .map_err(|problem| problem.at(&location, address))?;
                let (clock, random) = (app.clock.clone(), app.random.clone());
                Keys::JwkSet(Arc::new(JwkSet::new(document, clock, random)))
            }
        };
        #[cfg(feature = "testing")]
        if self.is_probed {
            return probe::issuer(self.name, app.audience, self.mapping).map_err(broken);
        }
        let (name, mapping) = (self.name, self.mapping);
        Ok(Foreign { name, audience, verifier: Verifier::new(profile), mapping, keys })
    }

    /// The settings in a manifest.
    #[cfg(feature = "manifest")]
    pub(crate) fn facts(&self) -> policy_manifest::IssuerFacts {
        let mut facts = policy_manifest::IssuerFacts::new(&self.name);
        facts.audience = self.audience.as_deref().map(str::to_owned);
        facts.jwks = match &self.source {
            Some(Source::Document(address)) => Some(address.to_string()),
            Some(Source::Given(_)) | None => None,
        };
        facts.authority = self.authority.as_deref().map(|pem| {
            let digest = <sha2::Sha256 as sha2::Digest>::digest(pem);
            digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
        });
        facts.typ = match &self.typ {
            Type::AccessToken => None,
            Type::Generic => Some("*".to_owned()),
            Type::Other(typ) => Some(typ.to_string()),
        };
        facts.leeway_s = Some(self.leeway.as_secs());
        facts.max_lifetime_s = Some(self.max_lifetime.as_secs());
        facts.max_len = Some(self.max_len as u64);
        self.mapping.describe(&mut facts);
        facts
    }

    fn profile(&self, audience: &str) -> Result<Profile, Rule> {
        let profile = Profile::new(&self.name, audience)?
            .leeway(self.leeway)?
            .max_lifetime(self.max_lifetime)?
            .max_len(self.max_len)?
            .algorithms(Algorithm::ASYMMETRIC)?
            .fractional_dates()
            .mapped_claims();
        Ok(match &self.typ {
            Type::AccessToken => profile,
            Type::Generic => profile.generic_type(),
            Type::Other(typ) => profile.typ(typ)?,
        })
    }
}

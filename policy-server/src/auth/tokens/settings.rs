//! Token settings of an app.

use std::{sync::Arc, time::Duration};

use policy_core::{
    Rule,
    token::{Algorithm, KeyError, Profile},
};

#[cfg(feature = "asym")]
use policy_core::token::Key;

#[cfg(feature = "asym")]
use super::Issuer;
use super::{IntoKeys, TokenKeys, Tokens, service::MAX_LEN};
use crate::{base::error::StartProblem, store::TokenStore};

/// The longest grace period of a used refresh token.
const LONGEST_GRACE: Duration = Duration::from_secs(60);
/// In normal operation, the known revocations are at most a second old.
const LEAST_STALENESS: Duration = Duration::from_secs(2);

/// The settings of the tokens of an app, which [`App::tokens`](crate::App::tokens) takes.
///
/// They begin with the keys: [`Tokens::hs256`] or [`Tokens::signed_with`]. Everything else has a
/// default.
#[derive(Clone, Debug)]
pub struct TokenSettings {
    /// `None` if the app signs no tokens.
    pub(super) keys: Option<TokenKeys>,
    pub(super) issuer: Option<Box<str>>,
    pub(super) audience: Option<Box<str>>,
    pub(super) lifetime: Duration,
    pub(super) max_lifetime: Duration,
    pub(super) leeway: Duration,
    pub(super) refresh_lifetime: Duration,
    pub(super) refresh_grace: Duration,
    pub(super) max_staleness: Duration,
    pub(super) on_stale: OnStale,
    pub(super) store: Option<Arc<dyn TokenStore>>,
    pub(crate) is_from_websocket_protocol: bool,
    #[cfg(feature = "asym")]
    pub(super) issuers: Vec<Issuer>,
}

/// What happens to a token while revocations cannot be checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnStale {
    /// The request gets 503.
    #[default]
    Deny,
    /// The token is accepted, unless a known revocation covers it.
    Allow,
}

/// The keys with which an app signs its tokens; [`TokenSettings`] has the other settings.
impl Tokens {
    /// Tokens signed by HMAC with SHA-256 (RFC 7518 3.2): a [`SecretKey`], or ids and secret keys
    /// of which the first signs.
    ///
    /// Access tokens (RFC 9068) live for 5 minutes, refresh tokens for 30 days from the login.
    /// Issuer and audience are the public origin of the app.
    ///
    /// # Errors
    ///
    /// No keys, two keys with the same id, or an invalid id.
    ///
    /// ```
    /// use std::time::Duration;
    /// use policy_server::{Tokens, tokens::SecretKey};
    ///
    /// # let secret = SecretKey::from_bytes([1; 32]);
    /// # let old = SecretKey::from_bytes([2; 32]);
    /// let tokens = Tokens::hs256([("2026-12", secret), ("2026-11", old)])?
    ///     .lifetime(Duration::from_secs(120))
    ///     .refresh_lifetime(Duration::from_secs(7 * 86_400));
    /// # Ok::<(), policy_server::tokens::KeyError>(())
    /// ```
    ///
    /// [`SecretKey`]: policy_core::secret::SecretKey
    pub fn hs256(keys: impl IntoKeys) -> Result<TokenSettings, KeyError> {
        Ok(Self::signed_with(TokenKeys::new(keys)?))
    }

    /// Tokens signed by ECDSA on P-256 with SHA-256 (RFC 7518 3.4): the id of a key and its private
    /// key, as PEM or DER of PKCS#8. For several keys, or a key file, use
    /// [`signed_with`](Self::signed_with).
    ///
    /// # Errors
    ///
    /// An invalid id or key.
    #[cfg(feature = "asym")]
    pub fn es256(id: &str, private: impl AsRef<[u8]>) -> Result<TokenSettings, KeyError> {
        Ok(Self::signed_with(TokenKeys::new(vec![Key::es256(id, private.as_ref())?])?))
    }

    /// Tokens signed by Ed25519 (RFC 8037 3.1); otherwise like [`es256`](Self::es256).
    ///
    /// # Errors
    ///
    /// An invalid id or key.
    #[cfg(feature = "asym")]
    pub fn ed25519(id: &str, private: impl AsRef<[u8]>) -> Result<TokenSettings, KeyError> {
        Ok(Self::signed_with(TokenKeys::new(vec![Key::ed25519(id, private.as_ref())?])?))
    }

    /// Tokens signed with keys to which the application holds a handle.
    pub fn signed_with(keys: TokenKeys) -> TokenSettings {
        TokenSettings::new(Some(keys))
    }

    /// The tokens of an external issuer, in an app that signs none itself. A route with
    /// `#[auth(token)]` takes them without naming the issuer, as long as it is the only one.
    ///
    /// Handlers take a [`Caller`](crate::Caller). Issuing a token fails; [tickets](Self::ticket) and
    /// revocations work.
    #[cfg(feature = "asym")]
    pub fn accepting(issuer: Issuer) -> TokenSettings {
        TokenSettings::new(None).accept(issuer)
    }
}

impl TokenSettings {
    /// Notices about the files of the keys.
    pub(crate) fn notices(&self) -> impl Iterator<Item = StartProblem> {
        self.keys.iter().flat_map(TokenKeys::notices)
    }

    fn new(keys: Option<TokenKeys>) -> Self {
        Self {
            keys,
            issuer: None,
            audience: None,
            lifetime: Duration::from_secs(300),
            max_lifetime: Duration::from_secs(3600),
            leeway: Duration::from_secs(30),
            refresh_lifetime: Duration::from_secs(30 * 86_400),
            refresh_grace: Duration::from_secs(10),
            max_staleness: Duration::from_secs(5),
            on_stale: OnStale::Deny,
            store: None,
            is_from_websocket_protocol: false,
            #[cfg(feature = "asym")]
            issuers: Vec::new(),
        }
    }

    /// Also accepts the tokens of an external issuer, on the routes that name it: `#[auth(token,
    /// issuers = ["https://id.example"])]`.
    #[cfg(feature = "asym")]
    #[must_use]
    pub fn accept(mut self, issuer: Issuer) -> Self {
        self.issuers.push(issuer);
        self
    }

    /// The handle by which keys are changed at run time; `None` if the app signs no tokens.
    pub fn keys(&self) -> Option<TokenKeys> {
        self.keys.clone()
    }

    /// The issuer of the tokens (`iss`); the public origin of the app by default.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<Box<str>>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// The audience of the tokens (`aud`); the public origin of the app by default.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<Box<str>>) -> Self {
        self.audience = Some(audience.into());
        self
    }

    /// How long an access token lives: 5 minutes by default. A change of a user's rights takes
    /// effect within this time, or at once by [`Sessions::set_rights`](crate::Sessions::set_rights)
    /// and [`Tokens::revoke_user`].
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// The longest lifetime of an accepted token: an hour by default.
    #[must_use]
    pub fn max_lifetime(mut self, lifetime: Duration) -> Self {
        self.max_lifetime = lifetime;
        self
    }

    /// How far the clocks of servers may differ: 30 seconds by default, at most 300.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self
    }

    /// How long after the login its refresh tokens expire: 30 days by default.
    #[must_use]
    pub fn refresh_lifetime(mut self, lifetime: Duration) -> Self {
        self.refresh_lifetime = lifetime;
        self
    }

    /// How long a used refresh token still yields the token that is valid now: 10 seconds by
    /// default, at most a minute. It keeps several tabs that refresh in any order, and a client that
    /// lost the response, logged in; a later reuse ends the whole family (RFC 9700 4.14.2).
    #[must_use]
    pub fn refresh_grace(mut self, grace: Duration) -> Self {
        self.refresh_grace = grace;
        self
    }

    /// How long known revocations are relied on while the store is unavailable: 5 seconds by
    /// default.
    #[must_use]
    pub fn max_staleness(mut self, staleness: Duration) -> Self {
        self.max_staleness = staleness;
        self
    }

    /// What happens to tokens after [`max_staleness`](Self::max_staleness): [`OnStale::Deny`] by
    /// default.
    #[must_use]
    pub fn on_stale(mut self, on_stale: OnStale) -> Self {
        self.on_stale = on_stale;
        self
    }

    /// The store of refresh tokens, revocations and tickets: by default the store of the sessions.
    /// Tests use a store given here too.
    #[must_use]
    pub fn store(mut self, store: impl TokenStore) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Also accepts an access token in `Sec-WebSocket-Protocol`, since a page cannot send
    /// `Authorization` with a WebSocket:
    ///
    /// ```js
    /// new WebSocket("wss://api.shop.example/live", ["bearer", token])
    /// ```
    ///
    /// It counts as `Authorization: Bearer` of the same request, on routes with `#[auth(token)]`
    /// and only for requests that upgrade their connection; a request with both gets 400. The origin
    /// of the page is checked all the same. Handlers, mounted services and upstreams do not see the
    /// token among the protocols. The response selects `bearer` unless another protocol that the
    /// page offered is selected, and never contains the token.
    ///
    /// It is off by default: unlike `Authorization`, a proxy in front of this server may log the
    /// field. A [ticket](Tokens::ticket) can be used only once and for 30 seconds, so logging it
    /// does no harm.
    ///
    /// ```
    /// use policy_server::{Tokens, tokens::SecretKey};
    ///
    /// # let secret = SecretKey::from_bytes([1; 32]);
    /// let tokens = Tokens::hs256(secret)?.from_websocket_protocol();
    /// # Ok::<(), policy_server::tokens::KeyError>(())
    /// ```
    #[must_use]
    pub fn from_websocket_protocol(mut self) -> Self {
        self.is_from_websocket_protocol = true;
        self
    }

    /// Whether the tokens have a store of their own.
    pub(crate) fn has_own_store(&self) -> bool {
        self.store.is_some()
    }

    /// These settings with a store in memory, in place of any store.
    pub(crate) fn in_memory(self) -> Self {
        Self { store: None, ..self }
    }

    /// The same, with issuers from which nothing is fetched.
    #[cfg(feature = "testing")]
    pub(crate) fn forgetful(self) -> Self {
        #[cfg_attr(not(feature = "asym"), expect(unused_mut, reason = "there are no issuers"))]
        let mut this = self.in_memory();
        #[cfg(feature = "asym")]
        this.issuers.iter_mut().for_each(Issuer::take_probe_tokens);
        this
    }

    /// The issuer of the app's own tokens, if it signs any.
    pub(crate) fn own_issuer<'a>(&'a self, own_origin: &'a str) -> Option<&'a str> {
        self.keys.as_ref().map(|_| self.issuer.as_deref().unwrap_or(own_origin))
    }

    /// The names of the external issuers.
    pub(crate) fn external_issuers(&self) -> impl Iterator<Item = &str> {
        #[cfg(feature = "asym")]
        let issuers = self.issuers.iter().map(Issuer::name);
        #[cfg(not(feature = "asym"))]
        let issuers = std::iter::empty();
        issuers
    }

    /// The settings in a manifest.
    #[cfg(feature = "manifest")]
    pub(crate) fn facts(&self, own_origin: &str) -> policy_manifest::TokenFacts {
        let seconds = |time: Duration| Some(time.as_secs());
        let mut facts = policy_manifest::TokenFacts::default();
        if let Some(issuer) = self.own_issuer(own_origin) {
            facts.issuer = Some(issuer.to_owned());
            facts.lifetime_s = seconds(self.lifetime);
            facts.refresh_lifetime_s = seconds(self.refresh_lifetime);
            facts.refresh_grace_s = seconds(self.refresh_grace);
        }
        facts.audience = self.audience.as_deref().map(str::to_owned);
        #[cfg(feature = "asym")]
        {
            facts.accepts = self.issuers.iter().map(Issuer::facts).collect();
        }
        facts.websocket_protocol = self.is_from_websocket_protocol;
        facts.max_lifetime_s = seconds(self.max_lifetime);
        facts.leeway_s = seconds(self.leeway);
        facts.max_staleness_s = seconds(self.max_staleness);
        facts.accepts_stale = self.on_stale == OnStale::Allow;
        facts.own_store = self.store.is_some();
        facts
    }

    /// Whether the keys end with the process.
    pub(crate) fn has_keys_of_development(&self) -> bool {
        self.keys.as_ref().is_some_and(TokenKeys::is_of_development)
    }

    /// All problems of the settings under this origin.
    pub(crate) fn problems(&self, own_origin: &str) -> Vec<StartProblem> {
        self.profile(own_origin, MAX_LEN).err().unwrap_or_default()
    }

    /// The verification profile of the tokens.
    pub(super) fn profile(
        &self,
        own_origin: &str,
        max_len: usize,
    ) -> Result<Profile, Vec<StartProblem>> {
        let issuer = self.issuer.as_deref().unwrap_or(own_origin);
        let audience = self.audience.as_deref().unwrap_or(own_origin);
        let mut problems = Vec::new();
        let mut check = |holds: bool, rule, value: String| {
            if !holds {
                problems.push(StartProblem::new(rule, "App::tokens", value));
            }
        };
        check(!issuer.is_empty(), Rule::TokenIssuer, issuer.to_owned());
        check(!audience.is_empty(), Rule::TokenAudience, audience.to_owned());
        let lifetimes = Duration::from_secs(1)..=self.max_lifetime;
        let lifetime = self.lifetime;
        check(lifetimes.contains(&lifetime), Rule::TokenLifetime, format!("{lifetime:?}"));
        let leeway = self.leeway;
        check(leeway <= Duration::from_secs(300), Rule::TokenLeeway, format!("{leeway:?}"));
        let staleness = self.max_staleness;
        check(staleness >= LEAST_STALENESS, Rule::TokenStaleness, format!("{staleness:?}"));
        let grace = self.refresh_grace;
        let longest_grace = LONGEST_GRACE.min(self.refresh_lifetime);
        check(grace <= longest_grace, Rule::TokenRefreshGrace, format!("{grace:?}"));
        let profile = Profile::new(issuer, audience)
            .and_then(|profile| profile.leeway(leeway)?.max_lifetime(self.max_lifetime))
            // Each key has its own algorithm, and the next key may have another one.
            .and_then(|profile| profile.max_len(max_len)?.algorithms(Algorithm::ALL));
        match profile {
            Ok(profile) if problems.is_empty() => Ok(profile),
            // Errors of the profile are among the problems.
            _ => Err(problems),
        }
    }
}

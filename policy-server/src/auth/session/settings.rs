//! Session settings of an app.

#[cfg(feature = "encryption")]
use std::time::{SystemTime, UNIX_EPOCH};
use std::{borrow::Cow, sync::Arc, time::Duration};

use policy_core::{
    Rule,
    cookie::{CookieError, CookieSpec, SameSite},
    head::OwnOrigin,
    origin::{OriginPattern, Site},
    session::{Renewal, Timings},
};

#[cfg(feature = "encryption")]
use policy_core::{secret::SecretKey, time::Timestamp};

use super::{Sessions, place::Place};
use crate::base::{clock::Random, error::StartProblem};
#[cfg(feature = "embedded")]
use crate::store::EmbeddedStore;
#[cfg(feature = "postgres")]
use crate::store::PostgresStore;
#[cfg(feature = "redis")]
use crate::store::RedisStore;
use crate::store::{
    Limit, LimitPolicy, LimitStore, SessionStore, TokenStore, ValueStore,
    moving::{Moving, Phase},
};

/// The session settings of an app, for [`App::sessions`](crate::App::sessions).
///
/// ```
/// use policy_server::{Sessions, session::{hours, minutes}};
///
/// let settings = Sessions::memory().idle(minutes(15)).absolute(hours(8));
/// ```
///
/// [`Sessions::from_url`], [`Sessions::embedded`], [`Sessions::memory`] and [`Sessions::store`]
/// create them. All other settings have defaults: 15 minutes idle and 8 hours in total, and the
/// cookie `__Host-sid` with `Secure`, `HttpOnly` and `SameSite=Lax`.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    place: Place,
    /// The kind of its store, in one word.
    kind: Cow<'static, str>,
    /// The other store, while the app moves from one to the other.
    other: Option<OtherStore>,
    pub(super) timings: Timings,
    pub(super) limit: Option<Limit>,
    pub(super) login_page: Option<Cow<'static, str>>,
    name: Option<Cow<'static, str>>,
    /// The port of the app, if it is known.
    port: Option<u16>,
    domain: Option<Cow<'static, str>>,
    same_site: SameSite,
    is_partitioned: bool,
    pub(super) clears_site_data: bool,
    /// `None` if values are not encrypted.
    #[cfg(feature = "encryption")]
    pub(super) keys: Option<Vec<SecretKey>>,
    #[cfg(feature = "encryption")]
    pub(super) unencrypted_until: Timestamp,
}

/// The other store of a move.
#[derive(Clone, Debug)]
struct OtherStore {
    phase: Phase,
    #[cfg_attr(not(feature = "manifest"), expect(dead_code, reason = "for manifests"))]
    kind: Cow<'static, str>,
    place: Place,
}

/// Where an app stores its sessions; [`SessionSettings`] has the other settings.
impl Sessions {
    /// Sessions in a file, which is opened when the app starts. They survive a restart.
    ///
    /// Takes the path of the file, or an [`EmbeddedStore`] with its own settings.
    #[cfg(feature = "embedded")]
    pub fn embedded(store: impl Into<EmbeddedStore>) -> SessionSettings {
        SessionSettings::at("redb", Place::embedded(store.into()))
    }

    /// Needs the feature `embedded`: without it, a call does not compile.
    #[cfg(not(feature = "embedded"))]
    pub fn embedded(store: impl EmbeddedFeature) -> SessionSettings {
        store.settings()
    }

    /// Sessions that end with the process.
    pub fn memory() -> SessionSettings {
        SessionSettings::at("memory", Place::memory())
    }

    /// Sessions in PostgreSQL, which several instances share.
    ///
    /// Takes a URL, or a [`PostgresStore`] with its own settings.
    #[cfg(feature = "postgres")]
    pub fn postgres(store: impl Into<PostgresStore>) -> SessionSettings {
        SessionSettings::at("postgres", Place::full(store.into()))
    }

    /// Sessions in Redis or Valkey, which several instances share.
    ///
    /// Takes a URL, or a [`RedisStore`] with its own settings.
    #[cfg(feature = "redis")]
    pub fn redis(store: impl Into<RedisStore>) -> SessionSettings {
        SessionSettings::at("redis", Place::full(store.into()))
    }

    /// Sessions in the store that a URL names, so that one line of the configuration changes it.
    ///
    /// | URL | store | feature |
    /// |---|---|---|
    /// | `memory:` | [`MemoryStore`](crate::store::MemoryStore) | |
    /// | `redb:path` | [`EmbeddedStore`](crate::store::EmbeddedStore) in the file at this path | `embedded` |
    /// | `postgres://user:password@host/database` | [`PostgresStore`](crate::store::PostgresStore) | `postgres` |
    /// | `redis://user:password@host/`, `rediss://` with TLS, `redis+sentinel://`, `rediss+sentinel://` | [`RedisStore`](crate::store::RedisStore) | `redis` |
    ///
    /// Any other URL is an error at the start (`session.store-url`), which does not repeat it; so is a
    /// URL whose feature is off (`session.feature-off`). Tests that call `App::test` keep their
    /// sessions in memory.
    ///
    /// ```
    /// use policy_server::Sessions;
    ///
    /// let settings = Sessions::from_url("memory:");
    /// ```
    pub fn from_url(url: impl AsRef<str>) -> SessionSettings {
        let url = url.as_ref();
        let scheme = url.split(':').next().unwrap_or_default().to_owned();
        SessionSettings::at(scheme, Place::from_url(url, "Sessions::from_url"))
    }

    /// Sessions in the store whose [URL](Self::from_url) is the value of this environment variable.
    /// The variable is read now; if it is unset, the start fails (`app.variable-unset`).
    ///
    /// ```
    /// use policy_server::{App, Sessions};
    ///
    /// let app = App::new(()).sessions(Sessions::from_env("SESSION_STORE"));
    /// ```
    pub fn from_env(variable: &str) -> SessionSettings {
        SessionSettings::at(format!("env {variable}"), Place::from_env(variable))
    }

    /// Sessions in a store of the application. Tests use the same store.
    pub fn store(store: impl SessionStore) -> SessionSettings {
        SessionSettings::at("own", Place::Own(Arc::new(store)))
    }
}

/// Implemented by no type, so that the compiler names the feature if `Sessions::embedded` is
/// called without it.
#[cfg(not(feature = "embedded"))]
#[diagnostic::on_unimplemented(
    message = "`{Self}`: this store needs a feature of policy-server that is off (session.feature-off)",
    label = "the feature `embedded` is off",
    note = "write `policy-server = {{ version = \"0.1\", features = [\"embedded\"] }}` into Cargo.toml"
)]
pub trait EmbeddedFeature {
    /// The settings with this store.
    fn settings(self) -> SessionSettings;
}

impl SessionSettings {
    /// Enough for a person with several devices. Without a limit, one account could fill the store
    /// and make every list of its sessions long.
    const LIMIT: Limit = Limit::new(100, LimitPolicy::EvictOldest);

    fn at(kind: impl Into<Cow<'static, str>>, place: Place) -> Self {
        Self {
            place,
            kind: kind.into(),
            other: None,
            timings: Timings::default(),
            limit: Some(Self::LIMIT),
            login_page: None,
            name: None,
            port: None,
            domain: None,
            same_site: SameSite::Lax,
            is_partitioned: false,
            clears_site_data: false,
            #[cfg(feature = "encryption")]
            keys: None,
            #[cfg(feature = "encryption")]
            unencrypted_until: Timestamp::default(),
        }
    }

    /// How long a session may be idle; 15 minutes by default.
    #[must_use]
    pub fn idle(mut self, idle: Duration) -> Self {
        self.timings.lifetime.idle = idle;
        self
    }

    /// The maximum lifetime of a session; 8 hours by default.
    #[must_use]
    pub fn absolute(mut self, absolute: Duration) -> Self {
        self.timings.lifetime.absolute = absolute;
        self
    }

    /// How long a session whose user asked to stay logged in may be idle; 14 days by default.
    #[must_use]
    pub fn remembered_idle(mut self, idle: Duration) -> Self {
        self.timings.remembered.idle = idle;
        self
    }

    /// The maximum lifetime of a session whose user asked to stay logged in; 30 days by default.
    #[must_use]
    pub fn remembered_absolute(mut self, absolute: Duration) -> Self {
        self.timings.remembered.absolute = absolute;
        self
    }

    /// How often the last use of a session is written to the store, at most a quarter of the idle
    /// times. A minute by default.
    #[must_use]
    pub fn touch_interval(mut self, interval: Duration) -> Self {
        self.timings.touch_interval = interval;
        self
    }

    /// Changes the id of each session at this interval, in addition to the changes at login. The
    /// old id stays valid for 10 seconds. Off by default.
    #[must_use]
    pub fn renewal(mut self, every: Duration) -> Self {
        self.timings.renewal = Some(Renewal::new(every, Duration::from_secs(10)));
        self
    }

    /// Encrypts the values of sessions before the store gets them, since databases are copied and
    /// backed up: XChaCha20-Poly1305 with the first of these keys. Generate one with
    /// `openssl rand -hex 32`. The others are for sessions that an earlier key encrypted. Users,
    /// their rights and times are not encrypted, since the store compares them.
    ///
    /// All instances need the same keys. To replace one, give all instances the new key behind the
    /// old one, then put it in front. Remove the old one when every session that it may have
    /// encrypted has ended: after the [maximum lifetime](Self::absolute), or the [longer one of
    /// remembered sessions](Self::remembered_absolute) if a login remembers them. Until they end, sessions
    /// encrypted with a key that the app does not have get 503, and are listed without their values.
    ///
    /// Values are bound to their session and its user, so that an attacker who can write to the
    /// store can neither copy them to another session nor forge them. A session whose values are not
    /// encrypted and bound has ended, unless [`unencrypted_until`](Self::unencrypted_until) permits
    /// them.
    ///
    /// ```
    /// use policy_server::Sessions;
    /// use policy_core::secret::SecretKey;
    ///
    /// # fn keys() -> Result<(), policy_core::secret::SecretError> {
    /// let key = SecretKey::decode("/9ylw38tQfz6gRMxEYZzv2V4mKJ0mNUSgAOC3kKJB54=")?;
    /// let settings = Sessions::from_env("SESSION_STORE").encrypted([key]);
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "encryption")]
    #[must_use]
    pub fn encrypted(mut self, keys: impl IntoIterator<Item = SecretKey>) -> Self {
        self.keys = Some(keys.into_iter().collect());
        self
    }

    /// Until when to accept values that an earlier release of the app stored: unencrypted, or
    /// encrypted but not bound to their session. They are encrypted when they change. By default no
    /// such values are accepted: their sessions have ended, and their users have to log in again. An
    /// open stream of such a session continues until the session would have expired.
    ///
    /// Until then, an attacker who can write to the store can forge values, so choose the day on
    /// which today's sessions will have ended: the [maximum lifetime](Self::absolute), or the
    /// [longer one of remembered sessions](Self::remembered_absolute) if a login remembers them,
    /// after the last instance of the earlier release has stopped.
    ///
    /// ```
    /// use std::time::{Duration, UNIX_EPOCH};
    /// use policy_server::Sessions;
    /// # use policy_core::secret::SecretKey;
    /// # let key = SecretKey::from_bytes([1; 32]);
    ///
    /// // 2027-01-31
    /// let end = UNIX_EPOCH + Duration::from_secs(1_801_353_600);
    /// let settings = Sessions::memory().encrypted([key]).unencrypted_until(end);
    /// ```
    #[cfg(feature = "encryption")]
    #[must_use]
    pub fn unencrypted_until(mut self, time: SystemTime) -> Self {
        let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.unencrypted_until = Timestamp::default().after(since_1970);
        self
    }

    /// Moves the app from another store to this one, without logging any user out: new sessions begin
    /// in this store, and the sessions in the old one are valid until they end. Of the settings of the
    /// old store, only the store itself is used.
    ///
    /// A session moves to this store with its next id: at a login or when its rights are raised. Every
    /// other session stays in the old store until it ends, at the latest after its [maximum
    /// lifetime](Self::absolute) or the [lifetime of a remembered session](Self::remembered_absolute). While
    /// both are used, requests with a session of the old store query both stores, and logouts and
    /// cut-offs apply to both. If the old store is unavailable, those sessions get 503.
    ///
    /// The log states how many sessions the old store still has (`session.store-moving`), and when none
    /// is left (`session.store-moved`). Then this line can be removed.
    ///
    /// Several instances start the new release one after the other. Until the last one has started it,
    /// the earlier release has to name the new store by [`moving_to`](Self::moving_to): see [the order
    /// of the steps](crate::guide::instances#moving-to-another-store).
    ///
    /// Tokens do not move: [`TokenSettings::store`](crate::tokens::TokenSettings::store) has to name
    /// the store that contains them (`session.tokens-of-moving`). Tests that call `App::test` use
    /// neither store.
    ///
    /// ```
    /// use policy_server::{App, Sessions};
    ///
    /// let sessions = Sessions::from_env("SESSION_STORE")
    ///     .moving_from(Sessions::from_env("OLD_SESSION_STORE"));
    /// let app = App::new(()).sessions(sessions);
    /// ```
    #[must_use]
    pub fn moving_from(mut self, old: Self) -> Self {
        self.other = Some(OtherStore { phase: Phase::From, kind: old.kind, place: old.place });
        self
    }

    /// Prepares several instances for [`moving_from`](Self::moving_from): sessions begin in this store
    /// as before, and sessions that instances of the next release begin in the new store are valid here
    /// as well. Of the settings of the new store, only the store itself is used.
    ///
    /// ```
    /// use policy_server::{App, Sessions};
    ///
    /// let sessions = Sessions::from_env("SESSION_STORE")
    ///     .moving_to(Sessions::from_env("NEW_SESSION_STORE"));
    /// let app = App::new(()).sessions(sessions);
    /// ```
    #[must_use]
    pub fn moving_to(mut self, new: Self) -> Self {
        self.other = Some(OtherStore { phase: Phase::To, kind: new.kind, place: new.place });
        self
    }

    /// How many sessions one user may have, and what happens above that. By default 100, and the
    /// oldest session ends. `u32::MAX` means no limit.
    #[must_use]
    pub fn limit_per_user(mut self, sessions: u32, policy: LimitPolicy) -> Self {
        self.limit = Some(Limit { sessions, policy });
        self
    }

    /// The path of this app to which a navigation without a session is redirected. By default it
    /// gets 401 like any request.
    #[must_use]
    pub fn login_page(mut self, path: impl Into<Cow<'static, str>>) -> Self {
        self.login_page = Some(path.into());
        self
    }

    /// The name of the cookie; `__Host-sid` by default, `__Secure-sid` with a domain.
    ///
    /// Browsers send a cookie to every port of a host. In development the default name therefore
    /// contains the port, `sid-8080`, so that two apps on one machine do not end each other's
    /// logins. If instances share the store, the default name is `sid` on all ports: if there are
    /// two such apps on one machine, set a name for each.
    #[must_use]
    pub fn cookie_name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Which requests from other sites carry the cookie; `Lax` by default, which excludes all
    /// requests of scripts. An app that lets pages of another site call a route that accepts only a
    /// session does not start without `None` (`session.same-site`).
    ///
    /// ```
    /// use policy_server::{Sessions, session::SameSite};
    ///
    /// let settings = Sessions::memory().same_site(SameSite::None).partitioned();
    /// ```
    ///
    /// The alternatives are compared in [`cross_site`](crate::guide::cross_site). In development,
    /// over plain HTTP, browsers accept no cookie with `None`, so it is `Lax` there.
    #[must_use]
    pub fn same_site(mut self, same_site: SameSite) -> Self {
        self.same_site = same_site;
        self
    }

    /// Keeps a separate session for the pages of each site (CHIPS): browsers that block third-party
    /// cookies still send a partitioned one. A user who is logged in on one site is not logged in on
    /// another, nor on the pages of the app itself. Needs
    /// [`same_site(SameSite::None)`](Self::same_site) (`session.partitioned`). Off by default.
    #[must_use]
    pub fn partitioned(mut self) -> Self {
        self.is_partitioned = true;
        self
    }

    /// Makes browsers delete the cache and the storage of the app when a session ends by
    /// [`logout`](super::Session::logout) or a similar call: the response has the header
    /// `Clear-Site-Data: "cache", "storage"`, over HTTPS. Off by default.
    ///
    /// Other cookies stay, since browsers would delete those of all hosts of the domain; the session's
    /// own cookie is removed in any case. Every open page of the origin loses its databases, service
    /// workers and cached responses, for all users of the browser profile.
    ///
    /// ```
    /// use policy_server::Sessions;
    ///
    /// let settings = Sessions::memory().clear_site_data();
    /// ```
    #[must_use]
    pub fn clear_site_data(mut self) -> Self {
        self.clears_site_data = true;
        self
    }

    /// Sends the cookie to every host below this domain too. Each of them can then act for the user
    /// and inject sessions.
    #[must_use]
    pub fn domain(mut self, domain: impl Into<Cow<'static, str>>) -> Self {
        self.domain = Some(domain.into());
        self
    }

    /// These settings for an app that is served on this port.
    pub(crate) fn on_port(self, port: u16) -> Self {
        Self { port: Some(port), ..self }
    }

    /// These settings with a store in memory, for tests. A store of the application is kept.
    pub(crate) fn in_memory(self) -> Self {
        if matches!(self.place, Place::Own(_)) { self } else { self.forgetful() }
    }

    /// These settings with a store in memory, also in place of a store of the application.
    pub(crate) fn forgetful(self) -> Self {
        Self { place: Place::memory(), other: None, ..self }
    }

    /// The store, or why there is none.
    pub(super) fn session_store(
        &self,
        random: &Random,
    ) -> Result<Arc<dyn SessionStore>, StartProblem> {
        let store = self.place.sessions()?;
        let Some(OtherStore { phase, place, .. }) = &self.other else { return Ok(store) };
        Ok(Arc::new(Moving::new(store, place.sessions()?, *phase, random.clone())))
    }

    /// Whether the store of tokens has to be named, since the sessions leave the one with the
    /// tokens.
    pub(crate) fn leaves_tokens(&self) -> bool {
        matches!(self.other, Some(OtherStore { phase: Phase::From, .. }))
    }

    /// Notices about the file of the store, once it is open.
    pub(crate) fn notices(&self) -> Vec<StartProblem> {
        let places = [Some(&self.place), self.other.as_ref().map(|other| &other.place)];
        places.into_iter().flatten().flat_map(Place::notices).collect()
    }

    /// The same store for tokens, if it also implements [`TokenStore`].
    pub(crate) fn token_store(&self) -> Option<Arc<dyn TokenStore>> {
        self.place.tokens()
    }

    /// The same store for limits, if instances share it.
    pub(crate) fn limit_store(&self) -> Option<Arc<dyn LimitStore>> {
        self.place.limits()
    }

    /// The same store for named values, if it supports them, and the other one of a move.
    pub(crate) fn value_stores(&self) -> [Option<Arc<dyn ValueStore>>; 2] {
        let other = self.other.as_ref().and_then(|other| other.place.values());
        [self.place.values(), other]
    }

    /// Every rule that the settings break under this origin, with the offending value.
    pub(crate) fn violations(&self, own: &OwnOrigin) -> Vec<(Rule, String)> {
        let mut found = self.timings.violations();
        if let Some(Limit { sessions: 0, .. }) = self.limit {
            found.push((Rule::SessionLimitZero, "limit_per_user 0".to_owned()));
        }
        if let Some(page) = &self.login_page
            && (!page.starts_with('/')
                || page.starts_with("//")
                || !page
                    .bytes()
                    .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'#')))
        {
            found.push((Rule::SessionLoginPage, page.clone().into_owned()));
        }
        #[cfg(feature = "encryption")]
        if self.keys.as_ref().is_some_and(Vec::is_empty) {
            found.push((Rule::SessionKeyMissing, "encrypted([])".to_owned()));
        }
        if self.is_partitioned && self.same_site != SameSite::None {
            let stated = format!("SameSite={}", self.same_site.as_str());
            found.push((Rule::SessionPartitioned, stated));
        }
        if let Err(error) = self.cookie(own) {
            found.push((Rule::SessionCookie, error.to_string()));
        }
        found
    }

    /// The settings in a manifest; `None` if the cookie breaks a rule.
    #[cfg(feature = "manifest")]
    pub(crate) fn facts(&self, own: &OwnOrigin) -> Option<policy_manifest::SessionFacts> {
        let cookie = self.cookie(own).ok()?;
        let same_site = self.same_site.as_str().to_ascii_lowercase();
        let mut facts = policy_manifest::SessionFacts::new(&self.kind, cookie.name(), &same_site);
        facts.moving = self.other.as_ref().map(|other| other.kind.clone().into_owned());
        facts.domain = self.domain.as_deref().map(str::to_owned);
        facts.partitioned = self.is_partitioned;
        let Timings { lifetime, remembered, renewal, .. } = self.timings;
        facts.idle_s = Some(lifetime.idle.as_secs());
        facts.absolute_s = Some(lifetime.absolute.as_secs());
        facts.remembered_idle_s = Some(remembered.idle.as_secs());
        facts.remembered_absolute_s = Some(remembered.absolute.as_secs());
        facts.renewal_s = renewal.map(|renewal| renewal.every.as_secs());
        let limit = self.limit.filter(|limit| limit.sessions != u32::MAX);
        facts.limit_per_user = limit.map(|limit| limit.sessions.into());
        facts.refuses_above_limit = limit.is_some_and(|it| it.policy == LimitPolicy::Deny);
        #[cfg(feature = "encryption")]
        {
            facts.encrypted = self.keys.is_some();
            facts.unencrypted_until_s = self.unencrypted_until.seconds();
        }
        facts.clear_site_data = self.clears_site_data;
        facts.login_page = self.login_page.as_deref().map(str::to_owned);
        Some(facts)
    }

    /// The name of the cookie in the manifest, and the name that includes the app's port.
    #[cfg(feature = "manifest")]
    pub(crate) fn cookie_names(&self, own: &OwnOrigin) -> Option<[String; 2]> {
        let name = |settings: &Self| Some(settings.cookie(own).ok()?.name().to_owned());
        Some([name(&Self { port: None, ..self.clone() })?, name(self)?])
    }

    /// The site of the app, if requests from pages of other sites carry no session cookie.
    pub(crate) fn cookie_site(&self, own: &OwnOrigin) -> Option<Site> {
        let OwnOrigin::Public(public) = own else { return None };
        self.cookie(own).ok()?.withheld()?;
        OriginPattern::parse(public.as_str()).ok().map(|origin| Site::from_origin(&origin))
    }

    /// The specification of the cookie under this origin.
    pub(super) fn cookie(&self, own: &OwnOrigin) -> Result<CookieSpec, CookieError> {
        let Self { name, domain, same_site, is_partitioned, .. } = self;
        let prefixed = if domain.is_some() { "__Secure-sid" } else { "__Host-sid" };
        let is_of_port = *own == OwnOrigin::Development
            && self.place.is_of_one_process()
            && self.other.is_none();
        let name = match (name, self.port.filter(|_| is_of_port)) {
            (Some(name), _) => name.clone(),
            (None, Some(port)) => Cow::Owned(format!("{prefixed}-{port}")),
            (None, None) => Cow::Borrowed(prefixed),
        };
        let spec = CookieSpec::new(name).path("/").secure().http_only().same_site(*same_site);
        let spec = if *is_partitioned { spec.partitioned() } else { spec };
        match domain {
            Some(domain) => spec.domain(domain.clone()).at(own),
            None => spec.at(own),
        }
    }
}

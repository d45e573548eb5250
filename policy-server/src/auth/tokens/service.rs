//! The token service of a running app.

use std::{fmt, sync::Arc, time::Duration};

use policy_core::{
    Refusal,
    auth::{OWN_ISSUER, is_scope},
    secret::SecretKey,
    session::{Handle, Identity},
    time::Timestamp,
    token::{
        NewClaims, OpaqueKind, OpaqueToken, RefreshKey, RevocationSet, RevocationStatus,
        TokenError, TokenNames, Verifier,
    },
};
use serde_json::{Map, Value};
use tokio::sync::OnceCell;

#[cfg(feature = "asym")]
use super::external::{Issuers, Own};
use super::{
    Caller, Issued, OnStale, TokenKeys, TokenSettings, Verified, foreign_issuer_of,
    revocation_cache::RevocationCache, scoped,
};
use crate::{
    auth::revocation_events::RevocationBus,
    base::{
        clock::{Clock, Random},
        error::StartProblem,
        escape::printable,
        event::log,
        problem::Problem,
    },
    store::{
        CreateFamily, Family, Refresh, Refreshed, Revocation, Revoked, StoreError, Ticket,
        TokenHash, TokenStore,
    },
};

/// How often the store is queried for revocations.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);
/// How often the store removes expired entries, and how many per step.
const PURGE_INTERVAL: Duration = Duration::from_secs(60);
const PURGED_AT_ONCE: usize = 1000;
/// The longest token: longer ones exceed the header limits of many servers.
pub(super) const MAX_LEN: usize = 4096;
/// Why an app with external issuers only issues no token.
pub(super) const SIGNS_NONE: &str = "this app signs no tokens: it has no keys";

/// Issues, refreshes, revokes and verifies the tokens of one app.
pub(crate) struct TokenService {
    issuer: Box<str>,
    audience: Box<str>,
    verifier: Verifier,
    /// `None` if the app signs no tokens.
    keys: Option<TokenKeys>,
    #[cfg(feature = "asym")]
    issuers: Issuers,
    revocation_cache: RevocationCache,
    on_stale: OnStale,
    lifetime: Duration,
    /// How long a token of any issuer can be accepted after its `iat`.
    longest: Duration,
    /// The largest leeway of all issuers.
    leeway: Duration,
    refresh_lifetime: Duration,
    refresh_grace: Duration,
    /// How often a family may be refreshed.
    refreshes: u32,
    store: Arc<dyn TokenStore>,
    /// Set once the store is open.
    refresh_key: OnceCell<RefreshKey>,
    clock: Clock,
    random: Random,
}

/// What an access token states besides its issuer and dates.
#[derive(Clone, Copy, Default)]
pub(super) struct Grant<'a> {
    pub(super) session: Option<&'a str>,
    pub(super) authenticated: Option<Timestamp>,
    /// The newest cut-off that the request knows.
    pub(super) cut_offs: Option<u64>,
    pub(super) custom: Option<&'a Map<String, Value>>,
}

impl TokenService {
    /// Checks the settings; opens nothing. `own_origin` is the default issuer and audience, `store`
    /// the default store.
    pub(crate) fn new(
        settings: TokenSettings,
        own_origin: &str,
        store: Arc<dyn TokenStore>,
        clock: Clock,
        random: Random,
        revocation_bus: RevocationBus,
    ) -> Result<Self, Vec<StartProblem>> {
        let profile = settings.profile(own_origin, MAX_LEN)?;
        let longest = settings.max_lifetime.saturating_add(settings.leeway);
        if let Some(keys) = &settings.keys {
            keys.set_timing(clock.clone(), longest);
        }
        #[cfg(feature = "asym")]
        let (longest, leeway) = settings.issuers.iter().fold(
            (longest, settings.leeway),
            |(longest, leeway), issuer| {
                (longest.max(issuer.longest()), leeway.max(issuer.widest_leeway()))
            },
        );
        #[cfg(not(feature = "asym"))]
        let leeway = settings.leeway;
        #[cfg(feature = "asym")]
        let own_issuer: Option<Box<str>> = settings.own_issuer(own_origin).map(Into::into);
        #[cfg(feature = "asym")]
        let issuers = Issuers::new(
            settings.issuers,
            &Own {
                issuer: own_issuer.as_deref(),
                audience: settings.audience.as_deref().unwrap_or(own_origin),
                origin: own_origin,
            },
            &clock,
            &random,
        )?;
        let revocations = RevocationSet::new(longest, settings.max_staleness);
        Ok(Self {
            issuer: settings.issuer.unwrap_or_else(|| own_origin.into()),
            audience: settings.audience.unwrap_or_else(|| own_origin.into()),
            verifier: Verifier::new(profile),
            keys: settings.keys,
            #[cfg(feature = "asym")]
            issuers,
            revocation_cache: RevocationCache::new(revocations, revocation_bus),
            on_stale: settings.on_stale,
            lifetime: settings.lifetime,
            longest,
            leeway,
            refresh_lifetime: settings.refresh_lifetime,
            refresh_grace: settings.refresh_grace,
            refreshes: refreshes(settings.refresh_lifetime, settings.lifetime),
            store: settings.store.unwrap_or(store),
            refresh_key: OnceCell::new(),
            clock,
            random,
        })
    }

    /// Opens the store and loads all revocations. Call it before the first request; a service whose
    /// store need not be awaited opens itself on first use.
    pub(crate) async fn open(&self) -> Result<(), StoreError> {
        self.refresh_key().await?;
        self.sync().await
    }

    /// Keeps the revocations up to date, and purges the store, for as long as it is polled.
    pub(crate) async fn run(&self) {
        let mut purge_at = self.clock.monotonic() + PURGE_INTERVAL;
        let mut is_in_touch = true;
        loop {
            let now = self.clock.now();
            let outcome = self.sync().await;
            match (&outcome, is_in_touch) {
                (Err(error), true) => {
                    let error = printable(&error.to_string());
                    log!(TokenStoreAway, %error);
                }
                (Ok(()), false) => log!(TokenStoreBack),
                _ => (),
            }
            is_in_touch = outcome.is_ok();
            self.forget(now).await;
            if is_in_touch && self.clock.monotonic() >= purge_at {
                self.purge(now).await;
                purge_at = self.clock.monotonic() + PURGE_INTERVAL;
            }
            self.clock.sleep(SYNC_INTERVAL).await;
        }
    }

    /// Queries the store for new revocations once.
    pub(crate) async fn sync(&self) -> Result<(), StoreError> {
        let asked = self.clock.monotonic();
        let batch = self.store.revocations(self.revocation_cache.sequence()).await?;
        self.revocation_cache.apply(batch, asked);
        Ok(())
    }

    /// Whether a route that names these issuers takes a token, or a ticket issued from one, of this
    /// issuer; `None` is the app itself.
    #[inline]
    pub(crate) fn takes(&self, issuers: &[&str], issuer: Option<&str>) -> bool {
        match issuer {
            None if issuers.is_empty() => true,
            None => issuers.iter().any(|taken| *taken == OWN_ISSUER || **taken == *self.issuer),
            Some(_) if issuers.is_empty() => issuer == self.only_issuer(),
            Some(issuer) => issuers.contains(&issuer),
        }
    }

    /// The only issuer of an app that signs no tokens.
    pub(crate) fn only_issuer(&self) -> Option<&str> {
        #[cfg(feature = "asym")]
        let only = self.issuers.only().filter(|_| self.keys.is_none());
        #[cfg(not(feature = "asym"))]
        let only = None;
        only
    }

    /// The name of the app in its own tokens.
    #[cfg(feature = "testing")]
    pub(crate) fn own_name(&self) -> &str {
        &self.issuer
    }

    /// Verifies an access token: the bytes after `Bearer `. `issuers` are those that the route
    /// names.
    #[inline]
    pub(crate) fn verify(
        &self,
        token: &[u8],
        issuers: &[&str],
        now: Timestamp,
    ) -> Result<Verified, TokenError> {
        let own = match &self.keys {
            Some(keys) => self.verifier.verify_owned(&keys.load(), token, now),
            None => Err(TokenError::UnknownKey),
        };
        let own = match own {
            Ok(own) => own,
            Err(fault) => return self.verify_foreign(token, issuers, now, fault),
        };
        if !self.takes(issuers, None) {
            return Err(TokenError::IssuerNotTaken);
        }
        let claims = own.claims();
        let user = scoped(None, claims.subject());
        self.check(claims.issued(), || TokenNames {
            id: claims.id(),
            session: claims.session(),
            user: &user,
            cut_offs: claims.cut_offs(),
        })?;
        Ok(Verified::own(own))
    }

    /// Verifies a token that this app's own keys refused with `fault`.
    #[cfg(feature = "asym")]
    #[cold]
    fn verify_foreign(
        &self,
        token: &[u8],
        issuers: &[&str],
        now: Timestamp,
        fault: TokenError,
    ) -> Result<Verified, TokenError> {
        let is_taken = |issuer: &str| self.takes(issuers, Some(issuer));
        let (token, identity) = self.issuers.verify(token, now, fault, is_taken)?;
        let token = Verified::foreign(token, identity);
        let claims = token.claims();
        let (id, user) = (token.scoped(claims.id()), token.scoped(token.subject()));
        let session = claims.session().map(|session| token.scoped(session));
        self.check(claims.issued(), || TokenNames {
            id: &id,
            session: session.as_deref(),
            user: &user,
            cut_offs: None,
        })?;
        Ok(token)
    }

    /// Without the feature there are no external issuers.
    #[cfg(not(feature = "asym"))]
    fn verify_foreign(
        &self,
        _token: &[u8],
        _issuers: &[&str],
        _now: Timestamp,
        fault: TokenError,
    ) -> Result<Verified, TokenError> {
        Err(fault)
    }

    /// Fetches the keys of all issuers that publish them once. Failures are logged and retried by
    /// [`keep_keys`](Self::keep_keys).
    #[cfg(feature = "asym")]
    pub(crate) async fn fetch_keys(&self) {
        let mut all = tokio::task::JoinSet::new();
        for published in self.issuers.published() {
            let published = Arc::clone(published);
            all.spawn(async move { published.refresh().await });
        }
        all.join_all().await;
    }

    /// Keeps the keys of all issuers up to date: one future for each.
    #[cfg(feature = "asym")]
    pub(crate) fn keep_keys(
        &self,
    ) -> impl Iterator<Item = impl Future<Output = ()> + Send + use<>> {
        self.issuers.published().map(|published| {
            let published = Arc::clone(published);
            async move { published.run().await }
        })
    }

    /// Whether a token issued at that time is not revoked; `None` if that is not known.
    pub(crate) fn holds(&self, names: TokenNames<'_>, issued: Timestamp) -> Option<bool> {
        match self.check(issued, || names) {
            Err(TokenError::Revoked) => Some(false),
            Err(TokenError::StoreUnavailable) => None,
            _ => Some(true),
        }
    }

    /// Whether something issued at that time is still valid.
    #[inline]
    fn check<'a>(
        &self,
        issued: Timestamp,
        names: impl Fn() -> TokenNames<'a>,
    ) -> Result<(), TokenError> {
        let now = self.clock.monotonic();
        match self.revocation_cache.standing(issued, now, &names) {
            RevocationStatus::Good => Ok(()),
            RevocationStatus::Revoked => Err(TokenError::Revoked),
            RevocationStatus::Stale => self.check_stale(issued, now, names()),
        }
    }

    /// A store in this process is never stale, since it need not be awaited.
    #[cold]
    fn check_stale(
        &self,
        issued: Timestamp,
        now: Duration,
        names: TokenNames<'_>,
    ) -> Result<(), TokenError> {
        if let Ok(Ok(batch)) = self.store.revocations(self.revocation_cache.sequence()).now() {
            self.revocation_cache.apply(batch, now);
        }
        match self.revocation_cache.standing(issued, now, || names) {
            RevocationStatus::Good => Ok(()),
            RevocationStatus::Stale if self.on_stale == OnStale::Allow => Ok(()),
            RevocationStatus::Stale => Err(TokenError::StoreUnavailable),
            RevocationStatus::Revoked => Err(TokenError::Revoked),
        }
    }

    /// Signs an access token whose `iat` is `issued`.
    pub(super) fn issue(
        &self,
        identity: &Identity,
        issued: Timestamp,
        grant: Grant<'_>,
    ) -> Result<Issued, Problem> {
        if let Some(scope) = identity.scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(Problem::internal(format!(
                "`{scope}` is not a valid scope (RFC 6749 3.3)"
            )));
        }
        let scope = identity.scopes.join(" ");
        let roles: Vec<&str> = identity.roles.iter().map(|role| &**role).collect();
        let keys = self.keys.as_ref().ok_or_else(|| Problem::internal(SIGNS_NONE))?;
        let id = Handle(self.draw()?).to_string();
        let expires = issued.after(self.lifetime);
        let mut claims =
            NewClaims::new(&self.issuer, &self.audience, &identity.subject, &id, issued);
        claims.expires = expires;
        claims.scope = Some(&*scope).filter(|scope| !scope.is_empty());
        claims.session = grant.session;
        // Sessions go on by their own time where the clock was set back.
        claims.authenticated = grant.authenticated.map(|at| at.min(issued));
        claims.roles = &roles;
        claims.cut_offs = grant.cut_offs;
        claims.custom = grant.custom;
        let now = self.clock.now();
        let access_token = keys.load().sign(&claims, now).map_err(Problem::internal)?;
        if access_token.len() > MAX_LEN {
            return Err(Problem::internal(format!("a token has at most {MAX_LEN} bytes")));
        }
        Ok(Issued { access_token, refresh_token: None, id: id.into(), issued, expires })
    }

    /// An access token as of a login at `authenticated`, if it states that.
    #[cfg(feature = "testing")]
    pub(crate) fn mint(
        &self,
        identity: &Identity,
        issued: Timestamp,
        authenticated: Option<Timestamp>,
    ) -> Result<String, Problem> {
        let cut_offs = Some(self.newest_cut_off());
        let grant = Grant { authenticated, cut_offs, ..Grant::default() };
        self.issue(identity, issued, grant).map(|issued| issued.access_token)
    }

    /// A ticket of a user who logged in at `authenticated`, as if issued from a token of this
    /// external issuer, if there is one.
    #[cfg(feature = "testing")]
    pub(crate) async fn mint_ticket(
        &self,
        identity: Identity,
        authenticated: Option<Timestamp>,
        issuer: Option<&str>,
    ) -> Result<String, Problem> {
        let expires = self.clock.now().after(self.lifetime);
        let token = issuer.map(|issuer| (scoped(Some(issuer), "probe").into(), expires));
        let caller = Caller { identity, authenticated, session: None, token };
        self.put_ticket(caller, self.newest_cut_off()).await
    }

    /// How long an access token is accepted, with all leeway.
    #[cfg(feature = "testing")]
    pub(crate) fn longest(&self) -> Duration {
        self.longest
    }

    /// The `iat` of something issued to a user now.
    pub(super) fn issue_time(&self, user: &str) -> Timestamp {
        self.revocation_cache.issue_time(&scoped(None, user), self.clock.now())
    }

    /// The position of the newest revocation that this process knows.
    pub(crate) fn newest_cut_off(&self) -> u64 {
        self.revocation_cache.newest()
    }

    /// Refuses what a request that knows `cut_offs` grants, if its user was cut off since, who is in
    /// the form that revocations use.
    pub(super) fn check_cut_offs(&self, user: &str, cut_offs: u64) -> Result<(), Problem> {
        if self.revocation_cache.is_cut_off(user, cut_offs) {
            return Err(Refusal::SessionEnded.into());
        }
        Ok(())
    }

    /// Begins a family of refresh tokens, in a session or outside of one, for a request that knows
    /// `cut_offs`; `None` if its user was cut off since.
    pub(super) async fn login(
        &self,
        identity: Identity,
        session: Option<Handle>,
        cut_offs: u64,
    ) -> Result<Option<Issued>, Problem> {
        self.refresh_key().await.map_err(unavailable)?;
        let now = self.clock.now();
        let token = OpaqueToken::drawn(OpaqueKind::Refresh, self.draw()?);
        let family = Family {
            id: self.draw()?,
            identity,
            authenticated: now,
            expires: now.after(self.refresh_lifetime),
            session,
        };
        let issued = self.issue_time(&family.identity.subject);
        let response = self.issue_for(&family, issued, &token, cut_offs)?;
        let request = CreateFamily::new(family, TokenHash(token.hash()), cut_offs);
        let is_granted = self.store.create_family(request).await.map_err(unavailable)?;
        Ok(is_granted.then_some(response))
    }

    /// Exchanges a refresh token.
    pub(super) async fn refresh(&self, text: &str, cut_offs: u64) -> Result<Issued, Problem> {
        let key = self.refresh_key().await.map_err(unavailable)?;
        let refused = || Problem::from(Refusal::RefreshRefused);
        let token = OpaqueToken::parse(OpaqueKind::Refresh, text).ok_or_else(refused)?;
        let successor = key.successor(&token);
        let now = self.clock.now();
        let hashes = (TokenHash(token.hash()), TokenHash(successor.hash()));
        let request = Refresh::new(hashes.0, hashes.1, self.refresh_grace, now);
        let outcome = self.store.refresh(request.limit(self.refreshes)).await;
        match outcome.map_err(unavailable)? {
            Refreshed::Done(family) | Refreshed::Again(family) => {
                let issued = self.issue_time(&family.identity.subject);
                self.issue_for(&family, issued, &successor, cut_offs)
            }
            Refreshed::Reused(family) => {
                log!(
                    RefreshReuse,
                    user = %printable(&family.identity.subject),
                    family = %Handle(family.id),
                );
                self.end_access(&family).await?;
                Err(refused())
            }
            Refreshed::Dead | Refreshed::Unknown => Err(refused()),
        }
    }

    /// Ends the family of a refresh token. Returns whether it was live.
    pub(super) async fn logout(&self, text: &str) -> Result<bool, Problem> {
        self.refresh_key().await.map_err(unavailable)?;
        let Some(token) = OpaqueToken::parse(OpaqueKind::Refresh, text) else { return Ok(false) };
        let family = self.store.end_family(TokenHash(token.hash())).await;
        if family.is_err() {
            // A store may know of what it could not write.
            let _ = self.sync().await;
        }
        match family.map_err(unavailable)? {
            Some(family) => self.end_access(&family).await.map(|()| true),
            None => Ok(false),
        }
    }

    /// Revokes one token, which expires at that time.
    pub(super) async fn revoke_token(&self, id: &str, expires: Timestamp) -> Result<(), Problem> {
        let until = expires.after(self.leeway);
        let revocation = Revocation::Token { id: id.into(), until };
        self.revoke(revocation).await.map(drop).map_err(unavailable)
    }

    /// Revokes everything issued to a user of this app.
    pub(crate) async fn cut_off(&self, user: &str) -> Result<Revoked, StoreError> {
        let scoped = scoped(None, user);
        if *scoped != *user {
            // Families have the name of their user as it is.
            self.cut_scoped_off(&scoped).await?;
        }
        self.cut_scoped_off(user).await
    }

    /// Revokes everything issued to a user, who is in the form that revocations use.
    pub(super) async fn cut_scoped_off(&self, user: &str) -> Result<Revoked, StoreError> {
        let before = self.revocation_cache.cut_off(user, self.clock.now());
        self.revoke(Revocation::User { user: user.into(), before }).await
    }

    /// Revokes everything issued to anyone.
    pub(crate) async fn cut_everyone_off(&self) -> Result<Revoked, StoreError> {
        let before = self.revocation_cache.cut_off_of_all(self.clock.now());
        self.revoke(Revocation::Everyone { before }).await
    }

    /// Revokes every access token and ticket issued until now.
    pub(crate) async fn revoke_all(&self) -> Result<Revoked, StoreError> {
        let before = self.revocation_cache.cut_off_of_all(self.clock.now());
        self.revoke(Revocation::All { before }).await
    }

    /// Revokes what was issued in a session that ended. Returns how many families ended.
    pub(crate) async fn end_session(&self, user: &str, session: Handle) -> Result<u64, StoreError> {
        let until = self.issue_time(user).after(self.longest);
        let revocation = Revocation::Session { user: user.into(), session, until };
        let ended = self.revoke(revocation).await?.families;
        for family in &ended {
            let id = Handle(*family).to_string().into();
            self.revoke(Revocation::Token { id, until }).await?;
        }
        Ok(ended.len() as u64)
    }

    pub(super) fn keys(&self) -> Option<&TokenKeys> {
        self.keys.as_ref()
    }

    /// Issues a ticket to the caller of a request that knows `cut_offs`.
    pub(super) async fn put_ticket(
        &self,
        caller: Caller,
        cut_offs: u64,
    ) -> Result<String, Problem> {
        self.refresh_key().await.map_err(unavailable)?;
        self.check_cut_offs(&caller.user(), cut_offs)?;
        let token = OpaqueToken::drawn(OpaqueKind::Ticket, self.draw()?);
        let made = self.revocation_cache.issue_time(&caller.user(), self.clock.now());
        let ticket = Ticket {
            // Everything that a cut-off of this second covers was issued before it.
            expires: made.after(Ticket::LIFETIME),
            identity: caller.identity,
            authenticated: caller.authenticated,
            session: caller.session,
            token: caller.token,
            cut_offs,
        };
        self.store.put_ticket(TokenHash(token.hash()), ticket).await.map_err(unavailable)?;
        Ok(token.text())
    }

    /// Redeems a ticket: only the first call gets it, and none if its user or token was revoked
    /// since it was issued.
    pub(crate) async fn take_ticket(&self, text: &str) -> Result<Option<Ticket>, StoreError> {
        let Some(token) = OpaqueToken::parse(OpaqueKind::Ticket, text) else { return Ok(None) };
        self.refresh_key().await?;
        let now = self.clock.now();
        let ticket = self.store.take_ticket(TokenHash(token.hash()), now).await?;
        let Some(ticket) = ticket else { return Ok(None) };
        let made = ticket.made();
        let id = ticket.token.as_ref().map_or("", |(id, _)| id);
        let session = ticket.session.map(|session| session.to_string());
        let user = scoped(foreign_issuer_of(id), &ticket.identity.subject);
        let cut_offs = Some(ticket.cut_offs);
        let names = || TokenNames { id, session: session.as_deref(), user: &user, cut_offs };
        match self.check(made, names) {
            Ok(()) => Ok(Some(ticket)),
            Err(TokenError::StoreUnavailable) => {
                Err(StoreError::new("the revocations are out of date"))
            }
            Err(_) => Ok(None),
        }
    }

    /// An access token of a family, with its refresh token.
    fn issue_for(
        &self,
        family: &Family,
        issued: Timestamp,
        refresh: &OpaqueToken,
        cut_offs: u64,
    ) -> Result<Issued, Problem> {
        self.check_cut_offs(&scoped(None, &family.identity.subject), cut_offs)?;
        let session = Handle(family.id).to_string();
        let authenticated = Some(family.authenticated);
        let cut_offs = Some(cut_offs);
        let grant = Grant { session: Some(&session), authenticated, cut_offs, custom: None };
        let response = self.issue(&family.identity, issued, grant)?;
        Ok(Issued { refresh_token: Some(refresh.text()), ..response })
    }

    /// Revokes the access tokens of a family that ended.
    async fn end_access(&self, family: &Family) -> Result<(), Problem> {
        let until = self.issue_time(&family.identity.subject).after(self.longest);
        let id = Handle(family.id).to_string().into();
        let revocation = Revocation::Token { id, until };
        self.revoke(revocation).await.map(drop).map_err(unavailable)
    }

    /// Revokes in the store first, then in this process: here also if the store fails, since what
    /// was to lose its rights must not go on where that can be helped.
    async fn revoke(&self, revocation: Revocation) -> Result<Revoked, StoreError> {
        let stored = match self.refresh_key().await {
            Ok(_) => self.store.revoke(revocation.clone()).await,
            Err(error) => Err(error),
        };
        let position = stored.as_ref().ok().map(|revoked| revoked.position);
        self.revocation_cache.revoke(position, revocation);
        stored
    }

    /// Whether the store can write at the moment.
    pub(crate) fn is_writable(&self) -> bool {
        self.store.is_writable()
    }

    /// The key of refresh tokens; opens the store if needed.
    async fn refresh_key(&self) -> Result<&RefreshKey, StoreError> {
        let open = || async {
            self.store.open().await?;
            let fresh = self.random.draw().map_err(|error| StoreError::new(error.to_string()))?;
            let secret = self.store.secret(fresh).await?;
            Ok(RefreshKey::new(&SecretKey::drawn(secret)))
        };
        self.refresh_key.get_or_try_init(open).await
    }

    /// Drops the known revocations that cover no live token any more, however many they are: in
    /// small steps, so that no request waits long for the lock.
    pub(super) async fn forget(&self, now: Timestamp) {
        while self.revocation_cache.forget(now) {
            tokio::task::yield_now().await;
        }
    }

    pub(super) async fn purge(&self, now: Timestamp) {
        while self.store.purge(now, PURGED_AT_ONCE).await.is_ok_and(|gone| gone == PURGED_AT_ONCE) {
            // A store that never waits would otherwise not let other tasks run.
            tokio::task::yield_now().await;
        }
    }

    fn draw<const N: usize>(&self) -> Result<[u8; N], Problem> {
        self.random.draw().map_err(|error| Problem::internal(error.to_string()))
    }

    #[cfg(test)]
    pub(super) fn revocations(&self) -> usize {
        self.revocation_cache.len()
    }
}

impl fmt::Debug for TokenService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenService").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// How often a family may be refreshed: twice as often as its access tokens expire, and some more.
/// Its used tokens are stored as long as it lives.
fn refreshes(family: Duration, access: Duration) -> u32 {
    let needed = family.as_secs() / access.as_secs().max(1);
    u32::try_from(needed.saturating_mul(2).saturating_add(100)).unwrap_or(u32::MAX)
}

/// 503: the client keeps its credential and retries.
#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
pub(super) fn unavailable(error: StoreError) -> Problem {
    log!(TokenStoreFailed, error = %printable(&error.to_string()));
    Problem::from(Refusal::TokenStoreUnavailable)
}

//! The token service of a running app.

mod issuing;
mod revoking;
mod tickets;
mod verification;

use std::{fmt, sync::Arc, time::Duration};

use policy_core::{
    secret::SecretKey,
    session::Handle,
    time::Timestamp,
    token::{RefreshKey, RevocationSet, Verifier},
};
use tokio::{join, select, sync::OnceCell};

pub(super) use self::issuing::Grant;
#[cfg(feature = "asym")]
use super::external::{Issuers, Own};
use super::{
    OnStale, TokenKeys, TokenSettings, revocation_cache::RevocationCache,
    unstored::UnstoredRevocations,
};
use crate::{
    auth::{
        CredentialError,
        revocation_events::RevocationBus,
        store_era::{OTHER_SECRET, StoreEra},
    },
    base::{
        clock::{Clock, Random},
        error::StartProblem,
        escape::printable,
        event::log,
    },
    store::{News, Revocation, StoreError, Ticket, TokenStore, news::Hints},
};

/// How often the store is queried for revocations.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);
/// How often the store removes expired entries, and how many per step.
const PURGE_INTERVAL: Duration = Duration::from_secs(60);
const PURGED_AT_ONCE: usize = 1000;
/// The longest token: longer ones exceed the header limits of many servers.
pub(super) const MAX_LEN: usize = 4096;
/// Why an app that has only external issuers issues no token.
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
    unstored: UnstoredRevocations,
    on_stale: OnStale,
    lifetime: Duration,
    /// How long a token of any issuer, or a ticket, can be accepted after a cut-off that covers it.
    longest: Duration,
    /// The largest leeway of all issuers.
    leeway: Duration,
    refresh_lifetime: Duration,
    refresh_grace: Duration,
    /// How often a family may be refreshed.
    refreshes: u32,
    store: Arc<dyn TokenStore>,
    /// Set once the store is open.
    refresh_key: OnceCell<(SecretKey, RefreshKey)>,
    era: StoreEra,
    clock: Clock,
    random: Random,
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
        // The clock of the instance that issued it may be ahead, by the leeway at most.
        let longest = longest.max(Ticket::LIFETIME).saturating_add(leeway);
        #[cfg(feature = "asym")]
        let own_issuer: Option<Box<str>> = settings.own_issuer(own_origin).map(Into::into);
        #[cfg(feature = "asym")]
        let issuers = Issuers::new(
            settings.issuers,
            &Own {
                issuer: own_issuer.as_deref(),
                audience: settings.audience.as_deref().unwrap_or(own_origin),
                // Every public origin uses TLS.
                is_development: own_origin.starts_with("http:"),
                clock: &clock,
                random: &random,
            },
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
            unstored: UnstoredRevocations::new(settings.refresh_lifetime),
            on_stale: settings.on_stale,
            lifetime: settings.lifetime,
            longest,
            leeway,
            refresh_lifetime: settings.refresh_lifetime,
            refresh_grace: settings.refresh_grace,
            refreshes: refreshes(settings.refresh_lifetime, settings.lifetime),
            store: settings.store.unwrap_or(store),
            refresh_key: OnceCell::new(),
            era: StoreEra::new(),
            clock,
            random,
        })
    }

    /// Opens the store and loads all revocations. Call it before the first request; a service whose
    /// store responds without waiting opens itself on first use.
    pub(crate) async fn open(&self) -> Result<(), StoreError> {
        self.refresh_key().await?;
        self.sync().await
    }

    /// Keeps the revocations up to date here and in the store, and purges the store, for as long as it
    /// is polled.
    pub(crate) async fn run(&self) {
        join!(self.follow(), self.keep_storing());
    }

    /// Stores what the store did not take. It does not hold up [`follow`](Self::follow): the tokens of
    /// an instance that reads no revocations become stale.
    async fn keep_storing(&self) {
        loop {
            self.clock.sleep(SYNC_INTERVAL).await;
            // What fails is tried again at the next turn.
            let _ = self.store_rest().await;
        }
    }

    /// Reads the revocations of others, and purges the store.
    async fn follow(&self) {
        let mut purge_at = self.clock.monotonic() + PURGE_INTERVAL;
        let mut is_in_touch = true;
        let mut hints = Hints::new(self.store.news());
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
            select! {
                () = self.clock.sleep(SYNC_INTERVAL) => (),
                () = hints.next(|news| *news == News::Revocation) => (),
            }
        }
    }

    /// Keeps the app's own keys in step with their file; `None` without a file.
    pub(crate) fn follow_keys(&self) -> Option<impl Future<Output = ()> + use<>> {
        self.keys.as_ref()?.follow(&self.clock)
    }

    /// Queries the store for new revocations once.
    pub(crate) async fn sync(&self) -> Result<(), StoreError> {
        let query_time = self.clock.monotonic();
        let batch = self.store.revocations(self.revocation_cache.sequence()).await?;
        let newest = batch.sequence;
        self.era.catch_up(newest, "tokens", self.revoke_again(query_time)).await?;
        self.revocation_cache.apply(batch, query_time);
        // At the start.
        self.era.has_caught_up(newest);
        Ok(())
    }

    /// Stores again the revocations that the store has lost, and reads everything again. Known
    /// revocations stay in effect.
    async fn revoke_again(&self, query_time: Duration) -> Result<(), StoreError> {
        if let Some((secret, _)) = self.refresh_key.get()
            && let Some(secret) = secret.bytes().first_chunk()
            && self.store.secret(*secret).await? != *secret
        {
            return Err(StoreError::new(OTHER_SECRET));
        }
        let stored = self.store.revocations(0).await?;
        for lost in self.revocation_cache.besides(&stored) {
            if let Revocation::Token { id, .. } = &lost
                && let Some(family) = Handle::parse(id)
            {
                // The access tokens of a family that ended are revoked by its id.
                self.store.end_family_by_id(family.0).await?;
            }
            let revoked = self.store.revoke(lost.clone()).await?;
            self.apply(lost, Some(&revoked));
        }
        self.revocation_cache.apply(stored, query_time);
        Ok(())
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

    /// Fetches the published keys of all issuers once. Failures are logged and retried by
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

    /// How long an access token is accepted at most, with all leeway.
    #[cfg(feature = "testing")]
    pub(crate) fn longest(&self) -> Duration {
        self.longest
    }

    pub(super) fn keys(&self) -> Option<&TokenKeys> {
        self.keys.as_ref()
    }

    /// Whether the store is writable now, and this process has read its current state.
    pub(crate) fn is_writable(&self) -> bool {
        self.store.is_writable() && !self.era.is_behind()
    }

    /// The key of refresh tokens; opens the store if needed.
    async fn refresh_key(&self) -> Result<&RefreshKey, StoreError> {
        let open = || async {
            self.store.open().await?;
            let fresh = self.random.draw().map_err(|error| StoreError::new(error.to_string()))?;
            let secret = SecretKey::from_bytes(self.store.secret(fresh).await?);
            let key = RefreshKey::new(&secret);
            Ok((secret, key))
        };
        self.refresh_key.get_or_try_init(open).await.map(|(_, key)| key)
    }

    /// Drops all known revocations that no longer cover a live token, in small steps, so that no
    /// request waits long for the lock.
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

    fn draw<const N: usize>(&self) -> Result<[u8; N], CredentialError> {
        self.random.draw().map_err(CredentialError::invalid)
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

//! The session state that all requests of an app share.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use policy_core::{
    cookie::{CookieSpec, SameSite},
    csrf::CsrfKey,
    head::OwnOrigin,
    secret::SecretKey,
    session::{Handle, Identity, SessionId, SessionKey, SuccessorKey, Timings},
    time::Timestamp,
};

use super::SessionSettings;
#[cfg(feature = "encryption")]
use crate::store::sealed::SealedStore;
use crate::{
    auth::{
        revocation_events::{RevocationBus, RevocationEvent},
        store_era::{EndedSessions, OTHER_SECRET, RecentEndings, StoreEra},
    },
    base::{
        clock::{Clock, Random, RandomError},
        error::StartProblem,
        event::count::{Count, count},
    },
    store::{CutOff, Limit, Loaded, News, RevokeUser, SessionStore, StoreError, StoreFuture},
};

/// The session service of a running app.
#[derive(Debug)]
pub(crate) struct SessionService {
    pub(crate) store: Arc<dyn SessionStore>,
    pub(super) timings: Timings,
    pub(super) limit: Option<Limit>,
    pub(crate) cookie: CookieSpec,
    login_page: Option<Cow<'static, str>>,
    /// Whether the app has no public origin.
    is_development: bool,
    /// Whether browsers delete their stored data of the app when a session ends.
    pub(super) clears_site_data: bool,
    pub(super) successor: SuccessorKey,
    pub(crate) csrf: CsrfKey,
    pub(crate) clock: Clock,
    pub(super) random: Random,
    pub(super) revocation_bus: RevocationBus,
    newest_cut_off: AtomicU64,
    /// When this process read the newest cut-off, in milliseconds of the monotonic clock; 0 at the
    /// start.
    cut_off_learned: AtomicU64,
    secret: [u8; 32],
    era: StoreEra,
    recent: RecentEndings,
}

/// The name of the store in the log.
const SESSIONS: &str = "sessions";

/// How long after a cut-off its notifications are believed: a query of the store may find the
/// cut-off before they arrive.
const JUST_NOW: Duration = Duration::from_secs(3);

impl SessionService {
    /// Opens the store and reads the keys from it. Check the settings first.
    pub(crate) async fn open(
        settings: SessionSettings,
        own: &OwnOrigin,
        clock: Clock,
        random: Random,
        revocation_bus: RevocationBus,
    ) -> Result<Self, StartProblem> {
        let failed = |error: StoreError| error.at_start("sessions");
        let cookie = settings.cookie(own).map_err(StoreError::new).map_err(failed)?;
        let store = settings.session_store(&random)?;
        #[cfg(feature = "encryption")]
        let store = match &settings.keys {
            Some(keys) => {
                let until = settings.unencrypted_until;
                let sealed =
                    SealedStore::new(store, keys, until, random.clone()).map_err(failed)?;
                Arc::new(sealed) as Arc<dyn SessionStore>
            }
            None => store,
        };
        let SessionSettings { timings, limit, login_page, clears_site_data, .. } = settings;
        store.open().await.map_err(failed)?;
        learn_time(&*store, &clock).await.map_err(failed)?;
        let fresh = random.draw().map_err(StoreError::new).map_err(failed)?;
        let stored = store.secret(fresh).await.map_err(failed)?;
        let secret = SecretKey::from_bytes(stored);
        let newest = store.cut_offs().await.map_err(failed)?;
        let era = StoreEra::new();
        era.has_caught_up(newest);
        Ok(Self {
            successor: SuccessorKey::new(&secret),
            csrf: CsrfKey::new(&secret.derive("csrf")),
            store,
            timings,
            limit,
            cookie,
            login_page,
            is_development: *own == OwnOrigin::Development,
            clears_site_data,
            clock,
            random,
            revocation_bus,
            newest_cut_off: AtomicU64::new(newest),
            cut_off_learned: AtomicU64::new(0),
            secret: stored,
            era,
            recent: RecentEndings::default(),
        })
    }

    /// The name of the session cookie.
    pub(crate) fn cookie_name(&self) -> &str {
        self.cookie.name()
    }

    /// The `SameSite` by which browsers withhold the cookie from pages of other sites, if they do.
    pub(crate) fn withheld(&self) -> Option<SameSite> {
        self.cookie.withheld()
    }

    /// Why the session cookie of a request may belong to no login, for developers.
    pub(crate) fn explain_no_login(&self) -> Option<String> {
        self.is_development.then(|| {
            format!(
                "the cookie `{}` was sent, but it names no login of this app: nobody has logged in \
                 with it, its session ended, the app was restarted with sessions in memory, or another \
                 app on this host set it, for which there is `SessionSettings::cookie_name`",
                self.cookie_name()
            )
        })
    }

    /// The page to which navigations without a session are redirected.
    pub(crate) fn login_page(&self) -> Option<&str> {
        self.login_page.as_deref()
    }

    /// Whether a session of a user is live, and still has these rights.
    pub(crate) async fn lives(
        &self,
        identity: &Identity,
        handle: Handle,
    ) -> Result<bool, StoreError> {
        let present = self.identity(&identity.subject, handle).await?;
        Ok(present.is_some_and(|present| has_rights(&present, identity)))
    }

    async fn identity(&self, user: &str, handle: Handle) -> Result<Option<Identity>, StoreError> {
        let era = self.era.check()?;
        let identity = self.store.identity(user, handle, self.clock.steady()).await?;
        self.era.is_still(era)?;
        Ok(identity)
    }

    /// Whether a handle names a live session of a user, or one that this process ended: an end
    /// that failed half-way is repeated.
    pub(crate) async fn knows(&self, user: &str, handle: Handle) -> Result<bool, StoreError> {
        Ok(self.recent.has_ended(user, handle) || self.identity(user, handle).await?.is_some())
    }

    /// The live session of a key.
    pub(super) fn load<'a>(
        &'a self,
        key: &'a SessionKey,
        now: Timestamp,
    ) -> StoreFuture<'a, Option<Loaded>> {
        let era = match self.era.check() {
            Ok(era) => era,
            Err(error) => return StoreFuture::ready(Err(error)),
        };
        match self.store.load(key, now).into_ready() {
            Ok(loaded) => StoreFuture::ready(loaded),
            Err(load) => StoreFuture::new(async move {
                let loaded = load.await?;
                self.era.is_still(era)?;
                Ok(loaded)
            }),
        }
    }

    /// The newest cut-off that this process knows.
    pub(crate) fn newest_cut_off(&self) -> u64 {
        self.newest_cut_off.load(Ordering::Acquire)
    }

    /// Queries the store for its time, and for the newest cut-off, which another process may have made.
    /// If no notification announced it, open streams query the store too.
    pub(crate) async fn learn_cut_offs(&self) -> Result<(), StoreError> {
        learn_time(&*self.store, &self.clock).await?;
        let newest = self.store.cut_offs().await?;
        // Must come first: from then on, no session is accepted that the store restored.
        self.era.is_over(newest, SESSIONS);
        if self.note_cut_off(newest) {
            self.revocation_bus.publish(RevocationEvent::Missed);
        }
        self.era.catch_up(newest, SESSIONS, self.end_again()).await
    }

    /// Repeats the recent endings of sessions by this process, since the store may have lost them.
    pub(super) async fn end_again(&self) -> Result<(), StoreError> {
        if self.store.secret(self.secret).await? != self.secret {
            return Err(StoreError::new(OTHER_SECRET));
        }
        let now = self.clock.steady();
        for ended in self.recent.all() {
            match ended {
                EndedSessions::One { user, handle } => {
                    self.store.delete_by_handle(&user, handle).await?;
                }
                EndedSessions::OfUser { user, keep } => {
                    self.note(
                        self.store.revoke_user(RevokeUser::new(&user, now).keep(keep)).await?,
                    );
                }
                EndedSessions::All => drop(self.note(self.store.revoke_everyone(now).await?)),
            }
        }
        self.revocation_bus.publish(RevocationEvent::Missed);
        Ok(())
    }

    /// Whether the store is writable now, and this process has read its current state.
    pub(crate) fn is_writable(&self) -> bool {
        self.store.is_writable() && !self.era.is_behind()
    }

    /// Remembers ended sessions, in case the store loses their end.
    pub(super) fn remember(&self, ended: EndedSessions) {
        self.recent.remember(ended, self.clock.steady());
    }

    /// Passes notifications of the store on to the streams of this process, as hints for which the
    /// streams query the store: more clients can send notifications than can end sessions. Those of
    /// a cut-off are believed only shortly after a cut-off in the store, which ended these sessions
    /// or changed their rights. Returns whether the store was queried.
    pub(crate) async fn hear(&self, heard: Vec<News>) -> bool {
        let is_cut_off = |news: &News| matches!(news, News::SessionsOf { .. } | News::AllSessions);
        let asks = heard.iter().any(is_cut_off);
        if asks && let Ok(newest) = self.store.cut_offs().await {
            self.era.is_over(newest, SESSIONS);
            self.note_cut_off(newest);
        }
        let was_cut_off = self.had_cut_off();
        for news in heard {
            let event = match news {
                News::Session(handle) => {
                    RevocationEvent::Hint(RevocationEvent::Session(handle).into())
                }
                News::SessionsOf { user, keep } => {
                    let event = RevocationEvent::SessionsOf { user, keep };
                    if was_cut_off { event } else { RevocationEvent::Hint(event.into()) }
                }
                News::AllSessions if was_cut_off => RevocationEvent::AllSessions,
                News::AllSessions | News::Missed => RevocationEvent::Missed,
                News::Revocation | News::Value(_) => continue,
            };
            self.revocation_bus.publish(event);
        }
        asks
    }

    /// Whether this process learned of a new cut-off in the last few seconds.
    fn had_cut_off(&self) -> bool {
        let last = Duration::from_millis(self.cut_off_learned.load(Ordering::Acquire));
        last > Duration::ZERO && self.clock.monotonic().saturating_sub(last) < JUST_NOW
    }

    /// Records the newest cut-off of the store. Returns whether it is new to this process.
    fn note_cut_off(&self, newest: u64) -> bool {
        let is_new = self.newest_cut_off.fetch_max(newest, Ordering::AcqRel) < newest;
        if is_new {
            let now = u64::try_from(self.clock.monotonic().as_millis()).unwrap_or(u64::MAX);
            self.cut_off_learned.store(now.max(1), Ordering::Release);
        }
        is_new
    }

    /// Ends one session, and returns whether it was live.
    pub(crate) async fn end(&self, user: &str, handle: Handle) -> Result<bool, StoreError> {
        self.remember(EndedSessions::One { user: user.into(), handle });
        let lived = self.store.delete_by_handle(user, handle).await;
        count(Count::Revocation("session"));
        // Streams end even if this failed: a client can open a stream again.
        self.revocation_bus.publish(RevocationEvent::Session(handle));
        lived
    }

    /// Ends the sessions of a user, except one.
    pub(crate) async fn cut_off(
        &self,
        user: &str,
        keep: Option<&(SessionKey, Handle)>,
    ) -> Result<CutOff, StoreError> {
        let key = keep.map(|(key, _)| *key);
        self.remember(EndedSessions::OfUser { user: user.into(), keep: key });
        let request = RevokeUser::new(user, self.clock.steady()).keep(key);
        let cut = self.store.revoke_user(request).await;
        count(Count::Revocation("sessions_of_user"));
        let keep = keep.map(|(_, handle)| *handle);
        self.revocation_bus.publish(RevocationEvent::SessionsOf { user: user.into(), keep });
        cut.map(|cut| self.note(cut))
    }

    /// Ends the sessions of all users.
    pub(crate) async fn cut_everyone_off(&self) -> Result<CutOff, StoreError> {
        self.remember(EndedSessions::All);
        let cut = self.store.revoke_everyone(self.clock.steady()).await;
        count(Count::Revocation("all_sessions"));
        self.revocation_bus.publish(RevocationEvent::AllSessions);
        cut.map(|cut| self.note(cut))
    }

    /// Gives all sessions of a user this tenant, roles and scopes. Streams end, since they began with
    /// the old ones.
    pub(crate) async fn change_rights(&self, identity: &Identity) -> Result<CutOff, StoreError> {
        let user = &*identity.subject;
        // If the store loses this change, the sessions end: their rights may have changed since.
        self.remember(EndedSessions::OfUser { user: user.into(), keep: None });
        let request = RevokeUser::new(user, self.clock.steady()).rights(identity);
        let cut = self.store.revoke_user(request).await;
        let user = user.into();
        self.revocation_bus.publish(RevocationEvent::SessionsOf { user, keep: None });
        cut.map(|cut| self.note(cut))
    }

    fn note(&self, cut: CutOff) -> CutOff {
        self.note_cut_off(cut.number);
        cut
    }

    pub(super) fn draw_id(&self) -> Result<SessionId, RandomError> {
        self.random.draw().map(SessionId::from_bytes)
    }

    pub(super) fn draw_handle(&self) -> Result<Handle, RandomError> {
        self.random.draw().map(Handle)
    }
}

/// Whether a user still has the rights of an earlier identity. An elevation may have added others.
fn has_rights(present: &Identity, earlier: &Identity) -> bool {
    let are_in = |all: &[Box<str>], names: &[Box<str>]| names.iter().all(|name| all.contains(name));
    present.tenant == earlier.tenant
        && are_in(&present.roles, &earlier.roles)
        && are_in(&present.scopes, &earlier.scopes)
}

/// Follows the clock of the store. An instance whose clock is ahead would otherwise end the sessions
/// of all others.
async fn learn_time(store: &dyn SessionStore, clock: &Clock) -> Result<(), StoreError> {
    if let Some(time) = store.time().await? {
        clock.follow(time);
    }
    Ok(())
}

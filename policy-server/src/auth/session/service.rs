//! The session state that all requests of an app share.

use std::{borrow::Cow, sync::Arc};

use policy_core::{
    cookie::CookieSpec,
    csrf::CsrfKey,
    gate::OwnOrigin,
    secret::SecretKey,
    session::{Handle, SessionId, SuccessorKey, Timings},
};

use super::SessionSettings;
use crate::{
    auth::revocation_events::RevocationBus,
    base::clock::{Clock, Random, RandomError},
    store::{Limit, SessionStore, StoreError},
};

/// The session service of a running app.
#[derive(Debug)]
pub(crate) struct SessionService {
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) timings: Timings,
    pub(super) limit: Option<Limit>,
    pub(super) cookie: CookieSpec,
    login_page: Option<Cow<'static, str>>,
    /// Whether browsers delete what they keep of the app when a session ends.
    pub(super) clears_site_data: bool,
    pub(super) successor: SuccessorKey,
    pub(super) csrf: CsrfKey,
    pub(super) clock: Clock,
    pub(super) random: Random,
    pub(super) revocation_bus: RevocationBus,
}

impl SessionService {
    /// Opens the store and reads the keys from it. The settings were checked before.
    pub(crate) async fn open(
        settings: SessionSettings,
        own: &OwnOrigin,
        clock: Clock,
        random: Random,
        revocation_bus: RevocationBus,
    ) -> Result<Self, StoreError> {
        let cookie = settings.cookie(own).map_err(StoreError::new)?;
        let store = settings.session_store();
        let SessionSettings { timings, limit, login_page, clears_site_data, .. } = settings;
        store.open().await?;
        let fresh = random.draw().map_err(StoreError::new)?;
        let secret = SecretKey::drawn(store.secret(fresh).await?);
        Ok(Self {
            successor: SuccessorKey::new(&secret),
            csrf: CsrfKey::new(&secret.derive("csrf")),
            store,
            timings,
            limit,
            cookie,
            login_page,
            clears_site_data,
            clock,
            random,
            revocation_bus,
        })
    }

    /// The name of the session cookie.
    pub(crate) fn cookie_name(&self) -> &str {
        self.cookie.name()
    }

    /// The page to which navigations without a session are redirected.
    pub(crate) fn login_page(&self) -> Option<&str> {
        self.login_page.as_deref()
    }

    /// Whether a session of a user is live.
    pub(crate) async fn lives(&self, user: &str, handle: Handle) -> Result<bool, StoreError> {
        self.store.lives(user, handle, self.clock.now()).await
    }

    pub(crate) fn store(&self) -> &Arc<dyn SessionStore> {
        &self.store
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The specification of the session cookie.
    #[cfg(feature = "testing")]
    pub(crate) fn cookie(&self) -> &CookieSpec {
        &self.cookie
    }

    /// The key of CSRF tokens.
    pub(crate) fn csrf(&self) -> &CsrfKey {
        &self.csrf
    }

    pub(super) fn draw_id(&self) -> Result<SessionId, RandomError> {
        self.random.draw().map(SessionId::drawn)
    }

    pub(super) fn draw_handle(&self) -> Result<Handle, RandomError> {
        self.random.draw().map(Handle)
    }
}

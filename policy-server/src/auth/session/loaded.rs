//! The session that a request presents, and its state in the store.

use std::{fmt, sync::Arc};

use policy_core::{
    cookie::PresentedCookie,
    session::{Record, SessionId, SessionKey, Timings},
    time::Timestamp,
};

use super::SessionService;
use crate::{
    auth::LastCredential,
    base::event::log,
    store::{Loaded, StoreError, StoreFuture},
};

/// The session of a request; `None` if it has no valid one.
pub(crate) type Load<'a> = Result<Option<&'a Arc<Record>>, &'a StoreError>;

/// The session cookie of a request.
#[derive(Clone)]
pub(crate) struct PresentedSession {
    cookie: PresentedCookie,
    /// The key under which the presented id is stored.
    key: Option<SessionKey>,
}

/// A session that the gates loaded, and that nothing else in the request has used yet. For most
/// requests, this suffices.
#[derive(Clone)]
pub(crate) struct LoadedSession {
    pub(super) presented: PresentedSession,
    pub(super) found: LookupResult,
}

/// The store's result for the presented id.
#[derive(Clone, Debug)]
pub(super) enum LookupResult {
    /// No valid session. The cookie stays in the browser: this response may arrive after the
    /// response to a login, whose newer cookie has the same name.
    Nobody,
    Live(Live),
    Unavailable(Arc<StoreError>),
}

#[derive(Clone, Debug)]
pub(super) struct Live {
    pub(super) record: Arc<Record>,
    /// The key under which the session is stored now.
    pub(super) key: SessionKey,
    /// The id that the browser has to use from now on, if a renewal replaced the presented one.
    pub(super) successor: Option<SessionId>,
    pub(super) at: Timestamp,
}

impl PresentedSession {
    pub(crate) fn new(cookie: PresentedCookie, last: Option<&LastCredential>) -> Self {
        let key = match &cookie {
            PresentedCookie::Candidate(id) => Some(LastCredential::session_key(last, id)),
            _ => None,
        };
        Self { cookie, key }
    }

    /// Whether the browser sent a cookie of the session's name.
    pub(super) fn has_cookie(&self) -> bool {
        !matches!(self.cookie, PresentedCookie::Absent)
    }

    pub(super) fn key(&self) -> Option<&SessionKey> {
        self.key.as_ref()
    }

    pub(super) fn id(&self) -> Option<&SessionId> {
        match &self.cookie {
            PresentedCookie::Candidate(id) => Some(id),
            _ => None,
        }
    }

    /// Loads the session, if the store responds without waiting.
    pub(crate) fn load_early(self, service: &SessionService) -> Result<LoadedSession, Self> {
        let found = self.ask(service).ok();
        match found {
            Some(found) => Ok(LoadedSession { presented: self, found }),
            None => Err(self),
        }
    }

    pub(super) fn ask<'a>(
        &'a self,
        service: &'a SessionService,
    ) -> Result<LookupResult, (StoreFuture<'a, Option<Loaded>>, Timestamp)> {
        let Some(key) = &self.key else {
            return Ok(LookupResult::Nobody);
        };
        let at = service.clock.steady();
        match service.load(key, at).into_ready() {
            Ok(result) => Ok(self.resolve(service, result, at)),
            Err(response) => Err((response, at)),
        }
    }

    pub(super) fn resolve(
        &self,
        service: &SessionService,
        result: Result<Option<Loaded>, StoreError>,
        at: Timestamp,
    ) -> LookupResult {
        match result {
            Ok(Some(loaded)) => {
                self.live_of(service, loaded, at).map_or(LookupResult::Nobody, LookupResult::Live)
            }
            Ok(None) => LookupResult::Nobody,
            Err(error) => {
                log!(SessionNotLoaded, %error);
                LookupResult::Unavailable(Arc::new(error))
            }
        }
    }

    /// The live session of a loaded record; `None` if no renewal leads from the presented id to it.
    pub(super) fn live_of(
        &self,
        service: &SessionService,
        loaded: Loaded,
        at: Timestamp,
    ) -> Option<Live> {
        let (record, presented) = (loaded.record, self.key?);
        let Some(key) = loaded.successor else {
            return Some(Live { record, key: presented, successor: None, at });
        };
        let successor = service.successor.successor(self.id()?);
        (successor.key() == key).then_some(Live { record, key, successor: Some(successor), at })
    }
}

impl LoadedSession {
    pub(crate) fn load(&self) -> Load<'_> {
        self.found.load()
    }

    pub(crate) fn record(&self) -> Option<&Arc<Record>> {
        self.found.live().map(|live| &live.record)
    }

    /// Whether a request that did nothing with its session still has something to store, or a cookie
    /// to set.
    pub(crate) fn needs_commit(&self, service: &SessionService) -> bool {
        match &self.found {
            LookupResult::Live(live) => live.successor.is_some() || live.is_due(&service.timings),
            LookupResult::Nobody | LookupResult::Unavailable(_) => false,
        }
    }
}

impl LookupResult {
    pub(super) fn load(&self) -> Load<'_> {
        match self {
            Self::Nobody => Ok(None),
            Self::Live(live) => Ok(Some(&live.record)),
            Self::Unavailable(error) => Err(error),
        }
    }

    pub(super) fn live(&self) -> Option<&Live> {
        match self {
            Self::Live(live) => Some(live),
            Self::Nobody | Self::Unavailable(_) => None,
        }
    }
}

impl Live {
    /// Whether the use of the session has to be stored, or its id renewed.
    pub(super) fn is_due(&self, timings: &Timings) -> bool {
        timings.touch(&self.record, self.at).is_some()
            || timings.renewal(&self.record, self.at).is_some()
    }
}

impl fmt::Debug for LoadedSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values may be secrets of the application.
        f.write_str("LoadedSession")
    }
}

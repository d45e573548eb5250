//! The session of one request: loaded at most once, changed in memory, stored once at the end.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use policy_core::{
    cookie::Presented,
    session::{
        Change, Data, Effects, Handle, Identity, PrivilegeChange, Record, SessionId, SessionKey,
    },
    time::Timestamp,
};

use super::{SessionError, SessionService};
use crate::{
    auth::revocation_events::RevocationEvent,
    base::{clock::RandomError, event::log},
    store::{Answer, Loaded, RevokeUser, StoreError},
};

/// The session of a request; `None` if it has no valid one.
pub(crate) type Load<'a> = Result<Option<&'a Arc<Record>>, &'a StoreError>;

/// The session of one request, shared by the gates, the handler's arguments and the commit.
pub(crate) struct RequestSession {
    pub(super) service: Arc<SessionService>,
    presented: Presented,
    /// The key under which the presented id is stored.
    presented_key: Option<SessionKey>,
    pub(super) found: OnceLock<Found>,
    /// Created when a handler first reads a value or changes something.
    work: OnceLock<Mutex<Work>>,
    is_token_rendered: AtomicBool,
    pub(super) is_committed: AtomicBool,
}

/// The store's result for the presented id.
#[derive(Debug)]
pub(super) enum Found {
    /// No valid session. The cookie stays in the browser: this response may arrive after that of a
    /// login, whose newer cookie has the same name.
    Nobody,
    Live(Live),
    Unavailable(StoreError),
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

/// What the handler has done so far.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) effects: Effects,
    /// The values as this request sees them.
    view: Option<Arc<Data>>,
    /// The id of the session that this request begins.
    pub(super) fresh: Option<SessionId>,
    /// Revocations that are not known to be done yet.
    pub(super) revocations: Vec<Revocation>,
}

/// Sessions that a handler ends immediately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Revocation {
    One { user: Box<str>, handle: Handle },
    All { user: Box<str>, keep: Option<(SessionKey, Handle)> },
}

impl RequestSession {
    /// The session that a request presents, not loaded yet.
    pub(crate) fn new(service: Arc<SessionService>, presented: Presented) -> Self {
        let presented_key = match &presented {
            Presented::Candidate(id) => Some(id.key()),
            _ => None,
        };
        Self {
            service,
            presented,
            presented_key,
            found: OnceLock::new(),
            work: OnceLock::new(),
            is_token_rendered: AtomicBool::new(false),
            is_committed: AtomicBool::new(false),
        }
    }

    /// Loads the session before this is shared, if the store need not be awaited: initialising a
    /// shared cell costs more than a lookup in memory.
    pub(crate) fn load_early(&mut self) {
        let found = self.ask().ok();
        self.found = found.map_or_else(OnceLock::new, OnceLock::from);
    }

    /// The session service of the app.
    pub(crate) fn service(&self) -> &Arc<SessionService> {
        &self.service
    }

    /// The session, if it is loaded; otherwise call [`load`](Self::load).
    pub(crate) fn load_now(&self) -> Option<Load<'_>> {
        self.found.get().map(Found::load)
    }

    /// The session. The store is queried once per request, and not at all without a presented id.
    pub(crate) async fn load(&self) -> Load<'_> {
        if let Some(load) = self.load_now() {
            return load;
        }
        let found = match self.ask() {
            Ok(found) => found,
            Err((response, at)) => {
                let result = response.await;
                self.found(result, at)
            }
        };
        self.found.get_or_init(|| found).load()
    }

    /// Whether the handler has asked for a logout or a revocation.
    pub(crate) fn takes_rights_away(&self) -> bool {
        self.work_so_far().is_some_and(|work| work.effects.ends() || !work.revocations.is_empty())
    }

    /// Whether the handler ended the session or began another.
    pub(crate) fn was_left(&self) -> bool {
        self.work_so_far().is_some_and(|work| {
            work.effects.ends()
                || matches!(work.effects.granted(), Some(PrivilegeChange::Login { .. }))
        })
    }

    /// The loaded session; does not query the store.
    pub(crate) fn record(&self) -> Option<&Arc<Record>> {
        self.live().map(|live| &live.record)
    }

    pub(super) fn live(&self) -> Option<&Live> {
        match self.found.get() {
            Some(Found::Live(live)) => Some(live),
            _ => None,
        }
    }

    fn ask(&self) -> Result<Found, (Answer<'_, Option<Loaded>>, Timestamp)> {
        let Some(key) = &self.presented_key else {
            return Ok(Found::Nobody);
        };
        let at = self.service.clock.now();
        match self.service.store.load(key, at).now() {
            Ok(result) => Ok(self.found(result, at)),
            Err(response) => Err((response, at)),
        }
    }

    fn found(&self, result: Result<Option<Loaded>, StoreError>, at: Timestamp) -> Found {
        match result {
            Ok(Some(loaded)) => self.live_of(loaded, at).map_or(Found::Nobody, Found::Live),
            Ok(None) => Found::Nobody,
            Err(error) => {
                log!(SessionNotLoaded, %error);
                Found::Unavailable(error)
            }
        }
    }

    /// The live session of a loaded record; `None` if no renewal leads from the presented id to it.
    pub(super) fn live_of(&self, loaded: Loaded, at: Timestamp) -> Option<Live> {
        let (record, presented) = (loaded.record, *self.presented_key()?);
        let Some(key) = loaded.successor else {
            return Some(Live { record, key: presented, successor: None, at });
        };
        let successor = self.service.successor.successor(self.presented_id()?);
        (successor.key() == key).then_some(Live { record, key, successor: Some(successor), at })
    }

    /// Whether the browser sent a cookie of the session's name.
    pub(super) fn has_cookie(&self) -> bool {
        !matches!(self.presented, Presented::Absent)
    }

    pub(super) fn presented_id(&self) -> Option<&SessionId> {
        match &self.presented {
            Presented::Candidate(id) => Some(id),
            _ => None,
        }
    }

    pub(super) fn presented_key(&self) -> Option<&SessionKey> {
        self.presented_key.as_ref()
    }

    /// The work of the handler, if it has done any.
    pub(super) fn work_so_far(&self) -> Option<MutexGuard<'_, Work>> {
        Some(self.work.get()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn work(&self) -> MutexGuard<'_, Work> {
        self.work.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The user who is logged in, including a login by this request.
    pub(super) fn identity(&self) -> Option<Identity> {
        if let Some(work) = self.work_so_far() {
            if let Some(
                PrivilegeChange::Login { identity, .. } | PrivilegeChange::Elevate { identity },
            ) = work.effects.granted()
            {
                return Some(identity.clone());
            }
            if work.effects.ends() {
                return None;
            }
        }
        self.record()?.identity.clone()
    }

    /// The values as this request sees them, and the number of its changes that they include.
    pub(super) fn view(&self) -> Result<(Arc<Data>, usize), SessionError> {
        let (view, changes) = {
            let work = self.work();
            (work.view.clone(), work.effects.changes().to_vec())
        };
        if let Some(view) = view {
            return Ok((view, changes.len()));
        }
        // Functions of the handler run here, so the lock is released.
        let mut data = Data::read(self.record().map_or(&[], |record| &record.data))?;
        data.apply(&changes);
        Ok((self.keep_view(data, changes.len()), changes.len()))
    }

    /// Changes a value.
    pub(super) fn change(&self, change: Change) -> Result<Arc<Data>, SessionError> {
        let (view, seen) = self.view()?;
        let mut data = Data::clone(&view);
        data.apply(std::slice::from_ref(&change));
        data.write()?;
        self.work().change(change);
        Ok(self.keep_view(data, seen + 1))
    }

    /// Keeps a view unless it is outdated already.
    fn keep_view(&self, data: Data, seen: usize) -> Arc<Data> {
        let view = Arc::new(data);
        let mut work = self.work();
        if work.effects.changes().len() == seen {
            work.view = Some(Arc::clone(&view));
        }
        view
    }

    /// Gives the session rights.
    pub(super) fn grant(&self, grant: PrivilegeChange) {
        let is_other = match (&grant, self.record()) {
            (PrivilegeChange::Login { identity, .. }, Some(record)) => {
                record.user().is_some_and(|user| user != &*identity.subject)
            }
            _ => false,
        };
        let mut work = self.work();
        work.effects.grant(grant);
        if is_other {
            // After the grant: if the grant is refused, the other user keeps their values.
            work.change(Change::Keep(Arc::default()));
        }
    }

    /// Ends the session; the values of these keys are kept.
    pub(super) fn end(&self, keep: impl IntoIterator<Item = Box<str>>) {
        let mut work = self.work();
        work.view = None;
        work.effects.end(keep);
    }

    /// A CSRF token for the session that the response leads to; `None` without a session.
    pub(crate) fn csrf_token(&self) -> Result<Option<String>, SessionError> {
        let draw = |_error| SessionError::Random;
        let mut binding = self.record().map(|record| record.binding);
        if let Some(mut work) = self.work_so_far() {
            if work.effects.granted().is_some() {
                binding = Some(self.fresh_id(&mut work).map_err(draw)?.key().0);
            } else if work.effects.ends() {
                binding = None;
            }
        }
        let Some(binding) = binding else { return Ok(None) };
        let nonce = self.service.random.draw().map_err(draw)?;
        self.is_token_rendered.store(true, Ordering::Relaxed);
        Ok(Some(self.service.csrf.token(&binding, nonce)))
    }

    pub(super) fn is_token_rendered(&self) -> bool {
        self.is_token_rendered.load(Ordering::Relaxed)
    }

    /// The id of the session that this request begins.
    pub(super) fn fresh_id(&self, work: &mut Work) -> Result<SessionId, RandomError> {
        if let Some(id) = &work.fresh {
            return Ok(id.clone());
        }
        let id = self.service.draw_id()?;
        work.fresh = Some(id.clone());
        Ok(id)
    }

    /// Ends sessions immediately and returns how many ended. If the request is dropped meanwhile,
    /// its commit repeats this.
    pub(super) async fn revoke(&self, revocation: Revocation) -> Result<u64, StoreError> {
        self.work().revocations.push(revocation.clone());
        let ended = self.service.revoke(&revocation).await?;
        self.work().revocations.retain(|other| *other != revocation);
        Ok(ended)
    }
}

impl Work {
    pub(super) fn change(&mut self, change: Change) {
        self.view = None;
        self.effects.change(change);
    }
}

impl Found {
    fn load(&self) -> Load<'_> {
        match self {
            Self::Nobody => Ok(None),
            Self::Live(live) => Ok(Some(&live.record)),
            Self::Unavailable(error) => Err(error),
        }
    }
}

impl SessionService {
    pub(super) async fn revoke(&self, revocation: &Revocation) -> Result<u64, StoreError> {
        match revocation {
            Revocation::One { user, handle } => {
                let lived = self.store.delete_by_handle(user, *handle).await;
                // Also where it failed: it was asked for, and a stream that ends can be opened again.
                self.revocation_bus.publish(RevocationEvent::Session(*handle));
                lived.map(u64::from)
            }
            Revocation::All { user, keep } => {
                let key = keep.as_ref().map(|(key, _)| key);
                let ended = self
                    .store
                    .revoke_user(RevokeUser::new(user, self.clock.now()).keep(key.copied()))
                    .await;
                let keep = keep.as_ref().map(|(_, handle)| *handle);
                self.revocation_bus
                    .publish(RevocationEvent::SessionsOf { user: user.clone(), keep });
                ended
            }
        }
    }
}

impl fmt::Debug for RequestSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values may be secrets of the application.
        f.debug_struct("RequestSession").field("is_loaded", &self.found.get().is_some()).finish()
    }
}

//! The session of one request: loaded at most once, changed in memory, stored once at the end.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use policy_core::session::{
    Data, DataChange, Effects, Identity, PrivilegeChange, Record, SessionId,
};

use super::{
    Load, LoadedSession, PresentedSession, SessionService,
    loaded::{Live, LookupResult},
};
use crate::{
    auth::{CredentialError, CutOffs, KnownCutOffs},
    base::{clock::RandomError, locks::lock, slot::Slot},
};

/// The session of one request, shared by the gates, the handler's arguments and the commit.
pub(crate) struct RequestSession {
    pub(super) service: Arc<SessionService>,
    pub(super) presented: PresentedSession,
    pub(super) found: Slot<LookupResult>,
    /// Created when a handler first reads a value or changes something.
    work: OnceLock<Mutex<Work>>,
    is_token_rendered: AtomicBool,
    pub(super) is_committed: AtomicBool,
    cut_offs: OnceLock<Arc<CutOffs>>,
}

/// The changes that the handler has made so far.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) effects: Effects,
    /// The values as this request sees them.
    view: Option<Arc<Data>>,
    /// The rights that this request gave to all sessions of its user.
    rights: Option<Box<Identity>>,
    /// The id of the session that this request begins.
    pub(super) fresh: Option<SessionId>,
}

impl RequestSession {
    /// The session that a request presents, not loaded yet.
    pub(crate) fn new(service: Arc<SessionService>, presented: PresentedSession) -> Self {
        Self::with_slot(service, presented, Slot::new())
    }

    /// A session that is loaded.
    pub(crate) fn from_loaded(service: Arc<SessionService>, loaded: LoadedSession) -> Self {
        let LoadedSession { presented, found } = loaded;
        Self::with_slot(service, presented, Slot::Filled(found))
    }

    fn with_slot(
        service: Arc<SessionService>,
        presented: PresentedSession,
        found: Slot<LookupResult>,
    ) -> Self {
        Self {
            service,
            presented,
            found,
            work: OnceLock::new(),
            is_token_rendered: AtomicBool::new(false),
            is_committed: AtomicBool::new(false),
            cut_offs: OnceLock::new(),
        }
    }

    /// The session. The store is queried once per request, and not at all without a presented id.
    pub(crate) async fn load(&self) -> Load<'_> {
        if let Some(found) = self.found.get() {
            return found.load();
        }
        let found = match self.presented.ask(&self.service) {
            Ok(found) => found,
            Err((response, at)) => {
                let result = response.await;
                self.presented.resolve(&self.service, result, at)
            }
        };
        self.found.get_or_init(|| found).load()
    }

    /// The session, if it was loaded.
    #[cfg(feature = "manifest")]
    pub(crate) fn loaded_already(&self) -> Option<Load<'_>> {
        self.found.get().map(LookupResult::load)
    }

    /// Shares the cut-offs that the request knows. This must happen before the handler or the commit
    /// needs them.
    pub(crate) fn share(&self, cut_offs: &Arc<CutOffs>) {
        let _ = self.cut_offs.set(Arc::clone(cut_offs));
    }

    /// The cut-offs of the request. A request that shared none counts as older than every cut-off.
    pub(super) fn cut_offs(&self) -> &Arc<CutOffs> {
        let alone = || CutOffs::new(Some(Arc::clone(&self.service)), None, KnownCutOffs::default());
        self.cut_offs.get_or_init(|| Arc::new(alone()))
    }

    /// Whether the handler began to end sessions, and this may not be complete.
    pub(super) fn is_ending(&self) -> bool {
        self.cut_offs.get().is_some_and(|cut_offs| cut_offs.has_pending())
    }

    /// Whether the handler has asked for a logout or a revocation.
    pub(crate) fn takes_rights_away(&self) -> bool {
        self.is_ending() || self.work_so_far().is_some_and(|work| work.effects.ends())
    }

    /// Whether the handler ended the session or began another.
    pub(crate) fn was_left(&self) -> bool {
        self.work_so_far().is_some_and(|work| {
            work.effects.ends()
                || matches!(work.effects.privilege_change(), Some(PrivilegeChange::Login { .. }))
        })
    }

    /// The loaded session; does not query the store.
    pub(crate) fn record(&self) -> Option<&Arc<Record>> {
        self.live().map(|live| &live.record)
    }

    pub(super) fn live(&self) -> Option<&Live> {
        self.found.get()?.live()
    }

    /// The work of the handler, if it has done any.
    pub(super) fn work_so_far(&self) -> Option<MutexGuard<'_, Work>> {
        Some(lock(self.work.get()?))
    }

    pub(super) fn work(&self) -> MutexGuard<'_, Work> {
        lock(self.work.get_or_init(Mutex::default))
    }

    /// The user who is logged in, including a login by this request.
    pub(super) fn identity(&self) -> Option<Identity> {
        if let Some(work) = self.work_so_far() {
            if let Some(
                PrivilegeChange::Login { identity, .. } | PrivilegeChange::Elevate { identity },
            ) = work.effects.privilege_change()
            {
                return Some(identity.clone());
            }
            if work.effects.ends() {
                return None;
            }
            if let Some(rights) = &work.rights {
                return Some(Identity::clone(rights));
            }
        }
        self.record()?.identity.clone()
    }

    /// The values as this request sees them, and the number of its changes that they include.
    pub(super) fn view(&self) -> Result<(Arc<Data>, usize), CredentialError> {
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
    pub(super) fn change(&self, change: DataChange) -> Result<Arc<Data>, CredentialError> {
        let (view, change_count) = self.view()?;
        let mut data = Data::clone(&view);
        data.apply(std::slice::from_ref(&change));
        data.write()?;
        self.work().change(change);
        Ok(self.keep_view(data, change_count + 1))
    }

    /// Keeps a view unless it is already outdated.
    fn keep_view(&self, data: Data, change_count: usize) -> Arc<Data> {
        let view = Arc::new(data);
        let mut work = self.work();
        if work.effects.changes().len() == change_count {
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
            work.change(DataChange::Keep(Arc::default()));
        }
    }

    /// Replaces the rights of the user of this request, so that no elevation brings the old ones
    /// back.
    pub(super) fn change_rights(&self, identity: &Identity) {
        if self.identity().is_none_or(|own| own.subject != identity.subject) {
            return;
        }
        let mut work = self.work();
        if work.effects.privilege_change().is_some() {
            work.effects.grant(PrivilegeChange::Elevate { identity: identity.clone() });
        } else {
            work.rights = Some(Box::new(identity.clone()));
        }
    }

    /// Ends the session; the values of these keys are kept.
    pub(super) fn end(&self, keep: impl IntoIterator<Item = Box<str>>) {
        let mut work = self.work();
        work.view = None;
        work.effects.end(keep);
    }

    /// A CSRF token for the session that is current after the response; `None` without a session.
    pub(crate) fn csrf_token(&self) -> Result<Option<String>, CredentialError> {
        let draw = CredentialError::invalid;
        let effects = self.work_so_far().map(|work| work.effects.clone()).unwrap_or_default();
        let is_granted = effects.privilege_change().is_some();
        // Values that are written without a session, or kept by a logout, begin one.
        let has_values =
            || !effects.changes().is_empty() && self.view().is_ok_and(|(data, _)| !data.is_empty());
        let binding = match self.record().filter(|_| !effects.ends()) {
            Some(record) if !is_granted => record.binding,
            None if !is_granted && !has_values() => return Ok(None),
            _ => self.fresh_id(&mut self.work()).map_err(draw)?.key().0,
        };
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
}

impl Work {
    pub(super) fn change(&mut self, change: DataChange) {
        self.view = None;
        self.effects.change(change);
    }
}

impl fmt::Debug for RequestSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values may be secrets of the application.
        f.debug_struct("RequestSession").field("is_loaded", &self.found.get().is_some()).finish()
    }
}

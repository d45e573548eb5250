//! The end of a request: commits its changes to the session.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use http::HeaderValue;
use policy_core::{
    session::{
        CommitPlan, Draft, Effects, Handle, HandlerOutcome, Record, Row, SessionId, SessionKey,
        plan,
    },
    time::Timestamp,
};

use super::{
    CommitError, RequestSession,
    loaded::{Live, LookupResult},
};
use crate::{
    auth::{revocation_events::RevocationEvent, store_era::EndedSessions},
    base::event::{
        count::{Count, count},
        log,
    },
    store::{Cas, CreateSession, RotateSession, SessionCreated, TouchSession, UpdateSession},
};

const LOGIN: Count = Count::Login("session");

/// How often a commit is tried before the session is reported as busy.
const TRIES: usize = 3;

/// The facts about the session that the response must state.
#[derive(Debug, Default)]
pub(crate) struct CommitFacts {
    /// The value of `Set-Cookie`, which sets or removes the cookie.
    pub(crate) set_cookie: Option<HeaderValue>,
    /// Whether the browser should delete its stored data of the app.
    pub(crate) clears_site_data: bool,
    /// Whether the response depends on the session.
    pub(crate) was_read: bool,
    /// Whether the response contains a CSRF token.
    pub(crate) is_token_rendered: bool,
}

/// What to do with the cookie.
enum Cookie {
    /// The cookie that the load requires.
    AsLoaded,
    Set(SessionId, Arc<Record>),
    Remove,
    /// The session ended while the request ran. Another response may have set a new cookie, which
    /// this one must not replace.
    Untouched,
}

impl RequestSession {
    /// Commits without waiting if nothing has to be stored; otherwise call
    /// [`commit`](Self::commit).
    pub(crate) fn commit_now(&self, outcome: HandlerOutcome) -> Option<CommitFacts> {
        let is_changing =
            || self.work_so_far().is_some_and(|work| !work.effects.is_empty()) || self.is_ending();
        if !self.is_committed.load(Ordering::Acquire) && is_changing() {
            return None;
        }
        if let Some(LookupResult::Live(live)) = self.found.get()
            && outcome != HandlerOutcome::Aborted
            && !self.is_committed.load(Ordering::Acquire)
            && live.is_due(&self.service.timings)
        {
            return None;
        }
        Some(self.committed(Cookie::AsLoaded))
    }

    /// Stores the changes of the request. It is called before the head of the response is sent, or
    /// at the end of a request without a response. Logouts and revocations are committed in either
    /// case. After a call that was dropped, a second one completes its work.
    ///
    /// # Errors
    ///
    /// The response to send in place of the handler's. Cookies are left unchanged.
    pub(crate) async fn commit(&self, outcome: HandlerOutcome) -> Result<CommitFacts, CommitError> {
        if let Some(committed) = self.commit_now(outcome) {
            return Ok(committed);
        }
        let revoked = self.cut_offs().finish().await;
        let effects = self.work_so_far().map(|work| work.effects.clone()).unwrap_or_default();
        let stored = match self.store(&effects, outcome).await {
            // The next request makes up for a lost touch or renewal.
            Err(error) if effects.is_empty() => {
                log!(SessionUseNotNoted, %error);
                Ok(Cookie::AsLoaded)
            }
            Err(error) if effects.ends() => {
                self.delete().await?;
                Err(error)
            }
            stored => stored,
        };
        revoked?;
        let cookie = stored?;
        self.is_committed.store(true, Ordering::Release);
        Ok(self.committed(cookie))
    }

    async fn store(
        &self,
        effects: &Effects,
        outcome: HandlerOutcome,
    ) -> Result<Cookie, CommitError> {
        let service = &self.service;
        let mut live = self.live().cloned();
        if live.is_none() && effects.ends() {
            // It may repeat a logout that could not end all tokens of its session.
            self.end_rest().await?;
        }
        // After a failed load, as for a dead session, nothing may be inserted.
        let mut is_dead = matches!(self.found.get(), Some(LookupResult::Unavailable(_)));
        for _ in 0..TRIES {
            let now = service.clock.steady();
            let row = match &live {
                Some(live) => Row::Live(&live.record),
                None if is_dead => Row::Dead,
                None => Row::Absent,
            };
            let key = live.as_ref().map(|live| live.key);
            let cas = match plan(effects, row, outcome, now, &service.timings)? {
                // A logout without a session removes the cookie.
                CommitPlan::Nothing if effects.ends() && self.presented.has_cookie() => {
                    return Ok(Cookie::Remove);
                }
                CommitPlan::Nothing if is_dead => return Ok(Cookie::Untouched),
                CommitPlan::Nothing => return Ok(Cookie::AsLoaded),
                CommitPlan::Refuse => return Err(self.cut_off().await),
                CommitPlan::Delete => {
                    self.delete().await?;
                    return Ok(Cookie::Remove);
                }
                CommitPlan::Create(draft) => match self.create(&draft).await? {
                    Some(cookie) => return Ok(cookie),
                    None => continue,
                },
                CommitPlan::Touch(deadline) => {
                    self.touch(key, deadline).await?;
                    return Ok(Cookie::AsLoaded);
                }
                CommitPlan::Update { expected, data, touch } => {
                    let Some(key) = key else { continue };
                    let cas =
                        service.store.update(UpdateSession::new(key, expected, data, now)).await?;
                    if let (Cas::Done { .. }, Some(deadline)) = (&cas, touch) {
                        self.touch(Some(key), deadline).await?;
                    }
                    if let Cas::Done { .. } = cas {
                        return Ok(Cookie::AsLoaded);
                    }
                    cas
                }
                CommitPlan::Replace { expected, draft, grace } => {
                    let Some(live) = &live else { continue };
                    match self.replace(live, expected, &draft, grace, now).await? {
                        Ok(cookie) => return Ok(cookie),
                        Err(cas) => cas,
                    }
                }
            };
            match cas {
                Cas::LimitReached => return Err(CommitError::LimitReached),
                Cas::CutOff => return Err(self.cut_off().await),
                Cas::Done { .. } | Cas::Conflict | Cas::Gone => (),
            }
            // Reload even if the record is gone, since a renewal may have moved it.
            live = match key {
                Some(key) => self.reload(&key).await?,
                None => None,
            };
            is_dead = live.is_none();
        }
        Err(CommitError::Busy)
    }

    /// Stores a session under a new id. The inner error is why the store did not.
    async fn replace(
        &self,
        live: &Live,
        expected: u64,
        draft: &Draft,
        grace: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Result<Cookie, Cas>, CommitError> {
        let (service, old) = (&self.service, &live.record);
        let id = match (grace, live.successor.as_ref().or(self.presented.id())) {
            (Some(_), Some(id)) => service.successor.successor(id),
            _ => self.fresh_id(&mut self.work())?,
        };
        let record = draft.record(&id, service.draw_handle()?);
        let limit = service.limit.filter(|_| draft.is_login());
        let began = draft.grants().then(|| self.cut_offs().session_cut_off(record.user()));
        // By a logout that keeps values, or a login of another user.
        let ended = old.user().filter(|_| old.handle != record.handle);
        let request = RotateSession::new(live.key, id.key(), expected, record.clone(), now)
            .grace(grace)
            .ends(ended.map(|_| old.handle))
            .limit(limit)
            .began(began);
        match service.store.rotate(request).await? {
            Cas::Done { evicted, .. } => {
                if draft.is_login() {
                    count(LOGIN);
                } else if ended.is_none() {
                    count(Count::Renewal);
                }
                if let Some(user) = ended {
                    self.note_end(user, old.handle);
                }
                let evicted = self.end_dependents(record.user(), evicted, None).await;
                let replaced = ended.map(|_| old.handle);
                let replaced = self.end_dependents(ended, replaced, Some(live.key)).await;
                evicted.and(replaced)?;
                Ok(Ok(Cookie::Set(id, Arc::new(record))))
            }
            cas => Ok(Err(cas)),
        }
    }

    /// Inserts a session; `None` if its key exists already.
    async fn create(&self, draft: &Draft) -> Result<Option<Cookie>, CommitError> {
        let service = &self.service;
        let id = self.fresh_id(&mut self.work())?;
        let record = draft.record(&id, service.draw_handle()?);
        let limit = service.limit.filter(|_| draft.is_login());
        let (key, now) = (id.key(), service.clock.steady());
        let began = draft.grants().then(|| self.cut_offs().session_cut_off(record.user()));
        let request = CreateSession::new(key, record.clone(), now).limit(limit).began(began);
        match service.store.create(request).await? {
            SessionCreated::Done { evicted } => {
                if draft.is_login() {
                    count(LOGIN);
                }
                self.end_dependents(record.user(), evicted, None).await?;
                Ok(Some(Cookie::Set(id, Arc::new(record))))
            }
            SessionCreated::KeyTaken => {
                self.work().fresh = None;
                Ok(None)
            }
            SessionCreated::CutOff => Err(self.cut_off().await),
            SessionCreated::LimitReached => Err(CommitError::LimitReached),
        }
    }

    /// The refusal of rights for a user who was cut off while the request ran.
    async fn cut_off(&self) -> CommitError {
        match self.cut_offs().learn().await {
            Ok(()) => CommitError::Ended,
            Err(error) => error.into(),
        }
    }

    async fn touch(&self, key: Option<SessionKey>, deadline: Timestamp) -> Result<(), CommitError> {
        if let Some(key) = key {
            self.service
                .store
                .touch(TouchSession::new(key, deadline, self.service.clock.steady()))
                .await?;
        }
        Ok(())
    }

    async fn reload(&self, key: &SessionKey) -> Result<Option<Live>, CommitError> {
        let now = self.service.clock.steady();
        let loaded = self.service.load(key, now).await?;
        Ok(loaded.and_then(|loaded| self.presented.live_of(&self.service, loaded, now)))
    }

    /// Ends the session of the request, even if it was renewed under another id meanwhile.
    async fn delete(&self) -> Result<(), CommitError> {
        let service = &self.service;
        let live = self.live();
        let Some(key) = live.map(|live| &live.key).or(self.presented.key()) else { return Ok(()) };
        if let Some(record) = live.map(|live| &live.record)
            && let Some(user) = record.user()
        {
            self.note_end(user, record.handle);
        }
        let lived = service.store.delete(key).await;
        if let (Err(_), Some(live)) = (&lived, live) {
            // The streams and tokens of the session end even if its deletion failed: a client can open
            // a stream again. The failure of the deletion is the one that is reported.
            let handle = [live.record.handle];
            let _ = self.end_dependents(live.record.user(), handle, Some(live.key)).await;
        }
        let mut lived = lived?;
        if let Some(Live { record, key, .. }) = live {
            if let (false, Some(user)) = (lived, record.user()) {
                lived = service.store.delete_by_handle(user, record.handle).await?;
            }
            // An anonymous session may have gained a user meanwhile.
            let ended = (lived || record.identity.is_some()).then_some(record.handle);
            self.end_dependents(record.user(), ended, Some(*key)).await?;
        }
        Ok(())
    }

    /// Remembers and counts the end of a user's session by this request.
    fn note_end(&self, user: &str, handle: Handle) {
        self.service.remember(EndedSessions::One { user: user.into(), handle });
        count(Count::Revocation("session"));
    }

    /// Ends the streams, tokens and tickets of a user's sessions, after the sessions themselves: what
    /// begins in a session meanwhile ends, too. Tokens whose store fails end later, or by the next logout
    /// if this is one of the session with this key.
    async fn end_dependents(
        &self,
        user: Option<&str>,
        handles: impl IntoIterator<Item = Handle>,
        key: Option<SessionKey>,
    ) -> Result<(), CommitError> {
        let mut result = Ok(());
        for handle in handles {
            self.service.revocation_bus.publish(RevocationEvent::Session(handle));
            if let Some(user) = user
                && let Err(error) = self.cut_offs().end_issued(user, handle, key).await
            {
                result = Err(error.into());
            }
        }
        result
    }

    /// Completes an earlier logout of the presented session, which may have been renewed before.
    async fn end_rest(&self) -> Result<(), CommitError> {
        if let Some(id) = self.presented.id() {
            for key in [id.key(), self.service.successor.successor(id).key()] {
                self.cut_offs().end_rest(key).await?;
            }
        }
        Ok(())
    }

    fn committed(&self, cookie: Cookie) -> CommitFacts {
        let spec = &self.service.cookie;
        // The cookie specification was checked at start, and an id is always a valid cookie value.
        let set = |id: &SessionId, record: &Record| {
            let text = id.text();
            if record.is_remembered {
                let left = record.absolute_deadline.since(self.service.clock.steady());
                spec.clone().max_age(left.max(Duration::from_secs(1))).set(&text).ok()
            } else {
                spec.set(&text).ok()
            }
        };
        let set_cookie = match (cookie, self.found.get()) {
            (Cookie::Set(id, record), _) => set(&id, &record),
            (Cookie::Remove, _) => spec.remove().ok(),
            (
                Cookie::AsLoaded,
                Some(LookupResult::Live(Live { record, successor: Some(successor), .. })),
            ) => set(successor, record),
            (Cookie::AsLoaded | Cookie::Untouched, _) => None,
        };
        let ends = || self.work_so_far().is_some_and(|work| work.effects.ends());
        CommitFacts {
            set_cookie,
            clears_site_data: self.service.clears_site_data && ends(),
            was_read: self.found.get().is_some(),
            is_token_rendered: self.is_token_rendered(),
        }
    }
}

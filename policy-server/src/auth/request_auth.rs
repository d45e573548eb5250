//! The authentication state of one request.

use std::{
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use axum_core::response::{IntoResponse, Response};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{COOKIE, SET_COOKIE},
};
use policy_core::{
    Refusal,
    cache::ResponseFacts,
    cookie::{PresentedCookie, presented},
    csrf::{HEADER, TokenVerdict},
    gates::{ExplicitCredential, Sender},
    head::Single,
    session::Record,
};

#[cfg(feature = "manifest")]
use super::findings::Findings;
use super::{
    AuthService, CutOffs, Denial, KnownCutOffs, LastCredential, RouteAuth, form_token::Form,
    stream_revocation,
};
use crate::{
    auth::{
        principal::{AuthScheme, Principal},
        session::{
            CommitError, CommitFacts, HandlerOutcome, Load, LoadedSession, PresentedSession,
            RequestSession, SessionService,
        },
    },
    base::{problem::Problem, slot::Slot},
};

/// The header in which scripts send the CSRF token.
const CSRF_TOKEN: HeaderName = HeaderName::from_static(HEADER);

/// Clear Site Data 3.1
const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");
const CACHE_AND_STORAGE: HeaderValue = HeaderValue::from_static("\"cache\", \"storage\"");

/// The caller of a request and the state of their session, shared by the gates, the handler's
/// arguments and the response.
#[derive(Debug)]
pub(crate) struct RequestAuth {
    guard: Arc<AuthService>,
    /// Whether the route uses an ambient scheme of the application, whose credential may be a
    /// cookie.
    is_ambient: bool,
    takes_authorization: bool,
    /// The page that sent the request.
    sender: Sender,
    /// Whether this is a CONNECT, which turns the connection or stream into a tunnel.
    is_connect: bool,
    /// The newest cut-offs that this process knew when the request began.
    known_of_sessions: AtomicU64,
    known_of_tokens: u64,
    /// Initialised on first use.
    cut_offs: OnceLock<Arc<CutOffs>>,
    /// The session, where gate 7 loaded it without waiting.
    pub(super) loaded: Option<LoadedSession>,
    /// Initialised when a store has to be awaited, the handler asks for the session, or it has to be
    /// committed.
    pub(super) session: OnceLock<Arc<RequestSession>>,
    pub(super) form_token: OnceLock<Vec<u8>>,
    principal: Slot<Principal>,
    /// Whether the response contains a newly issued token or ticket.
    has_issued: AtomicBool,
    #[cfg(feature = "manifest")]
    pub(super) findings: Findings,
}

impl RequestAuth {
    /// The state according to the request head.
    pub(crate) fn new(
        guard: &Arc<AuthService>,
        route: &RouteAuth,
        method: &Method,
        sender: Sender,
    ) -> Self {
        let known = guard.known_cut_offs();
        Self {
            guard: Arc::clone(guard),
            is_ambient: route.is_ambient(),
            takes_authorization: route.takes_authorization(),
            sender,
            is_connect: method == Method::CONNECT,
            known_of_sessions: AtomicU64::new(known.sessions),
            known_of_tokens: known.tokens,
            cut_offs: OnceLock::new(),
            loaded: None,
            session: OnceLock::new(),
            form_token: OnceLock::new(),
            principal: Slot::new(),
            has_issued: AtomicBool::new(false),
            #[cfg(feature = "manifest")]
            findings: Findings::default(),
        }
    }

    pub(crate) fn guard(&self) -> &Arc<AuthService> {
        &self.guard
    }

    /// The page that sent the request.
    pub(crate) fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The authenticated caller.
    pub(crate) fn principal(&self) -> Option<&Principal> {
        self.principal.get()
    }

    /// The authenticated caller as a user of this app. A caller of another issuer is refused here: the
    /// macro recognises a `Principal` only by its name, and does not see the arguments of a mounted
    /// router.
    pub(crate) fn user(&self) -> Result<Option<&Principal>, Refusal> {
        match self.principal() {
            Some(principal) if principal.foreign_issuer().is_some() => Err(Refusal::CallerForeign),
            principal => Ok(principal),
        }
    }

    /// The cut-offs that the request knows, and those that it makes.
    pub(crate) fn cut_offs(&self) -> &Arc<CutOffs> {
        self.cut_offs.get_or_init(|| {
            let sessions = self.known_of_sessions.load(Ordering::Relaxed);
            let known = KnownCutOffs { sessions, tokens: self.known_of_tokens };
            let (sessions, tokens) = (self.guard.sessions.clone(), self.guard.tokens.clone());
            Arc::new(CutOffs::new(sessions, tokens, known))
        })
    }

    /// Records the epoch of a session that gate 7 loaded before any code of the application ran. It
    /// may be from a cut-off that this process did not know.
    pub(crate) fn know_epoch(&self, epoch: u64) {
        if epoch > self.known_of_sessions.load(Ordering::Relaxed) {
            self.known_of_sessions.store(epoch, Ordering::Relaxed);
        }
    }

    /// Sets the caller before this is shared.
    pub(crate) fn set_principal(&mut self, principal: Option<Principal>) {
        if let Some(principal) = principal {
            self.principal.fill(principal);
        }
    }

    /// Sets the caller.
    pub(crate) fn know(&self, principal: Principal) {
        self.principal.get_or_init(|| principal);
    }

    /// Sets the CSRF token that a form contained.
    pub(crate) fn set_form_token(&self, token: Vec<u8>) {
        let _ = self.form_token.set(token);
    }

    /// Completes when the caller's credential ends or the server stops.
    #[cfg(feature = "gateway")]
    pub(crate) fn until_ended(&self) -> impl Future<Output = ()> + Send + use<> {
        stream_revocation::until_ended(&self.guard, self.principal())
    }

    /// The session that the cookie names, loaded or not.
    pub(crate) fn session(&self, headers: &HeaderMap) -> Result<&Arc<RequestSession>, Denial> {
        if let Some(session) = self.used_session() {
            return Ok(session);
        }
        let (service, presented) = self.presented(headers, None)?;
        let session = || Arc::new(RequestSession::new(Arc::clone(service), presented));
        Ok(self.session.get_or_init(session))
    }

    /// The session, if a gate or the handler has asked for it.
    fn used_session(&self) -> Option<&Arc<RequestSession>> {
        if let Some(session) = self.session.get() {
            return Some(session);
        }
        let (service, loaded) = (self.guard.sessions.as_ref()?, self.loaded.as_ref()?);
        let session = || Arc::new(RequestSession::from_loaded(Arc::clone(service), loaded.clone()));
        Some(self.session.get_or_init(session))
    }

    /// Loads the session before this is shared; `None` if the store has to be awaited. Malformed
    /// cookies are refused where the session is requested again.
    pub(crate) fn load_early(
        &mut self,
        headers: &HeaderMap,
        last: Option<&LastCredential>,
    ) -> Option<Load<'_>> {
        let (service, presented) = self.presented(headers, last).ok()?;
        match presented.load_early(service) {
            Ok(loaded) => Some(self.loaded.insert(loaded).load()),
            Err(presented) => {
                let session = RequestSession::new(Arc::clone(service), presented);
                let _ = self.session.set(Arc::new(session));
                None
            }
        }
    }

    /// Whether the caller used a credential that browsers do not attach automatically. Ambient
    /// credentials of the request are then ignored.
    pub(super) fn is_explicit(&self) -> bool {
        self.principal().is_some_and(|who| who.token().is_some() || who.ticket().is_some())
    }

    fn presented(
        &self,
        headers: &HeaderMap,
        last: Option<&LastCredential>,
    ) -> Result<(&Arc<SessionService>, PresentedSession), Denial> {
        let service = self.guard.sessions.as_ref().ok_or(Refusal::Internal)?;
        let presented = if self.is_explicit() {
            PresentedCookie::Absent
        } else {
            presented(headers, service.cookie_name()).map_err(|_limit| Refusal::CookiesTooLarge)?
        };
        Ok((service, PresentedSession::new(presented, last)))
    }

    /// The loaded session, if this request may use it: gate 8 for handlers that take the session as
    /// an argument, whatever `#[auth(..)]` the route has.
    pub(crate) async fn checked_session(
        &self,
        headers: &HeaderMap,
    ) -> Result<&Arc<RequestSession>, Denial> {
        let checked = self.check_session(headers).await;
        #[cfg(feature = "manifest")]
        self.note_session_check(&checked);
        checked
    }

    async fn check_session(&self, headers: &HeaderMap) -> Result<&Arc<RequestSession>, Denial> {
        let session = self.session(headers)?;
        let loaded = session.load().await.map_err(|_logged| Denial::unchecked())?;
        self.check_forgery(headers, loaded.map(Arc::as_ref))?;
        Ok(session)
    }

    /// Gate 8 for handlers that take the session as an argument.
    fn check_forgery(&self, headers: &HeaderMap, session: Option<&Record>) -> Result<(), Denial> {
        let used = match self.principal() {
            Some(who) if who.token().is_some() => Some(ExplicitCredential::Token),
            Some(who) if who.ticket().is_some() => Some(ExplicitCredential::Ticket),
            _ => None,
        };
        let admitted = self.sender.admit_session(used, || self.csrf_token(headers, session?));
        admitted.map_err(|refusal| match used {
            Some(_) => Denial::from(refusal),
            None => self.forged(refusal),
        })
    }

    /// Checks the CSRF token of the request against a session.
    pub(crate) fn csrf_token(&self, headers: &HeaderMap, session: &Record) -> Option<TokenVerdict> {
        let key = &self.guard.sessions.as_ref()?.csrf;
        let token = match Single::read(headers, &CSRF_TOKEN) {
            Single::One(value) => value.as_bytes(),
            Single::Repeated => &[],
            Single::Absent => self.form_token.get().map_or(&[][..], Vec::as_slice),
        };
        Some(key.verify(&session.binding, token))
    }

    /// A refusal of gate 8, with advice on what to send.
    pub(crate) fn forged(&self, refusal: Refusal) -> Denial {
        match self.sender.advice(refusal) {
            Some(advice) => Denial::problem(refusal, Problem::from(refusal).detail(advice)),
            None => Denial::from(refusal),
        }
    }

    /// Gate 8 for a request without a caller to a service without attributes, which may use its own
    /// cookies.
    pub(crate) fn check_anonymous(&self, headers: &HeaderMap) -> Result<(), Denial> {
        let admitted = self.sender.admit_anonymous(headers);
        admitted.map_err(|refusal| self.forged(refusal))
    }

    /// The unread form that may contain the CSRF token.
    pub(crate) fn form(&self, headers: &HeaderMap) -> Option<Form> {
        let may_be = self.sender.needs_token()
            && self.guard.sessions.is_some()
            && headers.contains_key(COOKIE)
            && !headers.contains_key(&CSRF_TOKEN);
        if may_be { Form::detect(headers) } else { None }
    }

    /// Records that the response contains a credential.
    pub(crate) fn note_issued(&self) {
        self.has_issued.store(true, Ordering::Relaxed);
    }

    /// Whether the handler asked for a logout or a revocation, which are committed even if the
    /// response fails.
    pub(crate) fn takes_rights_away(&self) -> bool {
        self.is_ending() || self.session.get().is_some_and(|session| session.takes_rights_away())
    }

    /// Whether the handler began to end credentials, and this may not be complete.
    fn is_ending(&self) -> bool {
        self.cut_offs.get().is_some_and(|cut_offs| cut_offs.has_pending())
    }

    /// Commits the session once, and completes the response.
    pub(crate) fn settle(
        self: Arc<Self>,
        response: Response,
        outcome: HandlerOutcome,
    ) -> SettledResponse {
        let committed = if self.is_ending() { None } else { self.commit_now(outcome) };
        if let Some(committed) = committed {
            let (response, facts) = self.finish(response, committed);
            return SettledResponse::Ready(response, facts);
        }
        let in_progress = self.guard.commits.subscribe();
        SettledResponse::Later(Box::pin(async move {
            let _in_progress = in_progress;
            let committed = match self.used_session() {
                Some(session) => {
                    session.share(self.cut_offs());
                    session.commit(outcome).await
                }
                None => match self.cut_offs().finish().await {
                    // The handler has already responded with a server error.
                    Err(_) if response.status().is_server_error() => Ok(CommitFacts::default()),
                    finished => {
                        finished.map(|()| CommitFacts::default()).map_err(CommitError::from)
                    }
                },
            };
            match committed {
                Ok(committed) => self.finish(response, committed),
                Err(error) => (Denial::from(error).into_response(), ResponseFacts::default()),
            }
        }))
    }

    /// Commits the session, if nothing has to be stored.
    fn commit_now(&self, outcome: HandlerOutcome) -> Option<CommitFacts> {
        if let (None, Some(service), Some(loaded)) =
            (self.session.get(), &self.guard.sessions, &self.loaded)
            && !loaded.needs_commit(service)
        {
            return Some(CommitFacts { was_read: true, ..CommitFacts::default() });
        }
        match self.used_session() {
            Some(session) => session.commit_now(outcome),
            None => Some(CommitFacts::default()),
        }
    }

    /// Writes the cookie and ties a streaming response to its credential. Also returns the facts for
    /// caching.
    fn finish(&self, mut response: Response, committed: CommitFacts) -> (Response, ResponseFacts) {
        let bearer = self.principal().is_some_and(|who| who.scheme() != AuthScheme::Session);
        let facts = ResponseFacts {
            cookie_set: committed.set_cookie.is_some(),
            csrf_token_rendered: committed.is_token_rendered,
            credential_issued: self.has_issued.load(Ordering::Relaxed),
            refused: false,
            session_read: committed.was_read || self.is_ambient,
            authorization_sent: false,
            bearer,
            bearer_absent: self.takes_authorization && !bearer,
            nonce_written: false,
        };
        let headers = response.headers_mut();
        self.guard.keep_cookie(headers);
        if let Some(cookie) = committed.set_cookie {
            headers.append(SET_COOKIE, cookie);
        }
        if committed.clears_site_data {
            headers.entry(CLEAR_SITE_DATA).or_insert(CACHE_AND_STORAGE);
        }
        let session = self.session.get();
        let is_of_session = self.principal().is_none_or(|who| who.scheme() == AuthScheme::Session);
        // Do not cancel the response that performs the logout.
        if is_of_session && session.is_some_and(|session| session.was_left()) {
            return (response, facts);
        }
        let record = match session {
            Some(session) => session.record(),
            None => self.loaded.as_ref().and_then(LoadedSession::record),
        };
        let response = stream_revocation::tie(
            &self.guard,
            self.principal(),
            record,
            self.is_connect,
            response,
        );
        (response, facts)
    }
}

/// A response whose session is stored or being stored, and the facts for caching.
pub(crate) enum SettledResponse {
    Ready(Response, ResponseFacts),
    /// Ready once the store has committed.
    Later(Commit),
}

/// A commit in progress.
pub(crate) type Commit = Pin<Box<dyn Future<Output = (Response, ResponseFacts)> + Send>>;

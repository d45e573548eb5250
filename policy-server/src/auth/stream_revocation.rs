//! Ends streaming responses when the credential that opened them ends.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    pin::{Pin, pin},
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use axum_core::{body::Body, response::Response};
use http::{
    HeaderMap, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
};
use http_body::Body as HttpBody;
use policy_core::{
    session::{Handle, Identity, Record},
    time::Timestamp,
    token::{TokenCutOff, TokenNames},
};
use tokio::{select, sync::broadcast::error::RecvError};

use super::AuthService;
use crate::{
    auth::{
        principal::Principal,
        revocation_events::{RevocationBus, RevocationEvent},
        tokens::scoped,
    },
    base::{
        body::{BodyObserver, ObservedBody, PolledFrame},
        locks::lock,
        stream_end::StreamEnd,
    },
    store::Ticket,
};

/// How often a credential is checked without an event: another process may have ended it.
const LOOK: Duration = Duration::from_secs(20);

/// How long a stream continues after its credential was last found valid, while it cannot be checked.
const UNCHECKED: Duration = Duration::from_secs(60);

/// The minimum time between two queries that hints cause, so that a flood of hints causes no flood
/// of queries.
const HINTED: Duration = Duration::from_secs(2);

/// The largest response of known size that is not tied to its credential.
const SENT_AT_ONCE: u64 = 1024 * 1024;

/// The credential that a streaming response depends on, in the form that revocations use.
enum Credential {
    /// A session, and its user with the rights with which the response began.
    Session(Handle, Identity),
    Token(TokenCredential),
}

/// A token, or a ticket that was not issued in a session.
struct TokenCredential {
    /// The user, with the issuer if it is not this app.
    user: Box<str>,
    /// The id of the token, also of the one from which a ticket was issued; empty if there is none.
    id: Box<str>,
    /// The refresh token family of its login.
    family: Option<Box<str>>,
    issued: Timestamp,
    /// The newest cut-off that was known when it was issued.
    cut_offs: Option<u64>,
    expires: Timestamp,
}

/// Completes when the credential of an upgraded connection, or a right of its caller, ends. The
/// connection takes it from the extensions of the response.
#[derive(Clone)]
pub(crate) struct RevocationSignal(Arc<Mutex<Option<EndFuture>>>);

/// Completes when a stream has to end.
type EndFuture = Pin<Box<dyn Future<Output = StreamEnd> + Send>>;

/// Ties a response to the credential of its caller; on a route without authentication, to the
/// session that the handler took.
pub(super) fn tie(
    guard: &Arc<AuthService>,
    principal: Option<&Principal>,
    session: Option<&Arc<Record>>,
    is_connect: bool,
    response: Response,
) -> Response {
    if !lasts(is_connect, &response) {
        return response;
    }
    let credential = match principal {
        Some(principal) => Credential::from_principal(principal),
        None => session.and_then(|record| Credential::from_session(record)),
    };
    let Some(credential) = credential else { return response };
    end_when(credential.wait_for_end(Arc::clone(guard)), is_connect, response)
}

/// Whether a response continues after its head: a small one is sent at once.
pub(crate) fn lasts(is_connect: bool, response: &Response) -> bool {
    let size = response.body().size_hint().exact();
    is_upgrade(is_connect, response) || size.is_none_or(|size| size > SENT_AT_ONCE)
}

fn is_upgrade(is_connect: bool, response: &Response) -> bool {
    let status = response.status();
    status == StatusCode::SWITCHING_PROTOCOLS || (is_connect && status.is_success())
}

/// Ends a response that [`lasts`], unless it has ended before.
pub(crate) fn end_when(
    ended: impl Future<Output = StreamEnd> + Send + 'static,
    is_connect: bool,
    mut response: Response,
) -> Response {
    let mut ended: EndFuture = Box::pin(ended);
    if !is_upgrade(is_connect, &response) {
        return UntilEnd::wrap(ended, response);
    }
    let other = response.extensions_mut().remove::<RevocationSignal>();
    if let Some(other) = other.and_then(|signal| signal.take()) {
        ended = Box::pin(async {
            select! {
                end = other => end,
                end = ended => end,
            }
        });
    }
    response.extensions_mut().insert(RevocationSignal::new(ended));
    response
}

/// Ends an event stream when the server stops, with or without a credential.
pub(crate) fn end_with_service(bus: &RevocationBus, response: Response) -> Response {
    if response.body().size_hint().exact().is_some() || !is_events(&response) {
        return response;
    }
    let ended = bus.end_of_service();
    let ended = Box::pin(async {
        ended.await;
        StreamEnd::Service
    });
    UntilEnd::wrap(ended, response)
}

/// Completes when the credential of this principal ends or the server stops.
#[cfg(feature = "gateway")]
pub(super) fn until_ended(
    guard: &Arc<AuthService>,
    principal: Option<&Principal>,
) -> impl Future<Output = ()> + Send + use<> {
    let (credential, guard) = (principal.and_then(Credential::from_principal), Arc::clone(guard));
    let end_of_service = guard.revocation_bus.end_of_service();
    async move {
        let Some(credential) = credential else { return end_of_service.await };
        select! {
            () = end_of_service => (),
            _end = credential.wait_for_end(guard) => (),
        }
    }
}

impl Credential {
    fn from_principal(principal: &Principal) -> Option<Self> {
        let user = || scoped(principal.foreign_issuer(), principal.subject()).into();
        if let Some(token) = principal.verified() {
            let claims = token.claims();
            return Some(Self::Token(TokenCredential {
                user: user(),
                id: token.scoped(claims.id()).into(),
                family: claims.session().map(|session| token.scoped(session).into()),
                issued: claims.issued(),
                cut_offs: claims.cut_offs().filter(|_| token.foreign_issuer().is_none()),
                expires: claims.expires(),
            }));
        }
        let token_of = |ticket: &Ticket| match (&ticket.token, ticket.session) {
            (Some((id, expires)), _) => Some((id.clone(), *expires)),
            (None, Some(_)) => None,
            // One of a caller of a scheme ends by cut-offs.
            (None, None) => Some(("".into(), Timestamp::MAX)),
        };
        if let Some((ticket, (id, expires))) =
            principal.ticket().and_then(|ticket| Some((ticket, token_of(ticket)?)))
        {
            return Some(Self::Token(TokenCredential {
                user: user(),
                id,
                family: ticket.session.map(|family| family.to_string().into()),
                issued: ticket.issued_at(),
                cut_offs: Some(ticket.cut_offs),
                expires,
            }));
        }
        // A scheme of the application checks a credential once; it reports no revocations.
        Some(Self::Session(principal.session()?, principal.identity()?.clone()))
    }

    /// A session with a logged-in user.
    fn from_session(record: &Record) -> Option<Self> {
        Some(Self::Session(record.handle, record.identity.clone()?))
    }

    async fn wait_for_end(self, guard: Arc<AuthService>) -> StreamEnd {
        // Subscribe before querying the store, so that no event is lost in between.
        let mut events = guard.revocation_bus.subscribe();
        // The gates have just found the credential valid.
        let mut found_good = guard.clock.monotonic();
        let mut hinted: Option<Duration> = None;
        loop {
            let now = guard.clock.monotonic();
            match self.holds(&guard).await {
                Some(true) => found_good = now,
                Some(false) => return StreamEnd::Credential,
                None if now >= found_good + UNCHECKED => return StreamEnd::Credential,
                None => (),
            }
            let next_look = LOOK.min((found_good + UNCHECKED).saturating_sub(now));
            let mut next_look = pin!(guard.clock.sleep(next_look));
            let mut is_soon = false;
            let end = match &self {
                Self::Session(..) => Timestamp::MAX,
                Self::Token(token) => token.expires,
            };
            loop {
                select! {
                    ended = events.recv() => match ended {
                        // The guard has a sender, so there is always one.
                        Err(RecvError::Closed) => return StreamEnd::Credential,
                        Ok(ended) if self.is_ended_by(&ended) => return StreamEnd::Credential,
                        Ok(RevocationEvent::Hint(ended)) if !is_soon && self.is_ended_by(&ended) => {
                            is_soon = true;
                            match pause(hinted, &guard) {
                                Duration::ZERO => break,
                                pause => next_look.set(guard.clock.sleep(pause)),
                            }
                        }
                        // Query the store again, but not for all streams at the same moment.
                        Ok(RevocationEvent::Missed) | Err(RecvError::Lagged(_)) if !is_soon => {
                            is_soon = true;
                            let pause = pause(hinted, &guard) + within_a_second();
                            next_look.set(guard.clock.sleep(pause));
                        }
                        Ok(_) | Err(RecvError::Lagged(_)) => (),
                    },
                    () = &mut next_look => break,
                    () = guard.clock.wait_until(end) => break,
                }
            }
            if is_soon {
                hinted = Some(guard.clock.monotonic());
            }
        }
    }

    fn is_ended_by(&self, ended: &RevocationEvent) -> bool {
        match (self, ended) {
            (Self::Session(handle, _), RevocationEvent::Session(ended)) => handle == ended,
            (Self::Session(handle, identity), RevocationEvent::SessionsOf { user, keep }) => {
                *identity.subject == **user && *keep != Some(*handle)
            }
            (Self::Session(..), RevocationEvent::AllSessions) => true,
            (Self::Token(token), RevocationEvent::Token(id)) => {
                token.id == *id || token.family.as_ref() == Some(id)
            }
            (Self::Token(token), RevocationEvent::TokensOf { user, cut }) => {
                *token.user == **user && token.is_covered_by(cut)
            }
            (Self::Token(token), RevocationEvent::AllTokens { cut }) => token.is_covered_by(cut),
            // All are named, so that a new event is decided for each kind of credential.
            (
                Self::Session(..),
                RevocationEvent::Token(_)
                | RevocationEvent::TokensOf { .. }
                | RevocationEvent::AllTokens { .. },
            )
            | (
                Self::Token(_),
                RevocationEvent::Session(_)
                | RevocationEvent::SessionsOf { .. }
                | RevocationEvent::AllSessions,
            )
            | (_, RevocationEvent::Hint(_) | RevocationEvent::Missed) => false,
        }
    }

    /// Whether the credential is valid, with the rights that it had when the response began; `None`
    /// if a store fails, or what is known of it is too old.
    async fn holds(&self, guard: &AuthService) -> Option<bool> {
        match self {
            Self::Session(handle, identity) => match &guard.sessions {
                Some(sessions) => sessions.lives(identity, *handle).await.ok(),
                None => Some(false),
            },
            Self::Token(TokenCredential { user, id, family, issued, cut_offs, expires }) => {
                let Some(tokens) = &guard.tokens else { return Some(false) };
                if guard.clock.now() >= *expires {
                    return Some(false);
                }
                let (session, cut_offs) = (family.as_deref(), *cut_offs);
                tokens.holds(TokenNames { id, session, user, cut_offs }, *issued)
            }
        }
    }
}

impl TokenCredential {
    fn is_covered_by(&self, cut: &TokenCutOff) -> bool {
        cut.covers(self.issued.seconds(), self.cut_offs)
    }
}

/// How long to delay a hint if the last one was at `hinted`.
fn pause(hinted: Option<Duration>, guard: &AuthService) -> Duration {
    hinted.map_or(Duration::ZERO, |at| (at + HINTED).saturating_sub(guard.clock.monotonic()))
}

/// A random time of less than a second.
fn within_a_second() -> Duration {
    Duration::from_millis(RandomState::new().hash_one(()) % 1000)
}

/// Ends a body before its source does. An event stream gets a last event; any other body fails, so
/// that no client considers it complete.
struct UntilEnd {
    end: Option<EndFuture>,
    events: Option<EventTail>,
}

impl UntilEnd {
    fn wrap(end: EndFuture, response: Response) -> Response {
        let events = is_events(&response).then(EventTail::default);
        response.map(|body| Body::new(ObservedBody::new(body, Self { end: Some(end), events })))
    }
}

impl BodyObserver<Body> for UntilEnd {
    fn before(
        &mut self,
        body: &mut Body,
        context: &mut Context<'_>,
    ) -> Result<(), axum_core::Error> {
        let Some(end) = &mut self.end else { return Ok(()) };
        let Poll::Ready(end) = end.as_mut().poll(context) else { return Ok(()) };
        self.end = None;
        if self.events.as_ref().is_some_and(EventTail::is_between) {
            *body = last_event(end).into();
            return Ok(());
        }
        *body = Body::empty();
        Err(axum_core::Error::new("the credential or a right behind this response ended"))
    }

    fn after(&mut self, polled: &mut PolledFrame<Body>, _body: &Body, _context: &mut Context<'_>) {
        if let (Some(events), Poll::Ready(Some(Ok(frame)))) = (&mut self.events, polled)
            && let Some(data) = frame.data_ref()
        {
            events.pass(data);
        }
    }
}

/// The event that states why a stream ends.
fn last_event(end: StreamEnd) -> String {
    format!("event: end\ndata: {{\"code\":\"{}\"}}\n\n", end.code())
}

/// Whether a response is an event stream (HTML, Server-sent events).
pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    let Some(media_type) = headers.get(CONTENT_TYPE) else { return false };
    let essence = media_type.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
}

/// Whether a response is an event stream without a content coding.
fn is_events(response: &Response) -> bool {
    let headers = response.headers();
    is_event_stream(headers) && !headers.contains_key(CONTENT_ENCODING)
}

/// The last bytes of an event stream.
#[derive(Default)]
struct EventTail(Option<[u8; 4]>);

impl EventTail {
    fn pass(&mut self, data: &[u8]) {
        for byte in data.get(data.len().saturating_sub(4)..).unwrap_or_default() {
            let [_, rest @ ..] = self.0.unwrap_or_default();
            let [a, b, c] = rest;
            self.0 = Some([a, b, c, *byte]);
        }
    }

    /// Whether the last event was ended by an empty line and no other has begun.
    fn is_between(&self) -> bool {
        match self.0 {
            None | Some([.., b'\n', b'\n'] | [.., b'\r', b'\r'] | [b'\r', b'\n', b'\r', b'\n']) => {
                true
            }
            Some(_) => false,
        }
    }
}

impl RevocationSignal {
    fn new(ended: EndFuture) -> Self {
        Self(Arc::new(Mutex::new(Some(ended))))
    }

    /// Takes the signal out: an extension must be `Clone`, and a future is not.
    pub(crate) fn take(&self) -> Option<EndFuture> {
        lock(&self.0).take()
    }
}

impl fmt::Debug for RevocationSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RevocationSignal")
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn an_event_stream_is_known_by_its_media_type() {
        for (value, is_stream) in [
            ("text/event-stream", true),
            ("Text/Event-Stream ; charset=utf-8", true),
            ("text/event-streams", false),
        ] {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(value))]);
            assert_eq!(is_event_stream(&headers), is_stream, "{value}");
        }
    }

    #[test]
    fn an_event_ends_with_an_empty_line_however_it_is_cut() {
        for (text, is_between) in [
            ("", true),
            ("data: a\n\n", true),
            ("data: a\r\r", true),
            (": begin\r\n\r\n", true),
            ("data: a\n", false),
            ("data: a\r\n", false),
            ("data: a\n\ndata", false),
            ("data: a\n\n\r", false),
        ] {
            for size in 1..=text.len().max(1) {
                let mut tail = EventTail::default();
                text.as_bytes().chunks(size).for_each(|piece| tail.pass(piece));
                assert_eq!(tail.is_between(), is_between, "{text:?} {size}");
            }
        }
    }
}

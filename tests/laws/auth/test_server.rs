//! A server in the same process, with handlers that do what a request tells them.

use std::{
    convert::Infallible,
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use axum_core::extract::FromRequestParts;
use futures_util::stream::pending;
use http::{HeaderMap, HeaderName, HeaderValue, Method, request::Parts};
use http_body::Body as _;
use policy_browser::SentRequest;
use policy_server::{
    AppService, Body, Clock, ResponseFuture, prelude::*, session, tokens, tokens::SecretKey,
};
use tower::Service;

pub(crate) use crate::local::Reply;
use crate::local::{block_on, build_request, read, send, within};

/// The origin of the server.
pub(crate) const OWN: &str = "https://api.shop.example";
/// The time at which every history begins.
pub(crate) const START: u64 = 1_800_000_000;

/// A running server, and its clock.
pub(crate) struct TestServer {
    service: AppService,
    pub(crate) clock: Clock,
}

/// A request in progress.
pub(crate) type Running = Pin<Box<ResponseFuture>>;

impl TestServer {
    pub(crate) fn new(app: App<()>) -> Self {
        let clock = Clock::at(START);
        let app = app.public_origin(OWN).clock(clock.clone());
        let service = within(|| app.into_service());
        Self { service, clock }
    }

    pub(crate) fn wait(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
        settle();
    }

    pub(crate) fn now(&self) -> u64 {
        self.clock.now().seconds()
    }

    pub(crate) fn send(&self, request: Request) -> Reply {
        send(&self.service, request.build())
    }

    /// Passes a request to the server without polling it.
    pub(crate) fn begin(&self, request: Request) -> Running {
        let mut service = self.service.clone();
        within(|| Box::pin(service.call(request.build())))
    }

    /// The body of a response that has no end of its own, after the server has begun to send it.
    pub(crate) fn open(&self, request: Request) -> Body {
        let Ok(response) = block_on(self.begin(request));
        assert_eq!(response.status(), 200);
        let mut body = response.into_body();
        assert!(goes_on(&mut body), "it ends at once");
        body
    }
}

/// Whether a response that has no end of its own is still being sent.
pub(crate) fn goes_on(body: &mut Body) -> bool {
    block_on(poll_fn(|context| Poll::Ready(Pin::new(&mut *body).poll_frame(context).is_pending())))
}

/// Polls a request until it waits.
pub(crate) fn step(running: &mut Running) -> Option<Reply> {
    block_on(async {
        let polled = poll_fn(|context| Poll::Ready(running.as_mut().poll(context))).await;
        match polled {
            Poll::Ready(Ok(response)) => Some(read(response).await),
            Poll::Pending => None,
        }
    })
}

/// The client disconnects.
pub(crate) fn hang_up(running: Running) {
    within(|| drop(running));
    settle();
}

/// Lets background tasks run.
pub(crate) fn settle() {
    block_on(async {
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
    });
}

impl Reply {
    /// The value of a field, if present.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("text"))
    }

    /// The session id that the response sets.
    pub(crate) fn set_id(&self) -> Option<String> {
        let (name, value) = self.field("set-cookie")?.split(';').next()?.split_once('=')?;
        assert_eq!(name, "__Host-sid");
        (!value.is_empty()).then(|| value.to_owned())
    }

    /// Whether it removes the cookie.
    pub(crate) fn removes_cookie(&self) -> bool {
        self.field("set-cookie").is_some_and(|cookie| cookie.starts_with("__Host-sid=;"))
    }

    /// A string member of the JSON body.
    pub(crate) fn text(&self, member: &str) -> String {
        let value: serde_json::Value = serde_json::from_str(&self.body).expect("JSON");
        value[member].as_str().unwrap_or_default().to_owned()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    script: Option<Script>,
}

impl Request {
    pub(crate) fn new(method: Method, path: &str) -> Self {
        let headers = HeaderMap::new();
        Self { method, path: path.to_owned(), headers, body: String::new(), script: None }
    }

    pub(crate) fn get(path: &str) -> Self {
        Self::new(Method::GET, path)
    }

    /// A POST as from a page of the server.
    pub(crate) fn post(path: &str) -> Self {
        Self::new(Method::POST, path).with("origin", OWN)
    }

    /// A request as a browser sends it.
    pub(crate) fn from_sent(sent: &SentRequest) -> Self {
        let mut request = Self::new(sent.method.clone(), sent.url.path());
        request.headers = sent.headers.clone();
        let body = sent.body.as_deref().unwrap_or_default();
        request.body(String::from_utf8_lossy(body))
    }

    pub(crate) fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let name: HeaderName = name.parse().expect("a header name");
        self.headers.append(name, HeaderValue::from_bytes(value.as_ref()).expect("a value"));
        self
    }

    pub(crate) fn cookie(self, id: Option<&str>) -> Self {
        match id {
            Some(id) => self.with("cookie", format!("__Host-sid={id}")),
            None => self,
        }
    }

    pub(crate) fn bearer(self, token: &str) -> Self {
        self.with("authorization", format!("Bearer {token}"))
    }

    pub(crate) fn body(self, body: impl Into<String>) -> Self {
        Self { body: body.into(), ..self }
    }

    pub(crate) fn script(self, script: &Script) -> Self {
        Self { script: Some(script.clone()), ..self }
    }

    fn build(self) -> http::Request<Body> {
        let mut request = build_request(&self.method, &self.path, &self.headers, self.body);
        if let Some(script) = self.script {
            request.extensions_mut().insert(script);
        }
        request
    }
}

/// What a handler does to its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Read,
    Write { key: &'static str },
    Login { user: &'static str, is_remembered: bool },
    Elevate,
    Logout,
    LogoutKeep { key: &'static str },
    RevokeOne { handle: String },
    RevokeOthers,
    RevokeAll,
    RevokeUser { user: &'static str },
}

/// How a handler ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Status(u16),
    Panic,
    /// It never ends.
    Never,
}

/// What a request tells its handler to do, shared with the test.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) steps: Vec<Step>,
    /// The handler waits for it after its steps.
    end: Arc<Mutex<Option<End>>>,
    seen: Arc<Mutex<Option<Seen>>>,
    runs: Arc<AtomicUsize>,
}

/// The session as the handler found it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) handle: Option<String>,
    pub(crate) user: Option<String>,
    /// Whether the last step succeeded.
    pub(crate) is_done: bool,
}

impl Script {
    /// Takes the steps and ends at once.
    pub(crate) fn at_once(steps: Vec<Step>, end: End) -> Self {
        let script = Self::in_time(steps);
        script.open(end);
        script
    }

    /// Takes the steps, and ends when it is [opened](Self::open).
    pub(crate) fn in_time(steps: Vec<Step>) -> Self {
        Self { steps, end: Arc::default(), seen: Arc::default(), runs: Arc::default() }
    }

    pub(crate) fn open(&self, end: End) {
        *self.end.lock().expect("no panic") = Some(end);
    }

    pub(crate) fn observed_session(&self) -> Seen {
        self.seen.lock().expect("no panic").clone().unwrap_or_default()
    }

    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }

    async fn play(&self, sessions: &Sessions, session: &Session) -> Response {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let user = session.identity().map(|identity| identity.subject.into());
        let handle = session.handle().map(|handle| handle.to_string());
        let mut is_done = true;
        for step in &self.steps {
            is_done = take(step, sessions, session).await;
        }
        *self.seen.lock().expect("no panic") = Some(Seen { handle, user, is_done });
        let end = poll_fn(|_context| {
            let end = *self.end.lock().expect("no panic");
            end.map_or(Poll::Pending, Poll::Ready)
        });
        match end.await {
            End::Status(status) => StatusCode::from_u16(status).expect("a status").into_response(),
            // A panic without its message on standard error.
            End::Panic => std::panic::resume_unwind(Box::new("the handler panics")),
            End::Never => std::future::pending().await,
        }
    }
}

async fn take(step: &Step, sessions: &Sessions, session: &Session) -> bool {
    match step {
        Step::Read => session.get::<u8>("a").is_ok(),
        Step::Write { key } => session.set(key, 1).is_ok(),
        Step::Login { user, is_remembered: false } => sessions.login(user).await.is_ok(),
        Step::Login { user, is_remembered: true } => sessions.login_remembered(user).await.is_ok(),
        Step::Elevate => match session.identity() {
            Some(identity) => session.elevate_as(identity.roles(["admin"])).is_ok(),
            None => false,
        },
        Step::Logout => {
            session.logout();
            true
        }
        Step::LogoutKeep { key } => {
            session.logout_keep([*key]);
            true
        }
        Step::RevokeOne { handle } => match session::Handle::parse(handle) {
            Some(handle) => sessions.revoke(handle).await == Ok(true),
            None => false,
        },
        Step::RevokeOthers => sessions.revoke_others().await.is_ok(),
        Step::RevokeAll => sessions.revoke_all().await.is_ok(),
        Step::RevokeUser { user } => sessions.revoke_user(user).await.is_ok(),
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Script {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, StatusCode> {
        parts.extensions.get::<Self>().cloned().ok_or(StatusCode::NOT_IMPLEMENTED)
    }
}

/// Does what the request tells it. Without CSRF tokens, which other laws are about.
#[post("/act")]
#[auth(public)]
#[csrf(origin)]
pub(crate) async fn act(script: Script, sessions: Sessions, session: Session) -> Response {
    script.play(&sessions, &session).await
}

/// Returns the data of the session.
#[get("/look")]
#[auth(public)]
pub(crate) async fn look(session: Session) -> Json<serde_json::Value> {
    let identity = session.identity();
    let has = |key: &str| session.get::<u8>(key).is_ok_and(|value| value.is_some());
    let keys: Vec<&str> = ["a", "b"].into_iter().filter(|key| has(key)).collect();
    Json(serde_json::json!({
        "handle": session.handle().map(|handle| handle.to_string()),
        "user": identity.as_ref().map(|identity| &*identity.subject),
        "roles": identity.map(|identity| identity.roles.join(" ")),
        "keys": keys.join(" "),
    }))
}

/// A response that has no end of its own, and depends on the session.
#[get("/stream")]
#[auth(public)]
pub(crate) async fn stream(_session: Session) -> Body {
    Body::from_stream(pending::<Result<&'static str, Infallible>>())
}

/// An identity in the form of these requests: `subject;scope scope;role role`.
pub(crate) fn identity(text: &str) -> Identity {
    let mut parts = text.split(';');
    let mut words = || parts.next().unwrap_or_default().split_whitespace();
    let subject = words().next().unwrap_or_default();
    Identity::new(subject).scopes(words()).roles(words())
}

/// Logs in the identity in the body.
#[post("/login")]
#[auth(public)]
#[csrf(origin)]
pub(crate) async fn login(sessions: Sessions, body: String) -> Result<(), Problem> {
    Ok(sessions.login(identity(&body)).await?)
}

#[post("/revoke/{user}")]
#[auth(public)]
pub(crate) async fn revoke_user(user: String, tokens: Tokens) -> Result<String, CredentialError> {
    tokens.revoke_user(&user).await.map(|families| families.to_string())
}

/// Issues a token with the time of its user's login, and its refresh token.
#[post("/tokens/login")]
#[auth(public)]
pub(crate) async fn login_by_token(
    tokens: Tokens,
    body: String,
) -> Result<tokens::IssuedTokens, CredentialError> {
    tokens.login(identity(&body)).await
}

/// Issues a token without the time of its user's login.
#[post("/tokens/issue")]
#[auth(public)]
pub(crate) async fn issue(
    tokens: Tokens,
    body: String,
) -> Result<tokens::IssuedTokens, CredentialError> {
    tokens.issue(&identity(&body))
}

/// The token secret of every server.
pub(crate) const SECRET: [u8; 32] = *b"\x8f0123456789abcdef0123456789abcde";

/// Settings for tokens that the tests can sign too.
pub(crate) fn token_settings() -> tokens::TokenSettings {
    Tokens::hs256([("k1", SecretKey::from_bytes(SECRET))]).expect("a key")
}

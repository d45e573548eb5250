//! An app of several instances, and its visitors.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    sync::Mutex,
    time::{Duration, Instant},
};

use http_body_util::BodyExt;
use policy_core::secret::SecretKey;
use policy_server::{
    Clock, Error, Request, Response, SharedLimits,
    prelude::*,
    session::SessionSettings,
    store::MemoryStore,
    testing::{TestClient, TestRequest, TestResponse},
};
pub(crate) use policy_tests::http::until;
use policy_tests::{
    handlers::{by_ticket, csrf, login_as, logout, me, refresh, revoke, revoke_all, ticket, token},
    redis::PATIENCE,
};
use serde_json::Value;
use tokio::{
    task::{JoinHandle, JoinSet},
    time::sleep,
};
use tower::{ServiceExt, util::BoxCloneSyncService};

pub(crate) const OWN: &str = "https://api.example";

pub(crate) const HOST: &str = "api.example";

/// The status of a proxy whose instance did not respond. Instances never send it.
pub(crate) const NO_RESPONSE: StatusCode = StatusCode::BAD_GATEWAY;

/// How long tests wait before they check again.
const PAUSE: Duration = Duration::from_millis(20);

#[get("/public")]
#[auth(public)]
async fn public() -> &'static str {
    "hello"
}

/// Users whose logins are held, and users whose logins may continue.
static HELD: Mutex<(BTreeSet<String>, BTreeSet<String>)> =
    Mutex::new((BTreeSet::new(), BTreeSet::new()));

async fn hold(user: &str) {
    HELD.lock().unwrap().0.insert(user.to_owned());
    let end = Instant::now() + PATIENCE;
    while !HELD.lock().unwrap().1.contains(user) {
        assert!(Instant::now() < end, "the test ended without {user}");
        sleep(PAUSE).await;
    }
}

/// Waits until this many logins of users with this prefix are held.
pub(crate) async fn are_held(count: usize, prefix: &str) {
    let held = || HELD.lock().unwrap().0.iter().filter(|user| user.starts_with(prefix)).count();
    until(async || held() == count).await;
}

/// Releases the held logins of users with this prefix.
pub(crate) fn go_on(prefix: &str) {
    let mut held = HELD.lock().unwrap();
    let (begun, going_on) = &mut *held;
    going_on.extend(begun.iter().filter(|user| user.starts_with(prefix)).cloned());
}

#[post("/held-login/{user}")]
#[auth(public)]
async fn held_login(user: String, sessions: Sessions) -> Result<(), Problem> {
    hold(&user).await;
    Ok(sessions.login(user.as_str()).await?)
}

#[post("/held-issue/{user}")]
#[auth(public)]
async fn held_issue(
    user: String,
    tokens: Tokens,
) -> Result<policy_server::tokens::IssuedTokens, CredentialError> {
    hold(&user).await;
    tokens.login(user.as_str()).await
}

#[post("/revoke-user/{user}")]
#[auth(public)]
async fn revoke_user(user: String, sessions: Sessions) -> Result<String, Problem> {
    Ok(sessions.revoke_user(&user).await?.to_string())
}

#[post("/count")]
#[auth(session)]
async fn count(session: Session) -> Result<String, Problem> {
    Ok(session.increment("count", 1)?.to_string())
}

#[post("/set/{key}")]
#[auth(session)]
#[object(none = "a test of something else")]
async fn set(key: String, session: Session) -> Result<(), Problem> {
    Ok(session.set(&key, 1)?)
}

#[get("/has/{key}")]
#[auth(session)]
#[object(none = "a test of something else")]
async fn has(key: String, session: Session) -> Result<String, Problem> {
    Ok(session.get::<u64>(&key)?.is_some().to_string())
}

#[get("/events")]
#[auth(session)]
async fn events() -> policy_server::Body {
    let nothing = futures_util::stream::pending::<Result<bytes::Bytes, Infallible>>();
    policy_server::Body::from_stream(nothing)
}

#[post("/issue/{user}")]
#[auth(public)]
async fn issue(
    user: String,
    tokens: Tokens,
) -> Result<policy_server::tokens::IssuedTokens, CredentialError> {
    tokens.login(user.as_str()).await
}

/// Tokens that end with the session.
#[post("/issue")]
#[auth(session)]
async fn issue_in_session(
    me: Principal,
    tokens: Tokens,
) -> Result<policy_server::tokens::IssuedTokens, CredentialError> {
    tokens.login(me.subject()).await
}

#[post("/end")]
#[auth(public)]
async fn end(tokens: Tokens, body: String) -> Result<String, CredentialError> {
    Ok(tokens.logout(&body).await?.to_string())
}

#[get("/rated")]
#[limit(rate = "20/h")]
#[auth(public)]
async fn rated() {}

#[get("/plenty")]
#[limit(rate = "300/h per principal")]
#[auth(session)]
async fn plenty() {}

#[get("/crowded/{how}")]
#[limit(concurrency = 3)]
#[auth(public)]
async fn crowded(how: String) {
    if how == "waits" {
        std::future::pending::<()>().await;
    }
}

/// Uses a separate store for everything but sessions, or one for all.
pub(crate) fn app(
    sessions: SessionSettings,
    of_others: Option<MemoryStore>,
    clock: Clock,
) -> App<()> {
    let keys = Tokens::hs256([("k1", SecretKey::from_bytes([1; 32]))]).unwrap();
    let tokens = keys.issuer("https://auth.example").audience("api");
    let (tokens, limits) = match of_others {
        Some(store) => (tokens.store(store.clone()), SharedLimits::store(store)),
        None => (tokens, SharedLimits::with_sessions()),
    };
    App::new(())
        .public_origin(OWN)
        .clock(clock)
        .readiness("/ready")
        .sessions(sessions)
        .tokens(tokens)
        .routes(routes![public, login_as, logout, revoke_all, me, csrf, count, set, has, events])
        .routes(routes![issue, refresh, token, revoke, ticket, by_ticket])
        .routes(routes![rated, plenty, crowded, held_login, held_issue, revoke_user])
        .routes(routes![issue_in_session, end])
        .shared_limits(limits)
}

/// Starts six instances at once, several times, each time on a store of its own that is empty.
pub(crate) async fn start_at_the_same_time(empty: impl Fn() -> String) {
    for _ in 0..5 {
        let url = empty();
        let starts = (0..6).map(|_| {
            let url = url.clone();
            async move { Instance::start(&url).await }
        });
        let instances = starts.collect::<JoinSet<_>>().join_all().await;
        let ada = instances[0].login("ada").await;
        for instance in &instances {
            assert_eq!(ada.status(instance).await, 200);
        }
    }
}

#[derive(Clone)]
pub(crate) struct Instance {
    pub(crate) client: TestClient,
    pub(crate) service: BoxCloneSyncService<Request, Response, Infallible>,
}

impl Instance {
    pub(crate) async fn start(store: &str) -> Self {
        Self::try_to_start(store).await.unwrap()
    }

    pub(crate) async fn try_to_start(store: &str) -> Result<Self, Error> {
        Self::open(Sessions::from_url(store), None).await
    }

    pub(crate) async fn open(
        sessions: SessionSettings,
        of_others: Option<MemoryStore>,
    ) -> Result<Self, Error> {
        Self::open_at(sessions, of_others, Clock::system()).await
    }

    /// An instance whose clock shows another time.
    pub(crate) async fn open_at(
        sessions: SessionSettings,
        of_others: Option<MemoryStore>,
        clock: Clock,
    ) -> Result<Self, Error> {
        let service = app(sessions, of_others, clock).open().await?;
        Ok(Self {
            client: TestClient::new(service.clone(), HOST),
            service: BoxCloneSyncService::new(service),
        })
    }

    /// An instance whose clock shows another time and advances normally.
    pub(crate) async fn start_at(store: &str, clock: &Clock) -> Self {
        let (clock, mut last) = (clock.clone(), Instant::now());
        let passing = clock.clone();
        tokio::spawn(async move {
            loop {
                sleep(PAUSE).await;
                let now = Instant::now();
                passing.advance(now - last);
                last = now;
            }
        });
        Self::open_at(Sessions::from_url(store), None, clock).await.unwrap()
    }

    /// Three instances, which start at the same time.
    pub(crate) async fn three(store: &str) -> [Self; 3] {
        let start = || Self::start(store);
        tokio::join!(start(), start(), start()).into()
    }

    pub(crate) async fn status(&self, path: &str) -> u16 {
        self.client.get(path).send().await.status().as_u16()
    }

    /// Logs in as soon as the store acknowledges it, which may take long on a busy machine.
    pub(crate) async fn login(&self, user: &str) -> Visitor {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.try_to_login(user).await {
                Ok(visitor) => return visitor,
                Err(status) => assert!(status == 503 && Instant::now() < end, "{status}"),
            }
            sleep(PAUSE).await;
        }
    }

    /// Logs in; the error is the status of the response.
    pub(crate) async fn try_to_login(&self, user: &str) -> Result<Visitor, u16> {
        self.visitor(self.client.post(&format!("/login/{user}"))).await
    }

    /// Logs in again, in the same session.
    pub(crate) async fn try_to_login_again(
        &self,
        user: &str,
        before: &Visitor,
    ) -> Result<Visitor, u16> {
        let request = self.client.post(&format!("/login/{user}")).header("cookie", &before.cookie);
        self.visitor(request.header("x-csrf-token", &before.csrf)).await
    }

    async fn visitor(&self, login: TestRequest) -> Result<Visitor, u16> {
        let response = login.origin(OWN).send().await;
        if response.status() != 200 {
            return Err(response.status().as_u16());
        }
        let line = response.header("set-cookie").unwrap();
        let cookie = line.split_once(';').unwrap().0.to_owned();
        let get = self.client.get("/csrf").header("cookie", &cookie).send().await;
        if get.status() != 200 {
            return Err(get.status().as_u16());
        }
        // Empty if the session has ended already.
        let csrf = get.json::<Value>()["token"].as_str().unwrap_or_default().to_owned();
        Ok(Visitor { cookie, csrf })
    }

    pub(crate) fn bearer(&self, path: &str, token: &str) -> TestRequest {
        self.client.get(path).header("authorization", format!("Bearer {token}"))
    }
}

/// A logged-in browser, which may ask any instance.
#[derive(Clone)]
pub(crate) struct Visitor {
    pub(crate) cookie: String,
    csrf: String,
}

impl Visitor {
    pub(crate) async fn get(&self, instance: &Instance, path: &str) -> TestResponse {
        instance.client.get(path).header("cookie", &self.cookie).send().await
    }

    pub(crate) async fn post(&self, instance: &Instance, path: &str) -> TestResponse {
        let request = instance.client.post(path).header("cookie", &self.cookie).origin(OWN);
        request.header("x-csrf-token", &self.csrf).send().await
    }

    /// The status of a visit, as soon as the store answers, however busy the machine is.
    pub(crate) async fn status(&self, instance: &Instance) -> u16 {
        let end = Instant::now() + PATIENCE;
        loop {
            let response = self.get(instance, "/me").await;
            if !is_away(&response) {
                return response.status().as_u16();
            }
            assert!(Instant::now() < end, "{response:?}");
            sleep(PAUSE).await;
        }
    }

    /// Logs out, as soon as the store acknowledges it.
    pub(crate) async fn logs_out(&self, instance: &Instance) {
        let end = Instant::now() + PATIENCE;
        let mut was_away = false;
        loop {
            let response = self.post(instance, "/logout").await;
            // A logout may have taken effect without an acknowledgement.
            if response.status() == 200 || was_away && response.status() == 401 {
                return;
            }
            was_away |= is_away(&response);
            assert!(was_away && Instant::now() < end, "{response:?}");
            sleep(PAUSE).await;
        }
    }

    /// Opens a stream. The task returns whether it was cut off.
    pub(crate) async fn open(&self, instance: &Instance) -> JoinHandle<bool> {
        let request = policy_server::http::Request::get("/events")
            .header("host", HOST)
            .header("cookie", &self.cookie)
            .body(policy_server::Body::empty())
            .unwrap();
        let response = instance.service.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        let mut body = response.into_body();
        tokio::spawn(async move { body.frame().await.is_some_and(|frame| frame.is_err()) })
    }
}

/// How often a visitor counted: acknowledged changes, and those whose outcome is unknown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) done: u64,
    pub(crate) unknown: u64,
}

impl Counted {
    /// Counts once more, as soon as the store acknowledges it.
    pub(crate) async fn on(&mut self, visitor: &Visitor, instance: &Instance) {
        let end = Instant::now() + PATIENCE;
        loop {
            let response = visitor.post(instance, "/count").await;
            if self.takes(&response) {
                return;
            }
            assert!(Instant::now() < end, "{response:?}");
            sleep(PAUSE).await;
        }
    }

    /// Asserts that no acknowledged change is lost. Returns whether this one was acknowledged.
    pub(crate) fn takes(&mut self, response: &TestResponse) -> bool {
        if is_away(response) {
            self.unknown += 1;
            return false;
        }
        assert_eq!(response.status(), 200, "{response:?}");
        let next: u64 = response.text().parse().unwrap();
        let possible = self.done + 1..=self.done + self.unknown + 1;
        assert!(possible.contains(&next), "{next} is not in {possible:?}");
        self.done += 1;
        true
    }
}

/// Whether a route that needs a session responds that the store is unavailable: it states when to
/// retry, and the client keeps its cookie. An instance that is down states nothing.
pub(crate) fn is_away(response: &TestResponse) -> bool {
    if response.status() == NO_RESPONSE {
        return true;
    }
    let is_away = response.status() == 503;
    if is_away {
        assert!(response.header("retry-after").is_some(), "{response:?}");
        assert!(response.header("set-cookie").is_none(), "{response:?}");
    }
    is_away
}

/// The error with which the app refuses to start. It never contains the password.
pub(crate) async fn start_error(store: &str) -> String {
    let Err(error) = Instance::try_to_start(store).await else { panic!("it starts with {store}") };
    let text = error.to_string();
    assert!(text.contains("app.store"), "{text}");
    for secret in [":secret", "wrong-password"] {
        assert!(!text.contains(secret), "{text}");
    }
    text
}

#[track_caller]
pub(crate) fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}`: {text}");
    }
}

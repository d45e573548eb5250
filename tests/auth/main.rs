//! Sessions, tokens, schemes of the app and CSRF over the whole server, mostly from an attacker's
//! point of view. The clock is advanced, never waited for.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what a test cannot do without fails it"
)]
#![expect(
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test fails where something is missing"
)]

mod attacks;
mod caching;
mod callers;
mod connections;
mod csrf;
mod cut_offs;
mod failing_stores;
mod gates;
mod groups;
mod instances;
mod interop;
mod issuers;
mod jsonp;
mod layers;
mod lost_requests;
mod moving;
mod origin_kinds;
mod own_schemes;
mod refresh;
mod same_site;
mod sessions;
mod starts;
mod streams;
mod targets;
mod tenants;
mod tokens;
mod witnesses;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use policy_core::secret::SecretKey;
use policy_server::{
    Clock, Error, Route, StartProblem,
    prelude::*,
    session::SameSite,
    testing::{FaultyStore, TestClient, TestRequest, TestResponse},
    tokens::TokenSettings,
};
use policy_tests::{
    handlers::{self, logout},
    http::{self, problem},
};
use serde_json::Value;
use streams::rights::RoomState;
use tokio::sync::{Semaphore, watch};

const OWN: &str = "https://api.example";
const SPA: &str = "https://spa.example";
const EVIL: &str = "https://evil.example";

/// The time at which every test begins.
const START: u64 = 1_800_000_000;

/// State that the handlers share with the test.
#[derive(Default)]
struct Shared {
    /// How often a handler ran.
    calls: AtomicUsize,
    /// Handlers that wait take one permit each.
    gate: Gate,
    /// One permit for each handler that began to wait.
    waiting: Gate,
    /// The test increments it; streams send it to their clients.
    ticks: watch::Sender<u64>,
    /// What a load of the room of streams does.
    room: Mutex<RoomState>,
}

struct Gate(Semaphore);

impl Default for Gate {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

impl Gate {
    fn open(&self) {
        self.0.add_permits(1);
    }

    async fn pass(&self) {
        http::soon(self.0.acquire()).await.expect("a gate").forget();
    }
}

impl Shared {
    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    fn count_call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    async fn wait(&self) {
        self.waiting.open();
        self.gate.pass().await;
    }
}

type All = Arc<Shared>;

#[post("/login/{user}")]
#[cors(origins = ["https://spa.example"], credentials)]
#[auth(public)]
async fn login(user: String, sessions: Sessions) -> Result<String, Problem> {
    sessions.login(user.as_str()).await?;
    Ok(user)
}

#[get("/me")]
#[cors(origins = ["https://spa.example"], credentials)]
#[auth(session)]
async fn me(me: Principal, State(shared): State<All>) -> String {
    shared.count_call();
    me.subject().to_owned()
}

#[post("/set/{key}/{value}")]
#[cors(origins = ["https://spa.example"], credentials)]
#[auth(session)]
#[object(none = "a test of something else")]
async fn set(
    key: String,
    value: u64,
    session: Session,
    State(shared): State<All>,
) -> Result<(), Problem> {
    shared.count_call();
    Ok(session.set(&key, value)?)
}

#[get("/value/{key}")]
#[auth(session)]
#[object(none = "a test of something else")]
async fn value(key: String, session: Session) -> Result<Json<Value>, Problem> {
    Ok(Json(session.get(&key)?.unwrap_or_default()))
}

/// Waits for the test before it logs in.
#[post("/slow-login/{user}")]
#[auth(public)]
async fn slow_login(
    user: String,
    sessions: Sessions,
    State(shared): State<All>,
) -> Result<(), Problem> {
    shared.wait().await;
    Ok(sessions.login(user.as_str()).await?)
}

/// Waits for the test before it rotates the session.
#[post("/slow-elevate")]
#[auth(session)]
async fn slow_elevate(session: Session, State(shared): State<All>) -> Result<(), Problem> {
    shared.wait().await;
    Ok(session.elevate()?)
}

/// An app with everything, on a store whose calls a test can delay.
struct Scenario {
    client: TestClient,
    clock: Clock,
    store: FaultyStore,
    shared: All,
}

fn secret(first: u8) -> SecretKey {
    SecretKey::from_bytes([first; 32])
}

/// The keys that signed the tokens of the case file.
fn case_keys(names: &[&str]) -> Vec<(String, SecretKey)> {
    let file = case_file();
    let key = |name: &&str| {
        let text = file["token_keys"][name]["k"].as_str().expect("a key");
        ((*name).to_owned(), SecretKey::decode(text).expect("a key"))
    };
    names.iter().map(key).collect()
}

fn case_file() -> Value {
    serde_json::from_str(include_str!("../cases/auth.json")).expect("JSON")
}

fn section(name: &str, count: usize) -> Vec<Value> {
    let cases = case_file()["sections"][name].as_array().expect("a section").clone();
    assert_eq!(cases.len(), count, "{name}");
    cases
}

impl Scenario {
    async fn new(routes: Vec<Route<All>>) -> Self {
        Self::with(routes, |app| app).await
    }

    async fn with(routes: Vec<Route<All>>, change: impl FnOnce(App<All>) -> App<All>) -> Self {
        Self::on(FaultyStore::default(), Clock::at(START), routes, change).await
    }

    async fn on(
        store: FaultyStore,
        clock: Clock,
        routes: Vec<Route<All>>,
        change: impl FnOnce(App<All>) -> App<All>,
    ) -> Self {
        let (app, shared) = app(&store, &clock, routes);
        let service = change(app).open().await.expect("an app without problems");
        Self { client: TestClient::new(service, "api.example"), clock, store, shared }
    }

    fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// Logs in from a page of the app.
    async fn login(&self, user: &str) -> Visitor {
        Visitor::login(&self.client, user).await
    }
}

/// The settings that every app of these tests shares.
fn app(store: &FaultyStore, clock: &Clock, routes: Vec<Route<All>>) -> (App<All>, All) {
    let shared = All::default();
    let app = App::new(Arc::clone(&shared))
        .public_origin(OWN)
        .clock(clock.clone())
        .sessions(Sessions::store(store.clone()).same_site(SameSite::None))
        .tokens(tokens_on(store))
        .routes(routes)
        .routes(routes![login, logout, me, handlers::csrf, set, value]);
    (app, shared)
}

fn tokens_on(store: &FaultyStore) -> TokenSettings {
    Tokens::hs256(case_keys(&["k1", "k2"]))
        .expect("keys")
        .issuer("https://auth.example")
        .audience("api")
        .store(store.clone())
}

/// A logged-in client with its cookie and CSRF token.
#[derive(Clone)]
struct Visitor {
    client: TestClient,
    cookie: String,
    csrf: String,
}

impl Visitor {
    async fn login(client: &TestClient, user: &str) -> Self {
        let response = client.post(&format!("/login/{user}")).origin(OWN).send().await;
        assert_eq!(response.status(), 200, "{response:?}");
        Self::with_session_of(client, &response).await
    }

    /// The client whose session a response has set.
    async fn with_session_of(client: &TestClient, response: &TestResponse) -> Self {
        let (client, cookie) = (client.clone(), cookie_of(response));
        let visitor = Self { client, cookie, csrf: String::new() };
        Self { csrf: visitor.token().await, ..visitor }
    }

    fn get(&self, path: &str) -> TestRequest {
        self.client.get(path).header("cookie", &self.cookie)
    }

    /// A POST as from a page of the app, with the CSRF token.
    fn post(&self, path: &str) -> TestRequest {
        self.bare(path).origin(OWN).header("x-csrf-token", &self.csrf)
    }

    /// A POST with the cookie only.
    fn bare(&self, path: &str) -> TestRequest {
        self.client.post(path).header("cookie", &self.cookie)
    }

    async fn token(&self) -> String {
        let response = self.get("/csrf").send().await;
        response.json::<Value>()["token"].as_str().expect("a token").to_owned()
    }

    /// The user of the session, if the server knows one.
    async fn who(&self) -> Option<String> {
        let response = self.get("/me").send().await;
        match response.status().as_u16() {
            200 => Some(response.text()),
            401 => None,
            _ => panic!("{response:?}"),
        }
    }

    async fn value(&self, key: &str) -> Value {
        let response = self.get(&format!("/value/{key}")).send().await;
        assert_eq!(response.status(), 200, "{response:?}");
        response.json()
    }
}

/// A request for the app with these header lines.
fn raw(what: &str, fields: &[&str]) -> String {
    http::request(what, fields).replacen("host: localhost", "host: api.example", 1)
}

/// The `Cookie` header for the cookie that a response sets.
fn cookie_of(response: &TestResponse) -> String {
    set_cookie(response).unwrap_or_else(|| panic!("no cookie is set: {response:?}"))
}

/// The session cookie that a response sets; asserts that it sets at most one.
fn set_cookie(response: &TestResponse) -> Option<String> {
    let lines = response.header_all("set-cookie");
    let mut lines = lines.iter().filter(|line| line.starts_with("__Host-sid="));
    let line = *lines.next()?;
    assert!(lines.next().is_none(), "twice: {response:?}");
    let (pair, attributes) = line.split_once("; ").expect("attributes");
    if pair == "__Host-sid=" {
        return None;
    }
    assert_eq!(attributes, "Path=/; Secure; HttpOnly; SameSite=None");
    Some(pair.to_owned())
}

/// Whether a response removes the session cookie.
fn removes_cookie(response: &TestResponse) -> bool {
    let lines = response.header_all("set-cookie");
    let removals: Vec<_> = lines.iter().filter(|line| line.starts_with("__Host-sid=;")).collect();
    if let [line] = removals[..] {
        // Browsers only accept a removal with the attributes of the cookie.
        for attribute in ["Path=/", "Max-Age=0", "Secure", "HttpOnly", "SameSite=None"] {
            assert!(line.split("; ").any(|part| part == attribute), "{line}");
        }
    }
    removals.len() == 1
}

fn leaves_cookie(response: &TestResponse) -> bool {
    response.header("set-cookie").is_none()
}

/// The codes of the problems with which an app does not start, sorted; none if it starts.
fn codes<T>(result: Result<T, Error>) -> Vec<&'static str> {
    let mut codes: Vec<_> = match result {
        Err(Error::Start(problems)) => problems.iter().map(StartProblem::code).collect(),
        Err(other) => panic!("{other}"),
        Ok(_) => Vec::new(),
    };
    codes.sort_unstable();
    codes
}

#[track_caller]
fn assert_problem(response: &TestResponse, status: u16, code: &str) {
    assert_eq!(problem(response), (status, code.to_owned()), "{response:?}");
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// A token of the case file that is valid at [`START`]: `user-1`, with the scopes `read write`.
fn good_token() -> String {
    case_token("TOK-001")
}

fn case_token(id: &str) -> String {
    let cases = section("token_hs256", 124);
    let case = cases.iter().find(|case| case["id"] == id).expect("a case");
    case["token"].as_str().expect("a token").to_owned()
}

//! The tasks of a team whose members log in, by axum.

use std::{
    env,
    error::Error,
    hash::{DefaultHasher, Hash, Hasher},
    net::{IpAddr, SocketAddr},
    num::NonZero,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use axum::{
    Json, Router,
    extract::{ConnectInfo, DefaultBodyLimit, FromRequestParts, Path, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{get, post, put},
};
use governor::{DefaultKeyedRateLimiter, Quota};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use tower_governor::{
    GovernorError, GovernorLayer, governor::GovernorConfigBuilder, key_extractor::KeyExtractor,
};
use tower_http::{
    catch_panic::CatchPanicLayer, cors::CorsLayer, csrf::CsrfLayer,
    set_header::SetResponseHeaderLayer, timeout::TimeoutLayer,
};
use tower_sessions::{
    ExpiredDeletion, Expiry, Session, SessionManagerLayer,
    cookie::{SameSite, time},
};
use tower_sessions_sqlx_store::SqliteStore;

#[derive(Clone, Deserialize, Serialize)]
struct Task {
    title: String,
    #[serde(default)]
    done: bool,
    #[serde(default)]
    by: String,
}

#[derive(Clone)]
struct Team {
    tasks: Arc<Mutex<Vec<Task>>>,
    /// How often each member adds a task.
    adds: Arc<DefaultKeyedRateLimiter<String>>,
    sessions: sqlx::SqlitePool,
}

impl Team {
    fn change<T>(&self, change: impl FnOnce(&mut Vec<Task>) -> T) -> T {
        change(&mut self.tasks.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The page that may use the API with the cookie of its user, in production and in development.
const PAGES: [&str; 2] = ["https://tasks.example", "http://localhost:3000"];

/// A problem of RFC 9457.
struct Problem(StatusCode, &'static str);

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self(status, detail) = self;
        let body = serde_json::json!({ "status": status.as_u16(), "detail": detail });
        (status, [(header::CONTENT_TYPE, "application/problem+json")], body.to_string())
            .into_response()
    }
}

impl From<tower_sessions::session::Error> for Problem {
    fn from(_: tower_sessions::session::Error) -> Self {
        Self(StatusCode::SERVICE_UNAVAILABLE, "sessions cannot be reached")
    }
}

/// The user who is logged in, as stored in the session.
#[derive(Clone, Deserialize, Serialize)]
struct Member {
    name: String,
    is_lead: bool,
    since: SystemTime,
}

const MEMBER: &str = "member";

impl<S: Send + Sync> FromRequestParts<S> for Member {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let session = Session::from_request_parts(parts, state).await;
        let session =
            session.map_err(|_| Problem(StatusCode::INTERNAL_SERVER_ERROR, "no layer"))?;
        let member = session.get(MEMBER).await?;
        member.ok_or(Problem(StatusCode::UNAUTHORIZED, "log in"))
    }
}

#[derive(Deserialize)]
struct Login {
    name: String,
    password: String,
}

/// Stands for your table of users, and for argon2.
fn verify(login: Login) -> Option<Member> {
    let is_lead = match (login.name.as_str(), login.password.as_str()) {
        ("ada", "lovelace") => true,
        ("grace", "hopper") => false,
        _ => return None,
    };
    Some(Member { name: login.name, is_lead, since: SystemTime::now() })
}

async fn login(session: Session, Json(login): Json<Login>) -> Result<StatusCode, Problem> {
    let wrong = Problem(StatusCode::FORBIDDEN, "the name or the password is wrong");
    let member = verify(login).ok_or(wrong)?;
    // Otherwise anyone who knows the previous id is logged in as well.
    session.cycle_id().await?;
    session.insert(MEMBER, member).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn logout(_member: Member, session: Session) -> Result<StatusCode, Problem> {
    session.flush().await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn list(_member: Member, State(team): State<Team>, headers: HeaderMap) -> Response {
    let body = team.change(|tasks| serde_json::json!(tasks)).to_string();
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    let etag = format!("\"{:x}\"", hasher.finish());
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
    let mut known = known.flat_map(|line| line.split(',')).map(str::trim);
    if known.any(|known| known == "*" || known.trim_start_matches("W/") == etag) {
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, etag)]).into_response();
    }
    let fields = [(header::ETAG, etag), (header::CONTENT_TYPE, "application/json".to_owned())];
    (fields, body).into_response()
}

async fn add(
    member: Member,
    State(team): State<Team>,
    Json(task): Json<Task>,
) -> Result<StatusCode, Problem> {
    if team.adds.check_key(&member.name).is_err() {
        return Err(Problem(StatusCode::TOO_MANY_REQUESTS, "60 tasks a minute"));
    }
    if !(1..=200).contains(&task.title.trim().len()) {
        return Err(Problem(StatusCode::UNPROCESSABLE_ENTITY, "a title has 1 to 200 letters"));
    }
    team.change(|tasks| tasks.push(Task { by: member.name, ..task }));
    Ok(StatusCode::CREATED)
}

async fn finish(
    _member: Member,
    State(team): State<Team>,
    Path(number): Path<usize>,
) -> Result<StatusCode, Problem> {
    let found = team.change(|tasks| tasks.get_mut(number).map(|task| task.done = true));
    found.ok_or(Problem(StatusCode::NOT_FOUND, "there is no such task"))?;
    Ok(StatusCode::NO_CONTENT)
}

/// For leads only, and only soon after a login.
async fn clear(member: Member, State(team): State<Team>) -> Result<StatusCode, Problem> {
    if !member.is_lead {
        return Err(Problem(StatusCode::FORBIDDEN, "for leads only"));
    }
    if member.since.elapsed().is_ok_and(|age| age > Duration::from_secs(15 * 60)) {
        return Err(Problem(StatusCode::UNAUTHORIZED, "log in again"));
    }
    team.change(Vec::clear);
    Ok(StatusCode::NO_CONTENT)
}

async fn ready(State(team): State<Team>) -> StatusCode {
    match sqlx::query("SELECT 1").execute(&team.sessions).await {
        Ok(_) => StatusCode::OK,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// The address of a client: the one that a trusted proxy states, if there is one.
#[derive(Clone)]
struct ClientAddress(Arc<[IpNet]>);

impl KeyExtractor for ClientAddress {
    type Key = IpAddr;

    fn extract<T>(&self, request: &axum::http::Request<T>) -> Result<IpAddr, GovernorError> {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        let peer = peer.ok_or(GovernorError::UnableToExtractKey)?.ip();
        let is_ours = |address: &IpAddr| self.0.iter().any(|network| network.contains(address));
        if !is_ours(&peer) {
            return Ok(peer);
        }
        let lines = request.headers().get_all("x-forwarded-for").iter();
        let lines: Vec<&str> = lines.filter_map(|line| line.to_str().ok()).collect();
        let mut named = lines.iter().flat_map(|line| line.split(',')).rev();
        let client = named.find_map(|text| text.trim().parse().ok().filter(|one| !is_ours(one)));
        Ok(client.unwrap_or(peer))
    }
}

/// Refuses requests that name another host, as from a page whose name resolves here (DNS rebinding).
async fn check_host(State(own): State<Option<String>>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let host = request.uri().authority().map(|name| name.as_str()).or(host).unwrap_or_default();
    let is_own = match own.as_deref().and_then(|own| own.split("://").nth(1)) {
        Some(own) => host.eq_ignore_ascii_case(own),
        None => ["localhost", "127.0.0.1"].contains(&host.split(':').next().unwrap_or_default()),
    };
    match is_own || ["/healthz", "/readyz"].contains(&request.uri().path()) {
        true => next.run(request).await,
        false => Problem(StatusCode::MISDIRECTED_REQUEST, "another host").into_response(),
    }
}

/// The headers of every response, unless its handler sets them.
fn headers(is_production: bool) -> Vec<(HeaderName, HeaderValue)> {
    let mut fields = vec![
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    if is_production {
        fields.push((header::STRICT_TRANSPORT_SECURITY, "max-age=31536000; includeSubDomains"));
    }
    fields.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).collect()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let setting = |name| env::var(name).ok();
    let own = setting("PUBLIC_ORIGIN");
    let proxies = setting("TRUSTED_PROXIES").unwrap_or_default();
    let proxies = proxies.split(',').filter(|text| !text.is_empty());
    let proxies: Vec<IpNet> = proxies.map(|text| text.parse()).collect::<Result<_, _>>()?;
    let file = setting("SESSION_STORE").unwrap_or("sessions.sqlite".to_owned());
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
    let pool = SqlitePoolOptions::new().connect_with(options).await?;
    let store = SqliteStore::new(pool.clone());
    store.migrate().await?;
    tokio::spawn(store.clone().continuously_delete_expired(Duration::from_secs(60)));
    let sessions = SessionManagerLayer::new(store)
        .with_name(if own.is_some() { "__Host-id" } else { "id" })
        .with_secure(own.is_some())
        .with_same_site(SameSite::Lax)
        .with_expiry(Expiry::OnInactivity(time::Duration::hours(1)));
    let pages = PAGES.map(HeaderValue::from_static);
    let cors = CorsLayer::new()
        .allow_origin(pages)
        .allow_credentials(true)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers([header::CONTENT_TYPE]);
    let mut csrf = CsrfLayer::new();
    for page in PAGES {
        csrf = csrf.add_trusted_origin(page)?;
    }
    let guesses = GovernorConfigBuilder::default()
        .period(Duration::from_secs(6))
        .burst_size(10)
        .key_extractor(ClientAddress(proxies.into()))
        .finish()
        .ok_or("a rate of zero")?;
    let adds = Quota::per_minute(NonZero::new(60).ok_or("a rate of zero")?);
    let adds = Arc::new(DefaultKeyedRateLimiter::keyed(adds));
    let team = Team { tasks: Arc::default(), adds, sessions: pool };
    let mut app = Router::new()
        .route("/login", post(login).layer(GovernorLayer::new(guesses)))
        .route("/logout", post(logout))
        .route("/tasks", get(list).post(add).delete(clear))
        .route("/tasks/{number}/done", put(finish))
        .layer(DefaultBodyLimit::max(4 * 1024))
        .layer(sessions)
        .layer(csrf)
        // Outside of the layers that refuse, so that the page may read a refusal.
        .layer(cors)
        .route("/healthz", get(async || StatusCode::OK))
        .route("/readyz", get(ready))
        .fallback(async || Problem(StatusCode::NOT_FOUND, "there is nothing here"))
        .layer(from_fn_with_state(own.clone(), check_host))
        .layer(TimeoutLayer::with_status_code(
            StatusCode::SERVICE_UNAVAILABLE,
            Duration::from_secs(30),
        ))
        .layer(CatchPanicLayer::new())
        .with_state(team);
    for (name, value) in headers(own.is_some()) {
        app = app.layer(SetResponseHeaderLayer::if_not_present(name, value));
    }
    let listener = setting("LISTEN").unwrap_or("127.0.0.1:8080".to_owned());
    let listener = tokio::net::TcpListener::bind(listener).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>())
        .with_graceful_shutdown(async { _ = tokio::signal::ctrl_c().await })
        .await?;
    Ok(())
}

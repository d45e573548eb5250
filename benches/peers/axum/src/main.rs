//! axum with the crates that one would use for the same work: tower-http's `CorsLayer`,
//! jsonwebtoken, and tower-sessions with its store in memory.
//!
//! `axum-peer PORT [--threads N]`, on one work-stealing runtime. Clients that begin with HTTP/2 get
//! it.

use std::{collections::HashMap, error::Error, time::Duration};

use axum::{
    Json, Router,
    extract::{FromRequestParts, Path, Query},
    http::{HeaderName, HeaderValue, Method, StatusCode, header::AUTHORIZATION, request::Parts},
    routing::{get, post},
    serve::ListenerExt,
};
use contract::{Arguments, Login, ORDER, Order};
use time::OffsetDateTime;
use tokio::net::{TcpListener, TcpStream};
use tower_http::cors::CorsLayer;
use tower_sessions::{
    MemoryStore, Session, SessionManagerLayer, SessionStore,
    session::{Id, Record},
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse()?;
    arguments.runtime()?.block_on(async {
        let listener = TcpListener::from_std(arguments.listen()?)?;
        let listener = listener.tap_io(|stream: &mut TcpStream| {
            let _ = stream.set_nodelay(true);
        });
        // Served as a router, as in most programs, each connection copies all routes.
        let service = app().await?.into_make_service();
        // On a worker's own thread.
        tokio::spawn(async { axum::serve(listener, service).await }).await??;
        Ok(())
    })
}

async fn app() -> Result<Router, Box<dyn Error>> {
    let sessions =
        SessionManagerLayer::new(filled().await?).with_name(contract::COOKIE).with_secure(false);
    let mut app = Router::new()
        .route("/plain", get(plain))
        .route("/order", get(order).post(total))
        .route("/cors", get(plain).layer(cors()))
        .route("/login", post(login).layer(sessions.clone()))
        .route("/session", get(session).layer((cors(), sessions)))
        .route("/token", get(token).layer(cors()));
    let routes = contract::routes(|name| format!("{{{name}}}"));
    for path in routes.without {
        app = app.route(&path, get(async || ""));
    }
    for path in routes.with_one {
        app = app.route(&path, get(async |Path(id): Path<String>| id));
    }
    for path in routes.with_two {
        app = app.route(&path, get(two_parameters));
    }
    Ok(app)
}

/// A store that already contains sessions.
async fn filled() -> Result<MemoryStore, Box<dyn Error>> {
    let store = MemoryStore::default();
    for user in 0..contract::SESSIONS {
        let data = HashMap::from([("user".to_owned(), user.into())]);
        let expiry_date = OffsetDateTime::now_utc() + time::Duration::days(14);
        store.create(&mut Record { id: Id::default(), data, expiry_date }).await?;
    }
    Ok(store)
}

fn cors() -> CorsLayer {
    CorsLayer::new()
        .allow_origin(contract::ORIGINS.map(HeaderValue::from_static))
        .allow_credentials(true)
        .allow_methods([Method::GET, Method::PUT])
        .allow_headers(contract::ALLOWED_HEADERS.map(HeaderName::from_static))
        .expose_headers([HeaderName::from_static(contract::EXPOSED_HEADER)])
        .max_age(Duration::from_secs(contract::MAX_AGE))
}

async fn plain() -> &'static str {
    contract::HELLO
}

async fn order() -> Json<&'static Order> {
    Json(&ORDER)
}

async fn total(Json(order): Json<Order>) -> Result<String, StatusCode> {
    order.total().ok_or(StatusCode::UNPROCESSABLE_ENTITY)
}

async fn two_parameters(Path((id, item)): Path<(String, String)>) -> String {
    format!("{id}:{item}")
}

async fn login(session: Session, Query(login): Query<Login>) -> Result<StatusCode, StatusCode> {
    let stored = session.insert("user", login.user).await;
    stored.map_err(|_error| StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn session(session: Session) -> Result<String, StatusCode> {
    let user = session.get::<u64>("user").await;
    let user = user.map_err(|_error| StatusCode::INTERNAL_SERVER_ERROR)?;
    user.map(|user| user.to_string()).ok_or(StatusCode::UNAUTHORIZED)
}

async fn token(Subject(subject): Subject) -> String {
    subject
}

struct Subject(String);

impl<S: Sync> FromRequestParts<S> for Subject {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, StatusCode> {
        let credentials = parts.headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
        bearer::subject(credentials).map(Self).ok_or(StatusCode::UNAUTHORIZED)
    }
}

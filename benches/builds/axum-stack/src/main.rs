//! The same as `policy-stack`, with its sessions in memory.

use std::{error::Error, fs, sync::Arc, time::SystemTime};

use axum::{
    Json, Router,
    extract::{FromRequestParts, Path, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
        header::{AUTHORIZATION, CONTENT_TYPE},
        request::Parts,
    },
    response::IntoResponse,
    routing::{get, post},
};
use axum_csrf::{CsrfConfig, CsrfLayer, CsrfToken};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, encode};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tower_http::cors::CorsLayer;
use tower_sessions::{MemoryStore, Session, SessionManagerLayer};

const CSRF_HEADER: HeaderName = HeaderName::from_static("x-csrf-token");

struct Keys {
    encoding: EncodingKey,
    decoding: DecodingKey,
}

#[derive(Deserialize)]
struct Login {
    name: String,
    password: String,
}

async fn login(session: Session, Json(login): Json<Login>) -> Result<(), StatusCode> {
    if login.password != "correct horse" {
        return Err(StatusCode::FORBIDDEN);
    }
    session.cycle_id().await.map_err(internal)?;
    session.insert("user", login.name).await.map_err(internal)
}

/// The caller of the session; an unsafe request has the CSRF token of the page.
struct User(String);

impl<S: Send + Sync> FromRequestParts<S> for User {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, StatusCode> {
        let session =
            Session::from_request_parts(parts, state).await.map_err(|(status, _)| status)?;
        let user = session.get("user").await.map_err(internal)?;
        let csrf = CsrfToken::from_request_parts(parts, state).await.map_err(internal)?;
        let sent = parts.headers.get(CSRF_HEADER).and_then(|token| token.to_str().ok());
        if parts.method != Method::GET && sent.is_none_or(|sent| csrf.verify(sent).is_err()) {
            return Err(StatusCode::FORBIDDEN);
        }
        user.map(User).ok_or(StatusCode::UNAUTHORIZED)
    }
}

async fn csrf(token: CsrfToken) -> Result<impl IntoResponse, StatusCode> {
    let text = token.authenticity_token().map_err(internal)?;
    Ok((token, text))
}

async fn transfer(Path(amount): Path<u64>, User(user): User) -> String {
    format!("{user} pays {amount}")
}

#[derive(Deserialize, Serialize)]
struct Claims {
    sub: String,
    exp: u64,
}

async fn token(State(keys): State<Arc<Keys>>, User(sub): User) -> Result<String, StatusCode> {
    let now = SystemTime::UNIX_EPOCH.elapsed().map_err(internal)?.as_secs();
    encode(&Header::default(), &Claims { sub, exp: now + 300 }, &keys.encoding).map_err(internal)
}

async fn report(
    State(keys): State<Arc<Keys>>,
    Path(id): Path<u64>,
    headers: HeaderMap,
) -> Result<String, StatusCode> {
    let sent = headers.get(AUTHORIZATION).and_then(|sent| sent.as_bytes().strip_prefix(b"Bearer "));
    let sent = sent.ok_or(StatusCode::UNAUTHORIZED)?;
    let found = decode::<Claims>(sent, &keys.decoding, &Validation::new(Algorithm::HS256));
    let found = found.map_err(|_invalid| StatusCode::UNAUTHORIZED)?;
    Ok(format!("report {id} for {}", found.claims.sub))
}

fn internal<E>(_error: E) -> StatusCode {
    StatusCode::INTERNAL_SERVER_ERROR
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let secret = fs::read("token.key")?;
    let keys = Keys {
        encoding: EncodingKey::from_secret(&secret),
        decoding: DecodingKey::from_secret(&secret),
    };
    let cors = CorsLayer::new()
        .allow_origin(HeaderValue::from_static("https://app.shop.example"))
        .allow_credentials(true)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([AUTHORIZATION, CONTENT_TYPE, CSRF_HEADER]);
    let app = Router::new()
        .route("/login", post(login))
        .route("/csrf", get(csrf))
        .route("/transfer/{amount}", post(transfer))
        .route("/token", post(token))
        .route("/report/{id}", get(report))
        .layer(CsrfLayer::new(CsrfConfig::default()))
        .layer(SessionManagerLayer::new(MemoryStore::default()))
        .layer(cors)
        .with_state(Arc::new(keys));
    axum::serve(TcpListener::bind("127.0.0.1:8080").await?, app).await?;
    Ok(())
}

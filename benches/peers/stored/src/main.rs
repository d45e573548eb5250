//! axum and tower-sessions with its store in PostgreSQL or in Redis.
//!
//! `stored-peer PORT URL`, on one worker.

use std::error::Error;

use axum::{
    Router,
    extract::Query,
    http::StatusCode,
    routing::{get, post},
    serve::ListenerExt,
};
use contract::Login;
use sqlx::postgres::PgPoolOptions;
use tokio::{net::TcpListener, runtime::Builder};
use tower_sessions::{Session, SessionManagerLayer, SessionStore};
use tower_sessions_redis_store::{
    RedisStore,
    fred::prelude::{ClientLike, Config, Pool},
};
use tower_sessions_sqlx_store::PostgresStore;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (port, url) = (arguments.next().unwrap_or_default(), arguments.next().unwrap_or_default());
    Builder::new_multi_thread().worker_threads(1).enable_all().build()?.block_on(async {
        let app =
            if url.starts_with("redis") { redis(&url).await? } else { postgres(&url).await? };
        let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let service = app.into_make_service();
        // On a worker's own thread.
        tokio::spawn(async { axum::serve(listener, service).await }).await??;
        Ok(())
    })
}

async fn postgres(url: &str) -> Result<Router, Box<dyn Error>> {
    // As many connections as Policy opens.
    let pool = PgPoolOptions::new().max_connections(10).connect(url).await?;
    let store = PostgresStore::new(pool);
    store.migrate().await?;
    Ok(app(store))
}

async fn redis(url: &str) -> Result<Router, Box<dyn Error>> {
    // As many connections as Policy opens.
    let pool = Pool::new(Config::from_url(url)?, None, None, None, 1)?;
    pool.init().await?;
    Ok(app(RedisStore::new(pool)))
}

fn app(store: impl SessionStore + Clone) -> Router {
    let sessions = SessionManagerLayer::new(store).with_name(contract::COOKIE).with_secure(false);
    Router::new().route("/login", post(login)).route("/session", get(session)).layer(sessions)
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

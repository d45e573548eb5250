//! The server that is measured beside other frameworks: the answers, the policy and the hundred
//! routes of every peer, with all limits on.
//!
//! `peer PORT [--threads N] [--tpc] ..`: one work-stealing runtime with N threads.

use std::{
    collections::HashMap,
    sync::{
        RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use http::{
    HeaderMap, HeaderValue,
    header::{COOKIE, SET_COOKIE},
};
use policy_server::{Settings, prelude::*};

const APPS: CorsPolicy = CorsPolicy::origins(&[
    "https://app.example.com",
    "https://admin.example.com",
    "https://shop.example.org",
])
.credentials()
.methods(&["GET", "PUT"])
.headers(&["content-type", "x-request-id"])
.expose(&["x-request-id"])
.max_age(600)
.build();

/// The sessions of the page that logs in. They are the peer's own until the library has some, so
/// the figures of `/session` say nothing about it.
#[derive(Default)]
struct Sessions {
    users: RwLock<HashMap<u64, u64>>,
    next: AtomicU64,
}

type Shared = std::sync::Arc<Sessions>;

#[get("/plain")]
#[auth(public)]
async fn plain() -> &'static str {
    "Hello, World!"
}

#[get("/cors")]
#[cors(APPS)]
#[auth(public)]
async fn cors_route() -> &'static str {
    "Hello, World!"
}

#[derive(serde::Deserialize)]
struct Login {
    user: u64,
}

#[post("/login")]
#[auth(public)]
async fn login(
    State(sessions): State<Shared>,
    Query(login): Query<Login>,
) -> Result<(StatusCode, [(http::HeaderName, HeaderValue); 1]), Problem> {
    let id = sessions.next.fetch_add(1, Ordering::Relaxed);
    sessions
        .users
        .write()
        .map_err(|error| Problem::internal(error.to_string()))?
        .insert(id, login.user);
    let cookie = format!("sid={id}; HttpOnly; SameSite=Lax; Path=/");
    let cookie = HeaderValue::from_str(&cookie).map_err(Problem::internal)?;
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]))
}

#[get("/session")]
#[cors(APPS)]
#[auth(public)]
async fn session(State(sessions): State<Shared>, headers: HeaderMap) -> Result<String, Problem> {
    let cookie = headers.get(COOKIE).and_then(|cookie| cookie.to_str().ok());
    let id = cookie.and_then(|cookie| cookie.strip_prefix("sid=")?.parse().ok());
    let users = sessions.users.read().map_err(|error| Problem::internal(error.to_string()))?;
    let user = id.and_then(|id: u64| users.get(&id));
    user.map(u64::to_string).ok_or_else(Problem::unauthorized)
}

#[get("/health")]
#[get("/users")]
#[get("/accounts")]
#[get("/addresses")]
#[get("/articles")]
#[get("/assets")]
#[get("/baskets")]
#[get("/books")]
#[get("/branches")]
#[get("/campaigns")]
#[get("/carts")]
#[get("/categories")]
#[get("/channels")]
#[get("/courses")]
#[get("/customers")]
#[get("/devices")]
#[get("/documents")]
#[get("/events")]
#[get("/groups")]
#[get("/invoices")]
#[get("/issues")]
#[get("/jobs")]
#[get("/kits")]
#[get("/leads")]
#[get("/machines")]
#[get("/networks")]
#[get("/orders")]
#[get("/plans")]
#[get("/projects")]
#[get("/queues")]
#[get("/reports")]
#[get("/sites")]
#[get("/teams")]
#[get("/uploads")]
#[auth(public)]
async fn no_parameter() -> &'static str {
    ""
}

#[get("/users/{id}")]
#[get("/accounts/{id}")]
#[get("/addresses/{id}")]
#[get("/articles/{id}")]
#[get("/assets/{id}")]
#[get("/baskets/{id}")]
#[get("/books/{id}")]
#[get("/branches/{id}")]
#[get("/campaigns/{id}")]
#[get("/carts/{id}")]
#[get("/categories/{id}")]
#[get("/channels/{id}")]
#[get("/courses/{id}")]
#[get("/customers/{id}")]
#[get("/devices/{id}")]
#[get("/documents/{id}")]
#[get("/events/{id}")]
#[get("/groups/{id}")]
#[get("/invoices/{id}")]
#[get("/issues/{id}")]
#[get("/jobs/{id}")]
#[get("/kits/{id}")]
#[get("/leads/{id}")]
#[get("/machines/{id}")]
#[get("/networks/{id}")]
#[get("/orders/{id}")]
#[get("/plans/{id}")]
#[get("/projects/{id}")]
#[get("/queues/{id}")]
#[get("/reports/{id}")]
#[get("/sites/{id}")]
#[get("/teams/{id}")]
#[get("/uploads/{id}")]
#[auth(public)]
async fn one_parameter(id: String) -> String {
    id
}

#[get("/users/{id}/posts/{item}")]
#[get("/accounts/{id}/entries/{item}")]
#[get("/addresses/{id}/changes/{item}")]
#[get("/articles/{id}/comments/{item}")]
#[get("/assets/{id}/versions/{item}")]
#[get("/baskets/{id}/items/{item}")]
#[get("/books/{id}/chapters/{item}")]
#[get("/branches/{id}/commits/{item}")]
#[get("/campaigns/{id}/mails/{item}")]
#[get("/carts/{id}/lines/{item}")]
#[get("/categories/{id}/products/{item}")]
#[get("/channels/{id}/messages/{item}")]
#[get("/courses/{id}/lessons/{item}")]
#[get("/customers/{id}/notes/{item}")]
#[get("/devices/{id}/readings/{item}")]
#[get("/documents/{id}/pages/{item}")]
#[get("/events/{id}/guests/{item}")]
#[get("/groups/{id}/members/{item}")]
#[get("/invoices/{id}/payments/{item}")]
#[get("/issues/{id}/labels/{item}")]
#[get("/jobs/{id}/runs/{item}")]
#[get("/kits/{id}/parts/{item}")]
#[get("/leads/{id}/calls/{item}")]
#[get("/machines/{id}/logs/{item}")]
#[get("/networks/{id}/hosts/{item}")]
#[get("/orders/{id}/refunds/{item}")]
#[get("/plans/{id}/prices/{item}")]
#[get("/projects/{id}/tasks/{item}")]
#[get("/queues/{id}/tickets/{item}")]
#[get("/reports/{id}/charts/{item}")]
#[get("/sites/{id}/visits/{item}")]
#[get("/teams/{id}/roles/{item}")]
#[get("/uploads/{id}/chunks/{item}")]
#[auth(public)]
async fn two_parameters(id: String, item: String) -> String {
    [&id, ":", &item].concat()
}

fn main() -> Result<(), Error> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let port = arguments.first().map_or("8080", String::as_str);
    let threads = arguments.iter().skip_while(|argument| *argument != "--threads").nth(1);
    let threads = threads.and_then(|threads| threads.parse().ok()).unwrap_or(1);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()?
        .block_on(async {
            let app = App::new(Shared::default())
                .settings(Settings::default())
                .routes(routes![plain, cors_route, login, session])
                .routes(routes![no_parameter, one_parameter, two_parameters]);
            let server = app.bind(format!("127.0.0.1:{port}")).await?;
            // On a worker's own thread, as the peers do.
            match tokio::spawn(server.run()).await {
                Ok(result) => result,
                Err(error) => Err(Error::Io(std::io::Error::other(error))),
            }
        })
}

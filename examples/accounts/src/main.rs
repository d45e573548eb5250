//! Accounts: sign-up, sessions and tokens, and a shop on another origin whose pages use them.
//!
//! Run `cargo run -p accounts` and open the address that it prints.

mod keys;
mod news;
mod passwords;
mod shop;
mod tokens;
mod users;

use std::{env, fs, path::Path};

use axum::response::IntoResponse;
use http::{HeaderMap, header::USER_AGENT};
use news::News;
use policy_server::{
    prelude::*,
    session::{self, Handle, SessionError},
};
use serde::{Deserialize, Serialize};
use tokens::{token, token_logout, token_refresh};
use users::{Credentials, Users};

/// The pages that may act with the cookies of their user. Every route has this policy, unless it
/// has a `#[cors(..)]` of its own.
const SHOP: CorsPolicy =
    CorsPolicy::origins_at_run_time("shop").within(&["http://localhost:*"]).credentials().build();

/// Of every route that hashes a password. An address guesses slowly, and as many requests wait for a
/// core as are done in about a second; the rest are told to come again.
const PASSWORDS: Limits = Limits::NONE.rate(Rate::per_minute(30)).concurrency(8);

#[derive(Serialize)]
struct Profile {
    name: String,
    /// The kind of credential that was used.
    by: &'static str,
}

#[post("/signup")]
#[auth(public)]
#[limit(PASSWORDS)]
async fn sign_up(
    sessions: Sessions,
    session: Session,
    headers: HeaderMap,
    State(users): State<Users>,
    Json(new): Json<Credentials>,
) -> Result<impl IntoResponse, Problem> {
    let name = users.add(new).await?;
    sessions.login(&name).await?;
    session.set("device", device(&headers))?;
    Ok((StatusCode::CREATED, Json(Profile { name, by: "session" })))
}

/// The session gets a new id, whatever the request came with; the response sets its cookie.
#[post("/login")]
#[auth(public)]
#[limit(PASSWORDS)]
async fn login(
    sessions: Sessions,
    session: Session,
    headers: HeaderMap,
    State(users): State<Users>,
    State(news): State<News>,
    Json(credentials): Json<Credentials>,
) -> Result<Json<Profile>, Problem> {
    let name = users.verify(credentials).await?;
    sessions.login(&name).await?;
    session.set("device", device(&headers))?;
    news.tell(&name, format!("A new login: {}", device(&headers)));
    Ok(Json(Profile { name, by: "session" }))
}

#[get("/profile")]
#[auth(session | token)]
async fn profile(me: Principal) -> Json<Profile> {
    let by = if me.token().is_some() { "token" } else { "session" };
    Json(Profile { name: me.subject().to_owned(), by })
}

#[derive(Deserialize)]
struct NewPassword {
    current: String,
    password: String,
}

/// Asks for the current password, since whoever finds an open browser must not take the account over.
/// Ends all other sessions and all tokens, in case somebody knew the old password: also those that
/// begin at this moment with the old one. This session continues under a new id.
#[post("/password")]
#[auth(session, fresh = "5m")]
#[limit(PASSWORDS)]
async fn change_password(
    me: Principal,
    sessions: Sessions,
    State(users): State<Users>,
    State(news): State<News>,
    Json(NewPassword { current, password }): Json<NewPassword>,
) -> Result<StatusCode, Problem> {
    users.verify(Credentials { name: me.subject().to_owned(), password: current }).await?;
    users.set_password(me.subject(), password).await?;
    sessions.login(me.subject()).await?;
    sessions.revoke_others().await?;
    news.tell(me.subject(), "The password was changed");
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
struct Password {
    password: String,
}

/// Asks for the password again, after which the session is fresh.
#[post("/confirm")]
#[auth(session)]
#[limit(PASSWORDS)]
async fn confirm(
    me: Principal,
    session: Session,
    State(users): State<Users>,
    Json(Password { password }): Json<Password>,
) -> Result<StatusCode, Problem> {
    users.verify(Credentials { name: me.subject().to_owned(), password }).await?;
    session.elevate()?;
    Ok(StatusCode::NO_CONTENT)
}

#[post("/logout")]
#[auth(session)]
async fn logout(session: Session) -> StatusCode {
    session.logout();
    StatusCode::NO_CONTENT
}

/// Ends every session and every token of the user.
#[post("/logout/everywhere")]
#[auth(session)]
async fn logout_everywhere(sessions: Sessions) -> Result<StatusCode, Problem> {
    sessions.revoke_all().await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Serialize)]
struct Device {
    handle: String,
    name: String,
    begun: u64,
    last_seen: u64,
    is_this: bool,
}

/// The sessions of the user.
#[get("/sessions")]
#[auth(session)]
async fn devices(me: Principal, sessions: Sessions) -> Result<Json<Vec<Device>>, Problem> {
    let devices = sessions.list().await?.into_iter().map(|session| {
        Ok(Device {
            handle: session.handle.to_string(),
            name: session.get("device")?.unwrap_or_default(),
            begun: session.created.millis(),
            last_seen: session.last_seen.millis(),
            is_this: me.session() == Some(session.handle),
        })
    });
    Ok(Json(devices.collect::<Result<_, SessionError>>()?))
}

/// Ends one session; sessions of other users cannot be named.
#[delete("/sessions/{handle}")]
#[auth(session)]
async fn end(handle: Handle, sessions: Sessions) -> Result<StatusCode, Problem> {
    if sessions.revoke(handle).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Problem::not_found().detail("there is no such session"))
    }
}

/// A stream of events of the account, which ends with its session.
#[get("/news")]
#[auth(session)]
async fn account_news(me: Principal, State(news): State<News>) -> impl IntoResponse {
    news.stream(me.subject())
}

/// The name by which users recognise their devices.
fn device(headers: &HeaderMap) -> String {
    let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    agent.unwrap_or("unknown").chars().take(200).collect()
}

fn accounts(folder: &Path) -> Result<App<Accounts>, Error> {
    fs::create_dir_all(folder)?;
    let state = Accounts { users: Users::open(&folder.join("users.redb"))?, news: News::default() };
    Ok(App::new(state)
        .cors(SHOP)
        .sessions(Sessions::embedded(folder.join("sessions.redb")))
        .tokens(Tokens::signed_with(keys::kept_in(&folder.join("token.keys"))?))
        .limits(Limits::NONE.body(16 * 1024))
        .routes(routes![sign_up, login, session::csrf, profile, change_password, confirm])
        .routes(routes![logout, logout_everywhere, devices, end, account_news])
        .routes(routes![token, token_refresh, token_logout]))
}

#[tokio::main]
async fn main() -> Result<(), Report> {
    let folder = env::var_os("POLICY_ACCOUNTS_FOLDER").unwrap_or("target/accounts".into());
    let service = accounts(Path::new(&folder))?;
    // Without the page: `service.origins("shop", [..]).serve("127.0.0.1:8080").await`.
    shop::serve_beside(service).await?;
    Ok(())
}

/// The state of the handlers.
struct Accounts {
    users: Users,
    news: News,
}

impl FromRef<Accounts> for Users {
    fn from_ref(accounts: &Accounts) -> Self {
        accounts.users.clone()
    }
}

impl FromRef<Accounts> for News {
    fn from_ref(accounts: &Accounts) -> Self {
        accounts.news.clone()
    }
}

// `cargo test -p accounts` runs these. Only the stores opened here are used.
#[cfg(test)]
fn tested() -> App<Accounts> {
    let folder = env::temp_dir().join(format!("policy-accounts-proof-{}", std::process::id()));
    let accounts = accounts(&folder).map(|app| app.origins("shop", ["http://localhost:8081"]));
    let _ = fs::remove_dir_all(folder);
    accounts.unwrap_or_else(|error| panic!("{error}"))
}

#[cfg(test)]
policy_server::policy_tests!(tested());

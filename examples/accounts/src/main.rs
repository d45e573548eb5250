//! Accounts: sign-up, sessions and tokens, a shop on another origin whose pages use them, and a page of another
//! site, which gets no cookie.
//!
//! Run `cargo run -p accounts` and open the addresses that it prints.

mod by_password;
mod events;
mod other_site;
mod shop;
mod tokens;
mod users;

use std::{env, io, path::Path, sync::Arc};

use by_password::{change_password, confirm, login, sign_up};
use events::{Events, SecurityEvent};
use example_logins::{devices::Devices, files, keys};
use futures_util::Stream;
use policy_server::{
    CredentialError, OpenApiSettings,
    prelude::*,
    response::{
        NoContent,
        sse::{Event, Sse},
    },
    schemars::{self, JsonSchema},
    session::{self, Handle},
};
use redb::{Database, DatabaseError};
use serde::Serialize;
use tokens::{token, token_logout, token_refresh};
use users::Users;

/// The pages that may act with the cookies of their user. Every route has this policy, unless it
/// has a `#[cors(..)]` of its own.
const SHOP: CorsPolicy =
    CorsPolicy::origins_at_run_time("shop").within(&["http://localhost:*"]).credentials().build();

/// The variable that names the folder of all files.
const FOLDER: &str = "POLICY_ACCOUNTS_FOLDER";

/// The pages that may use tokens: the shop, and pages of another site. To a browser
/// `http://127.0.0.1:8082` is another site than `http://localhost:8080`, although both are this machine.
const PAGES: &[&str] = &["http://localhost:*", "http://127.0.0.1:*"];

/// For every route that hashes a password: an address guesses slowly, whichever accounts it tries.
/// `example_logins` limits how often an account is tried, and how many passwords wait for a core.
const PASSWORDS: Limits = Limits::NONE.rate(Rate::per_minute(30));

#[derive(JsonSchema, Serialize)]
struct Profile {
    name: String,
    /// The kind of credential that was used.
    by: &'static str,
}

/// Pages of another site may call this with cookies too. They have none, since the cookie is `Lax`.
#[get("/profile")]
#[cors(origins = PAGES, credentials)]
#[auth(session | token)]
async fn profile(me: Principal) -> Json<Profile> {
    let by = if me.token().is_some() { "token" } else { "session" };
    Json(Profile { name: me.subject().to_owned(), by })
}

#[post("/logout")]
#[auth(session)]
async fn logout(session: Session) -> NoContent {
    session.logout();
    NoContent
}

/// Ends every session and every token of the user.
#[post("/logout/everywhere")]
#[auth(session)]
async fn logout_everywhere(sessions: Sessions) -> Result<NoContent, Problem> {
    sessions.revoke_all().await?;
    Ok(NoContent)
}

/// A session, as its user recognises it.
#[derive(JsonSchema, Serialize)]
struct SessionSummary {
    handle: String,
    device: String,
    address: String,
    begun: u64,
    last_seen: u64,
    is_this: bool,
    /// Whether it began after the user had last logged in on this device.
    is_new: bool,
}

/// The sessions of the user.
#[get("/sessions")]
#[auth(session)]
async fn list(
    me: Principal,
    session: Session,
    sessions: Sessions,
) -> Result<Json<Vec<SessionSummary>>, Problem> {
    let since: Option<u64> = session.get("since")?.flatten();
    let list = sessions.list().await?.into_iter().map(|session| {
        let (begun, is_this) = (session.created.millis(), me.session() == Some(session.handle));
        Ok(SessionSummary {
            handle: session.handle.to_string(),
            device: session.get("device")?.unwrap_or_default(),
            address: session.get("address")?.unwrap_or_default(),
            begun,
            last_seen: session.last_seen.millis(),
            is_this,
            is_new: !is_this && since.is_some_and(|since| begun > since),
        })
    });
    Ok(Json(list.collect::<Result<_, CredentialError>>()?))
}

/// Ends one session.
#[delete("/sessions/{handle}")]
#[auth(session)]
#[object(none = "only sessions of the caller are revoked by their handle")]
async fn end(handle: Handle, sessions: Sessions) -> Result<NoContent, Problem> {
    if sessions.revoke(handle).await? {
        Ok(NoContent)
    } else {
        Err(Problem::not_found().detail("there is no such session"))
    }
}

/// What happened to the account lately: logins, tokens, new passwords.
#[get("/events")]
#[auth(session)]
async fn security_events(
    me: Principal,
    State(events): State<Events>,
) -> Result<Json<Vec<SecurityEvent>>, Problem> {
    Ok(Json(events.list(me.subject()).await?))
}

/// The same as a stream from now on, which ends with its session.
#[get("/news")]
#[auth(session)]
async fn news(
    me: Principal,
    State(events): State<Events>,
) -> Sse<impl Stream<Item = Result<Event, axum::Error>>> {
    events.stream(me.subject())
}

fn accounts(folder: &Path) -> Result<App<Accounts>, Error> {
    files::folder(folder, FOLDER)?;
    let database = Arc::new(open(&folder.join("users.redb"))?);
    let state = Accounts {
        users: Users::new(Arc::clone(&database))?,
        events: Events::new(database)?,
        devices: Devices::new(&keys::load_device_key(&folder.join("device.key"))?)?,
    };
    Ok(App::new(state)
        .policies(Policies::new().cors(SHOP).limits(Limits::NONE.body(16 * 1024)))
        .sessions(Sessions::embedded(folder.join("sessions.redb")).cookie_name("accounts"))
        .tokens(Tokens::signed_with(keys::load_token_keys(&folder.join("token.keys"))?))
        .routes(routes![sign_up, login, session::csrf, profile, change_password, confirm])
        .routes(routes![logout, logout_everywhere, list, end, security_events, news])
        .routes(routes![token, token_refresh, token_logout])
        .openapi_settings(OpenApiSettings::new("Accounts", env!("CARGO_PKG_VERSION"))))
}

fn open(path: &Path) -> io::Result<Database> {
    Database::create(path).map_err(|error| match error {
        DatabaseError::DatabaseAlreadyOpen => io::Error::other(format!(
            "another process has `{}` open: one process at a time",
            path.display()
        )),
        error => files::at(path, io::Error::other(error)),
    })
}

#[tokio::main]
async fn main() -> Result<(), Report> {
    let folder = env::var_os(FOLDER).unwrap_or("target/accounts".into());
    let service = accounts(Path::new(&folder))?;
    // Without the pages: `service.origins("shop", [..]).serve("127.0.0.1:8080").await`.
    shop::serve(service).await?;
    Ok(())
}

/// The state of the handlers.
struct Accounts {
    users: Users,
    events: Events,
    devices: Devices,
}

impl FromRef<Accounts> for Users {
    fn from_ref(accounts: &Accounts) -> Self {
        accounts.users.clone()
    }
}

impl FromRef<Accounts> for Events {
    fn from_ref(accounts: &Accounts) -> Self {
        accounts.events.clone()
    }
}

impl FromRef<Accounts> for Devices {
    fn from_ref(accounts: &Accounts) -> Self {
        accounts.devices.clone()
    }
}

// `cargo test -p accounts` runs these. Only the stores opened here are used.
#[cfg(test)]
fn tested() -> App<Accounts> {
    let folder = env::temp_dir().join(format!("policy-accounts-proof-{}", std::process::id()));
    let accounts = accounts(&folder).map(|app| app.origins("shop", ["http://localhost:8081"]));
    let _ = std::fs::remove_dir_all(folder);
    accounts.unwrap_or_else(|error| panic!("{error}"))
}

#[cfg(test)]
policy_server::policy_tests!(tested());

#[cfg(test)]
#[test]
fn the_document_says_all_of_every_route() {
    let document = tested().openapi().and_then(policy_server::OpenApi::complete);
    document.unwrap_or_else(|error| panic!("{error}"));
}

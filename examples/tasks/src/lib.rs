//! The tasks of teams: a service as one would run it, with a database, invitations, attachments, live
//! updates, tokens for machines, and a page on another origin.
//!
//! Run `cargo run -p tasks` and open the address that it prints. With `DATABASE_URL` set to
//! `postgres://user:password@host/database`, everything is kept there, and several instances share it.

mod attachments;
mod invitations;
mod live;
mod machines;
mod members;
mod page;
mod store;
mod tasks;
mod users;

use std::{path::Path, sync::Arc};

use example_logins::{attempts::Attempts, devices::Devices, files, keys, passwords::Passwords};
use live::Live;
pub use page::serve;
use policy_server::{OpenApiSettings, prelude::*, session};
use store::Store;
use users::Logins;

/// The variable that names the folder of all files.
pub const FOLDER: &str = "POLICY_TASKS_FOLDER";

/// The pages that may act with the cookies of their user.
const APPS: CorsPolicy = CorsPolicy::origins_at_run_time("apps")
    .within(&["http://localhost:*"])
    .credentials()
    .headers(&["if-match"])
    .expose(&["etag", "location", "retry-after"])
    .max_age(600)
    .build();

/// For routes that state none of their own.
const LIMITS: Limits = Limits::NONE.body(16 * 1024).rate(Rate::per_minute(600));

/// What people may do; a machine gets some of it.
const SCOPES: [&str; 2] = ["tasks:read", "tasks:write"];

/// The state of the handlers.
#[derive(Clone)]
pub struct Service {
    store: Store,
    live: Live,
    logins: Logins,
    devices: Devices,
}

/// The service. Keys, and with SQLite the sessions, are kept in files of this folder.
///
/// # Errors
///
/// The database cannot be opened, or a file of the folder.
pub async fn app(database: &str, folder: &Path) -> Result<App<Service>, Error> {
    files::folder(folder, FOLDER)?;
    let store = Store::open(database).await?;
    let sessions = match &store.postgres {
        Some(url) => Sessions::postgres(url.as_str()),
        None => Sessions::embedded(folder.join("sessions.redb")),
    };
    let service = Service {
        live: Live::new(&store),
        store,
        logins: Logins { passwords: Passwords::new()?, attempts: Arc::new(Attempts::new()?) },
        devices: Devices::new(&keys::load_device_key(&folder.join("device.key"))?)?,
    };
    Ok(App::new(service)
        .policies(
            Policies::new()
                .cors(APPS)
                .headers(HeadersPolicy::API)
                .isolation(Isolation::SameOrigin)
                .limits(LIMITS),
        )
        .sessions(sessions.cookie_name("__Host-tasks").idle(session::hours(1)))
        .tokens(Tokens::signed_with(keys::load_token_keys(&folder.join("token.keys"))?))
        .routes(routes![session::csrf, users::sign_up, users::login, users::logout, users::me])
        .routes(routes![members::list, members::set_role, members::remove, invitations::invite])
        .routes(routes![tasks::list, tasks::show, tasks::add, tasks::change, tasks::remove])
        .routes(routes![attachments::list, attachments::upload, attachments::download])
        .routes(routes![live::events, live::presence])
        .routes(routes![machines::list, machines::add, machines::refresh, machines::remove])
        .openapi_settings(OpenApiSettings::new("Tasks", env!("CARGO_PKG_VERSION")))
        .health("/healthz")
        .readiness("/readyz"))
}

/// Parts of the state, for handlers that need only these.
macro_rules! part {
    ($($part:ty = $field:ident)*) => {$(
        impl FromRef<Service> for $part {
            fn from_ref(service: &Service) -> Self {
                service.$field.clone()
            }
        }
    )*};
}

part! { Store = store Live = live Logins = logins Devices = devices }

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").field("store", &self.store).finish_non_exhaustive()
    }
}

/// With the page that the laws know of; nothing is kept.
#[cfg(test)]
async fn tested() -> App<Service> {
    let folder = std::env::temp_dir().join(format!("policy-tasks-laws-{}", std::process::id()));
    let app = app("sqlite::memory:", &folder)
        .await
        .map(|app| app.origins("apps", ["http://localhost:8081"]));
    let _ = std::fs::remove_dir_all(folder);
    app.unwrap_or_else(|error| panic!("{error}"))
}

// `cargo test -p tasks` runs these.
#[cfg(test)]
policy_server::policy_tests!(tested());

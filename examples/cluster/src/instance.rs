//! One instance of the app. It keeps nothing itself: sessions are in the store, and the secrets from
//! which their ids are derived as well.

use std::{env, io, net::Ipv4Addr, time::Duration};

use axum::middleware::map_response_with_state;
use example_look::{Example, STYLE};
use http::{HeaderValue, header::CONTENT_TYPE};
use policy_server::{ServerSettings, TrustedProxies, prelude::*, session};
use serde::{Deserialize, Serialize};

/// The URL of the store; it contains a password.
pub(crate) const SESSION_STORE: &str = "SESSION_STORE";
/// The address on which the instance listens, such as `0.0.0.0:8080`.
pub(crate) const LISTEN: &str = "LISTEN";
/// The origin that browsers see, such as `https://shop.example`. Without it, only this machine can
/// reach the instance.
pub(crate) const PUBLIC_ORIGIN: &str = "PUBLIC_ORIGIN";
/// The networks of the proxies in front that end TLS, separated by commas.
pub(crate) const TRUSTED_PROXIES: &str = "TRUSTED_PROXIES";
/// The name of the instance.
pub(crate) const INSTANCE: &str = "INSTANCE";
/// The origin of the page's buttons that kill parts, if there are any.
pub(crate) const OPERATOR: &str = "OPERATOR";

/// The process lives.
pub(crate) const LIVENESS: &str = "/healthz";
/// It takes requests, and its store is there.
pub(crate) const READINESS: &str = "/readyz";

/// How long a load balancer needs to notice that an instance is about to stop.
pub(crate) const DRAIN: Duration = Duration::from_secs(5);

const EXAMPLE: Example = Example {
    name: "cluster",
    file: "examples/cluster/src/instance.rs",
    code: include_str!("instance.rs"),
    next: "cargo run -p dev-proxy",
};

#[derive(Clone, Debug)]
struct Site {
    name: String,
    operator: String,
}

#[derive(Deserialize)]
struct Login {
    name: String,
}

/// What the page shows.
#[derive(Serialize)]
struct Visit {
    name: String,
    count: i64,
}

/// A name is enough: passwords are in the example `accounts`.
#[post("/login")]
#[auth(public)]
async fn login(sessions: Sessions, Json(login): Json<Login>) -> Result<Json<Visit>, Problem> {
    if !(1..=40).contains(&login.name.chars().count()) {
        return Err(Problem::bad_request().detail("a name has 1 to 40 characters"));
    }
    sessions.login(login.name.as_str()).await?;
    Ok(Json(Visit { name: login.name, count: 0 }))
}

#[post("/logout")]
#[auth(session)]
async fn logout(session: Session) -> StatusCode {
    session.logout();
    StatusCode::NO_CONTENT
}

#[get("/me")]
#[auth(session)]
async fn me(me: Principal, session: Session) -> Result<Json<Visit>, Problem> {
    let count = session.get("count")?.unwrap_or(0);
    Ok(Json(Visit { name: me.subject().to_owned(), count }))
}

/// Counts in the session: every instance sees the same number.
#[post("/count")]
#[auth(session)]
async fn count(me: Principal, session: Session) -> Result<Json<Visit>, Problem> {
    let count = session.increment("count", 1)?;
    Ok(Json(Visit { name: me.subject().to_owned(), count }))
}

#[get("/")]
#[auth(public)]
async fn page(State(site): State<Site>) -> impl IntoResponse {
    // Only scripts and styles of this origin, and requests to it and to the operator.
    let csp = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; \
         connect-src 'self' {}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        site.operator
    );
    let html = include_str!("page.html").replace("{{operator}}", &site.operator);
    (
        [("content-type", "text/html; charset=utf-8".to_owned()), ("content-security-policy", csp)],
        EXAMPLE.page(&html),
    )
}

#[get("/page.js")]
#[auth(public)]
async fn script() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("page.js"))
}

#[get("/page.css")]
#[auth(public)]
async fn style() -> impl IntoResponse {
    let style = format!("{STYLE}{}", include_str!("page.css"));
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], style)
}

/// Every response says which instance it is from: refusals too, so around the whole app.
async fn sign(
    State(name): State<HeaderValue>,
    mut response: axum::response::Response,
) -> axum::response::Response {
    response.headers_mut().insert("x-instance", name);
    response
}

fn app(sessions: session::SessionSettings, site: Site) -> io::Result<App<Site>> {
    let name = HeaderValue::from_str(&site.name).map_err(io::Error::other)?;
    Ok(App::new(site)
        .health(LIVENESS)
        .readiness(READINESS)
        .sessions(sessions)
        .policies(Policies::new().limits(Limits::NONE.body(16 * 1024)))
        .routes(routes![page, script, style, login, logout, me, count, session::csrf])
        .layer(map_response_with_state(name, sign)))
}

/// Serves until ctrl-c or SIGTERM.
pub(crate) async fn serve() -> Result<(), Error> {
    let value = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let name = value(INSTANCE).unwrap_or_else(|| "unnamed".to_owned());
    let site = Site { name, operator: value(OPERATOR).unwrap_or_default() };
    let mut app = app(Sessions::from_env(SESSION_STORE), site)?;
    let mut settings = ServerSettings::default();
    if let Some(origin) = value(PUBLIC_ORIGIN) {
        app = app.public_origin(origin);
        settings = settings.drain(DRAIN);
    } else {
        // Behind the front of this example, which distributes connections and not requests.
        settings = settings.one_request_per_connection();
    }
    if let Some(networks) = value(TRUSTED_PROXIES) {
        app = app.behind(TrustedProxies::new(networks.split(',').map(str::trim)).x_forwarded());
    }
    let address = value(LISTEN).unwrap_or_else(|| format!("{}:8080", Ipv4Addr::LOCALHOST));
    app.settings(settings).serve(address).await
}

// `cargo test -p cluster` runs these.
#[cfg(test)]
fn tested() -> App<Site> {
    let site = Site { name: "one".to_owned(), operator: "http://localhost:9999".to_owned() };
    app(Sessions::memory(), site).unwrap_or_else(|error| panic!("{error}"))
}

#[cfg(test)]
policy_server::policy_tests!(tested());

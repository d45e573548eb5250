//! The cookies of a running server in independent cookie jars.

use std::time::Duration;

use policy_core::cookie::{CookieSpec, write};
use policy_server::{
    App,
    http::{HeaderMap, StatusCode},
    prelude::*,
};
use policy_tests::{
    handlers::{csrf, login, me},
    http::Running,
    peers::{COOKIEJAR, Peer, TOUGH_COOKIE},
};
use serde_json::{Value, json};

#[post("/login/remembered")]
#[auth(public)]
async fn login_remembered(sessions: Sessions) -> Result<&'static str, Problem> {
    sessions.login_remembered("ada").await?;
    Ok("in")
}

#[post("/logout")]
#[auth(session)]
async fn logout(session: Session) -> StatusCode {
    session.logout();
    StatusCode::NO_CONTENT
}

/// A cookie of the app for all hosts of the shop, below one path.
fn theme() -> CookieSpec {
    let spec = CookieSpec::new("theme").domain("shop.example").path("/shop").secure();
    spec.max_age(Duration::from_secs(600))
}

#[get("/theme")]
#[auth(public)]
async fn set_theme() -> impl IntoResponse {
    let mut headers = HeaderMap::new();
    write(&mut headers, theme().set("dark").expect("a cookie"));
    headers
}

#[get("/theme/remove")]
#[auth(public)]
async fn remove_theme() -> impl IntoResponse {
    let mut headers = HeaderMap::new();
    write(&mut headers, theme().remove().expect("a cookie"));
    headers
}

const PUBLIC: &str = "https://api.shop.example";

fn app() -> App<()> {
    App::new(()).sessions(Sessions::memory()).routes(routes![
        login,
        login_remembered,
        me,
        csrf,
        logout,
        set_theme,
        remove_theme
    ])
}

/// Runs the steps with the client and returns what it observed after each.
async fn observe(client: Peer, app: App<()>, public: Option<&str>, steps: Value) -> Vec<Value> {
    let app = match public {
        Some(origin) => app.public_origin(origin),
        None => app,
    };
    let server = Running::start(app).await;
    let address = server.address.to_string();
    let origin = public.map_or_else(|| format!("http://{address}"), str::to_owned);
    let run = move || client.run(&[&address, &origin], &steps);
    let output = tokio::task::spawn_blocking(run).await.expect("a client that ends");
    assert_eq!(server.panics(), 0);
    serde_json::from_value(output).expect("a list of steps")
}

fn send(step: &str) -> Value {
    json!({ "send": step })
}

fn statuses(steps: &[Value]) -> Vec<u64> {
    steps.iter().filter_map(|step| step["status"].as_u64()).collect()
}

/// The cookie whose name has this prefix: in development, the port follows it.
fn only_cookie<'a>(step: &'a Value, name: &str) -> &'a Value {
    let cookies = step["cookies"].as_object().expect("cookies");
    assert_eq!(cookies.len(), 1, "{cookies:?}");
    let found = cookies.iter().find(|(found, _)| found.starts_with(name));
    found.unwrap_or_else(|| panic!("no `{name}` in {cookies:?}")).1
}

/// Log in, use the session, log in again, log out, and use the ended session.
async fn a_session_begins_and_ends(client: Peer, public: Option<&str>, name: &str) {
    let steps = json!([
        send("GET /me"),
        send("POST /login"),
        send("GET /me"),
        { "send": "POST /login", "csrf": true },
        send("GET /me"),
        { "send": "POST /logout", "csrf": true },
        send("GET /me"),
    ]);
    let observations = observe(client, app(), public, steps).await;
    assert_eq!(statuses(&observations), [401, 200, 200, 200, 200, 204, 401], "{observations:?}");
    assert_eq!(observations[2]["body"], "ada");
    let cookie = only_cookie(&observations[1], name);
    let attributes = json!({
        "value": cookie["value"], "path": "/", "hostOnly": true, "secure": public.is_some(),
        "httpOnly": true, "sameSite": "lax", "session": true,
    });
    assert_eq!(*cookie, attributes);
    let again = only_cookie(&observations[3], name);
    assert_ne!(cookie["value"], again["value"], "a login has an id of its own");
    assert_eq!(observations[5]["cookies"], json!({}), "a logout removes the cookie");
}

async fn attributes_are_honoured(client: Peer) {
    let at = |places: &[&str]| json!({ "sentTo": places });
    let steps = json!([
        send("POST /login"),
        at(&[
            "https://api.shop.example/any/path",
            "http://api.shop.example/",
            "https://www.shop.example/",
            "https://deep.api.shop.example/",
        ]),
        send("GET /theme"),
        at(&[
            "https://www.shop.example/shop/cart",
            "https://www.shop.example/shopping",
            "http://www.shop.example/shop",
            "https://other.example/shop",
        ]),
        send("GET /theme/remove"),
        { "send": "POST /login/remembered", "csrf": true },
    ]);
    let observations = observe(client, app(), Some(PUBLIC), steps).await;
    let session = json!({
        "https://api.shop.example/any/path": ["__Host-sid"],
        "http://api.shop.example/": [],
        "https://www.shop.example/": [],
        "https://deep.api.shop.example/": [],
    });
    assert_eq!(observations[1], session);
    let theme = &observations[2]["cookies"]["theme"];
    assert_eq!((&theme["hostOnly"], &theme["session"]), (&json!(false), &json!(false)));
    let shop = json!({
        "https://www.shop.example/shop/cart": ["theme"],
        "https://www.shop.example/shopping": [],
        "http://www.shop.example/shop": [],
        "https://other.example/shop": [],
    });
    assert_eq!(observations[3], shop);
    // The cookie left after the removal is the session's.
    let session = only_cookie(&observations[4], "__Host-sid");
    assert_eq!(session["session"], true);
    let remembered = only_cookie(&observations[5], "__Host-sid");
    assert_eq!(remembered["session"], false, "a remembered login outlives the client");
}

/// The cookie behind a proxy that terminates TLS, and that of the development profile.
async fn both_profiles(client: Peer) {
    a_session_begins_and_ends(client, Some(PUBLIC), "__Host-sid").await;
    a_session_begins_and_ends(client, None, "sid").await;
    attributes_are_honoured(client).await;
}

#[tokio::test]
#[ignore = "needs Python: `cargo xtask test` runs it"]
async fn cookies_mean_the_same_to_pythons_cookiejar() {
    both_profiles(COOKIEJAR).await;
}

#[tokio::test]
#[ignore = "needs Node and tough-cookie: `cargo xtask test` runs it"]
async fn cookies_mean_the_same_to_tough_cookie() {
    both_profiles(TOUGH_COOKIE).await;
}

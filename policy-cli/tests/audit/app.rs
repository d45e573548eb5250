//! An app with a policy of each kind that a network can break.

use policy_core::secret::SecretKey;
use policy_server::{
    http::{Uri, header},
    prelude::*,
};

/// The host of its public origin.
pub(crate) const HOST: &str = "api.shop.example";
/// The address from which a proxy that it trusts connects.
pub(crate) const PROXY: &str = "127.0.0.3";

/// Long enough to be compressed.
fn prices_text() -> String {
    "a lamp costs 12, ".repeat(200)
}

#[get("/prices")]
#[cors(origins = ["https://app.shop.example", "https://*.partner.example"], expose = ["x-total"], max_age = 600)]
#[cache(public, max_age = 60)]
#[auth(public)]
async fn prices() -> Response {
    ([(header::ETAG, "\"prices\"")], prices_text()).into_response()
}

#[get("/weather")]
#[cors(origins = ["*"])]
#[auth(public)]
async fn weather() -> &'static str {
    "rain"
}

#[get("/orders/{id}")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(session | token)]
#[cache(private, max_age = 30)]
#[object(none = "a test of something else")]
async fn order(id: u64, who: Principal) -> String {
    format!("order {id} of {}", who.subject())
}

#[post("/orders")]
#[cors(origins = ["https://app.shop.example"], credentials)]
#[auth(session)]
#[limit(body = "1 KiB")]
async fn place(_body: String) {}

#[get("/visits")]
#[auth(public)]
async fn visits(session: Session) -> Result<String, Problem> {
    Ok(session.increment("visits", 1)?.to_string())
}

#[get("/page")]
#[headers(csp = "default-src 'self'; script-src 'self' 'nonce'")]
#[isolation(same_origin)]
#[auth(public)]
async fn page(nonce: CspNonce) -> Response {
    let page = format!("<script nonce=\"{}\">1</script>", nonce.as_str());
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
}

#[get("/account/{*rest}")]
#[auth(session)]
#[object(none = "a test of something else")]
async fn account(rest: String, who: Principal) -> String {
    format!("{rest} of {}", who.subject())
}

#[get("/members/{name}")]
#[auth(session)]
#[object(none = "a test of something else")]
async fn member(name: String, who: Principal) -> String {
    format!("{name} for {}", who.subject())
}

/// A public service that checks the session itself.
fn portal() -> Mount {
    let page = async |session: Session, uri: Uri| {
        let who = if session.identity().is_some() { "a user" } else { "a guest" };
        ([(header::CACHE_CONTROL, "private")], format!("{who} at {}", uri.path()))
    };
    Mount::new(axum::Router::new().fallback(page)).public()
}

#[post("/login")]
#[auth(public)]
#[csrf(origin)]
async fn login(sessions: Sessions, form: String) -> Result<(), Problem> {
    match form.as_str() {
        "name=ada" => Ok(sessions.login("ada").await?),
        _ => Err(Problem::forbidden()),
    }
}

#[post("/tokens")]
#[auth(session)]
#[csrf(origin)]
async fn token(tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.issue(&Identity::new("ada"))?.access_token)
}

/// The app, without its TLS or the proxy in front of it.
pub(crate) fn app() -> App<()> {
    let key = SecretKey::from_bytes(*b"\x8f0123456789abcdef0123456789abcde");
    App::new(())
        .public_origin(format!("https://{HOST}"))
        .sessions(Sessions::memory())
        .tokens(Tokens::hs256([("k1", key)]).unwrap())
        .routes(routes![prices, weather, order, place, visits, page, account, member, login, token])
        .mount("/portal", portal())
}

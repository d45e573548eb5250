//! The console messages about blocked loads.

use policy_server::{
    prelude::*,
    session::{SameSite, SessionSettings},
    testing::*,
    tokens::SecretKey,
};

use super::net;

/// The console messages without line numbers.
fn words(fetched: &Fetched) -> String {
    let console = fetched.console().expect("words");
    let mut parts = console.split("shop.rs:");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.trim_start_matches(|digit: char| digit.is_ascii_digit()));
    rest.fold(first, |text, part| format!("{text}shop.rs:_{part}"))
}

#[tokio::test]
async fn a_page_that_is_not_granted_learns_nothing_and_its_console_says_why() {
    let net = net();
    let partner = Browser::chromium().open("https://partner.example");
    let me = Fetch::get("https://api.shop.example/me").credentials(Include);
    let fetched = partner.fetch(&net, me).await;
    assert_eq!(fetched.blocked().map(|it| &it.reason), Some(&Reason::NoAllowOrigin));
    let expected = "\
Access to fetch at 'https://api.shop.example/me' from origin 'https://partner.example' has been \
blocked by CORS policy: No 'Access-Control-Allow-Origin' header is present on the requested resource.
  the response has no `Access-Control-Allow-Origin`; it would have to say `Access-Control-Allow-Origin: \
https://partner.example`
  the server responded with 401 (Unauthorized) to GET https://api.shop.example/me
  auth.credentials-missing: Credentials are required
  GET /me is `kit::shop::me` (tests/kit/shop.rs:_), shared by the `cors` of the route with \
https://app.shop.example, with credentials
  #[cors] is declared at tests/kit/shop.rs:_";
    assert_eq!(words(&fetched), expected);
}

#[tokio::test]
async fn a_preflight_that_is_refused_names_the_code() {
    let net = net();
    let partner = Browser::firefox().open("https://partner.example");
    let order = Fetch::put("https://api.shop.example/orders/7").json(&1);
    let fetched = partner.fetch(&net, order).await;
    assert!(fetched.blocked().is_some_and(|it| it.in_preflight));
    let expected = "\
Access to fetch at 'https://api.shop.example/orders/7' from origin 'https://partner.example' has \
been blocked by CORS policy: Response to preflight request doesn't pass access control check: No \
'Access-Control-Allow-Origin' header is present on the requested resource.
  the response to the preflight has no `Access-Control-Allow-Origin`; it would have to say \
`Access-Control-Allow-Origin: https://partner.example`
  the server responded with 403 (Forbidden) to OPTIONS https://api.shop.example/orders/7
  cors.origin-not-granted: The policy of this route does not grant the origin
  PUT /orders/{id} is `kit::shop::order` (tests/kit/shop.rs:_), shared by the `cors` of the route \
with https://app.shop.example, with credentials
  #[cors] is declared at tests/kit/shop.rs:_";
    assert_eq!(words(&fetched), expected);
    assert_eq!(net.requests().len(), 1, "the request itself was never sent");
}

#[tokio::test]
async fn an_error_that_the_page_may_read_is_explained_too() {
    let net = net();
    let page = Browser::webkit().open("https://app.shop.example");
    let me = page.fetch(&net, Fetch::get("https://api.shop.example/me").credentials(Include)).await;
    let expected = "\
GET https://api.shop.example/me 401 (Unauthorized)
  auth.credentials-missing: Credentials are required
  GET /me is `kit::shop::me` (tests/kit/shop.rs:_), shared by the `cors` of the route with \
https://app.shop.example, with credentials
  #[auth] is declared at tests/kit/shop.rs:_";
    assert_eq!(words(&me), expected);
    let fine = page.fetch(&net, Fetch::get("https://api.shop.example/catalogue")).await;
    assert_eq!(fine.console(), None);
}

#[tokio::test]
async fn hosts_paths_and_methods_that_are_not_there_are_named() {
    let page = Browser::chromium().open("https://app.shop.example");
    let net = Network::new()
        .host("https://other.example", super::app().into_service())
        .host("https://api.shop.example", super::app().into_service());
    for (fetch, words) in [
        (
            Fetch::get("https://other.example/me"),
            "the app does not serve this host: its `App::public_origin` is \
             https://api.shop.example",
        ),
        (Fetch::get("https://api.shop.example/nobody"), "the app has no route for /nobody"),
        (Fetch::delete("https://api.shop.example/me"), "the app has no DELETE /me, but GET"),
    ] {
        let console = page.fetch(&net, fetch).await.console().expect("words");
        assert!(console.ends_with(words), "{console}");
    }
    let nobody = page.fetch(&net, Fetch::get("https://nobody.example")).await;
    assert_eq!(nobody.blocked().map(|it| &it.reason), Some(&Reason::Unreachable));
    let expected = "Failed to load 'https://nobody.example/': net::ERR_CONNECTION_FAILED\n  \
                    no server responded, or its response was not HTTP";
    assert_eq!(words(&nobody), expected);
}

/// An app inside another router or a layer still explains its decisions.
#[tokio::test]
async fn an_app_that_something_is_around_explains_itself() {
    let layered = super::app().layer(tower::layer::layer_fn(|inner| inner)).into_service();
    let router = axum::Router::new().fallback_service(layered);
    let net = Network::new().host("https://api.shop.example", router);
    let partner = Browser::chromium().open("https://blog.example");
    let report = partner.fetch(&net, Fetch::get("https://api.shop.example/report")).await;
    let console = words(&report);
    assert!(console.ends_with("  #[cors] is declared at tests/kit/shop.rs:_"), "{console}");
    assert!(console.contains("the server responded with 200 (OK)"), "{console}");
}

#[post("/begin")]
#[cors(origins = ["https://app.shop.example", "https://partner.test"], credentials)]
#[auth(public)]
async fn begin(sessions: Sessions) -> Result<(), Problem> {
    Ok(sessions.login("ada").await?)
}

#[get("/who")]
#[cors(origins = ["https://app.shop.example", "https://partner.test"], credentials)]
#[auth(session | token)]
async fn who(me: Principal) -> String {
    me.subject().to_owned()
}

/// A network with an app whose routes two pages may use, one of them of another site.
fn shared(sessions: SessionSettings) -> Network {
    let keys = [("k", SecretKey::from_bytes([7; 32]))];
    let app = App::new(())
        .public_origin("https://api.shop.example")
        .sessions(sessions)
        .tokens(Tokens::hs256(keys).expect("a key"))
        .routes(routes![begin, who]);
    Network::new().host("https://api.shop.example", app.into_service())
}

const BEGIN: &str = "https://api.shop.example/begin";
const WHO: &str = "https://api.shop.example/who";

/// The lines about cookies of the console messages of a login and of a request after it.
async fn cookie_lines(net: &Network, page: &Tab, credentials: Credentials) -> [Option<String>; 2] {
    let mut found = [None, None];
    for (found, fetch) in found.iter_mut().zip([Fetch::post(BEGIN), Fetch::get(WHO)]) {
        let console = page.fetch(net, fetch.credentials(credentials)).await.console();
        let line = |text: String| {
            let line = text.lines().find(|line| line.starts_with("  cookie "))?;
            Some(line.trim_start().to_owned())
        };
        *found = console.and_then(line);
    }
    found
}

#[tokio::test]
async fn a_login_that_leaves_no_cookie_says_why() {
    let [lax, strict] =
        [SameSite::Lax, SameSite::Strict].map(|it| Sessions::memory().same_site(it));
    let none = Sessions::memory().same_site(SameSite::None);
    let blocked = Profile::CHROMIUM.third_party(ThirdParty::Blocked);
    let by_site =
        |it: &str| Some(format!("cookie not stored: SameSite={it}, cross-site (`__Host-sid`)"));
    let other = "https://partner.test";
    for (sessions, profile, page, expected) in [
        (lax.clone(), Profile::CHROMIUM, other, by_site("Lax")),
        (strict, Profile::CHROMIUM, other, by_site("Strict")),
        (lax, Profile::CHROMIUM, "https://app.shop.example", None),
        (none.clone(), Profile::CHROMIUM.third_party(ThirdParty::Sent), other, None),
        (
            none.clone(),
            blocked,
            other,
            Some(
                "cookie not stored: third-party cookies are blocked, cross-site (`__Host-sid`)"
                    .to_owned(),
            ),
        ),
        (none.partitioned(), blocked, other, None),
    ] {
        let net = shared(sessions);
        let page = Browser::new(profile).open(page);
        let found = cookie_lines(&net, &page, Include).await;
        assert_eq!(found, [expected.clone(), expected], "{}", profile.name);
    }
}

/// A login on a page of the same site does not help a page of another site.
#[tokio::test]
async fn a_cookie_that_is_withheld_is_named() {
    let net = shared(Sessions::memory());
    let browser = Browser::chromium();
    let login = Fetch::post(BEGIN).credentials(Include);
    browser.open("https://app.shop.example").fetch(&net, login).await;
    let other = browser.open("https://partner.test");
    let who = other.fetch(&net, Fetch::get(WHO).credentials(Include)).await;
    let console = who.console().expect("words");
    let line = "\n  cookie withheld: SameSite=Lax, cross-site (`__Host-sid`)\n";
    assert!(console.contains(line), "{console}");
}

#[tokio::test]
async fn a_fetch_without_credentials_gets_an_explanation() {
    let net = shared(Sessions::memory());
    let browser = Browser::chromium();
    let page = browser.open("https://app.shop.example");
    let lacks =
        "the fetch is cross-origin and does not say `credentials: \"include\"` (`__Host-sid`)";
    let found = cookie_lines(&net, &page, Credentials::SameOrigin).await;
    assert_eq!(found, [(); 2].map(|()| Some(format!("cookie not stored: {lacks}"))));
    page.fetch(&net, Fetch::post(BEGIN).credentials(Include)).await;
    let found = cookie_lines(&net, &page, Credentials::SameOrigin).await;
    assert_eq!(found[1].as_deref(), Some(&*format!("cookie withheld: {lacks}")));
}

//! Pages of a test client.

use policy_server::{
    prelude::*,
    session::SameSite,
    testing::{Omit, TestClient},
};
use policy_tests::handlers::me;

#[post("/begin")]
#[auth(public)]
async fn begin(sessions: Sessions, Json(name): Json<String>) -> Result<(), Problem> {
    Ok(sessions.login(name).await?)
}

#[put("/name")]
#[auth(session)]
async fn name(me: Principal, Json(name): Json<String>) -> String {
    format!("{} is {name}", me.subject())
}

const PAGES: CorsPolicy = CorsPolicy::origins(&["https://app.shop.example"]).credentials().build();

fn app() -> App<()> {
    App::new(()).sessions(Sessions::memory()).routes(routes![begin, me, name])
}

fn client() -> TestClient {
    app().public_origin("https://api.shop.example").policies(Policies::new().cors(PAGES)).test()
}

#[tokio::test]
async fn a_page_of_a_client_is_one_in_a_browser() {
    let client = client();
    let page = client.page("https://app.shop.example");
    assert_eq!(page.get("/me").send().await.status(), 401);
    assert_eq!(page.post("/begin").json("ada").send().await.status(), 200);
    assert_eq!(page.get("/me").send().await.text(), "ada");
    assert_eq!(page.put("/name").json("Ada").send().await.text(), "ada is Ada", "with a token");
    assert_eq!(page.get("/me").credentials(Omit).send().await.status(), 401);
    let wrong = page.put("/name").header("x-csrf-token", "none").json("Ada").send().await;
    assert!(wrong.console().is_some_and(|it| it.contains("csrf.token")), "{wrong:?}");

    let sent = page.network().requests();
    let origin = |sent: &policy_server::testing::SentRequest| sent.headers["origin"].clone();
    assert!(sent.iter().all(|sent| origin(sent) == "https://app.shop.example"));
    assert!(sent.iter().any(|sent| sent.is_preflight));
}

/// Another page of the browser has its cookies, and neither the grant nor the token.
#[tokio::test]
async fn pages_of_a_client_share_its_browser() {
    let client = client();
    let page = client.page("https://app.shop.example");
    page.post("/begin").json("ada").send().await;
    let own = client.page("https://api.shop.example/help");
    assert_eq!(own.put("/name").json("Ada").send().await.text(), "ada is Ada");
    let blog = client.page("https://blog.shop.example");
    let refused = blog.request("POST", "/begin").body("\"eve\"").send().await;
    assert!(refused.is_blocked());
    let last = blog.network().requests().pop().expect("a request");
    assert!(last.headers.contains_key("cookie") && !last.headers.contains_key("x-csrf-token"));
    assert!(refused.console().is_some_and(|it| it.contains("csrf.origin")), "{refused:?}");
    let other = client.another_browser().page("https://app.shop.example");
    assert_eq!(other.get("/me").send().await.status(), 401);
}

/// The browser has a cookie of the session for each of the two sites.
#[tokio::test]
async fn each_partition_has_its_own_token() {
    const SITES: CorsPolicy =
        CorsPolicy::origins(&["https://a.example", "https://b.example"]).credentials().build();
    let sessions = Sessions::memory().same_site(SameSite::None).partitioned();
    let app = app().public_origin("https://api.shop.example").sessions(sessions);
    let client = app.policies(Policies::new().cors(SITES)).test();
    let pages = [("ada", "https://a.example"), ("eve", "https://b.example")]
        .map(|(name, origin)| (name, client.page(origin)));
    for (name, page) in &pages {
        assert_eq!(page.post("/begin").json(name).send().await.status(), 200);
    }
    for (name, page) in &pages {
        let renamed = page.put("/name").json("Ada").send().await;
        assert_eq!(renamed.text(), format!("{name} is Ada"));
    }
}

#[tokio::test]
async fn in_development_the_app_is_on_localhost() {
    let page = app().test().page("http://localhost");
    page.post("/begin").json("ada").send().await;
    assert_eq!(page.put("/name").json("Ada").send().await.text(), "ada is Ada");
}

/// A page of a service that is no app has no CSRF token.
#[tokio::test]
async fn a_page_calls_any_service() {
    let router = axum::Router::new().route("/", axum::routing::post(async || "posted"));
    let page = TestClient::new(router, "files.example").page("https://files.example");
    assert_eq!(page.post("/").send().await.text(), "posted");
}

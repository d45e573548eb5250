//! Pages of other sites, for whose requests browsers withhold the session cookie.

use policy_server::{
    CorsConfig, SharedOrigins, StoredOrigins, StoredOriginsError, session::SessionSettings,
};
use policy_tests::log::Log;

use super::*;

#[get("/me")]
#[cors(origins = ["https://app.shop.example", "https://*.partner.example"], credentials)]
#[auth(session)]
async fn of_partner(me: Principal) -> String {
    me.subject().to_owned()
}

#[get("/listed")]
#[cors(origins = config("partners", within = ["https://*.shop.example", "https://*.partner.example", "http://localhost:*"]), credentials)]
#[auth(session)]
async fn listed() {}

#[get("/outside")]
#[cors(origins = config("partners", within = ["https://*.partner.example"]), credentials)]
#[auth(session)]
async fn outside() {}

#[get("/plain")]
#[auth(session)]
async fn plain() {}

#[get("/other")]
#[auth(session)]
async fn other() {}

#[get("/either")]
#[auth(session | token)]
async fn either() {}

#[get("/maybe")]
#[auth(session, optional)]
async fn maybe() {}

#[post("/begin")]
#[auth(public)]
async fn begin(sessions: Sessions) -> Result<(), Problem> {
    Ok(sessions.login("ada").await?)
}

#[get("/anybody")]
#[auth(public)]
async fn anybody() {}

fn sessions(same_site: SameSite) -> SessionSettings {
    Sessions::memory().same_site(same_site)
}

fn app(same_site: SameSite) -> App<()> {
    let tokens = Tokens::hs256(case_keys(&["k1"])).expect("keys");
    App::new(())
        .public_origin("https://api.shop.example")
        .sessions(sessions(same_site))
        .tokens(tokens)
}

/// The location and value of each problem that the check finds.
fn find_problems(app: App<()>) -> Vec<(String, String)> {
    let Err(Error::Start(problems)) = app.check() else { return Vec::new() };
    let named = |problem: &StartProblem| {
        assert_eq!(problem.code(), "session.same-site", "{problem}");
        let location = problem.location().split(' ').next().unwrap_or_default();
        let short = location.rsplit("::").next().unwrap_or_default().to_owned();
        (short, problem.value().unwrap_or_default().to_owned())
    };
    problems.iter().map(named).collect()
}

fn pairs(found: &[(String, String)]) -> Vec<(&str, &str)> {
    found.iter().map(|(location, value)| (location.as_str(), value.as_str())).collect()
}

fn shared(origins: &[&str]) -> CorsConfig {
    let mut cors = CorsConfig::new(origins.iter().copied());
    cors.credentials = true;
    cors
}

#[test]
fn an_app_whose_sessions_never_reach_a_granted_page_does_not_start() {
    for same_site in [SameSite::Lax, SameSite::Strict] {
        let found = find_problems(app(same_site).routes(routes![of_partner]));
        assert_eq!(pairs(&found), [("of_partner", "https://*.partner.example")]);
    }
    assert!(find_problems(app(SameSite::None).routes(routes![of_partner])).is_empty());
    let development = App::new(()).sessions(sessions(SameSite::Lax)).routes(routes![of_partner]);
    assert!(development.check().is_ok(), "nothing to compare with");
    let error = app(SameSite::Lax).routes(routes![of_partner]).check().unwrap_err().to_string();
    for way in ["below the domain", "session | token", "SameSite::None", "cross_site"] {
        assert!(error.contains(way), "{error}");
    }
}

/// The policy of an outer level is reported once, with the first route that it breaks.
#[test]
fn the_policies_of_apps_and_groups_and_of_mounts_are_checked_too() {
    let cors = || shared(&["https://app.shop.example", "http://app.shop.example.test:8080"]);
    let insecure = || {
        let mut cors = cors();
        cors.dangerous_insecure_origins = true;
        cors
    };
    let value = "http://app.shop.example.test:8080";
    let of_app = app(SameSite::Lax)
        .policies(Policies::new().cors(insecure()))
        .routes(routes![anybody, plain, other]);
    assert_eq!(pairs(&find_problems(of_app)), [("plain", value)]);
    let group =
        Group::new().policies(Policies::new().cors(insecure())).routes(routes![plain, other]);
    let of_group = app(SameSite::Lax).group("/a", group).routes(routes![plain]);
    assert_eq!(pairs(&find_problems(of_group)), [("plain", value)]);
    let service = || Mount::new(axum::Router::new()).policies(Policies::new().cors(insecure()));
    let mount = service().auth(AuthRequirement::session());
    assert_eq!(pairs(&find_problems(app(SameSite::Lax).mount("/old", mount))), [("mount", value)]);
    let open = app(SameSite::Lax).mount("/old", service().public());
    assert!(find_problems(open).is_empty());
    let fallback = Fallback::handler(async |_| "page").auth(AuthRequirement::session());
    let fallback = app(SameSite::Lax).fallback(fallback.policies(Policies::new().cors(insecure())));
    assert_eq!(pairs(&find_problems(fallback)), [("fallback", value)]);
}

/// A page with another scheme is of another site, whatever its host.
#[test]
fn sites_have_schemes() {
    let mut cors = shared(&["http://app.shop.example"]);
    cors.dangerous_insecure_origins = true;
    let found = find_problems(
        app(SameSite::Lax).policies(Policies::new().cors(cors)).routes(routes![plain]),
    );
    assert_eq!(pairs(&found), [("plain", "http://app.shop.example")]);
}

#[tokio::test]
async fn routes_without_a_required_session_and_loopback_pages_are_noticed() {
    let (log, _guard) = Log::start("policy_server");
    let cors = shared(&["https://app.partner.example", "http://localhost:3000"]);
    let partners = Group::new()
        .policies(Policies::new().cors(cors))
        .routes(routes![either, maybe, begin, anybody]);
    let local = Group::new()
        .policies(Policies::new().cors(shared(&["http://localhost:3000"])))
        .routes(routes![plain]);
    let app = app(SameSite::Lax).group("/p", partners).group("/l", local);
    let server = http::Running::start(app).await;
    // Once there is a response, everything has been logged.
    server.response(http::request("GET /p/anybody", &[])).await;
    let notices = log.with("session.withheld");
    for path in ["/p/either", "/p/maybe", "/p/begin", "/l/plain"] {
        assert!(notices.iter().any(|line| line.contains(path)), "{path}: {notices:?}");
    }
    assert_eq!(notices.len(), 4, "{notices:?}");
}

#[test]
fn lists_that_change_are_checked_when_they_are_replaced() {
    let partners = SharedOrigins::new();
    let start = |same_site, route: Vec<Route<()>>| {
        app(same_site).origins("partners", &partners).routes(route).check()
    };
    assert!(start(SameSite::Lax, routes![listed]).is_ok());
    let own = ["https://app.shop.example", "http://localhost:3000"];
    assert!(partners.replace(&own).is_ok());
    let refused = partners.replace(&["https://app.shop.example", "https://app.partner.example"]);
    let errors = refused.unwrap_err();
    let [error] = errors.errors() else { panic!("{errors}") };
    assert_eq!(error.rule().code(), "session.same-site");
    assert_eq!(error.value(), "https://app.partner.example");
    assert!(error.location().ends_with("list `partners`"), "{error}");
    assert_eq!(partners.patterns(), own, "the old list stays");

    // An origin that is in the list at start is an error at start.
    let partners = SharedOrigins::new();
    partners.replace(&["https://app.partner.example"]).expect("no route uses it yet");
    let app = app(SameSite::Lax).origins("partners", &partners).routes(routes![listed]);
    assert_eq!(pairs(&find_problems(app)), [("listed", "https://app.partner.example")]);
}

/// No list within the bound could ever be used.
#[test]
fn a_bound_without_an_origin_of_the_own_site_is_refused_at_start() {
    let partners = SharedOrigins::new();
    let start = |same_site| app(same_site).origins("partners", &partners).routes(routes![outside]);
    assert_eq!(
        pairs(&find_problems(start(SameSite::Lax))),
        [("outside", "https://*.partner.example")]
    );
    assert!(find_problems(start(SameSite::None)).is_empty());
}

#[tokio::test]
async fn a_stored_list_refuses_pages_of_other_sites() {
    let partners = StoredOrigins::new(["https://app.shop.example"]);
    let app = app(SameSite::Lax).origins("partners", &partners).routes(routes![listed]);
    let _service = app.open().await.expect("an app without problems");
    let refused = partners.add("https://app.partner.example").await;
    let Err(StoredOriginsError::Refused(errors)) = refused else { panic!("{refused:?}") };
    assert_eq!(errors.errors()[0].rule().code(), "session.same-site");
    assert_eq!(partners.patterns(), ["https://app.shop.example"]);
}

#[test]
fn a_cookie_is_partitioned_where_other_sites_get_it() {
    let start = |settings| {
        let app = App::new(()).public_origin("https://api.shop.example").sessions(settings);
        app.routes(routes![begin]).check()
    };
    let error = start(Sessions::memory().partitioned()).unwrap_err().to_string();
    assert!(error.contains("(session.partitioned)") && error.contains("SameSite=Lax"), "{error}");
    assert!(start(sessions(SameSite::None).partitioned()).is_ok());
}

#[tokio::test]
async fn a_partitioned_cookie_says_so() {
    let settings = sessions(SameSite::None).partitioned();
    let app = App::new(()).public_origin("https://api.shop.example").sessions(settings);
    let client = app.routes(routes![begin]).test();
    let response = client.post("/begin").origin("https://api.shop.example").send().await;
    let line = response.header("set-cookie").expect("a cookie");
    assert!(line.ends_with("; Path=/; Secure; HttpOnly; SameSite=None; Partitioned"), "{line}");
}

/// In development a page of another host, or of `localhost` where the app is opened as `127.0.0.1`.
#[tokio::test]
async fn a_401_says_in_development_that_the_cookie_is_withheld() {
    let (log, _guard) = Log::start("policy_server");
    let app =
        |same_site| App::new(()).sessions(sessions(same_site)).routes(routes![begin, of_partner]);
    let client = app(SameSite::Lax).test();
    let request = |client: &TestClient, site: &str, mode: &str| {
        client.get("/me").header("sec-fetch-site", site).header("sec-fetch-mode", mode)
    };
    let detail = async |request: TestRequest| {
        let response = request.send().await;
        assert_eq!(response.status(), 401);
        response.json::<Value>()["detail"].as_str().map(str::to_owned)
    };
    let words = detail(request(&client, "cross-site", "cors")).await.expect("words");
    assert!(words.starts_with("cookie withheld: SameSite=Lax, cross-site"), "{words}");
    assert!(log.with("cookie withheld: SameSite=Lax, cross-site").len() == 1);
    // Without a session, nothing is withheld.
    assert_eq!(detail(request(&client, "same-site", "cors")).await, None);
    assert_eq!(detail(client.get("/me")).await, None);
    // `Lax` comes with links, and `Strict` does not.
    assert_eq!(detail(request(&client, "cross-site", "navigate")).await, None);
    let strict = app(SameSite::Strict).test();
    let words = detail(request(&strict, "cross-site", "navigate")).await.expect("words");
    assert!(words.starts_with("cookie withheld: SameSite=Strict, cross-site"), "{words}");
    // A cookie that was sent was not withheld.
    let stale = format!("sid={}", "A".repeat(43));
    let words = detail(request(&client, "cross-site", "cors").header("cookie", stale)).await;
    let words = words.expect("words");
    assert!(words.starts_with("the cookie `sid` was sent, but it names no login"), "{words}");
    assert!(words.contains("cookie_name"), "{words}");
}

#[tokio::test]
async fn a_401_in_production_says_it_in_the_log_only() {
    let (log, _guard) = Log::start("policy_server");
    let client = app(SameSite::Lax).routes(routes![plain]).test();
    let response = client.get("/plain").header("sec-fetch-site", "cross-site").send().await;
    assert_eq!(response.status(), 401);
    assert!(response.json::<Value>()["detail"].is_null());
    assert_eq!(log.with("cookie withheld: SameSite=Lax, cross-site").len(), 1);
}

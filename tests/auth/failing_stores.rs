//! A store that does not respond: 503, and nobody is logged out.

use super::*;
use policy_server::http::Method;
use policy_tests::{
    handlers::{by_ticket, by_token, revoke, revoke_others, ticket},
    log::Log,
};

#[get("/public")]
#[auth(public)]
async fn public() -> &'static str {
    "hello"
}

#[get("/optional")]
#[auth(optional, session)]
async fn optional(me: Option<Principal>) -> String {
    me.map_or("nobody".to_owned(), |me| me.subject().to_owned())
}

#[get("/list")]
#[auth(session)]
async fn list(sessions: Sessions, State(shared): State<All>) -> Result<String, Problem> {
    shared.wait().await;
    Ok(sessions.list().await?.len().to_string())
}

fn all() -> Vec<Route<All>> {
    routes![public, optional, list, revoke_others]
}

#[track_caller]
fn assert_unavailable(response: &TestResponse, code: &str) {
    assert_problem(response, 503, code);
    assert_eq!(response.header("retry-after"), Some("1"), "{response:?}");
    assert_eq!(response.header("cache-control"), Some("no-store"), "{response:?}");
    assert!(response.header("www-authenticate").is_none());
    assert!(leaves_cookie(response), "{response:?}");
}

#[tokio::test]
async fn a_session_that_cannot_be_loaded_is_not_gone() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    scenario.store.fail();
    for path in ["/me", "/value/a", "/optional", "/csrf"] {
        assert_unavailable(&ada.get(path).send().await, "auth.credentials-unchecked");
    }
    for path in ["/logout", "/set/a/1", "/login/ada"] {
        assert_unavailable(&ada.post(path).send().await, "auth.credentials-unchecked");
    }
    // Requests without a session, or that need none, are served.
    assert_eq!(ada.get("/public").send().await.text(), "hello");
    assert_eq!(scenario.client.get("/optional").send().await.text(), "nobody");
    assert_eq!(scenario.client.get("/me").send().await.status(), 401);
    scenario.store.recover();
    assert_eq!(ada.who().await.as_deref(), Some("ada"));
    assert_eq!(ada.value("a").await, Value::Null);
}

#[tokio::test]
async fn changes_that_cannot_be_stored_have_no_effect() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    scenario.store.fail_to_write();
    for path in ["/logout", "/set/a/1", "/login/ada", "/login/eve", "/revoke-others"] {
        assert_unavailable(&ada.post(path).send().await, "session.store-unavailable");
    }
    let login = scenario.client.post("/login/ada").origin(OWN).send().await;
    assert_unavailable(&login, "session.store-unavailable");
    // The session is used, although its last use cannot be written.
    scenario.advance(120);
    assert_eq!(ada.who().await.as_deref(), Some("ada"));
    scenario.store.recover();
    assert_eq!(ada.who().await.as_deref(), Some("ada"));
    assert_eq!(ada.value("a").await, Value::Null);
}

#[tokio::test]
async fn a_store_failure_during_a_handler_is_reported() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    let list = tokio::spawn(ada.get("/list").send());
    scenario.shared.waiting.pass().await;
    scenario.store.fail();
    scenario.shared.gate.open();
    assert_unavailable(&list.await.unwrap(), "session.store-unavailable");
}

/// Fails closed: without the store, the server cannot know whether a token was revoked. When the
/// store is back, tokens work again.
#[tokio::test]
async fn tokens_are_refused_while_revocations_are_unknown() {
    let scenario = Scenario::with(routes![by_token], |app| app).await;
    let get = || scenario.client.get("/by-token").header("authorization", bearer(&good_token()));
    assert_eq!(get().send().await.status(), 200);
    scenario.store.fail();
    scenario.advance(5);
    assert_eq!(get().send().await.status(), 200);
    scenario.advance(1);
    assert_unavailable(&get().send().await, "auth.credentials-unchecked");
    // A malformed token is refused without the store.
    let wrong = scenario.client.get("/by-token").header("authorization", "Bearer a.b.c");
    assert_problem(&wrong.send().await, 401, "auth.token-invalid");
    scenario.store.recover();
    assert_eq!(get().send().await.status(), 200);
}

/// A store of the app need not remember a write that failed, but this process does.
#[tokio::test]
async fn a_refused_revocation_of_tokens_holds_in_this_process() {
    for path in ["/revoke", "/token/revoke-user"] {
        let routes = routes![by_token, revoke, revoke_tokens];
        let scenario = Scenario::with(routes, |app| app).await;
        let send = |method: Method, path: &str| {
            let request = scenario.client.request(method, path);
            request.header("authorization", bearer(&good_token())).send()
        };
        assert_eq!(send(Method::GET, "/by-token").await.status(), 200);
        scenario.store.fail_to_write();
        assert_unavailable(&send(Method::POST, path).await, "token.store-unavailable");
        assert_eq!(send(Method::GET, "/by-token").await.status(), 401, "{path}");
        scenario.store.recover();
        scenario.advance(2);
        assert_eq!(send(Method::GET, "/by-token").await.status(), 401, "{path}");
    }
}

#[post("/token/revoke-user")]
#[auth(token)]
async fn revoke_tokens(me: Principal, tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.revoke_user(me.subject()).await?.to_string())
}

#[tokio::test]
async fn an_app_whose_store_cannot_write_is_not_ready() {
    let probes = |app: App<All>| app.health("/healthz").readiness("/readyz");
    let scenario = Scenario::with(all(), probes).await;
    let get = |path| scenario.client.get(path).send();
    assert_eq!(get("/readyz").await.status(), 200);
    scenario.store.fail_to_write();
    assert_problem(&get("/readyz").await, 503, "session.store-unavailable");
    // A restart would not help, and reads still work.
    assert_eq!(get("/healthz").await.status(), 200);
    scenario.store.recover();
    assert_eq!(get("/readyz").await.status(), 200);

    let tokens = FaultyStore::default();
    let own = tokens_on(&tokens);
    let scenario = Scenario::with(all(), |app| probes(app).tokens(own)).await;
    tokens.fail();
    let readiness = scenario.client.get("/readyz").send().await;
    assert_problem(&readiness, 503, "token.store-unavailable");
}

/// How old the known revocations are does not depend on the time of day.
#[tokio::test]
async fn a_clock_that_is_set_back_makes_no_revocations_newer() {
    let scenario = Scenario::with(routes![by_token], |app| app).await;
    let get = || scenario.client.get("/by-token").header("authorization", bearer(&good_token()));
    assert_eq!(get().send().await.status(), 200);
    scenario.clock.turn_back(Duration::from_secs(20));
    scenario.store.fail();
    scenario.advance(6);
    assert_unavailable(&get().send().await, "auth.credentials-unchecked");
    scenario.store.recover();
    assert_eq!(get().send().await.status(), 200);
}

/// Advances the clock until something is logged with this code and level.
async fn until_logged(log: &Log, scenario: &Scenario, level: &str, code: &str) {
    for _ in 0..1000 {
        if let Some(line) = log.with_code(code).first() {
            assert!(line.starts_with(level), "{line}");
            return;
        }
        scenario.advance(60);
        tokio::task::yield_now().await;
    }
    panic!("nothing is logged as {code}: {:?}", log.with("code="));
}

#[tokio::test]
async fn store_failures_are_logged_with_their_codes() {
    let (log, _guard) = Log::start("policy_server");
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    scenario.store.fail_to_write();
    ada.post("/set/a/1").send().await;
    until_logged(&log, &scenario, "ERROR", "session.not-stored").await;
    ada.post("/revoke-others").send().await;
    until_logged(&log, &scenario, "ERROR", "session.store-failed").await;
    scenario.advance(120);
    assert_eq!(ada.who().await.as_deref(), Some("ada"));
    until_logged(&log, &scenario, "WARN", "session.use-not-noted").await;
    scenario.store.fail();
    ada.get("/me").send().await;
    until_logged(&log, &scenario, "ERROR", "session.not-loaded").await;
    until_logged(&log, &scenario, "ERROR", "session.not-purged").await;
}

#[tokio::test]
async fn a_store_of_tokens_that_is_away_and_back_is_logged() {
    let (log, _guard) = Log::start("policy_server");
    let scenario = Scenario::with(routes![by_token, ticket, by_ticket], |app| app).await;
    let ada = scenario.login("ada").await;
    let ticket = ada.post("/ticket").send().await.text();
    scenario.store.fail();
    let path = format!("/by-ticket?ticket={ticket}");
    assert_unavailable(&scenario.client.get(&path).send().await, "auth.credentials-unchecked");
    until_logged(&log, &scenario, "ERROR", "auth.ticket-unchecked").await;
    ada.post("/ticket").send().await;
    until_logged(&log, &scenario, "ERROR", "token.store-away").await;
    scenario.store.recover();
    until_logged(&log, &scenario, "INFO", "token.store-back").await;
}

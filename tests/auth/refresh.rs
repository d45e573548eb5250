//! Refresh tokens over HTTP (RFC 6749 6, RFC 9700 4.14).

use super::*;

#[post("/token")]
#[auth(public)]
async fn begin(tokens: Tokens) -> Result<policy_server::tokens::IssuedTokens, CredentialError> {
    tokens.login(Identity::new("ada").scopes(["orders:read"])).await
}

#[post("/refresh")]
#[cors(origins = ["https://spa.example"])]
#[auth(public)]
async fn refresh(
    tokens: Tokens,
    body: String,
) -> Result<policy_server::tokens::IssuedTokens, CredentialError> {
    tokens.refresh(&body).await
}

#[post("/token/logout")]
#[auth(public)]
async fn end(tokens: Tokens, body: String) -> Result<String, Problem> {
    Ok(tokens.logout(&body).await?.to_string())
}

#[post("/token/cut-off")]
#[auth(public)]
async fn cut_off(tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.revoke_user("ada").await?.to_string())
}

#[get("/orders")]
#[auth(token, scopes = ["orders:read"], fresh = "1h")]
async fn orders(me: Principal) -> String {
    me.subject().to_owned()
}

fn all() -> Vec<Route<All>> {
    routes![begin, refresh, end, cut_off, orders]
}

struct Pair {
    access: String,
    refresh: String,
}

#[track_caller]
fn pair(response: &TestResponse) -> Pair {
    assert_eq!(response.status(), 200, "{response:?}");
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let body: Value = response.json();
    assert_eq!((&body["token_type"], &body["expires_in"]), (&"Bearer".into(), &300.into()));
    let text = |name: &str| body[name].as_str().unwrap().to_owned();
    Pair { access: text("access_token"), refresh: text("refresh_token") }
}

impl Scenario {
    async fn begin(&self) -> Pair {
        pair(&self.client.post("/token").send().await)
    }

    async fn refresh(&self, token: &str) -> TestResponse {
        self.client.post("/refresh").origin(SPA).body(token.to_owned()).send().await
    }

    async fn orders(&self, token: &str) -> u16 {
        let request = self.client.get("/orders").header("authorization", bearer(token));
        request.send().await.status().as_u16()
    }
}

#[track_caller]
fn assert_refused(response: &TestResponse) {
    assert_problem(response, 401, "token.refresh-refused");
    assert_eq!(response.header("cache-control"), Some("no-store"));
    assert_eq!(response.header("access-control-allow-origin"), Some(SPA));
}

#[tokio::test]
async fn a_refresh_returns_the_next_pair_and_a_late_reuse_ends_the_family() {
    let scenario = Scenario::new(all()).await;
    let first = scenario.begin().await;
    scenario.advance(200);
    let second = pair(&scenario.refresh(&first.refresh).await);
    assert_eq!(scenario.orders(&second.access).await, 200);
    assert!(second.refresh != first.refresh && second.access != first.access);
    // A second tab, or a retry after a lost response.
    scenario.advance(9);
    let again = pair(&scenario.refresh(&first.refresh).await);
    assert_eq!(again.refresh, second.refresh);
    // A copy of the token is in use: the whole login ends.
    scenario.advance(2);
    let (log, _guard) = policy_tests::log::Log::start("policy_server");
    assert_refused(&scenario.refresh(&first.refresh).await);
    assert_eq!(log.with_code("token.refresh-reuse").len(), 1, "{:?}", log.with("code="));
    assert_refused(&scenario.refresh(&second.refresh).await);
    for access in [&first.access, &second.access, &again.access] {
        assert_eq!(scenario.orders(access).await, 401);
    }
    assert_eq!(scenario.orders(&scenario.begin().await.access).await, 200);
}

#[tokio::test]
async fn a_logout_or_a_cut_off_ends_the_family_and_its_access_tokens() {
    let scenario = Scenario::new(all()).await;
    for path in ["/token/logout", "/token/cut-off"] {
        let (first, other) = (scenario.begin().await, scenario.begin().await);
        let second = pair(&scenario.refresh(&first.refresh).await);
        // A used token still identifies its family.
        let ended = scenario.client.post(path).body(first.refresh.clone()).send().await;
        assert_eq!(ended.status(), 200);
        assert_refused(&scenario.refresh(&first.refresh).await);
        assert_refused(&scenario.refresh(&second.refresh).await);
        assert_eq!(
            (scenario.orders(&first.access).await, scenario.orders(&second.access).await),
            (401, 401)
        );
        let lives = path == "/token/logout";
        assert_eq!(scenario.orders(&other.access).await == 200, lives);
        assert_eq!(scenario.refresh(&other.refresh).await.status() == 200, lives);
        scenario.advance(2);
    }
}

#[tokio::test]
async fn all_invalid_refresh_tokens_get_the_same_response() {
    let scenario = Scenario::new(all()).await;
    let first = scenario.begin().await;
    let mut responses = std::collections::BTreeSet::new();
    for text in
        ["", "x", "rt_", &first.access, &format!("rt_{}", "A".repeat(43)), &"a".repeat(9000)]
    {
        let response = scenario.refresh(text).await;
        assert_refused(&response);
        responses.insert(response.bytes().clone());
    }
    assert_eq!(responses.len(), 1);
    // A refresh token is not an access token.
    assert_eq!(scenario.orders(&first.refresh).await, 401);
}

#[tokio::test]
async fn a_refresh_makes_no_login_younger_and_the_family_ends() {
    let scenario = Scenario::new(all()).await;
    let mut now = scenario.begin().await;
    for _ in 0..11 {
        scenario.advance(300);
        now = pair(&scenario.refresh(&now.refresh).await);
        assert_eq!(scenario.orders(&now.access).await, 200);
    }
    scenario.advance(300);
    now = pair(&scenario.refresh(&now.refresh).await);
    assert_eq!(scenario.orders(&now.access).await, 401);
    scenario.advance(30 * 86_400 - 3601);
    now = pair(&scenario.refresh(&now.refresh).await);
    scenario.advance(1);
    assert_refused(&scenario.refresh(&now.refresh).await);
}

#[tokio::test]
async fn refresh_tokens_end_after_the_time_that_the_app_says() {
    let (store, clock) = (FaultyStore::default(), Clock::at(START));
    let tokens = tokens_on(&store).refresh_lifetime(Duration::from_secs(3600));
    let scenario = Scenario::on(store, clock, all(), |app| app.tokens(tokens)).await;
    let first = scenario.begin().await;
    scenario.advance(3599);
    let last = pair(&scenario.refresh(&first.refresh).await);
    scenario.advance(1);
    assert_refused(&scenario.refresh(&last.refresh).await);
}

#[tokio::test]
async fn an_unresponsive_store_ends_no_session() {
    let scenario = Scenario::new(all()).await;
    let first = scenario.begin().await;
    scenario.store.fail();
    let (log, _guard) = policy_tests::log::Log::start("policy_server");
    for response in
        [scenario.refresh(&first.refresh).await, scenario.client.post("/token").send().await]
    {
        assert_problem(&response, 503, "token.store-unavailable");
        assert_eq!(response.header("retry-after"), Some("1"));
        assert_eq!(response.header("cache-control"), Some("no-store"));
    }
    assert_eq!(log.with_code("token.store-failed").len(), 2, "{:?}", log.with("code="));
    scenario.store.recover();
    assert_eq!(scenario.refresh(&first.refresh).await.status(), 200);
}

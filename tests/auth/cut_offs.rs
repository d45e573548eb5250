//! A user is cut off while requests of that user are in flight: these requests grant nothing.

use axum::{extract::FromRequestParts, http::request::Parts};
use policy_server::tokens::IssuedTokens;
use policy_tests::handlers::{by_ticket, by_token, refresh};

use super::*;

#[post("/slow/tokens/{user}")]
#[auth(public)]
async fn slow_tokens(
    user: String,
    tokens: Tokens,
    State(shared): State<All>,
) -> Result<IssuedTokens, CredentialError> {
    shared.wait().await;
    tokens.login(user).await
}

#[post("/slow/access/{user}")]
#[auth(public)]
async fn slow_access(
    user: String,
    tokens: Tokens,
    State(shared): State<All>,
) -> Result<IssuedTokens, CredentialError> {
    shared.wait().await;
    tokens.issue(&Identity::new(user))
}

#[post("/slow/ticket")]
#[auth(session)]
async fn slow_ticket(tokens: Tokens, State(shared): State<All>) -> Result<String, CredentialError> {
    shared.wait().await;
    tokens.ticket().await
}

/// Waits, then cuts the user off, and issues a new session and new tokens.
#[post("/slow/password")]
#[auth(session)]
async fn slow_password(
    me: Principal,
    sessions: Sessions,
    tokens: Tokens,
    State(shared): State<All>,
) -> Result<IssuedTokens, CredentialError> {
    shared.wait().await;
    sessions.login(me.subject()).await?;
    sessions.revoke_others().await?;
    tokens.login(me.subject()).await
}

/// Waits, then ends everything of its user, and grants something to another.
#[post("/slow/switch/{grant}/{user}")]
#[auth(public)]
async fn slow_switch(
    grant: String,
    user: String,
    sessions: Sessions,
    tokens: Tokens,
    State(shared): State<All>,
) -> Result<String, Problem> {
    shared.wait().await;
    sessions.revoke_all().await?;
    match &*grant {
        "session" => sessions.login(user).await?,
        "refresh-token" => return Ok(tokens.login(user).await?.access_token),
        _ => return Ok(tokens.issue(&Identity::new(user))?.access_token),
    }
    Ok(String::new())
}

/// Checks the password before the handler's other arguments are extracted.
struct Verified;

impl FromRequestParts<All> for Verified {
    type Rejection = Problem;

    async fn from_request_parts(_parts: &mut Parts, shared: &All) -> Result<Self, Problem> {
        shared.wait().await;
        Ok(Self)
    }
}

#[post("/slow/extractor/sessions")]
#[auth(public)]
async fn verified_login(_verified: Verified, sessions: Sessions) -> Result<(), Problem> {
    Ok(sessions.login("ada").await?)
}

#[post("/slow/extractor/tokens")]
#[auth(public)]
async fn verified_tokens(
    _verified: Verified,
    tokens: Tokens,
) -> Result<IssuedTokens, CredentialError> {
    tokens.login("ada").await
}

/// Everything that a session can issue.
#[post("/issue")]
#[auth(session)]
async fn issue(me: Principal, tokens: Tokens) -> Result<Json<[String; 4]>, Problem> {
    let login = tokens.login(me.subject()).await?;
    let access = tokens.issue(&Identity::new(me.subject()))?.access_token;
    let refresh = login.refresh_token.unwrap_or_default();
    Ok(Json([access, login.access_token, refresh, tokens.ticket().await?]))
}

#[get("/admin")]
#[auth(session | token, roles = ["admin"])]
async fn admin() {}

#[post("/admin/login")]
#[auth(public)]
async fn admin_login(sessions: Sessions) -> Result<(), Problem> {
    Ok(sessions.login(Identity::new("ada").roles(["admin"])).await?)
}

#[post("/cut/{way}/{user}")]
#[auth(public)]
#[csrf(origin)]
async fn cut(
    way: String,
    user: String,
    sessions: Sessions,
    tokens: Tokens,
) -> Result<String, Problem> {
    let ended = match &*way {
        "sessions" => sessions.revoke_user(&user).await?,
        "tokens" => tokens.revoke_user(&user).await?,
        "others" => sessions.revoke_others().await?,
        "everyone" => sessions.revoke_everyone().await?,
        "everyone-by-tokens" => tokens.revoke_everyone().await?,
        "rights" => sessions.set_rights(Identity::new(user)).await?,
        other => panic!("{other}"),
    };
    Ok(ended.to_string())
}

#[post("/end/{handle}")]
#[auth(session)]
#[object(none = "a test of something else")]
async fn end(handle: policy_server::session::Handle, sessions: Sessions) -> Result<(), Problem> {
    sessions.revoke(handle).await?;
    Ok(())
}

/// A logout that needs no session, so that it can be repeated.
#[post("/leave")]
#[auth(public)]
#[csrf(origin)]
async fn leave(session: Session) {
    session.logout();
}

/// The same, with a value for the next page.
#[post("/leave/message")]
#[auth(public)]
#[csrf(origin)]
async fn leave_with_message(session: Session) -> Result<(), CredentialError> {
    session.logout();
    session.set("message", "bye")
}

#[get("/handle")]
#[auth(session)]
async fn handle(me: Principal) -> String {
    me.session().expect("a session").to_string()
}

fn all() -> Vec<Route<All>> {
    let slow = routes![slow_login, slow_tokens, slow_access, slow_elevate, slow_ticket];
    let fast = routes![slow_password, issue, refresh, by_token, by_ticket, admin, admin_login];
    let other = routes![cut, end, leave, leave_with_message, handle, slow_switch];
    let verified = routes![verified_login, verified_tokens];
    slow.into_iter().chain(fast).chain(other).chain(verified).collect()
}

const WAYS: [&str; 6] =
    ["sessions", "tokens", "others", "everyone", "everyone-by-tokens", "rights"];

const SLOW: [&str; 5] =
    ["/slow-login/ada", "/slow/tokens/ada", "/slow/access/ada", "/slow-elevate", "/slow/ticket"];

async fn cut_off(visitor: &Visitor, way: &str, user: &str) -> String {
    let response = visitor.post(&format!("/cut/{way}/{user}")).send().await;
    assert_eq!(response.status(), 200, "{way} {response:?}");
    response.text()
}

#[tokio::test]
async fn requests_begun_before_a_cut_off_cannot_commit() {
    for way in WAYS {
        for path in SLOW {
            let scenario = Scenario::new(all()).await;
            let (ada, owner) = (scenario.login("ada").await, scenario.login("ada").await);
            let running = tokio::spawn(ada.post(path).send());
            scenario.shared.waiting.pass().await;
            cut_off(&owner, way, "ada").await;
            scenario.shared.gate.open();
            let response = running.await.unwrap();
            assert_problem(&response, 409, "session.ended");
            assert_eq!(set_cookie(&response), None, "{way} {path}");
            // Requests that begin now are not refused.
            let again = scenario.login("ada").await;
            for path in SLOW {
                scenario.shared.gate.open();
                let response = again.post(path).send().await;
                scenario.shared.waiting.pass().await;
                assert_eq!(response.status(), 200, "{way} {path} {response:?}");
                if path == "/slow-login/ada" || path == "/slow-elevate" {
                    break;
                }
            }
        }
    }
}

#[tokio::test]
async fn logins_checked_before_a_cut_off_are_refused() {
    for path in ["/slow/extractor/sessions", "/slow/extractor/tokens"] {
        let scenario = Scenario::new(all()).await;
        let running = tokio::spawn(scenario.client.post(path).origin(OWN).send());
        scenario.shared.waiting.pass().await;
        scenario.client.post("/cut/sessions/ada").origin(OWN).send().await;
        scenario.shared.gate.open();
        assert_problem(&running.await.unwrap(), 409, "session.ended");
    }
}

#[tokio::test]
async fn a_cut_off_of_others_refuses_nothing() {
    for path in SLOW {
        let scenario = Scenario::new(all()).await;
        let (ada, bob) = (scenario.login("ada").await, scenario.login("bob").await);
        let running = tokio::spawn(ada.post(path).send());
        scenario.shared.waiting.pass().await;
        for way in ["sessions", "tokens", "rights"] {
            cut_off(&bob, way, "bob").await;
        }
        scenario.shared.gate.open();
        assert_eq!(running.await.unwrap().status(), 200, "{path}");
    }
}

#[tokio::test]
async fn the_request_that_cuts_off_continues() {
    let scenario = Scenario::new(all()).await;
    let (ada, other) = (scenario.login("ada").await, scenario.login("ada").await);
    scenario.shared.gate.open();
    let response = ada.post("/slow/password").send().await;
    scenario.shared.waiting.pass().await;
    assert_eq!(response.status(), 200, "{response:?}");
    assert_eq!((ada.who().await, other.who().await), (None, None));
    let now = Visitor { cookie: cookie_of(&response), ..ada };
    assert_eq!(now.who().await.as_deref(), Some("ada"));
    let token = response.json::<Value>()["access_token"].as_str().unwrap().to_owned();
    assert_eq!(by(&scenario, &token).await, 200);
}

/// Two requests of one session change the password at the same time. The first is cut off by the second.
#[tokio::test]
async fn an_own_cut_off_does_not_undo_one_of_another_request() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    let running = tokio::spawn(ada.post("/slow/password").send());
    scenario.shared.waiting.pass().await;
    cut_off(&ada, "others", "ada").await;
    scenario.shared.gate.open();
    assert_problem(&running.await.unwrap(), 409, "session.ended");
    assert_eq!(ada.who().await.as_deref(), Some("ada"), "the session was kept by both");
}

/// A request that cuts off its own user knows no more about the cut-offs of the user to whom it grants
/// something.
#[tokio::test]
async fn an_own_cut_off_hides_none_of_another_user() {
    for grant in ["session", "refresh-token", "access-token"] {
        for (cut, is_granted) in [(None, true), (Some("bob"), true), (Some("eve"), false)] {
            let scenario = Scenario::new(all()).await;
            let (ada, bob) = (scenario.login("ada").await, scenario.login("bob").await);
            let running = tokio::spawn(ada.post(&format!("/slow/switch/{grant}/eve")).send());
            scenario.shared.waiting.pass().await;
            if let Some(user) = cut {
                cut_off(&bob, "sessions", user).await;
            }
            scenario.shared.gate.open();
            let response = running.await.unwrap();
            assert_eq!(ada.who().await, None, "{grant} {cut:?}");
            if !is_granted {
                assert_problem(&response, 409, "session.ended");
                assert_eq!(set_cookie(&response), None, "{grant}");
                continue;
            }
            assert_eq!(response.status(), 200, "{grant} {cut:?} {response:?}");
            if grant == "session" {
                let eve = Visitor { cookie: cookie_of(&response), ..ada };
                assert_eq!(eve.who().await.as_deref(), Some("eve"), "{cut:?}");
            } else {
                assert_eq!(by(&scenario, &response.text()).await, 200, "{grant} {cut:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_cut_off_at_another_instance_counts_as_well() {
    for path in SLOW {
        let (store, clock) = (FaultyStore::default(), Clock::at(START));
        // Otherwise the first instance would be notified of the cut-off at once.
        store.silence();
        let one = Scenario::on(store.clone(), clock.clone(), all(), |app| app).await;
        // The second clock is behind: by the first clock, the cut-off is in the past.
        let two = Scenario::on(store, Clock::at(START - 20), all(), |app| app).await;
        let ada = one.login("ada").await;
        let running = tokio::spawn(ada.post(path).send());
        one.shared.waiting.pass().await;
        cut_off(&two.login("ada").await, "others", "ada").await;
        one.shared.gate.open();
        let response = running.await.unwrap();
        if matches!(path, "/slow/access/ada" | "/slow/ticket") {
            // The first instance does not know of the cut-off yet. Once it does, what it issued is
            // invalid.
            assert_eq!(response.status(), 200, "{response:?}");
            one.advance(1);
            http::settle().await;
            if path == "/slow/access/ada" {
                let token = response.json::<Value>()["access_token"].as_str().unwrap().to_owned();
                assert_eq!([by(&one, &token).await, by(&two, &token).await], [401, 401]);
            } else {
                let path = format!("/by-ticket?ticket={}", response.text());
                assert_eq!(one.client.get(&path).send().await.status(), 401);
            }
        } else {
            assert_problem(&response, 409, "session.ended");
        }
        one.login("ada").await;
    }
}

/// The status that a token gets.
async fn by(scenario: &Scenario, token: &str) -> u16 {
    let request = scenario.client.get("/by-token").header("authorization", bearer(token));
    request.send().await.status().as_u16()
}

/// Which of the two access tokens, the refresh token and the ticket that a session issued are valid.
async fn good(scenario: &Scenario, issued: &[String; 4]) -> [bool; 4] {
    let [access, with_refresh, refresh, ticket] = issued;
    let path = format!("/by-ticket?ticket={ticket}");
    [
        by(scenario, access).await == 200,
        by(scenario, with_refresh).await == 200,
        scenario.client.post("/refresh").body(refresh.clone()).send().await.status() == 200,
        scenario.client.get(&path).send().await.status() == 200,
    ]
}

#[tokio::test]
async fn the_end_of_a_session_ends_its_tokens_and_tickets() {
    for end in ["/logout", "/end", "/login/eve", "limit"] {
        let limited = |app: App<All>, store: FaultyStore| {
            let sessions = Sessions::store(store).same_site(SameSite::None);
            app.sessions(sessions.limit_per_user(2, policy_server::store::LimitPolicy::EvictOldest))
        };
        let store = FaultyStore::default();
        let shared = store.clone();
        let scenario =
            Scenario::on(store, Clock::at(START), all(), |app| limited(app, shared)).await;
        let ada = scenario.login("ada").await;
        let issued: [String; 4] = ada.post("/issue").send().await.json();
        scenario.advance(1);
        let other = scenario.login("ada").await;
        let of_other: [String; 4] = other.post("/issue").send().await.json();
        match end {
            "/end" => {
                let handle = ada.get("/handle").send().await.text();
                other.post(&format!("/end/{handle}")).send().await;
            }
            "limit" => drop(scenario.login("ada").await),
            path => drop(ada.post(path).send().await),
        }
        assert_eq!(ada.who().await, None, "{end}");
        assert_eq!(good(&scenario, &issued).await, [false; 4], "{end}");
        let by_ticket = scenario.client.get(&format!("/by-ticket?ticket={}", issued[3]));
        assert_problem(&by_ticket.send().await, 401, "auth.ticket-invalid");
        assert_eq!(good(&scenario, &of_other).await, [true; 4], "{end}");
    }
}

/// The name of a session is no secret: each token that was issued in it states it as `sid`.
#[tokio::test]
async fn a_session_ends_by_its_handle_for_its_own_user_only() {
    let scenario = Scenario::new(all()).await;
    let (ada, mallory) = (scenario.login("ada").await, scenario.login("mallory").await);
    let issued: [String; 4] = ada.post("/issue").send().await.json();
    let sid = |token: &str| {
        let payload = token.split('.').nth(1).unwrap();
        let payload = data_encoding::BASE64URL_NOPAD.decode(payload.as_bytes()).unwrap();
        let payload: Value = serde_json::from_slice(&payload).unwrap();
        payload["sid"].as_str().unwrap().to_owned()
    };
    let unknown = "AAECAwQFBgcICQoLDA0ODw".to_owned();
    scenario.store.take_calls();
    for handle in [sid(&issued[0]), sid(&issued[1]), unknown] {
        assert_eq!(mallory.post(&format!("/end/{handle}")).send().await.status(), 200);
    }
    let calls = scenario.store.take_calls();
    assert_eq!(calls, ["load", "identity"].repeat(3), "nothing is stored");
    assert_eq!(ada.who().await.as_deref(), Some("ada"));
    assert_eq!(good(&scenario, &issued).await, [true; 4]);
}

/// The session ended, but the store of tokens failed, so its user repeats the call.
#[tokio::test]
async fn a_second_call_completes_the_end_of_a_session_that_failed() {
    let (scenario, tokens) = with_two_stores().await;
    let (ada, other) = (scenario.login("ada").await, scenario.login("ada").await);
    let path = format!("/end/{}", ada.get("/handle").send().await.text());
    tokens.fail_to_write();
    assert_eq!(other.post(&path).send().await.status(), 503);
    tokens.recover();
    tokens.take_calls();
    assert_eq!(other.post(&path).send().await.status(), 200);
    assert!(tokens.take_calls().contains(&"revoke"));
}

/// An app whose tokens have a store of their own.
async fn with_two_stores() -> (Scenario, FaultyStore) {
    let tokens = FaultyStore::default();
    let own = tokens_on(&tokens);
    (Scenario::with(all(), |app| app.tokens(own)).await, tokens)
}

#[tokio::test]
async fn tokens_of_a_session_that_ended_without_them_end_when_their_store_is_back() {
    for end in ["/logout", "/login/eve"] {
        let (scenario, tokens) = with_two_stores().await;
        let ada = scenario.login("ada").await;
        let issued: [String; 4] = ada.post("/issue").send().await.json();
        tokens.fail_to_write();
        assert_problem(&ada.post(end).send().await, 503, "session.store-unavailable");
        assert_eq!(ada.who().await, None, "{end}");
        tokens.recover();
        // The background task runs now, and again after a second.
        for _ in 0..2 {
            http::settle().await;
            scenario.advance(1);
        }
        http::settle().await;
        assert_eq!(good(&scenario, &issued).await, [false; 4], "{end}");
    }
}

#[tokio::test]
async fn a_repeated_logout_completes_one_whose_tokens_could_not_be_ended() {
    let (scenario, tokens) = with_two_stores().await;
    let ada = scenario.login("ada").await;
    let issued: [String; 4] = ada.post("/issue").send().await.json();
    tokens.fail_to_write();
    for _ in 0..2 {
        let response = ada.post("/leave").send().await;
        assert_problem(&response, 503, "session.store-unavailable");
        assert!(leaves_cookie(&response), "{response:?}");
        assert_eq!(ada.who().await, None);
    }
    tokens.recover();
    let response = ada.post("/leave").send().await;
    assert_eq!(response.status(), 200, "{response:?}");
    assert!(removes_cookie(&response), "{response:?}");
    assert_eq!(good(&scenario, &issued).await, [false; 4]);
}

#[tokio::test]
async fn a_repeated_logout_that_begins_a_session_completes_the_first_one_too() {
    let (scenario, tokens) = with_two_stores().await;
    let ada = scenario.login("ada").await;
    let issued: [String; 4] = ada.post("/issue").send().await.json();
    tokens.fail_to_write();
    for _ in 0..2 {
        let response = ada.post("/leave/message").send().await;
        assert_problem(&response, 503, "session.store-unavailable");
    }
    tokens.recover();
    let response = ada.post("/leave/message").send().await;
    assert_eq!(response.status(), 200, "{response:?}");
    assert_eq!(good(&scenario, &issued).await, [false; 4]);
}

#[tokio::test]
async fn a_logout_does_not_fail_by_what_another_one_left() {
    let (scenario, tokens) = with_two_stores().await;
    let (ada, eve) = (scenario.login("ada").await, scenario.login("eve").await);
    assert_eq!(eve.post("/leave").send().await.status(), 200);
    tokens.fail_to_write();
    assert_problem(&ada.post("/leave").send().await, 503, "session.store-unavailable");
    let response = eve.post("/leave").send().await;
    assert_eq!(response.status(), 200, "{response:?}");
    assert!(removes_cookie(&response), "{response:?}");
}

#[tokio::test]
async fn one_call_ends_a_user_everywhere() {
    for way in WAYS.into_iter().filter(|way| !matches!(*way, "others" | "rights")) {
        let scenario = Scenario::new(all()).await;
        let (ada, bob) = (scenario.login("ada").await, scenario.login("bob").await);
        let issued: [String; 4] = ada.post("/issue").send().await.json();
        let of_bob: [String; 4] = bob.post("/issue").send().await.json();
        // The caller has no session.
        let response = scenario.client.post(&format!("/cut/{way}/ada")).origin(OWN).send().await;
        let is_for_all = way.starts_with("everyone");
        assert_eq!(response.text(), if is_for_all { "4" } else { "2" }, "sessions and families");
        assert_eq!(ada.who().await, None, "{way}");
        assert_eq!(good(&scenario, &issued).await, [false; 4], "{way}");
        assert_eq!(bob.who().await.is_none(), is_for_all, "{way}");
        assert_eq!(good(&scenario, &of_bob).await, [!is_for_all; 4], "{way}");
    }
}

#[tokio::test]
async fn a_role_that_was_taken_is_gone_with_the_next_request() {
    let scenario = Scenario::new(all()).await;
    let mut visitors = Vec::new();
    for _ in 0..2 {
        let response = scenario.client.post("/admin/login").origin(OWN).send().await;
        visitors.push(Visitor::with_session_of(&scenario.client, &response).await);
    }
    let issued: [String; 4] = visitors[0].post("/issue").send().await.json();
    for visitor in &visitors {
        assert_eq!(visitor.get("/admin").send().await.status(), 200);
    }
    let response = scenario.client.post("/cut/rights/ada").origin(OWN).send().await;
    assert_eq!(response.text(), "2", "sessions");
    for visitor in &visitors {
        assert_eq!(visitor.who().await.as_deref(), Some("ada"), "the session goes on");
        assert_eq!(visitor.get("/admin").send().await.status(), 403);
        // Neither a plain write nor its commit brings the role back.
        assert_eq!(visitor.post("/set/a/1").send().await.status(), 200);
        assert_eq!(visitor.get("/admin").send().await.status(), 403);
    }
    assert_eq!(good(&scenario, &issued).await, [false; 4]);
}

/// Logins and revocations that really run at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_login_that_races_with_a_revocation_survives_it() {
    const ROUNDS: u32 = 200;
    let scenario = Scenario::new(all()).await;
    let mut refused = 0;
    for _ in 0..ROUNDS {
        let paths = ["/slow-login/ada", "/slow/tokens/ada"];
        let begin = |path| tokio::spawn(scenario.client.post(path).origin(OWN).send());
        let running = paths.map(begin);
        for _ in paths {
            scenario.shared.waiting.pass().await;
        }
        let cut = tokio::spawn(scenario.client.post("/cut/sessions/ada").origin(OWN).send());
        for _ in paths {
            scenario.shared.gate.open();
        }
        assert_eq!(cut.await.unwrap().status(), 200);
        let [login, tokens] = running;
        for response in [login.await.unwrap(), tokens.await.unwrap()] {
            if response.status() == 409 {
                refused += 1;
                continue;
            }
            assert_eq!(response.status(), 200, "{response:?}");
            // The login committed first, and was ended.
            if let Some(cookie) = set_cookie(&response) {
                let me = scenario.client.get("/me").header("cookie", cookie).send().await;
                assert_eq!(me.status(), 401);
            } else {
                let issued: Value = response.json();
                let token = issued["access_token"].as_str().unwrap();
                assert_eq!(by(&scenario, token).await, 401);
                let refresh = issued["refresh_token"].as_str().unwrap().to_owned();
                let refreshed = scenario.client.post("/refresh").body(refresh).send().await;
                assert_eq!(refreshed.status(), 401);
            }
        }
    }
    assert!(refused > 0, "no round in which the revocation came first");
}

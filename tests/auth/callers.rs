//! The callers that a route accepts: `session`, `token`, both, `optional`, `scopes`, `roles`,
//! `fresh`, `ticket`, and redirects to the login page.

use super::*;
use policy_tests::handlers::{elevate, own_token, ticket};

#[get("/either")]
#[auth(session | token)]
async fn either(me: Principal) -> String {
    who(&me)
}

#[get("/other-order")]
#[auth(token | session)]
async fn other_order(me: Principal) -> String {
    who(&me)
}

#[get("/token")]
#[auth(token)]
async fn token(me: Principal) -> String {
    who(&me)
}

#[get("/optional/session")]
#[auth(session, optional)]
async fn optional_session(me: Option<Principal>) -> String {
    me.map_or("nobody".to_owned(), |me| who(&me))
}

#[get("/optional/either")]
#[auth(optional, session | token)]
async fn optional_either(me: Option<Principal>) -> String {
    me.map_or("nobody".to_owned(), |me| who(&me))
}

#[post("/optional/change")]
#[auth(optional, session)]
async fn optional_change(me: Option<Principal>) -> String {
    me.map_or("nobody".to_owned(), |me| who(&me))
}

#[get("/scopes")]
#[auth(session | token, scopes = ["read", "write"])]
async fn scopes() {}

#[get("/fresh")]
#[auth(session | token, fresh = "10m")]
async fn fresh() {}

#[post("/poor-token")]
#[auth(public)]
async fn poor_token(tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.issue(&Identity::new("ada").scopes(["write"]))?.access_token)
}

#[get("/by-ticket")]
#[auth(ticket)]
async fn by_ticket(me: Principal) -> String {
    who(&me)
}

#[get("/ticket-or-token")]
#[auth(token | ticket | session, scopes = ["read"])]
async fn ticket_or_token(me: Principal) -> String {
    who(&me)
}

#[get("/files/{*path}")]
#[auth(session)]
#[object(none = "a test of something else")]
async fn files(path: String) -> String {
    path
}

#[get("/{*path}")]
#[auth(session | token)]
#[object(none = "a test of something else")]
async fn anything(path: String) -> String {
    path
}

fn who(me: &Principal) -> String {
    format!("{} by {:?}", me.subject(), me.scheme())
}

fn all() -> Vec<Route<All>> {
    routes![
        either,
        other_order,
        token,
        optional_session,
        optional_either,
        optional_change,
        scopes,
        fresh,
        elevate,
        poor_token,
        own_token,
        ticket,
        by_ticket,
        ticket_or_token,
    ]
}

#[tokio::test]
async fn a_bearer_token_alone_decides_where_the_route_takes_tokens() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    for path in ["/either", "/other-order"] {
        assert_eq!(ada.get(path).send().await.text(), "ada by Session");
        let token = ada.get(path).header("authorization", bearer(&good_token()));
        assert_eq!(token.send().await.text(), "user-1 by Token");
        // A valid session does not help a request with an invalid token.
        for (field, status) in [
            (bearer("a.b.c"), 401),
            (bearer(&case_token("TOK-140")), 401),
            ("Bearer".to_owned(), 400),
            ("Bearer a b".to_owned(), 400),
        ] {
            let response = ada.get(path).header("authorization", &field).send().await;
            assert_eq!(response.status(), status, "{field}");
        }
        // Values that are not bearer tokens are ignored.
        for field in ["Basic YTpi", "a.b.c", "Digest a=b, c=d"] {
            let response = ada.get(path).header("authorization", field).send().await;
            assert_eq!(response.text(), "ada by Session", "{field}");
        }
    }
    // When a token decides, the session is not loaded.
    scenario.store.take_calls();
    for path in ["/either", "/token"] {
        let response = ada.get(path).header("authorization", bearer(&good_token())).send().await;
        assert_eq!(response.status(), 200);
        assert!(response.header("vary").is_none() && leaves_cookie(&response), "{response:?}");
    }
    assert!(scenario.store.take_calls().is_empty());
}

#[tokio::test]
async fn session_routes_ignore_tokens_and_token_routes_ignore_sessions() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    for field in [bearer(&good_token()), "Bearer a b".to_owned()] {
        let response = ada.get("/me").header("authorization", &field).send().await;
        assert_eq!(response.text(), "ada");
        let response = scenario.client.get("/me").header("authorization", &field).send().await;
        assert_problem(&response, 401, "auth.credentials-missing");
        assert!(response.header("www-authenticate").is_none());
    }
    assert_problem(&ada.get("/token").send().await, 401, "auth.credentials-missing");
    // Tokens in the query, a form or a cookie are ignored (RFC 6750 2.2 and 2.3).
    let token = good_token();
    let query = scenario.client.get(&format!("/token?access_token={token}&ticket={token}"));
    assert_eq!(query.send().await.status(), 401);
    let cookie = scenario.client.get("/token").header("cookie", format!("access_token={token}"));
    assert_eq!(cookie.send().await.status(), 401);
}

#[tokio::test]
async fn optional_admits_no_credential_but_no_invalid_one() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    for path in ["/optional/session", "/optional/either"] {
        assert_eq!(scenario.client.get(path).send().await.text(), "nobody");
        assert_eq!(ada.get(path).send().await.text(), "ada by Session");
        // A session that ended counts as none, since a browser cannot avoid sending its cookie.
        let stale = format!("__Host-sid={}", "A".repeat(43));
        let response = scenario.client.get(path).header("cookie", stale).send().await;
        assert_eq!(response.text(), "nobody");
    }
    let wrong = ada.get("/optional/either").header("authorization", "Bearer x").send().await;
    assert_problem(&wrong, 401, "auth.token-invalid");
    let wrong =
        scenario.client.get("/optional/either").header("authorization", "Bearer").send().await;
    assert_problem(&wrong, 400, "auth.authorization-malformed");
    // With a session, the user acts, so the origin is checked.
    let foreign = ada.bare("/optional/change").origin(EVIL).send().await;
    assert_problem(&foreign, 403, "csrf.origin");
    assert_eq!(ada.post("/optional/change").send().await.text(), "ada by Session");
    let nobody = scenario.client.post("/optional/change").origin(EVIL).send().await;
    assert_eq!(nobody.text(), "nobody");
}

#[tokio::test]
async fn a_fresh_login_is_less_than_its_limit_ago() {
    let scenario = Scenario::new(all()).await;
    let mut ada = scenario.login("ada").await;
    let token = ada.post("/tokens").send().await.text();
    let by_token = || scenario.client.get("/fresh").header("authorization", bearer(&token));
    // Using a session or a token does not renew the login, nor does refreshing a token.
    scenario.advance(299);
    assert_eq!(ada.get("/fresh").send().await.status(), 200);
    assert_eq!(by_token().send().await.status(), 200);
    scenario.advance(300);
    assert_eq!(ada.get("/fresh").send().await.status(), 200);
    let token = ada.post("/tokens").send().await.text();
    let by_token = || scenario.client.get("/fresh").header("authorization", bearer(&token));
    assert_eq!(by_token().send().await.status(), 200);
    scenario.advance(1);
    assert_problem(&ada.get("/fresh").send().await, 401, "auth.login-too-old");
    let response = by_token().send().await;
    assert_problem(&response, 401, "auth.login-too-old");
    // RFC 9470 3
    let challenge = response.header("www-authenticate").unwrap();
    assert!(challenge.contains("error=\"insufficient_user_authentication\""), "{challenge}");
    assert_eq!(ada.who().await.as_deref(), Some("ada"));
    // A token without the time of the login is not fresh.
    let unknown = scenario.client.get("/fresh").header("authorization", bearer(&good_token()));
    assert_eq!(unknown.send().await.status(), 401);

    let elevated = ada.post("/elevate").send().await;
    ada.cookie = cookie_of(&elevated);
    assert_eq!(ada.get("/fresh").send().await.status(), 200);
}

#[tokio::test]
async fn a_ticket_opens_one_thing_once_within_half_a_minute() {
    let scenario = Scenario::new(all()).await;
    let ada = scenario.login("ada").await;
    let open = |ticket: &str| scenario.client.get(&format!("/by-ticket?ticket={ticket}")).send();
    let refused = |response: &TestResponse| assert_problem(response, 401, "auth.ticket-invalid");

    let issued = ada.post("/ticket").send().await;
    assert_eq!(issued.header("cache-control"), Some("no-store"));
    let ticket = issued.text();
    assert_eq!(open(&ticket).await.text(), "ada by Ticket");
    refused(&open(&ticket).await);

    let late = ada.post("/ticket").send().await.text();
    let in_time = ada.post("/ticket").send().await.text();
    scenario.advance(29);
    assert_eq!(open(&in_time).await.status(), 200);
    scenario.advance(1);
    refused(&open(&late).await);

    // One of several simultaneous requests with the ticket gets in.
    let ticket = ada.post("/ticket").send().await.text();
    let opened = futures_util::future::join_all((0..50).map(|_| open(&ticket))).await;
    assert_eq!(opened.iter().filter(|response| response.status() == 200).count(), 1);

    // A ticket counts in the query only, and once.
    let ticket = ada.post("/ticket").send().await.text();
    for (path, field) in [
        ("/by-ticket".to_owned(), ("authorization", bearer(&ticket))),
        ("/by-ticket".to_owned(), ("cookie", format!("ticket={ticket}"))),
        ("/by-ticket".to_owned(), ("x-ticket", ticket.clone())),
        (format!("/by-ticket?Ticket={ticket}"), ("x-a", "b".to_owned())),
        (format!("/by-ticket?ticket={ticket}&ticket={ticket}"), ("x-a", "b".to_owned())),
    ] {
        let response = scenario.client.get(&path).header(field.0, field.1).send().await;
        assert_problem(&response, 401, "auth.credentials-missing");
    }
    // None of these attempts used up the ticket.
    assert_eq!(open(&ticket).await.status(), 200);

    for text in ["", "x", &good_token(), &"A".repeat(46)] {
        refused(&open(text).await);
    }
    // A ticket is not a session, token or refresh token.
    let ticket = ada.post("/ticket").send().await.text();
    for path in ["/token", "/either"] {
        let response =
            scenario.client.get(path).header("authorization", bearer(&ticket)).send().await;
        assert_problem(&response, 401, "auth.token-invalid");
    }
}

#[tokio::test]
async fn a_ticket_has_the_rights_of_the_credential_that_it_was_made_with() {
    let scenario = Scenario::new(all()).await;
    let with = async |token: String| {
        let ticket = scenario.client.post("/ticket").header("authorization", bearer(&token));
        let ticket = ticket.send().await.text();
        scenario.client.get(&format!("/ticket-or-token?ticket={ticket}")).send().await
    };
    assert_eq!(with(good_token()).await.text(), "user-1 by Ticket");
    let poor = scenario.client.post("/poor-token").send().await;
    assert_problem(&with(poor.text()).await, 403, "auth.rights-missing");
    // A bearer token has precedence over a ticket, and a ticket over a session.
    let ada = scenario.login("ada").await;
    let ticket = ada.post("/ticket").send().await.text();
    let path = format!("/ticket-or-token?ticket={ticket}");
    let response = ada.get(&path).header("authorization", bearer(&good_token())).send().await;
    assert_eq!(response.text(), "user-1 by Token");
    let response = ada.get("/ticket-or-token?ticket=x").send().await;
    assert_problem(&response, 401, "auth.ticket-invalid");
}

#[tokio::test]
async fn a_person_without_a_session_is_sent_to_the_login_page_and_back() {
    let scenario = Scenario::with(all(), |app| {
        let sessions = Sessions::memory().same_site(SameSite::None).login_page("/sign-in");
        app.sessions(sessions).routes(routes![files])
    })
    .await;
    let navigate = |path: &str| scenario.client.get(path).header("sec-fetch-mode", "navigate");
    let response = navigate("/files/a%20b?page=2&x=%26").send().await;
    assert_eq!(response.status(), 303);
    let next = "/sign-in?next=%2Ffiles%2Fa%2520b%3Fpage%3D2%26x%3D%2526";
    assert_eq!(response.header("location"), Some(next));
    assert_eq!(response.header("cache-control"), Some("no-store"));
    let response = navigate("/me").header("cookie", "__Host-sid=x").send().await;
    assert_eq!(response.status(), 303);

    // Scripts, forms and programs get an error instead.
    for request in [
        scenario.client.get("/me"),
        scenario.client.get("/me").header("sec-fetch-mode", "cors"),
        scenario.client.get("/me").header("sec-fetch-mode", "websocket"),
        scenario.client.head("/me").header("sec-fetch-mode", "no-cors"),
        scenario.client.post("/logout").origin(OWN).header("sec-fetch-mode", "navigate"),
        navigate("/token"),
    ] {
        let response = request.send().await;
        assert_eq!((response.status().as_u16(), response.header("location")), (401, None));
    }
    // A login would not repair an invalid token.
    let wrong = navigate("/either").header("authorization", "Bearer x").send().await;
    assert_eq!(wrong.status(), 401);
    // A login would not help a user without the rights.
    let ada = scenario.login("ada").await;
    let response = ada.get("/scopes").header("sec-fetch-mode", "navigate").send().await;
    assert_eq!(response.status(), 403);
}

/// Browsers take `//host` and `/\host` for another host, so that such a `next` would lead away.
#[tokio::test]
async fn no_login_leads_to_another_host() {
    let scenario = Scenario::with(all(), |app| {
        let sessions = Sessions::memory().same_site(SameSite::None).login_page("/sign-in?from=app");
        app.sessions(sessions).routes(routes![anything])
    })
    .await;
    let mut led_back = 0;
    for path in [
        "/a",
        "//evil.example",
        "//evil.example/%2e",
        "/.//evil.example/a",
        "/a//evil.example",
        "https://api.example//evil.example/",
    ] {
        let request = scenario.client.request(policy_server::http::Method::GET, path);
        let response = request.header("sec-fetch-mode", "navigate").send().await;
        let Some(location) = response.header("location") else { continue };
        let (page, next) = location.split_once("&next=").unwrap_or((location, "%2F"));
        assert_eq!(page, "/sign-in?from=app", "{path}");
        let next = next.replace("%2F", "/").replace("%2E", ".");
        assert!(next.starts_with('/') && !next.contains("//"), "{path} leads to {next}");
        led_back += usize::from(next == "/a");
    }
    assert_eq!(led_back, 1);
}

#[tokio::test]
async fn a_missing_right_is_named_in_development_and_in_the_log() {
    #[get("/reports")]
    #[auth(session | token, scopes = ["reports:read", "reports:list"], roles = ["clerk", "admin"])]
    async fn reports() {}

    #[post("/begin")]
    #[auth(public)]
    async fn begin(sessions: Sessions) -> Result<(), Problem> {
        Ok(sessions.login(Identity::new("ada").scopes(["reports:list"])).await?)
    }

    let (log, _guard) = policy_tests::log::Log::start("policy_server");
    let words =
        "the caller lacks the scope `reports:read`, and has none of the roles `clerk`, `admin`";
    for (origin, page) in [(None, "http://localhost"), (Some(OWN), OWN)] {
        let tokens = Tokens::hs256(case_keys(&["k1"])).expect("keys");
        let app = App::new(()).sessions(Sessions::memory()).tokens(tokens);
        let app = origin.into_iter().fold(app.routes(routes![reports, begin]), App::public_origin);
        let client = app.test();
        let login = client.post("/begin").origin(page).send().await;
        let cookie = login.header("set-cookie").expect("a cookie").split(';').next().expect("it");
        let refused = client.get("/reports").header("cookie", cookie).send().await;
        let problem: Value = refused.json();
        assert_eq!(problem["code"], "auth.rights-missing");
        let detail = problem["detail"].as_str();
        assert_eq!(detail.is_some_and(|it| it.starts_with(words)), origin.is_none(), "{detail:?}");
        let challenge = refused.header("www-authenticate").expect("a challenge");
        assert!(challenge.contains("scope=\"reports:read reports:list\""), "{challenge}");
    }
    assert_eq!(log.with(words).len(), 2);
}

//! The tenant of a caller: with every credential, with credentials issued from another one, and
//! after a change.

use policy_server::tokens::IssuedTokens;
use policy_tests::{
    caller_scheme::CallerScheme,
    handlers::{elevate, refresh, ticket},
};

use super::*;

/// A user of a tenant: `-` is none.
fn user(tenant: &str) -> Identity {
    match tenant {
        "-" => Identity::new("ada"),
        "empty" => Identity::new("ada").tenant(""),
        tenant => Identity::new("ada").tenant(tenant),
    }
}

#[post("/enter/{tenant}")]
#[auth(public)]
async fn enter(tenant: String, sessions: Sessions) -> Result<(), CredentialError> {
    sessions.login(user(&tenant)).await
}

#[post("/elevate/{tenant}")]
#[auth(session)]
#[object(none = "a test of something else")]
async fn elevate_as(tenant: String, session: Session) -> Result<(), CredentialError> {
    session.elevate_as(user(&tenant))
}

#[post("/move/{tenant}")]
#[auth(public)]
#[csrf(origin)]
async fn move_to(tenant: String, sessions: Sessions) -> Result<String, CredentialError> {
    Ok(sessions.set_rights(user(&tenant)).await?.to_string())
}

/// What a session issues: an access token, a family, and a ticket.
#[post("/issue")]
#[auth(session)]
async fn issue(session: Session, tokens: Tokens) -> Result<Json<[String; 3]>, Problem> {
    let identity = session.identity().unwrap();
    let access = tokens.issue(&identity)?.access_token;
    let refresh = tokens.login(identity).await?.refresh_token.unwrap();
    Ok(Json([access, refresh, tokens.ticket().await?]))
}

#[post("/token/{tenant}")]
#[auth(public)]
async fn token(tenant: String, tokens: Tokens) -> Result<IssuedTokens, CredentialError> {
    tokens.issue(&user(&tenant))
}

#[post("/token-login/{tenant}")]
#[auth(public)]
async fn token_login(tenant: String, tokens: Tokens) -> Result<IssuedTokens, CredentialError> {
    tokens.login(user(&tenant)).await
}

#[get("/scheme")]
#[auth(scheme = CallerScheme)]
async fn scheme(me: Principal) -> String {
    tenant_of(&me)
}

#[get("/tenant")]
#[auth(session | token | ticket)]
async fn tenant(me: Principal) -> String {
    tenant_of(&me)
}

fn tenant_of(me: &Principal) -> String {
    me.tenant().unwrap_or("-").to_owned()
}

async fn scenario() -> Scenario {
    let sessions = routes![enter, elevate, elevate_as, move_to, issue, tenant];
    let tokens = routes![token, token_login, refresh, ticket, scheme];
    let all = sessions.into_iter().chain(tokens).collect();
    Scenario::with(all, |app| app.scheme(CallerScheme)).await
}

impl Scenario {
    async fn enter(&self, tenant: &str) -> Visitor {
        let ada = self.login("ada").await;
        let response = ada.post(&format!("/enter/{tenant}")).send().await;
        assert_eq!(response.status(), 200, "{response:?}");
        Visitor::with_session_of(&self.client, &response).await
    }

    async fn by_token(&self, token: &str) -> TestResponse {
        self.client.get("/tenant").header("authorization", bearer(token)).send().await
    }

    async fn by_ticket(&self, ticket: &str) -> TestResponse {
        self.client.get(&format!("/tenant?ticket={ticket}")).send().await
    }

    async fn refresh_of(&self, token: &str) -> TestResponse {
        self.client.post("/refresh").body(token.to_owned()).send().await
    }
}

fn text(response: &TestResponse, name: &str) -> String {
    assert_eq!(response.status(), 200, "{response:?}");
    response.json::<Value>()[name].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_credential_has_the_tenant_that_it_was_issued_for() {
    let scenario = scenario().await;
    // The last name is escaped in JSON.
    for (name, in_path) in [("acme", "acme"), ("-", "-"), ("\u{e9}\"", "%C3%A9%22")] {
        let ada = scenario.enter(in_path).await;
        assert_eq!(ada.get("/tenant").send().await.text(), name);
        let [access, refresh, ticket]: [String; 3] = ada.post("/issue").send().await.json();
        assert_eq!(scenario.by_token(&access).await.text(), name);
        assert_eq!(scenario.by_ticket(&ticket).await.text(), name);
        // The family keeps the tenant over all refreshes.
        let mut refresh = refresh;
        for _ in 0..3 {
            let issued = scenario.refresh_of(&refresh).await;
            let access = text(&issued, "access_token");
            assert_eq!(scenario.by_token(&access).await.text(), name);
            let request = scenario.client.post("/ticket").header("authorization", bearer(&access));
            let ticket = request.send().await.text();
            assert_eq!(scenario.by_ticket(&ticket).await.text(), name);
            refresh = text(&issued, "refresh_token");
        }
    }
    for (caller, name) in [("ada;company=acme", "acme"), ("ada", "-")] {
        let response = scenario.client.get("/scheme").header("x-caller", caller).send().await;
        assert_eq!(response.text(), name, "a scheme");
    }
}

#[tokio::test]
async fn an_elevation_keeps_the_tenant_or_replaces_it() {
    let scenario = scenario().await;
    let mut ada = scenario.enter("acme").await;
    for (path, tenant) in [("/elevate", "acme"), ("/elevate/globex", "globex"), ("/elevate/-", "-")]
    {
        let response = ada.post(path).send().await;
        assert_eq!(response.status(), 200, "{path} {response:?}");
        ada = Visitor::with_session_of(&scenario.client, &response).await;
        assert_eq!(ada.get("/tenant").send().await.text(), tenant, "{path}");
    }
}

/// As with roles, sessions continue in the new tenant, and all other credentials end.
#[tokio::test]
async fn a_user_who_moves_is_of_the_new_tenant_at_once() {
    for new in ["globex", "-"] {
        let scenario = scenario().await;
        let (one, two) = (scenario.enter("acme").await, scenario.enter("acme").await);
        let [access, refresh, ticket]: [String; 3] = one.post("/issue").send().await.json();
        assert_eq!(scenario.by_token(&access).await.text(), "acme");
        let moved = one.post(&format!("/move/{new}")).send().await;
        assert_eq!((moved.status().as_u16(), &*moved.text()), (200, "2"));
        for session in [&one, &two] {
            assert_eq!(session.get("/tenant").send().await.text(), new);
        }
        assert_problem(&scenario.by_token(&access).await, 401, "auth.token-invalid");
        assert_problem(&scenario.by_ticket(&ticket).await, 401, "auth.ticket-invalid");
        assert_problem(&scenario.refresh_of(&refresh).await, 401, "token.refresh-refused");
        let [access, ..]: [String; 3] = one.post("/issue").send().await.json();
        assert_eq!(scenario.by_token(&access).await.text(), new);
    }
}

/// An empty tenant would match every object without a tenant.
#[tokio::test]
async fn a_tenant_without_a_name_or_with_a_long_one_is_refused_everywhere() {
    let scenario = scenario().await;
    let ada = scenario.enter("acme").await;
    let longest = "a".repeat(200);
    for (tenant, is_tenant) in [("empty", false), (&*longest, true), (&*"a".repeat(201), false)] {
        let due = if is_tenant { 200 } else { 500 };
        for path in ["/enter", "/token", "/token-login"] {
            let request = scenario.client.post(&format!("{path}/{tenant}")).origin(OWN);
            let response = request.send().await;
            assert_eq!(response.status(), due, "{path} {tenant} {response:?}");
            assert!(is_tenant || response.header("set-cookie").is_none());
        }
        let company = if tenant == "empty" { "" } else { tenant };
        let caller = format!("ada;company={company}");
        let response = scenario.client.get("/scheme").header("x-caller", caller).send().await;
        match is_tenant {
            true => assert_eq!(response.text(), tenant),
            false => assert_problem(&response, 503, "auth.credentials-unchecked"),
        }
    }
    for path in ["/move/empty", "/elevate/empty"] {
        assert_eq!(ada.post(path).send().await.status(), 500, "{path}");
        assert_eq!(ada.get("/tenant").send().await.text(), "acme", "{path}");
    }
}

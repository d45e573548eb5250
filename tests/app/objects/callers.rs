//! Callers without a name, without a tenant, or of other credentials.

use policy_server::tokens::SecretKey;
use policy_tests::handlers::ticket;

use super::*;

/// Public routes have no caller, whatever the request says. Optional routes may have one.
#[tokio::test]
async fn without_a_caller_only_flags_count() {
    let (server, _) = serving().await;
    for (what, caller, status) in [
        ("GET /open/2", None, 200),
        ("GET /open/1", None, 404),
        ("GET /open/1", Some("ada"), 404),
        ("GET /open/4", Some(""), 404),
        // Anyone may delete what they see.
        ("DELETE /open/2", None, 200),
        ("DELETE /open/1", None, 404),
        ("GET /maybe/2", None, 200),
        ("GET /maybe/1", None, 404),
        ("GET /maybe/1", Some("ada"), 200),
        ("GET /maybe/1", Some("eve"), 404),
        ("GET /maybe/2", Some("eve"), 200),
    ] {
        let response = send(&server, what, caller, &[]).await;
        assert_eq!(response.status, status, "{what} {caller:?} {response:?}");
    }
    let ada = send(&server, "GET /maybe/1", Some("ada"), &[]).await;
    assert_eq!(ada.text(), "1 for ada");
}

/// A caller without a name owns nothing, and one with no tenant shares none.
#[tokio::test]
async fn empty_names_match_nothing() {
    let (server, _) = serving().await;
    for caller in ["", ";company=globex", "eve"] {
        // No owner, an empty company, and an empty reader.
        let response = send(&server, "GET /orders/4", Some(caller), &[]).await;
        assert_eq!(response.status, 404, "{caller:?}");
    }
    // An empty owner.
    assert_eq!(send(&server, "GET /orders/5", Some(""), &[]).await.status, 404);
    // Without a name, the tenant still counts.
    assert_eq!(send(&server, "GET /orders/5", Some(";company=globex"), &[]).await.status, 200);
    // An empty tenant from a scheme is refused before the objects are loaded.
    assert_eq!(send(&server, "GET /orders/4", Some("eve;company="), &[]).await.status, 503);
}

#[get("/orders/{id}")]
#[auth(session | token | ticket)]
async fn own(order: Allowed<Order>, me: Principal) -> String {
    format!("{} by {:?}", order.id, me.scheme())
}

#[post("/token/{caller}")]
#[auth(public)]
async fn token(caller: String, tokens: Tokens) -> Result<String, Problem> {
    let identity = identity(&caller).ok_or_else(Problem::bad_request)?;
    Ok(tokens.issue(&identity)?.access_token)
}

#[post("/login/{caller}")]
#[auth(public)]
async fn login(caller: String, sessions: Sessions) -> Result<(), Problem> {
    let identity = identity(&caller).ok_or_else(Problem::bad_request)?;
    Ok(sessions.login(identity).await?)
}

/// Sessions, tokens and tickets name the same caller, with the same tenant.
#[tokio::test]
async fn every_credential_names_the_caller() {
    let key = SecretKey::from_bytes([1; 32]);
    let app = App::new(Orders::sample())
        .sessions(Sessions::memory())
        .tokens(Tokens::hs256([("own", key)]).expect("a key"))
        .routes(routes![own, token, login, ticket]);
    let client = app.test();
    for (caller, status) in [("ada", 200), ("eve", 404), ("eve;company=acme", 200)] {
        let login = client.post(&format!("/login/{caller}")).origin("http://localhost");
        let login = login.send().await;
        let cookie = login.header("set-cookie").and_then(|it| it.split_once(';'));
        let cookie = cookie.expect("a cookie").0;
        let by_session = client.get("/orders/1").header("cookie", cookie).send().await;
        let token = client.post(&format!("/token/{caller}")).send().await.text();
        let bearer = format!("Bearer {token}");
        let by_token = client.get("/orders/1").header("authorization", &bearer).send().await;
        let ticket = client.post("/ticket").header("authorization", &bearer).send().await.text();
        let by_ticket = client.get(&format!("/orders/1?ticket={ticket}")).send().await;
        for (name, response) in
            [("Session", by_session), ("Token", by_token), ("Ticket", by_ticket)]
        {
            assert_eq!(response.status(), status, "{caller} by {name}");
            if status == 200 {
                assert_eq!(response.text(), format!("1 by {name}"));
            }
        }
    }
}

#[derive(Debug, Object)]
#[rule(View = owner)]
struct Account {
    #[object(key)]
    id: u32,
    #[object(owner)]
    user: i64,
}

impl Load for Account {
    type Source = Orders;

    async fn load(id: &u32, _: &(), _: &Orders) -> Result<Option<Self>, Problem> {
        Ok(Some(Self { id: *id, user: 7 }))
    }
}

#[get("/accounts/{id}")]
#[auth(scheme = CallerScheme)]
async fn account(account: Allowed<Account>) -> String {
    account.id.to_string()
}

/// A number equals its canonical text and no other text.
#[tokio::test]
async fn numbers_are_compared_as_texts() {
    let app = App::new(Orders::sample()).scheme(CallerScheme).routes(routes![account]);
    let server = Running::start(app).await;
    for (caller, status) in
        [("7", 200), ("07", 404), ("+7", 404), ("7.0", 404), ("70", 404), ("0x7", 404), ("", 404)]
    {
        let response = send(&server, "GET /accounts/1", Some(caller), &[]).await;
        assert_eq!(response.status, status, "{caller:?}");
    }
}

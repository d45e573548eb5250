//! Two instances of one app with a shared store.

use policy_server::session::minutes;

use super::*;

#[post("/issue")]
#[auth(public)]
async fn issue(tokens: Tokens) -> Result<policy_server::tokens::Issued, Problem> {
    tokens.login(Identity::new("ada")).await
}

#[post("/refresh")]
#[auth(public)]
async fn refresh(tokens: Tokens, body: String) -> Result<policy_server::tokens::Issued, Problem> {
    tokens.refresh(&body).await
}

#[get("/token")]
#[auth(token)]
async fn token() {}

#[post("/revoke")]
#[auth(token)]
async fn revoke(tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.revoke().await?.to_string())
}

#[post("/ticket")]
#[auth(session)]
async fn ticket(tokens: Tokens) -> Result<String, Problem> {
    tokens.ticket().await
}

#[get("/by-ticket")]
#[auth(ticket)]
async fn by_ticket() {}

#[post("/revoke-others")]
#[auth(session)]
async fn revoke_others(sessions: Sessions) -> Result<String, Problem> {
    Ok(sessions.revoke_others().await?.to_string())
}

#[get("/events")]
#[auth(session)]
async fn events() -> policy_server::Body {
    policy_server::Body::from_stream(futures_util::stream::pending::<
        Result<bytes::Bytes, std::convert::Infallible>,
    >())
}

fn all() -> Vec<Route<All>> {
    routes![issue, refresh, token, revoke, ticket, by_ticket, revoke_others, events]
}

async fn two() -> (Scenario, Scenario) {
    let (store, clock) = (FaultyStore::default(), Clock::at(START));
    let renewing = |store: &FaultyStore| {
        let sessions = Sessions::store(store.clone()).renewal(minutes(5));
        move |app: App<All>| app.sessions(sessions)
    };
    (
        Scenario::on(store.clone(), clock.clone(), all(), renewing(&store)).await,
        Scenario::on(store.clone(), clock, all(), renewing(&store)).await,
    )
}

impl Visitor {
    /// The same browser at another instance.
    fn at(&self, scenario: &Scenario) -> Self {
        Self { client: scenario.client.clone(), ..self.clone() }
    }
}

#[tokio::test]
async fn a_session_is_everywhere_and_ends_everywhere() {
    let (one, two) = two().await;
    let ada = one.login("ada").await;
    let there = ada.at(&two);
    assert_eq!(there.who().await.as_deref(), Some("ada"));
    // The CSRF token of the other instance is valid.
    assert_eq!(there.post("/set/a/7").send().await.status(), 200);
    assert_eq!(ada.value("a").await, 7);
    let ticket = ada.post("/ticket").send().await.text();
    assert_eq!(there.get(&format!("/by-ticket?ticket={ticket}")).send().await.status(), 200);
    let again = ada.get(&format!("/by-ticket?ticket={ticket}")).send().await;
    assert_problem(&again, 401, "auth.ticket-invalid");

    let phone = two.login("ada").await;
    assert_eq!(there.post("/revoke-others").send().await.text(), "1");
    assert_eq!(phone.at(&one).who().await, None);
    assert_eq!(there.post("/logout").send().await.status(), 200);
    assert_eq!(ada.who().await, None);
}

/// Two instances renew the id at the same time, to the same new id.
#[tokio::test]
async fn a_renewal_at_two_instances_gives_one_id() {
    let (one, two) = two().await;
    let ada = one.login("ada").await;
    one.advance(300);
    let there = ada.at(&two);
    let (first, second) = tokio::join!(ada.get("/me").send(), there.get("/me").send());
    assert_eq!(cookie_of(&first), cookie_of(&second));
    assert_eq!((first.text(), second.text()), ("ada".to_owned(), "ada".to_owned()));
}

#[tokio::test]
async fn a_revoked_token_is_refused_everywhere_a_second_later() {
    let (one, two) = two().await;
    let issued: Value = one.client.post("/issue").send().await.json();
    let field = bearer(issued["access_token"].as_str().unwrap());
    let get =
        |scenario: &Scenario| scenario.client.get("/token").header("authorization", &field).send();
    assert_eq!(
        (get(&one).await.status(), get(&two).await.status()),
        (200.try_into().unwrap(), 200.try_into().unwrap())
    );
    one.client.post("/revoke").header("authorization", &field).send().await;
    assert_eq!(get(&one).await.status(), 401);
    one.advance(1);
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
    assert_eq!(get(&two).await.status(), 401);

    // A refresh token works at the other instance and gives the same successor.
    let refresh = |scenario: &Scenario| {
        let token = issued["refresh_token"].as_str().unwrap().to_owned();
        scenario.client.post("/refresh").body(token).send()
    };
    let (first, second) = tokio::join!(refresh(&one), refresh(&two));
    let (first, second): (Value, Value) = (first.json(), second.json());
    assert_eq!(first["refresh_token"], second["refresh_token"]);
    assert_ne!(first["access_token"], second["access_token"]);
}

/// The other process does not notify this one, which polls every 20 seconds.
#[tokio::test]
async fn a_stream_ends_when_its_session_ended_at_another_instance() {
    use http_body_util::BodyExt;
    use tower::ServiceExt;

    let (store, clock) = (FaultyStore::default(), Clock::at(START));
    let other = Scenario::on(store.clone(), clock.clone(), all(), |app| app).await;
    let ada = other.login("ada").await;
    let (app, _shared) = app(&store, &clock, all());
    let service = app.open().await.unwrap();
    let request = policy_server::http::Request::get("/events")
        .header("host", "api.example")
        .header("cookie", &ada.cookie)
        .body(policy_server::Body::empty())
        .unwrap();
    let mut body = service.oneshot(request).await.unwrap().into_body();
    let mut frame = tokio::spawn(async move { body.frame().await });
    clock.advance(Duration::from_secs(20));
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
    assert!(!frame.is_finished());
    ada.post("/logout").send().await;
    clock.advance(Duration::from_secs(20));
    let ended = http::soon(&mut frame).await.unwrap();
    assert!(ended.is_some_and(|frame| frame.is_err()), "it ends in order");
}

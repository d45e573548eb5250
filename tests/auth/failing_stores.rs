//! A store that does not answer: 503, and everybody keeps what they have.

use super::*;

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

#[post("/revoke-others")]
#[auth(session)]
async fn revoke_others(sessions: Sessions) -> Result<String, Problem> {
    Ok(sessions.revoke_others().await?.to_string())
}

fn all() -> Vec<Route<All>> {
    routes![public, optional, list, revoke_others]
}

#[track_caller]
fn assert_unavailable(answer: &TestResponse, code: &str) {
    assert_problem(answer, 503, code);
    assert_eq!(answer.header("retry-after"), Some("1"), "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{answer:?}");
    assert!(answer.header("www-authenticate").is_none());
    assert!(leaves_cookie(answer), "{answer:?}");
}

#[tokio::test]
async fn a_session_that_cannot_be_loaded_is_not_gone() {
    let world = World::new(all()).await;
    let ada = world.login("ada").await;
    world.store.fail(true);
    for path in ["/me", "/value/a", "/optional", "/csrf"] {
        assert_unavailable(&ada.get(path).send().await, "auth.credentials-unchecked");
    }
    for path in ["/logout", "/set/a/1", "/login/ada"] {
        assert_unavailable(&ada.post(path).send().await, "auth.credentials-unchecked");
    }
    // Whoever has no session, or needs none, is served.
    assert_eq!(ada.get("/public").send().await.text(), "hello");
    assert_eq!(world.client.get("/optional").send().await.text(), "nobody");
    assert_eq!(world.client.get("/me").send().await.status(), 401);
    world.store.fail(false);
    assert_eq!(ada.who().await.as_deref(), Some("ada"));
    assert_eq!(ada.value("a").await, Value::Null);
}

#[tokio::test]
async fn what_cannot_be_stored_did_not_happen() {
    let world = World::new(all()).await;
    let ada = world.login("ada").await;
    world.store.fail_to_write();
    for path in ["/logout", "/set/a/1", "/login/ada", "/login/eve", "/revoke-others"] {
        assert_unavailable(&ada.post(path).send().await, "session.store-unavailable");
    }
    let login = world.client.post("/login/ada").origin(OWN).send().await;
    assert_unavailable(&login, "session.store-unavailable");
    // It is used, though nobody can note that.
    world.advance(120);
    assert_eq!(ada.who().await.as_deref(), Some("ada"));
    world.store.fail(false);
    assert_eq!(ada.who().await.as_deref(), Some("ada"));
    assert_eq!(ada.value("a").await, Value::Null);
}

#[tokio::test]
async fn a_store_that_fails_under_a_handler_is_told_as_well() {
    let world = World::new(all()).await;
    let ada = world.login("ada").await;
    let list = tokio::spawn(ada.get("/list").send());
    world.shared.waiting.pass().await;
    world.store.fail(true);
    world.shared.gate.open();
    assert_unavailable(&list.await.unwrap(), "session.store-unavailable");
}

/// Fail closed: whether a token was revoked cannot be known. The store is back, and so are they.
#[tokio::test]
async fn tokens_are_not_taken_while_revocations_are_unknown() {
    let world = World::with(routes![by_token], |app| app).await;
    let get = || world.client.get("/by-token").header("authorization", bearer(&good_token()));
    assert_eq!(get().send().await.status(), 200);
    world.store.fail(true);
    world.advance(5);
    assert_eq!(get().send().await.status(), 200);
    world.advance(1);
    assert_unavailable(&get().send().await, "auth.credentials-unchecked");
    // What is wrong with the token itself is known.
    let wrong = world.client.get("/by-token").header("authorization", "Bearer a.b.c");
    assert_problem(&wrong.send().await, 401, "auth.token-invalid");
    world.store.fail(false);
    assert_eq!(get().send().await.status(), 200);
}

#[get("/by-token")]
#[auth(token)]
async fn by_token() {}

//! What the attributes promise, for this app.

use std::collections::BTreeMap;

use policy_server::{
    Sessions,
    testing::{Browser, Fetch, Network},
};
use {{crate_name}}::{User, app};

/// `me`, with the password `correct horse`.
fn user() -> User {
    let digest = "4104d36f8da2c254349f85836793ebe029e0c957063a34c91c2e9203187b5631";
    User::parse(&format!("me {digest}")).unwrap()
}

// Laws, on every combination of pages, requests and callers that makes a difference to this app.
policy_server::policy_tests!(app(user(), Sessions::memory()));

#[tokio::test]
async fn a_user_logs_in_and_adds_a_note_with_the_csrf_token() {
    const HOME: &str = "https://notes.example.com";
    let app = app(user(), Sessions::memory()).public_origin(HOME).into_service();
    let net = Network::new().host(HOME, app);
    let page = Browser::chromium().open(HOME);

    let guess = BTreeMap::from([("name", "me"), ("password", "a guess")]);
    let login = page.fetch(&net, Fetch::post("/api/login").json(&guess)).await;
    assert_eq!(login.status(), 403);

    let right = BTreeMap::from([("name", "me"), ("password", "correct horse")]);
    let login = page.fetch(&net, Fetch::post("/api/login").json(&right)).await;
    assert_eq!(login.status(), 200);

    let note = BTreeMap::from([("text", "water the plants")]);
    let add = Fetch::post("/api/notes").json(&note);
    assert_eq!(page.fetch(&net, add.clone()).await.status(), 403, "without the CSRF token");

    let csrf = page.fetch(&net, Fetch::get("/api/csrf")).await.json::<BTreeMap<String, String>>();
    let added = page.fetch(&net, add.header("x-csrf-token", &csrf["token"])).await;
    assert_eq!(added.text(), r#"["water the plants"]"#);
}

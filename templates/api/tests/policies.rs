//! What the attributes promise, for this app.

use std::collections::BTreeMap;

use policy_server::testing::{Browser, Fetch, Network};
use {{crate_name}}::{ApiKeys, PAGES, app};

/// Knows the key `secret` of the program `me`, and the key `another` of `you`.
fn keys() -> ApiKeys {
    let mine = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    let yours = "ae448ac86c4e8e4dec645729708ef41873ae79c6dff84eff73360989487f08e5";
    ApiKeys::parse(&format!("me {mine}, you {yours}")).unwrap()
}

// Laws, on every combination of pages, requests and callers that makes a difference to this app.
policy_server::policy_tests!(app(keys()));

#[tokio::test]
async fn programs_add_notes_by_their_key() {
    let client = app(keys()).test();
    let note = BTreeMap::from([("text", "hello")]);
    let response = client.post("/notes").json(&note).send().await;
    assert_eq!(response.status(), 401);
    let response = client.post("/notes").header("x-api-key", "secret").json(&note).send().await;
    assert_eq!((response.status().as_u16(), &*response.text()), (201, "me added note 0\n"));
    for (key, note, status) in [("another", 0, 403), ("another", 1, 404), ("secret", 0, 204)] {
        let change = client.put(&format!("/notes/{note}")).header("x-api-key", key);
        let change = change.json(&BTreeMap::from([("text", "bye")])).send().await;
        assert_eq!(change.status(), status, "{key}: {note}");
    }
}

#[tokio::test]
async fn our_page_reads_notes_and_others_do_not() {
    const API: &str = "https://api.example.com";
    let net = Network::new().host(API, app(keys()).public_origin(API).into_service());
    let list = || Fetch::get("https://api.example.com/notes");
    let ours = Browser::chromium().open(PAGES[0]).fetch(&net, list()).await;
    assert_eq!(ours.text(), "[]");
    let others = Browser::chromium().open("https://evil.example").fetch(&net, list()).await;
    assert!(others.is_blocked());
}


//! The OpenAPI document: it is complete, and others read it. That it is the one in the repository, a test
//! of the library says.

use std::{path::Path, time::Duration};

use policy_server::Clock;
use policy_tests::{folder::Folder, http::Running, openapi};
use serde_json::json;

use crate::{browser::started, site::PAGE};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");

#[tokio::test]
async fn the_document_says_all_of_every_route() {
    let folder = Folder::new().expect("a folder");
    let app = tasks::app("sqlite::memory:", folder.path()).await.expect("an app");
    app.openapi().and_then(policy_server::OpenApi::complete).expect("no gaps");
}

#[test]
#[ignore = "needs openapi-spec-validator and Redocly: `cargo xtask test` runs it"]
fn validators_accept_the_document() {
    openapi::validate(Path::new(DOCUMENT));
}

/// A client whose types openapi-typescript makes from the document.
#[test]
#[ignore = "needs openapi-typescript and tsc: `cargo xtask test` runs it"]
fn a_client_made_from_the_document_calls_the_service() {
    let folder = Folder::new().expect("a folder");
    let tasks = started(&folder).expect("the example");
    let client = include_str!("../../client/client.ts");
    openapi::client(
        Path::new(DOCUMENT),
        client,
        &[tasks.printed("service"), tasks.printed("page")],
    );
}

/// The time of the service runs a hundred times as fast, so that its rates refuse few requests.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Schemathesis: `cargo xtask test` runs it"]
async fn schemathesis_finds_nothing_that_the_document_does_not_say() {
    let folder = Folder::new().expect("a folder");
    let app = tasks::app("sqlite::memory:", folder.path()).await.expect("an app");
    let clock = Clock::at(1_800_000_000);
    let service = Running::start(app.origins("apps", [PAGE]).clock(clock.clone())).await.address;
    tokio::spawn(async move {
        let mut steps = tokio::time::interval(Duration::from_millis(10));
        loop {
            steps.tick().await;
            clock.advance(Duration::from_secs(1));
        }
    });
    let user = json!({ "login": "ada", "password": "correct horse", "team": "Compilers" });
    let fields = openapi::sign_up(service, PAGE, "tasks", &user).await;
    // They end the session, or do not end.
    let left_out = ["logout", "events", "presence"];
    let fuzz = move || openapi::fuzz(Path::new(DOCUMENT), service, &fields, &left_out);
    tokio::task::spawn_blocking(fuzz).await.expect("what the document says");
}

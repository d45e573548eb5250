//! The OpenAPI document, read by other programs. A test of the binary checks that it is the app's.

use std::path::Path;

use policy_tests::{folder::Folder, openapi};
use serde_json::json;

use crate::start_in;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");

#[test]
#[ignore = "needs openapi-spec-validator and Redocly: `cargo xtask test` runs it"]
fn validators_accept_the_document() {
    openapi::validate(Path::new(DOCUMENT));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Schemathesis: `cargo xtask test` runs it"]
async fn schemathesis_finds_nothing_that_the_document_does_not_say() {
    let folder = Folder::new().expect("a folder");
    let accounts = start_in(&folder).expect("the example");
    let service = accounts.address("service");
    let user = json!({ "name": "ada", "password": "correct horse" });
    let fields = openapi::sign_up(service, accounts.printed("page"), "accounts", &user).await;
    // These end the session, or do not end.
    let left_out = ["logout", "logout_everywhere", "end", "change_password", "news"];
    let fuzz = move || openapi::fuzz(Path::new(DOCUMENT), service, &fields, &left_out);
    tokio::task::spawn_blocking(fuzz).await.expect("what the document says");
}

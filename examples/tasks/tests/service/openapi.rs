//! The OpenAPI document: it is complete, and other programs read it. A test of the library checks
//! that it is the one in the repository.

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use policy_server::{
    Clock,
    prelude::*,
    response::Created,
    schemars::{self, JsonSchema},
    tokens::{IssuedTokens, SecretKey},
};
use policy_tests::{
    folder::Folder,
    http::{Connection, Running, request},
    openapi,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{browser::start, site::PAGE};

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
    let tasks = start(&folder).expect("the example");
    let client = include_str!("../../client/client.ts");
    openapi::client(
        Path::new(DOCUMENT),
        client,
        &[tasks.printed("service"), tasks.printed("page")],
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Schemathesis: `cargo xtask test` runs it"]
async fn schemathesis_finds_nothing_that_the_document_does_not_say() {
    let service = service().await;
    let user = json!({ "login": "ada", "password": "correct horse", "team": "Compilers" });
    let fields = openapi::sign_up(service, PAGE, "tasks", &user).await;
    // These end the session, or do not end.
    let left_out = ["logout", "events", "presence"];
    let fuzz = move || openapi::fuzz(Path::new(DOCUMENT), service, &fields, &left_out);
    tokio::task::spawn_blocking(fuzz).await.expect("what the document says");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Schemathesis: `cargo xtask test` runs it"]
async fn schemathesis_reads_no_object_of_another_team() {
    let service = service().await;
    let user = |login, team| json!({ "login": login, "password": "correct horse", "team": team });
    let ada = openapi::sign_up(service, PAGE, "tasks", &user("ada", "Compilers")).await;
    let eve = openapi::sign_up(service, PAGE, "tasks", &user("eve", "Linkers")).await;
    // These end the session, replace it, end the membership, or do not end.
    let left_out = ["logout", "sign_up", "login", "members_remove", "events", "presence"];
    let read = move || {
        openapi::read_objects_of_others(Path::new(DOCUMENT), service, [&ada, &eve], &left_out)
    };
    let read = tokio::task::spawn_blocking(read).await.expect("a run");
    read.expect("each team has its own objects");
}

/// Shows that the test before can fail: a service that does not check the owner of an object.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Schemathesis: `cargo xtask test` runs it"]
async fn schemathesis_reads_objects_that_are_not_checked() {
    let keys = Tokens::hs256([("k", SecretKey::from_bytes([7; 32]))]).expect("a key");
    let app = || {
        let routes = routes![log_in, add_note, unchecked_note];
        App::new(Notes::default()).tokens(keys.clone()).routes(routes)
    };
    let folder = Folder::new().expect("a folder");
    let document = folder.path().join("openapi.json");
    fs::write(&document, app().openapi().expect("a document").to_json()).expect("a file");
    let service = Running::start(app()).await.address;
    let (ada, eve) = (bearer(service, "ada").await, bearer(service, "eve").await);
    let read =
        move || openapi::read_objects_of_others(&document, service, [&[ada], &[eve]], &["log_in"]);
    let read = tokio::task::spawn_blocking(read).await.expect("a run");
    let found = read.expect_err("notes of others are read");
    assert!(found.contains("GET /notes/{id}"), "{found}");
}

/// Notes with their owners.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<Note>>>);

#[derive(Clone, JsonSchema, Serialize)]
struct Note {
    id: String,
    owner: String,
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct NewNote {
    text: String,
}

#[post("/tokens/{user}")]
#[auth(public)]
async fn log_in(user: String, tokens: Tokens) -> Result<IssuedTokens, Problem> {
    Ok(tokens.login(Identity::new(user)).await?)
}

#[post("/notes")]
#[auth(token)]
async fn add_note(
    me: Principal,
    State(notes): State<Notes>,
    Json(new): Json<NewNote>,
) -> Created<Json<Note>> {
    let mut notes = notes.0.lock().expect("the notes");
    let id = format!("note-{}", notes.len());
    let note = Note { id: id.clone(), owner: me.subject().to_owned(), text: new.text };
    notes.push(note.clone());
    Created::at(format!("/notes/{id}"), Json(note))
}

#[get("/notes/{id}")]
#[auth(token)]
#[object(none = "the test shows that this is found")]
async fn unchecked_note(id: String, State(notes): State<Notes>) -> Result<Json<Note>, Problem> {
    let notes = notes.0.lock().expect("the notes");
    let note = notes.iter().find(|note| note.id == id).cloned();
    note.map(Json).ok_or_else(Problem::not_found)
}

/// The field of a user with a new token.
async fn bearer(service: SocketAddr, user: &str) -> String {
    let mut connection = Connection::open(service).await;
    connection.send(request(&format!("POST /tokens/{user}"), &["content-length: 0"])).await;
    let issued = connection.response().await.json();
    format!("authorization: Bearer {}", issued["access_token"].as_str().expect("a token"))
}

/// The time of the service runs a hundred times as fast, so that its rates refuse few requests.
async fn service() -> SocketAddr {
    let folder = Folder::new().expect("a folder");
    let app = tasks::app("sqlite::memory:", folder.path()).await.expect("an app");
    let clock = Clock::at(1_800_000_000);
    let service = Running::start(app.origins("apps", [PAGE]).clock(clock.clone())).await;
    let address = service.address;
    tokio::spawn(async move {
        let _used = (folder, service);
        let mut steps = tokio::time::interval(Duration::from_millis(10));
        loop {
            steps.tick().await;
            clock.advance(Duration::from_secs(1));
        }
    });
    address
}

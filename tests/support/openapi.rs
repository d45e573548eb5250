//! Documents of apps, checked by independent programs.

use std::{env, fs, net::SocketAddr, os::unix::fs::symlink, path::Path, process::Command};

use serde_json::{Value, json};

use crate::{
    folder::Folder,
    http::{Connection, request},
    peers::installed,
};

/// Has two independent programs validate a document.
///
/// # Panics
///
/// One of them refuses it.
pub fn validate(file: &Path) {
    run(Command::new(installed("python/bin/openapi-spec-validator")).arg(file));
    let mut redocly = Command::new(installed("node/node_modules/.bin/redocly"));
    redocly.env("REDOCLY_TELEMETRY", "off").env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
    run(redocly.args(["lint", "--extends=minimal"]).arg(file));
}

/// The package of clients in TypeScript.
const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/tasks/client");

/// Builds a client in TypeScript, whose types are made from a document, and runs it.
///
/// # Panics
///
/// The types do not fit, or the client fails.
pub fn client(document: &Path, program: &str, arguments: &[&str]) {
    let folder = Folder::new().expect("a folder");
    let client = folder.path().join("client");
    fs::create_dir(&client).expect("a folder");
    fs::copy(document, folder.path().join("openapi.json")).expect("the document");
    for file in ["package.json", "tsconfig.json"] {
        fs::copy(Path::new(CLIENT).join(file), client.join(file)).expect("a copy");
    }
    let modules = installed("tasks-client").join("node_modules");
    symlink(modules, client.join("node_modules")).expect("the packages");
    fs::write(client.join("client.ts"), program).expect("the client");
    for arguments in [&["run", "build"], &*[&["start", "--"], arguments].concat()] {
        run(Command::new("npm").current_dir(&client).args(arguments));
    }
}

/// Signs up as a user, and returns the fields that the page of the user sends with each request: its
/// origin, the cookie of this name, and the CSRF token.
pub async fn sign_up(service: SocketAddr, page: &str, cookie: &str, user: &Value) -> Vec<String> {
    let body = user.to_string();
    let origin = format!("origin: {page}");
    let length = format!("content-length: {}", body.len());
    let head = request("POST /signup", &[&origin, &length, "content-type: application/json"]);
    let mut connection = Connection::open(service).await;
    connection.send(head + &body).await;
    let response = connection.response().await;
    assert_eq!(response.status, 201, "{}", response.text());
    let cookies = response.headers.iter().filter(|(name, _)| name == "set-cookie");
    let mut pairs = cookies.filter_map(|(_, value)| value.split(';').next());
    let pair = pairs.find(|pair| pair.starts_with(&format!("{cookie}="))).expect("a session");
    let cookie = format!("cookie: {pair}");
    connection.send(request("GET /csrf", &[&origin, &cookie])).await;
    let token = connection.response().await.json();
    let token = format!("x-csrf-token: {}", token["token"].as_str().expect("a token"));
    vec![origin, cookie, token]
}

/// What Schemathesis checks. Left out are its guesses which input a service has to accept: it takes 412,
/// 415, 422, 428 and 429 to valid input for failures (schemathesis#3516), and expects 404 before 405 for
/// an object that is not there (schemathesis#4503).
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_headers_conformance,response_schema_conformance,\
                      missing_required_header,unsupported_method,allow_header_conformance,\
                      ignored_auth";

/// Has Schemathesis send what a document allows and what it does not, and compare the responses with
/// the document: for 12 seconds, or for `POLICY_SCHEMATHESIS_SECONDS`.
///
/// # Panics
///
/// A response is not as the document says.
pub fn fuzz(document: &Path, service: SocketAddr, fields: &[String], left_out: &[&str]) {
    let mut schemathesis = schemathesis(None, document, service, CHECKS, left_out, "12");
    for field in fields {
        schemathesis.args(["--header", field]);
    }
    run(&mut schemathesis);
}

/// Has Schemathesis read objects of one user as another one, for 20 seconds or as long as [`fuzz`].
/// The error is its report about an object that it could read. A user is given by the fields of
/// each request.
///
/// # Panics
///
/// Schemathesis does not run.
pub fn read_objects_of_others(
    document: &Path,
    service: SocketAddr,
    users: [&[String]; 2],
    left_out: &[&str],
) -> Result<(), String> {
    let folder = Folder::new().expect("a folder");
    let (settings, logins) =
        (folder.path().join("schemathesis.toml"), folder.path().join("users.json"));
    let names = ["one", "other"];
    let entry = |(name, fields): (&str, &[String])| {
        let fields = fields.iter().filter_map(|field| field.split_once(": "));
        let fields: Vec<_> =
            fields.map(|(name, value)| json!({ "name": name, "value": value })).collect();
        json!({ "name": name, "fixedHeaders": fields })
    };
    let entries: Vec<_> = names.into_iter().zip(users).map(entry).collect();
    fs::write(&logins, json!({ "auth": entries }).to_string()).expect("the users");
    let text = format!("[auth.wfc]\npath = {logins:?}\npeers = {names:?}\n");
    fs::write(&settings, text).expect("the settings");
    let check = "object_level_authorization";
    // The other phases send no identifier from a response.
    let mut schemathesis = schemathesis(Some(&settings), document, service, check, left_out, "20");
    let output =
        schemathesis.args(["--phases", "fuzzing,stateful", "--max-failures", "1"]).output();
    let output = output.expect("Schemathesis");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let was_called = text.contains("Test cases:") && !text.contains("No test cases");
    assert!(was_called, "{text}{}", String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(()) } else { Err(text) }
}

fn schemathesis(
    settings: Option<&Path>,
    document: &Path,
    service: SocketAddr,
    checks: &str,
    left_out: &[&str],
    usual_seconds: &str,
) -> Command {
    let seconds = env::var("POLICY_SCHEMATHESIS_SECONDS");
    let mut schemathesis = Command::new(installed("python/bin/schemathesis"));
    // It keeps a folder where it runs.
    schemathesis.current_dir(installed("python"));
    if let Some(settings) = settings {
        schemathesis.arg("--config-file").arg(settings);
    }
    schemathesis.arg("run").arg(document).args(["--url", &format!("http://{service}")]);
    schemathesis.args(["--checks", checks, "--no-color", "--generation-database", "none"]);
    schemathesis.args(["--max-time", seconds.as_deref().unwrap_or(usual_seconds)]);
    if seconds.is_err() {
        schemathesis.args(["--seed", "1"]);
    }
    for id in left_out {
        schemathesis.args(["--exclude-operation-id", id]);
    }
    schemathesis
}

/// Runs a command to its end.
///
/// # Panics
///
/// It fails; the message has its output.
fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
}

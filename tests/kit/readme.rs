//! The examples of the README, and of the chapters of the guide that it leads to, run as a reader runs
//! them. `build.rs` takes them from there.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use policy_server::Report;
use policy_tests::{
    http::{Connection, RawResponse, request},
    process::{ServerProcess, again, role},
};

mod hello {
    include!(concat!(env!("OUT_DIR"), "/readme-hello.rs"));

    pub(super) const MAIN: super::Main = main;
}

mod authentication {
    include!(concat!(env!("OUT_DIR"), "/readme-authentication.rs"));

    pub(super) fn app() -> App<()> {
        App::new(()).sessions(Sessions::memory()).tokens(tokens()).routes(routes![login, report])
    }

    fn tokens() -> policy_server::tokens::TokenSettings {
        let keys = policy_server::tokens::TokenKeys::development().expect("keys");
        Tokens::signed_with(keys)
    }
}

mod login {
    include!(concat!(env!("OUT_DIR"), "/readme-login.rs"));

    pub(super) const MAIN: super::Main = main;
}

mod semantics {
    include!(concat!(env!("OUT_DIR"), "/readme-semantics.rs"));

    pub(super) fn app() -> App<()> {
        App::new(()).sessions(Sessions::memory()).routes(routes![product, rename])
    }
}

/// Its tests are tests here as well.
mod testing {
    include!(concat!(env!("OUT_DIR"), "/readme-testing.rs"));
}

mod production {
    include!(concat!(env!("OUT_DIR"), "/readme-production.rs"));

    pub(super) const MAIN: super::Main = main;
}

type Main = fn() -> Result<(), Report>;

/// Runs an example, as a test of this name does in its role, in a process and a folder of its own.
fn start(test: &str, folder: &str) -> ServerProcess {
    let folder = self::folder(folder);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    ServerProcess::start(again(&format!("readme::{test}"), "server").current_dir(folder))
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme").join(name)
}

const HELLO: &str = "the_first_example_answers";
const LOGIN: &str = "the_login_of_the_guide_reads_a_report";

async fn ask(server: &ServerProcess, what: &str, fields: &[&str], body: &str) -> RawResponse {
    let mut connection = Connection::open(server.address).await;
    let length = format!("content-length: {}", body.len());
    let fields = [fields, &[&*length]].concat();
    connection.send(request(what, &fields) + body).await;
    connection.response().await
}

#[tokio::test]
async fn the_first_example_answers() {
    if role().is_some() {
        let _ = tokio::task::spawn_blocking(hello::MAIN).await;
        return;
    }
    let server = start(HELLO, "hello");
    assert_eq!(ask(&server, "GET /users/1", &[], "").await.text(), "\"Ada\"");
    let nobody = ask(&server, "GET /users/2", &["origin: https://app.shop.example"], "").await;
    assert_eq!((nobody.status, nobody.sharing().is_empty()), (404, false));
}

#[tokio::test]
async fn the_second_example_logs_in_and_reads_a_report() {
    let page = authentication::app().test().page("http://localhost");
    assert_eq!(page.post("/login").json(&"a guess").send().await.status(), 403);
    assert_eq!(page.get("/reports/7").send().await.status(), 401);
    assert_eq!(page.post("/login").json(&"correct horse").send().await.status(), 200);
    assert_eq!(page.get("/reports/7").send().await.text(), "report 7 for ada");
}

#[tokio::test]
async fn the_login_of_the_guide_reads_a_report() {
    if role().is_some() {
        let _ = tokio::task::spawn_blocking(login::MAIN).await;
        return;
    }
    let server = start(LOGIN, "login");
    let json = "content-type: application/json";
    let password = "\"correct horse\"";
    let refused = ask(&server, "POST /login", &[json], password).await;
    assert_eq!(refused.problem(), (403, "csrf.origin".to_owned()));
    assert!(refused.text().contains("send `Origin`"), "{refused:?}");
    let login = ask(&server, "POST /login", &[json, "origin: http://localhost"], password).await;
    assert_eq!(login.status, 200, "{login:?}");
    let cookie = login.header("set-cookie").and_then(|line| line.split(';').next());
    let cookie = format!("cookie: {}", cookie.expect("a cookie"));
    let report = ask(&server, "GET /reports/7", &[&cookie], "").await;
    assert_eq!(report.text(), "report 7 for ada");
    let transfer =
        ask(&server, "POST /transfer/5", &[&cookie, "origin: http://localhost"], "").await;
    assert_eq!(transfer.problem(), (403, "csrf.token".to_owned()));
    assert!(transfer.text().contains("X-CSRF-Token"), "{transfer:?}");
}

#[tokio::test]
async fn the_example_of_responses_follows_its_comments() {
    let client = semantics::app().test();
    let page = "https://shop.example";
    let lamp = client.get("/products/1").origin(page).send().await;
    assert_eq!((lamp.status().as_u16(), lamp.json::<String>()), (200, "a lamp".to_owned()));
    let cache = lamp.header("cache-control");
    assert_eq!(cache, Some("public, max-age=60, stale-while-revalidate=600"));
    assert_eq!(lamp.header("access-control-allow-origin"), Some(page));
    let tag = lamp.header("etag").expect("a tag").to_owned();
    let again = client.get("/products/1").header("if-none-match", &tag).send().await;
    assert_eq!(again.status(), 304);
    let nobody = client.get("/products/2").header("accept", "text/html").send().await;
    assert_eq!((nobody.status().as_u16(), nobody.header("cache-control")), (404, Some("no-store")));
    let media_type = nobody.header("content-type");
    assert!(media_type.is_some_and(|it| it.starts_with("text/html")), "{media_type:?}");
    let mut last = client.get("/products/1").send().await;
    for _ in 0..100 {
        last = client.get("/products/1").origin(page).send().await;
    }
    assert_eq!(last.status(), 429);
    assert!(last.header("retry-after").is_some());
    assert_eq!(client.put("/products/1").json(&"a lamp").send().await.status(), 401);
}

/// The server needs certificates and ports that a test machine does not have. It has no other
/// problem.
#[tokio::test]
async fn the_example_of_production_has_no_problem_but_of_its_machine() {
    const TEST: &str = "the_example_of_production_has_no_problem_but_of_its_machine";
    if role().is_some() {
        let ended = tokio::task::spawn_blocking(production::MAIN).await.expect("it ends");
        panic!("{:?}", ended.expect_err("there are no certificates"));
    }
    let output = again(&format!("readme::{TEST}"), "server").output().expect("a shell");
    let errors = String::from_utf8_lossy(&output.stderr);
    let codes: Vec<_> = errors
        .lines()
        .filter(|line| line.starts_with("- "))
        .filter_map(|line| line.rsplit_once('(')?.1.split_once(')'))
        .map(|(code, _)| code)
        .collect();
    assert!(!codes.is_empty(), "{errors}");
    let is_of_machine = |code: &&str| matches!(*code, "app.listen" | "tls.file-unreadable");
    assert!(codes.iter().all(is_of_machine), "{codes:?}: {errors}");
}

/// The lines of a shell that a page shows.
fn shell_lines(page: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page);
    let text = fs::read_to_string(path).expect("a page");
    let blocks = text.split("\n```sh\n").skip(1);
    let blocks = blocks.map(|rest| rest.split_once("\n```").expect("the end of a block").0);
    blocks.flat_map(|block| block.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Runs lines with `curl`, in the order of their page, against a server.
fn curl(server: &ServerProcess, folder: &Path, lines: impl Iterator<Item = String>) -> Vec<String> {
    let here = format!("localhost:{}", server.address.port());
    lines
        .map(|line| {
            let line = line.replace("localhost:8080", &here).replacen("curl", "curl -s", 1);
            let output = Command::new("sh").args(["-c", &line]).current_dir(folder).output();
            let output = output.expect("a shell");
            assert!(output.status.success(), "{line}: {output:?}");
            String::from_utf8(output.stdout).expect("text")
        })
        .collect()
}

#[tokio::test]
#[ignore = "needs curl"]
async fn the_curl_lines_print_their_stated_output() {
    let curls =
        |page| shell_lines(page).into_iter().filter(|line: &String| line.starts_with("curl "));
    let hello = start(HELLO, "curl-hello");
    let found = curl(&hello, &folder("curl-hello"), curls("README.md"));
    let [ada, nobody] = &found[..] else { panic!("{found:?}") };
    assert_eq!(ada, "\"Ada\"");
    assert!(
        nobody.starts_with("HTTP/1.1 404 ") && nobody.contains("\naccess-control-allow-origin")
    );

    let server = start(LOGIN, "curl-login");
    let lines = curls("docs/guide/src/how-to/login.md");
    let found = curl(&server, &folder("curl-login"), lines);
    let [login, report, transfer] = &found[..] else { panic!("{found:?}") };
    assert_eq!((login.as_str(), report.as_str()), ("", "report 7 for ada"));
    assert!(transfer.contains("\"csrf.token\""), "{transfer}");
}

/// Other lines are run by the tests of the programs that they name.
#[test]
fn every_shell_line_is_one_that_a_test_runs() {
    for line in ["README.md", "examples/README.md"].into_iter().flat_map(shell_lines) {
        let known = [
            "curl ",
            "cargo policy ",
            // policy-cli/tests/cli/new.rs
            "git clone https://",
            "cargo install --path policy",
            "cd notes",
            "cargo test",
            "cargo add ",
            "cargo run --example quickstart",
            "cargo run -p accounts",
            "cargo run -p catalogue",
            "cargo run -p cluster",
            "cargo run -p tasks",
            "cargo run -p protocols",
            "cargo run -p dev-proxy",
            "cargo run -p gateway",
            "cargo run -p operate",
            "cargo run -p review",
            "cargo run -p migration",
        ];
        assert!(known.iter().any(|start| line.starts_with(start)), "{line}");
    }
}

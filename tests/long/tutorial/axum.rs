//! The same service with axum, to which the tutorial compares its number of lines.

use std::fs;

use super::{lines_without_tests, reader::Reader, root, service::Service};

/// The arguments of curl and the status: the requests of the chapters, and the responses that they
/// state.
const REQUESTS: &[(&str, u16)] = &[
    ("/tasks", 401),
    ("/login -H 'Origin: HERE' --json '{\"name\": \"grace\", \"password\": \"wrong\"}'", 403),
    (
        "/login -H 'Origin: HERE' -c axum-jar --json '{\"name\": \"grace\", \"password\": \"hopper\"}'",
        204,
    ),
    ("/tasks -b axum-jar", 200),
    ("/tasks -b axum-jar -H 'Origin: HERE' --json '{\"title\": \"write a compiler\"}'", 201),
    ("/tasks -b axum-jar -H 'Origin: HERE' --json '{\"title\": \"\"}'", 422),
    ("/tasks -b axum-jar -H 'Origin: https://evil.example' --json '{\"title\": \"no\"}'", 403),
    ("/tasks/0/done -b axum-jar -H 'Origin: HERE' -X PUT", 204),
    ("/tasks/7/done -b axum-jar -H 'Origin: HERE' -X PUT", 404),
    ("/tasks -b axum-jar -H 'Origin: HERE' -X DELETE", 403),
    ("/tasks -b axum-jar -H 'Host: evil.example'", 421),
    ("/logout -b axum-jar -H 'Origin: HERE' -X POST", 204),
    ("/tasks -b axum-jar", 401),
    ("/readyz", 200),
];

pub(super) fn lines() -> usize {
    let program = root().join("benches/peers/team/src/main.rs");
    lines_without_tests(&fs::read_to_string(program).expect("a program"))
}

pub(super) fn answers_alike(reader: &Reader) {
    let root = root().display();
    let run = format!(
        "exec cargo run --manifest-path {root}/benches/peers/Cargo.toml --target-dir {root}/target/peers -p team-peer"
    );
    let port = reader.port("4000");
    let here = format!("http://127.0.0.1:{port}");
    let mut program = reader.command(&run);
    program.env("LISTEN", format!("127.0.0.1:{port}"));
    let _service = Service::start_at(&mut program, port);
    for (request, expected) in REQUESTS {
        let request = request.replace("HERE", &here);
        let curl = format!("curl -s -o axum-body -w '%{{http_code}}' {here}{request}");
        let output = reader.command(&curl).output().expect("curl");
        let status = String::from_utf8_lossy(&output.stdout);
        assert_eq!(status, expected.to_string(), "{curl}");
    }
}

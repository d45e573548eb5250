//! How an app is composed, and its messages when that fails.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "what a test cannot do without fails it"
)]

mod called_setters;
mod changed_bodies;
mod complete_manifest;
mod compositions;
mod extensions;
mod extractors;
mod handlers;
mod launch_reports;
mod layer;
mod lists_of_origins;
mod manifest;
mod mounts;
mod objects;
mod operation;
mod policies;
mod preflights;
mod problems;
mod route_layers;
mod semantics;
mod serving;
mod setters;
mod shared_limits;
mod starts;
mod stored_origins;
mod tenants;
mod trailing_slashes;

use std::{convert::Infallible, fs, path::PathBuf, time::Duration};

use axum::{Router, routing};
use policy_server::{
    Body, CorsConfig, Request, SharedOrigins, StartProblem,
    http::Method,
    prelude::*,
    testing::{TestClient, TestResponse},
};
use policy_tests::{
    http::{Running, request},
    process,
};
use tower::{ServiceExt, service_fn, util::MapResponseLayer};

const APP: CorsPolicy = CorsPolicy::origins(&["https://app.example"]).build();
const GROUP: CorsPolicy = CorsPolicy::origins(&["https://group.example"]).build();
const EVERYBODY: CorsPolicy = CorsPolicy::origins(&["*"]).build();

/// All origins that some policy here grants.
const ORIGINS: [&str; 4] = [
    "https://app.example",
    "https://group.example",
    "https://route.example",
    "https://mount.example",
];

#[get("/")]
#[auth(public)]
async fn root() -> &'static str {
    "root"
}

#[get("/plain")]
#[auth(public)]
async fn plain() -> &'static str {
    "plain"
}

#[get("/own")]
#[cors(origins = ["https://route.example"])]
#[auth(public)]
async fn own() -> &'static str {
    "own"
}

#[get("/closed")]
#[cors(none)]
#[auth(public)]
async fn closed() -> &'static str {
    "closed"
}

#[get("/matched/{name}")]
#[auth(public)]
async fn matched(name: String, route: MatchedRoute) -> String {
    format!("{} {name}", route.path())
}

/// The codes of the problems of an app that does not start.
fn codes(error: &Error) -> Vec<&'static str> {
    match error {
        Error::Start(problems) => problems.iter().map(StartProblem::code).collect(),
        other => panic!("{other}"),
    }
}

/// The origins whose pages may read a path.
async fn readers(client: &TestClient, path: &str) -> Vec<&'static str> {
    let mut readers = Vec::new();
    for origin in ORIGINS {
        let response = client.get(path).origin(origin).send().await;
        match response.header("access-control-allow-origin") {
            Some("*") => return vec!["*"],
            Some(granted) => {
                assert_eq!(granted, origin);
                readers.push(origin);
            }
            None => (),
        }
    }
    readers
}

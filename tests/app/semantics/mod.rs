//! The HTTP rules that attributes declare, over real sockets, for ordinary and hostile clients. The
//! clock is advanced, never waited for.

mod caching;
mod compression;
mod conditions;
mod content;
mod errors;
mod files;
mod folders;
mod isolation;
mod jsonp;
mod limits;
mod methods;
mod queries;
mod security;

use std::{
    collections::BTreeSet,
    convert::Infallible,
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::BodyExt;
use policy_server::{
    Body, Clock,
    http::{HeaderMap, Method},
    prelude::*,
    response::ByteRanges,
    testing::{TestClient, TestRequest, TestResponse},
};
use policy_tests::{
    handlers::asked_for,
    http::{Connection, RawResponse, Running, request, soon},
};
use serde::Deserialize;
use serde_json::{Value, json};

/// The time at which every test with a clock begins.
const START: u64 = 1_800_000_000;

/// The page that the shared routes grant access.
const PAGE: &str = "origin: https://shop.example";
const EVIL: &str = "origin: https://evil.example";

const SHOP: CorsPolicy =
    CorsPolicy::origins(&["https://shop.example"]).credentials().expose(&["etag"]).build();

/// What a response to [`PAGE`] carries where [`SHOP`] applies.
const SHARED: [&str; 3] = [
    "access-control-allow-credentials: true",
    "access-control-allow-origin: https://shop.example",
    "access-control-expose-headers: etag",
];

/// Sends one request on its own connection, reads the response, and asserts that nothing follows
/// it.
async fn ask(server: &Running, line: &str, fields: &[&str]) -> RawResponse {
    ask_with(server, line, fields, "").await
}

/// The same with a body.
async fn ask_with(server: &Running, line: &str, fields: &[&str], body: &str) -> RawResponse {
    let length = format!("content-length: {}", body.len());
    let mut all = vec!["connection: close"];
    if !body.is_empty() {
        all.push(&length);
    }
    all.extend(fields);
    let mut connection = server.connect().await;
    // The server may refuse before it has read everything.
    connection.try_send(request(line, &all) + body).await;
    let response = if line.starts_with("HEAD ") {
        connection.head().await
    } else {
        connection.response().await
    };
    let rest = connection.rest().await;
    assert!(rest.is_empty(), "{line}: behind the response: `{}`", rest.escape_ascii());
    response
}

/// All lines of a field.
fn all<'a>(response: &'a RawResponse, name: &str) -> Vec<&'a str> {
    let named = response.headers.iter().filter(|header| header.0 == name);
    named.map(|header| header.1.as_str()).collect()
}

/// The names in `Vary`; asserts that none is repeated.
fn vary(response: &RawResponse) -> BTreeSet<String> {
    let lines = all(response, "vary").join(",").to_ascii_lowercase();
    let names: Vec<_> = lines.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let set: BTreeSet<_> = names.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(set.len(), names.len(), "twice in `vary`: {response:?}");
    set
}

/// Status and code of a problem.
fn code(response: &RawResponse) -> (u16, String) {
    response.problem()
}

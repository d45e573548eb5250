//! Names that generated code could capture, or be captured by.
#![deny(warnings)]
#![expect(
    dead_code,
    non_camel_case_types,
    non_upper_case_globals,
    reason = "names that would be captured"
)]

use axum::extract::State as Extracted;
use policy_server::{App, auth, cors, get, post, routes};

#[derive(Clone)]
struct S(u8);
#[derive(Clone)]
struct Via;
struct Option;
struct Result;
struct Box;
struct Some;
struct Ok;
struct Vec;
struct Endpoint;
struct Call;
struct str;
struct u32;
struct bool;
trait Send {}
trait Sync {}
trait FromParam {}
mod core {}
mod std {}
mod policy_core {}
mod cors_policy_of_handler {}
#[expect(unused_macros, reason = "it is here to be captured")]
macro_rules! panic {
    () => {};
}
#[expect(unused_macros, reason = "it is here to be captured")]
macro_rules! concat {
    () => {};
}
#[expect(unused_macros, reason = "it is here to be captured")]
macro_rules! vec {
    () => {};
}
const call: u8 = 0;
const violation: u8 = 0;
const policy: u8 = 0;

const SECONDS: i64 = 60;
const ORIGINS: &[&::core::primitive::str] = &["https://a.example"];

#[get("/{handler}")]
#[auth(public)]
#[cfg(any())]
async fn never() {}

#[get("/{e}/{self_}/{type}")]
#[cors(origins = ORIGINS, headers = ["x-a", "x-b"], max_age = SECONDS)]
#[auth(public)]
async fn handler(e: String, self_: u8, Extracted(s): Extracted<S>, r#type: u8) -> String {
    format!("{e}{self_}{}{type}", s.0, type = r#type)
}

#[post("/r")]
#[auth(public)]
async fn r#move(__policy_call: String) -> String {
    __policy_call
}

pub(crate) fn app() {
    let _ = App::new(S(1)).routes(routes![handler, r#move]);
}

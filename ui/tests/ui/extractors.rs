//! Arguments that nothing can fill: the compiler says so at the list, or at the type.
#![allow(unused_variables)]
use axum::http::Method;
use policy_server::prelude::*;

struct NotOne;

#[get("/1")]
#[auth(public)]
async fn first(n: NotOne, m: Method) {}

#[get("/2")]
#[auth(public)]
async fn last(m: Method, n: NotOne) {}

#[post("/3")]
#[auth(public)]
async fn body_first(body: Json<u8>, m: Method) {}

#[get("/4/{id}")]
#[auth(public)]
async fn forgotten_brace(id: u64, page: u32) {}

#[post("/5")]
#[auth(public)]
async fn without_rules(order: Valid<Json<u8>>) {}

fn main() {
    let _ = App::new(()).routes(routes![first, last, body_first, forgotten_brace, without_rules]);
}

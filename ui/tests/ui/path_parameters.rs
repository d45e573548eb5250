//! Parameters and arguments that do not fit.
#![allow(unused_variables)]
use policy_server::prelude::*;

#[get("/users/{id}/{other}")]
#[auth(public)]
async fn missing(id: u64) -> String {
    id.to_string()
}

#[get("/users/{id}")]
#[auth(public)]
async fn unused(__id: u64) {}

#[get("/users/{id}")]
#[auth(public)]
async fn pattern((id, _): (u64, u64)) -> String {
    id.to_string()
}

#[get("/users/:id/*rest")]
#[auth(public)]
async fn old_syntax(id: u64, rest: String) -> String {
    format!("{id}{rest}")
}

#[get("/a/{id}")]
#[post("/b/{other}")]
#[put("/c")]
#[auth(public)]
async fn differ(id: u64) -> String {
    id.to_string()
}

#[get("/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}")]
#[auth(public)]
async fn many(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8, i: u8) {}

#[get("/pairs/{id}/{_id}")]
#[auth(public)]
async fn pair(_id: u64) {}

fn main() {
    let _ = App::new(()).routes(routes![missing, unused, pattern, old_syntax, differ, many, pair]);
}

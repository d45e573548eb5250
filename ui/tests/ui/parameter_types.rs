//! A parameter that cannot be parsed from text.
#![allow(unused_variables)]
use policy_server::prelude::*;

struct Id;

#[get("/users/{id}")]
#[auth(public)]
async fn user(id: Id) {}

#[get("/users/{id}/{page}")]
#[auth(public)]
async fn page(page: Option<u64>, id: u64) {}

fn main() {
    let _ = App::new(()).routes(routes![user, page]);
}

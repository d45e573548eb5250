//! A parameter that cannot be parsed from text.
#![allow(unused_variables)]
use policy_server::prelude::*;

struct Id;

#[get("/users/{id}")]
#[auth(public)]
async fn user(id: Id) {}

fn main() {
    let _ = App::new(()).routes(routes![user]);
}

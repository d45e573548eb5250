//! A policy that would not reach its route is an error: nothing is dropped.
use policy_server::prelude::*;
use policy_server::{auth as guard, get as fetch};

#[auth(public)]
async fn lonely() {}

#[cors(origins = ["https://a.example"])]
fn also_lonely() {}

#[auth(public)]
struct NoFunction;

// The route does not know the policy by this name, and the policy finds no route.
#[get("/a")]
#[guard(public)]
async fn renamed() {}

#[auth(public)]
#[fetch("/b")]
async fn renamed_route() {}

fn main() {}

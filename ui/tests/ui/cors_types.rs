//! Values of other types than a policy has, and values that are no constants.
use policy_server::prelude::*;

fn load() -> &'static [&'static str] {
    &["https://ok.example"]
}

const NUMBER: u32 = 600;

#[get("/1")]
#[cors(origins = load(), credentials)]
#[auth(public)]
async fn loaded() {}

#[get("/2")]
#[cors(origins = ["https://ok.example"], max_age = NUMBER)]
#[auth(public)]
async fn number() {}

#[get("/3")]
#[cors(NUMBER)]
#[auth(public)]
async fn no_policy() {}

#[get("/4")]
#[cors(origins = [1, 2])]
#[auth(public)]
async fn numbers() {}

#[get("/5")]
#[cors(MISSING)]
#[auth(public)]
async fn missing() {}

fn main() {
    let _ = App::new(()).routes(routes![loaded, number, no_policy, numbers, missing]);
}

//! Every mistake at once, each on its own token, and none of them twice.
#![allow(unused_variables)]
use policy_server::prelude::*;

#[get("users/{id}")]
#[cors(origins = ["*", "https://Upper.example"], credentials, credential, expose = ["set-cookie"])]
#[auth(session, scope = ["a"])]
fn first<T>(t: T) -> String {
    String::new()
}

#[post("/users/{id}")]
#[cors(origins = ["null"], max_age = 1000000)]
async fn second() {}

fn main() {
    let _ = App::new(()).routes(routes![first, second]);
}

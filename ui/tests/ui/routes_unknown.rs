//! A function without a route attribute, and none at all.
use policy_server::prelude::*;

#[get("/a")]
#[auth(public)]
async fn handler() {}

async fn plain() {}

struct Plain {}

fn main() {
    let _ = App::new(()).routes(routes![handler, plain, missing]);
    let _ = App::new(()).routes(routes![handler, Plain]);
}

//! Layers are expressions, in one attribute.
use policy_server::prelude::*;

struct Gzip;

#[get("/word")]
#[auth(public)]
#[layer]
async fn word() {}

#[get("/empty")]
#[auth(public)]
#[layer()]
async fn empty() {}

#[get("/equals")]
#[auth(public)]
#[layer = Gzip]
async fn equals() {}

#[get("/twice")]
#[auth(public)]
#[layer(Gzip)]
#[layer(Gzip)]
async fn twice() {}

#[layer(Gzip)]
async fn no_route() {}

fn main() {
    let _ = App::new(()).routes(routes![word, empty, equals, twice]);
}

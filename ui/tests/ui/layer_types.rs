//! What wraps a handler is a layer.
use policy_server::prelude::*;

struct Gzip;

#[get("/1")]
#[auth(public)]
#[layer(Gzip)]
async fn first() {}

#[get("/2")]
#[auth(public)]
#[layer("gzip", Gzip)]
async fn second() {}

fn main() {
    let _ = App::new(()).routes(routes![first, second]);
    let _ = Group::<()>::new().layer(Gzip);
}

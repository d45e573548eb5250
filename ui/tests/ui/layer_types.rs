//! What wraps a handler is a layer; one in front of another service knows no callers.
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
    let _ = policy_server::PolicyLayer::builder().auth(AuthRequirement::session());
}

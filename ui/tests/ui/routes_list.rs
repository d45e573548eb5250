//! Lists have names of handlers.
use policy_server::prelude::*;

#[get("/a")]
#[auth(public)]
async fn handler() {}

fn main() {
    let _ = App::new(()).routes(routes![handler(), #[cfg(unix)] handler, "handler", handler]);
}

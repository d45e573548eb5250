//! Legal but odd rules about caching are warnings, here denied to be seen.
#![deny(deprecated)]
use policy_server::prelude::*;

#[get("/unsaid")]
#[cache(max_age = 60)]
#[auth(session)]
async fn unsaid() {}

#[get("/twice")]
#[cache(public, vary = ["accept", "x-region", "Accept"])]
#[auth(public)]
async fn twice() {}

fn main() {
    let _ = App::new(()).routes(routes![unsaid, twice]);
}

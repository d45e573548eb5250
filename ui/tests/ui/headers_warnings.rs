//! Legal but odd policies are warnings, here denied to be seen.
#![deny(deprecated)]
use policy_server::prelude::*;

#[get("/odd")]
#[auth(public)]
#[headers(csp = "script-src * 'unsafe-inline'", referrer = "unsafe-url")]
async fn odd() {}

fn main() {
    let _ = App::new(()).routes(routes![odd]);
}

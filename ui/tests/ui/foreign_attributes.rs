//! An attribute of somebody else that has one of our names is not swallowed.
use policy_server::{App, get, routes};
use tokio::main as auth;

#[get("/a")]
#[auth(public)]
async fn handler() {}

fn main() {
    let _ = App::new(()).routes(routes![handler]);
}

//! Handlers that no list names, one of them `pub`, and one that is mounted without its policy.
#![deny(dead_code)]
use policy_server::prelude::*;

#[get("/listed")]
#[auth(public)]
async fn listed() {}

#[get("/forgotten")]
#[auth(public)]
async fn forgotten() {}

pub mod open {
    use policy_server::prelude::*;

    #[get("/open")]
    #[auth(public)]
    pub async fn exported() {}
}

#[get("/naked")]
#[auth(public)]
async fn naked() {}

fn main() {
    let _ = App::new(()).routes(routes![listed]);
    let _: axum::Router = axum::Router::new().route("/naked", axum::routing::get(naked));
}

//! `#[cfg]` above and below the route attribute; lints of the handler.
#![deny(warnings)]
#![expect(clippy::non_minimal_cfg, reason = "the smallest condition that holds")]

use policy_server::prelude::*;

#[get("/never")]
#[cfg(any())]
#[cors(origins = ["https://a.example"])]
#[auth(public)]
async fn never() -> NotThere {}

#[cfg(any())]
#[get("/never")]
#[auth(public)]
async fn never() {}

#[auth(public)]
#[cfg(any())]
#[get("/never")]
async fn never() {}

// A wrong attribute on a function that is not there is not there either.
#[get("never")]
#[cfg(any())]
async fn never() {}

#[get("/always")]
#[cfg(all())]
#[cfg_attr(all(), doc = "Conditional documentation.")]
#[auth(public)]
async fn always() {}

// Conditional attributes are there or not before any of them is expanded.
#[cfg_attr(all(), get("/policies"))]
#[cfg_attr(all(), auth(public))]
#[cfg_attr(any(), auth(session))]
#[cfg_attr(any(), cors(origins = ["null"]))]
async fn policies() {}

#[get("/odd")]
#[cors(origins = ["https://a.example"], expose = ["content-type"])]
#[auth(public)]
#[allow(deprecated)]
async fn odd() {}

pub(crate) fn app() {
    let _ = App::new(()).routes(routes![always, policies, odd]);
}

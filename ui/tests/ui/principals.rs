//! A principal is there only where one is asked for.
#![allow(unused_variables)]
use http::Method;
use policy_server::prelude::*;

struct Principal;

#[get("/public")]
#[auth(public)]
async fn public(me: Principal) {}

#[get("/tuple")]
#[auth(public)]
async fn tuple((method, me): (Method, crate::Principal)) {}

#[get("/maybe")]
#[auth(public)]
async fn maybe(me: Option<Principal>) {}

#[get("/optional")]
#[auth(session | token, optional)]
async fn optional(method: Method, me: Principal) {}

#[post("/login")]
#[auth(public)]
async fn login(sessions: Sessions) -> Result<(), Problem> {
    Ok(sessions.login(Identity::new("ada").roles("admin")).await?)
}

fn main() {
    let _ = App::new(()).routes(routes![public, tuple, maybe, optional, login]);
}

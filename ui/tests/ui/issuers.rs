//! The issuers whose tokens a route takes, and the users that its handler is for.
#![allow(unused_variables)]
use policy_server::prelude::*;

#[get("/no-token")]
#[auth(session, issuers = ["https://id.example"])]
async fn no_token() {}

#[get("/empty")]
#[auth(token, issuers = [])]
async fn empty() {}

#[get("/names")]
#[auth(token | ticket, issuers = ["own", "id.example", "http://id.example", "https://ID.example"])]
async fn names() {}

#[get("/addresses")]
#[auth(token, issuers = ["https://id.example?tenant=1", "https://user@id.example", "https://*.example/ a"])]
async fn addresses() {}

#[get("/user")]
#[auth(token, issuers = ["own", "https://id.example"])]
async fn user(method: http::Method, me: Principal) {}

#[get("/optional-user")]
#[auth(token, optional, issuers = ["https://id.example"])]
async fn optional_user(me: Option<Principal>) {}

#[get("/public")]
#[auth(public, issuers = ["https://id.example"])]
async fn public(caller: Caller) {}

#[get("/value")]
#[auth(token, issuers)]
async fn value() {}

#[get("/text")]
#[auth(token, issuers = "https://id.example")]
async fn text() {}

fn main() {
    let _ = App::new(()).routes(routes![
        no_token,
        empty,
        names,
        addresses,
        user,
        optional_user,
        public,
        value,
        text,
    ]);
}

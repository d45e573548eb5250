//! The body of a request is read once, by the last argument, and a GET has none.
#![deny(deprecated)]
#![allow(unused_variables)]
use axum::http::{Method, Request};
use policy_server::prelude::*;

#[post("/1")]
#[auth(public)]
async fn first(body: Json<u8>, method: Method) {}

#[post("/2")]
#[auth(public)]
async fn twice(a: Json<u8>, b: Valid<Form<u8>>) {}

#[post("/3")]
#[auth(public)]
async fn three(a: Option<Json<u8>>, method: Method, b: String, c: Request<policy_server::Body>) {}

#[post("/4")]
#[auth(public)]
async fn text(text: String, Query(page): Query<u8>) {}

#[get("/5")]
#[auth(public)]
async fn of_get(body: Json<u8>) {}

#[get("/6")]
#[head("/7")]
#[auth(public)]
async fn of_head(body: Option<Json<u8>>) {}

// A form is read from the query of a GET, and a handler may serve both.
#[get("/8")]
#[auth(public)]
async fn form(form: Form<u8>) {}

#[get("/9")]
#[post("/9")]
#[auth(public)]
async fn either(body: Option<Json<u8>>) {}

#[get("/10")]
#[auth(public)]
async fn in_tuple((method, body): (Method, Json<u8>)) {}

fn main() {
    let _ = App::new(()).routes(routes![first, twice, three, text, of_get, of_head, form, either]);
    let _ = App::new(()).routes(routes![in_tuple]);
}

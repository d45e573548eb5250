//! Arguments that nothing can fill: what needs no state is reported at its type, all else in the list,
//! where the state is known.
#![allow(unused_variables)]
use axum::http::Method;
use policy_server::prelude::*;

struct NotOne;

#[get("/1")]
#[auth(public)]
async fn first(n: NotOne, m: Method) {}

#[get("/2")]
#[auth(public)]
async fn last(m: Method, n: NotOne) {}

#[get("/3/{id}")]
#[auth(public)]
async fn forgotten_brace(id: u64, page: u32, sort: Option<bool>) {}

#[post("/4")]
#[auth(public)]
async fn without_rules(order: Valid<Json<u8>>) {}

#[post("/5")]
#[auth(public)]
async fn not_read(m: Method, order: Json<NotOne>) {}

#[get("/6")]
#[auth(public)]
async fn not_read_query(page: Query<NotOne>, m: Method) {}

#[post("/7")]
#[auth(public)]
async fn not_read_form(page: Query<u8>, order: Form<NotOne>) {}

#[get("/8")]
#[auth(public)]
async fn last_query(m: Method, page: Query<NotOne>) {}

#[post("/9")]
#[auth(public)]
async fn maybe(order: Option<Json<NotOne>>) {}

fn main() {
    let _ = App::new(()).routes(routes![
        first, last, forgotten_brace, without_rules, not_read, not_read_query, not_read_form,
        last_query, maybe
    ]);
}

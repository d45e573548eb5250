//! State: what it lacks is said at the argument, and which part an app does not have in its list.
#![allow(unused_variables)]
use policy_server::prelude::*;

#[derive(Clone)]
struct Db;

#[derive(Clone)]
struct Service;

struct NotClone;

#[get("/a")]
#[auth(public)]
async fn needs_none() {}

#[post("/b")]
#[auth(public)]
async fn needs_any(page: String) {}

#[post("/c")]
#[auth(public)]
async fn needs(State(_): State<Db>, page: String) {}

#[get("/d")]
#[auth(public)]
async fn last(State(_): State<Db>) {}

#[get("/e")]
#[auth(public)]
async fn not_clone(method: axum::http::Method, state: State<NotClone>) {}

#[get("/f")]
#[auth(public)]
async fn bare(db: Db) {}

fn main() {
    let _ = App::new(7_u8).routes(routes![needs_none, needs_any, needs]);
    let _ = Group::<Service>::new().routes(routes![needs_none, last, needs_any]);
    let _ = App::new(()).routes(routes![last]);
    let _ = App::new(Db).routes(routes![needs, bare]);
}

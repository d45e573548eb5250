//! A handler for the state of another app: the one that is wrong is underlined.
#![allow(unused_variables)]
use policy_server::prelude::*;

#[derive(Clone)]
struct Db;

#[derive(Clone, Copy)]
struct Settings;

#[get("/a")]
#[auth(public)]
async fn needs_none() {}

#[post("/b")]
#[auth(public)]
async fn needs_any(page: String) {}

#[post("/c")]
#[auth(public)]
async fn needs(State(_): State<Db>, page: String) {}

fn main() {
    let _ = App::new(7_u8).routes(routes![needs_none, needs_any, needs]);
    let _ = Group::<Settings>::new().routes(routes![needs_none, needs, needs_any]);
}

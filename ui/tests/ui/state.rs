//! A handler for the state of another app.
#![allow(unused_variables)]
use policy_server::prelude::*;

#[derive(Clone)]
struct Db;

#[get("/a")]
#[auth(public)]
async fn needs(State(_): State<Db>, page: String) {}

fn main() {
    let _ = App::new(7_u8).routes(routes![needs]);
}

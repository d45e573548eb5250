//! Legal but odd rules about callers are warnings, here denied to be seen.
#![deny(deprecated)]
use policy_server::prelude::*;

#[get("/twice")]
#[auth(session | token, scopes = ["a", "b", "a"], roles = ["x", "x"])]
async fn twice() {}

#[get("/either")]
#[cors(origins = ["*"])]
#[auth(session | token)]
async fn either() {}

#[get("/optional")]
#[cors(origins = ["https://app.example"])]
#[auth(session, optional)]
async fn optional() {}

#[post("/unseen")]
#[auth(public)]
#[csrf(origin)]
async fn unseen() {}

fn main() {
    let _ = App::new(()).routes(routes![twice, either, optional, unseen]);
}

//! A framework under another name.
#![deny(warnings)]

mod my {
    pub(super) use policy_server as server;
}
use my::server::{App, auth, cors, get, routes};

#[auth(public)]
#[cors(origins = ["https://a.example"])]
#[get("/{id}", crate = my::server)]
async fn order(id: u64) -> String {
    id.to_string()
}

pub(crate) fn app() {
    let _ = App::new(()).routes(routes![crate = my::server, order]);
}

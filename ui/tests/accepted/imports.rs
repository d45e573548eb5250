//! An import that only attributes use is used, in every order; a prelude is one import.
#![deny(warnings)]

mod named {
    use policy_server::{auth, cors, delete, get, head, options, patch, post, put, route};

    #[get("/a")]
    #[cors(origins = ["https://a.example"])]
    #[auth(public)]
    pub(super) async fn first() {}

    #[auth(public)]
    #[cors(origins = ["https://a.example"])]
    #[post("/a")]
    pub(super) async fn last() {}

    #[put("/b")]
    #[patch("/b")]
    #[delete("/b")]
    #[head("/b")]
    #[options("/b")]
    #[route(PURGE, "M-SEARCH", "/b")]
    #[auth(public)]
    pub(super) async fn many() {}
}

use policy_server::prelude::*;

pub(crate) fn app() {
    let _ = App::new(()).routes(routes![
        named::first,
        self::named::last,
        crate::accepted::imports::named::many,
    ]);
    let _ = App::new(()).routes(routes![]);
}

//! An import that only attributes use is used, in every order; a prelude is one import.
#![deny(warnings)]

mod named {
    use policy_server::{auth, cors, delete, get, head, options, patch, post, put, route};

    #[get("/a")]
    #[cors(origins = ["https://a.example"])]
    #[auth(public)]
    pub async fn first() {}

    #[auth(public)]
    #[cors(origins = ["https://a.example"])]
    #[post("/a")]
    pub async fn last() {}

    #[put("/b")]
    #[patch("/b")]
    #[delete("/b")]
    #[head("/b")]
    #[options("/b")]
    #[route(PURGE, "M-SEARCH", "/b")]
    #[auth(public)]
    pub async fn many() {}
}

use policy_server::prelude::*;

fn main() {
    let _ = App::new(()).routes(routes![named::first, self::named::last, crate::named::many,]);
    let _ = App::new(()).routes(routes![]);
}

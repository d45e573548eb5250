//! What a handler may look like; it stays an ordinary function.
#![deny(warnings, missing_debug_implementations, missing_copy_implementations, unreachable_pub)]

use axum::{
    body::Bytes,
    extract::Request,
    http::{HeaderMap, Method},
};
use policy_server::prelude::*;

#[derive(Clone)]
struct Db(&'static str);

#[get("/orders/{id}/{item}")]
#[auth(public)]
/// Documentation stays.
async fn order(State(Db(name)): State<Db>, item: u32, method: Method, mut id: u64) -> String {
    id += 1;
    format!("{name} {method} {id} {item}")
}

#[post("/body/{id}")]
#[auth(public)]
async fn body(_: HeaderMap, Bytes { .. }: Bytes, id: u8) -> Result<impl IntoResponse, StatusCode> {
    if id == 0 { Err(StatusCode::NOT_FOUND) } else { Ok("found") }
}

#[get("/files/{*path}")]
#[auth(public)]
async fn file(path: std::string::String, ref request: Request) -> String {
    format!("{path} {}", request.uri())
}

/// The attribute, the extractor and a handler of the same name.
#[query("/orders")]
#[auth(public)]
async fn query(Query(page): Query<Vec<(String, u8)>>, words: String) -> String {
    format!("{words} {page:?}")
}

#[get("/unused/{_id}/{part}/{_part}")]
#[auth(public)]
async fn unused(_part: char, _id: u64, route: MatchedRoute, part: u8) {
    let _ = (route, part);
}

#[get("/unused/{id}")]
#[auth(public)]
async fn without_number(_id: u64) {}

mod nested {
    use super::*;

    #[get("/nested")]
    #[auth(public)]
    pub(crate) async fn handler() -> std::convert::Infallible {
        std::future::pending().await
    }

    pub(super) mod deeper {
        use policy_server::prelude::*;

        #[get("/deeper")]
        #[auth(public)]
        pub(in super::super::nested) async fn handler() {}
    }

    pub(super) fn list() -> Vec<policy_server::Route<super::Db>> {
        routes![deeper::handler]
    }
}

async fn call() {
    // Each function can be called, as before.
    let _: String = order(State(Db("")), 1, Method::GET, 2).await;
}

pub(crate) fn app() {
    #[get("/inner")]
    #[auth(public)]
    async fn inner() {}

    let _ = call();
    let _ = App::new(Db("db"))
        .routes(routes![order, body, file, query, unused, without_number, nested::handler, inner])
        .routes(nested::list());
}

//! Paths that no request has, and routes that are none.
use policy_server::prelude::*;

macro_rules! route {
    ($name:ident, $path:literal) => {
        #[get($path)]
        #[auth(public)]
        async fn $name() {}
    };
}

route!(start, "users");
route!(query, "/users?page=1");
route!(encoded, "/%41");
route!(double, "/users//all");
route!(dots, "/users/../all");
route!(brace, "/users/{id");
route!(suffix, "/users/{id}.png");
route!(angle, "/users/<id>");
route!(rest, "/{*rest}/all");
route!(repeated, "/{a}/{a}");

const PATH: &str = "/path";

#[get(PATH)]
#[auth(public)]
async fn constant() {}

#[get]
#[auth(public)]
async fn none() {}

#[get("/a", "/b")]
#[auth(public)]
async fn two() {}

#[get("/a", state = Db, data = "<x>")]
#[auth(public)]
async fn unknown() {}

#[auth(public)]
#[post("/a")]
#[get = "/a"]
async fn equals() {}

#[route("/a")]
#[auth(public)]
async fn no_method() {}

#[route(CONNECT, TRACE, GET, get, "M SEARCH", some::METHOD, "/a")]
#[auth(public)]
async fn methods() {}

#[get("/a")]
#[route(POST, GET, "/a")]
#[auth(public)]
async fn conflict() {}

#[get("/a", id = "list orders")]
#[auth(public)]
async fn id() {}

#[get("/a", id = " list /* old */")]
#[auth(public)]
async fn skipped() {}

#[get("/a", id = "one", crate = policy_server, id = "two", crate = policy_server)]
#[auth(public)]
async fn twice() {}

#[get("/a", crate = policy_server)]
#[post("/a", crate = policy_core)]
#[auth(public)]
async fn crates() {}

fn main() {
    let _ = App::new(()).routes(routes![
        start, query, encoded, double, dots, brace, suffix, angle, rest, repeated, constant, none, two,
        unknown, equals, no_method, methods, conflict, id, skipped,
        twice, crates
    ]);
}

//! Methods and headers that mean nothing, and a preflight kept for too long.
use policy_server::prelude::*;

#[get("/names")]
#[auth(public)]
#[cors(
    origins = ["https://ok.example"],
    methods = ["PUT", "GE T", "TRACE", ""],
    headers = ["x-ok", "x bad", "cookie", "Sec-Fetch-Mode", "access-control-allow-origin"],
    expose = ["etag", "x:bad", "Set-Cookie", "origin", "access-control-max-age"],
    max_age = 86401,
)]
async fn names() {}

#[get("/negative")]
#[cors(origins = ["https://ok.example"], max_age = -2)]
#[auth(public)]
async fn negative() {}

#[get("/huge")]
#[cors(origins = ["https://ok.example"], max_age = 99999999999999999999)]
#[auth(public)]
async fn huge() {}

fn main() {
    let _ = App::new(()).routes(routes![names, negative, huge]);
}

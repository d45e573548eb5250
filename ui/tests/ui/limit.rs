//! Limits that are none, and limits that nobody can read.
use policy_server::prelude::*;

const UPLOADS: Limits = Limits::NONE.body(1 << 30);

#[post("/nothing")]
#[auth(public)]
#[limit]
async fn nothing() {}

#[post("/unknown")]
#[auth(public)]
#[limit(size = "1 MiB", none, body = "1 MiB")]
async fn unknown() {}

#[post("/values")]
#[auth(public)]
#[limit(body = 1_048_576, timeout, rate = , concurrency = "64")]
async fn values() {}

#[post("/texts")]
#[auth(public)]
#[limit("1 MiB", timeout = 5, rate = PER_MINUTE, concurrency = -1)]
async fn texts() {}

#[post("/twice")]
#[auth(public)]
#[limit(body = "1 MiB", timeout = "5s", body = "2 MiB")]
async fn twice() {}

#[post("/whole")]
#[auth(public)]
#[limit(UPLOADS, timeout = "5s")]
async fn whole() {}

#[post("/call")]
#[auth(public)]
#[limit(Limits::NONE.body(5))]
async fn call() {}

#[post("/units")]
#[auth(public)]
#[limit(body = "1 mb", timeout = "5", rate = "100 per minute")]
async fn units() {}

#[post("/zero")]
#[auth(public)]
#[limit(body = "0 KiB", timeout = "0ms", rate = "0/min", concurrency = 0)]
async fn zero() {}

#[post("/huge")]
#[auth(public)]
#[limit(body = "17179869184 GiB", timeout = "1441m", rate = "4294967296/s", concurrency = 4294967296)]
async fn huge() {}

#[post("/principal")]
#[auth(public)]
#[limit(rate = "100/min per principal")]
async fn principal() {}

#[get("/sockets")]
#[auth(public)]
#[limit(message = "0 B", silence = "25h", sockets = 0, sockets_per_caller = 0)]
async fn sockets() {}

#[get("/values-of-sockets")]
#[auth(public)]
#[limit(message = "5", silence = "1441m", sockets = "5", sockets_per_caller = -1)]
async fn values_of_sockets() {}

#[get("/misses")]
#[auth(public)]
#[limit(misses = "20/min per principal")]
async fn misses() {}

#[get("/values-of-misses")]
#[auth(public)]
#[limit(misses = 20)]
async fn values_of_misses() {}

#[get("/no-misses")]
#[auth(public)]
#[limit(misses = "0/min")]
async fn no_misses() {}

#[post("/second")]
#[auth(public)]
#[limit(body = "1 MiB")]
#[limit(timeout = "5s")]
async fn second() {}

#[limit(body = "1 MiB")]
async fn no_route() {}

fn main() {
    let _ = App::new(()).routes(routes![
        nothing, unknown, values, texts, twice, whole, call, units, zero, huge, principal, sockets,
        values_of_sockets, misses, values_of_misses, no_misses, second,
    ]);
}

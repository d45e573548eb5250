//! What `#[headers]` and `#[isolation]` read.
use policy_server::prelude::*;

#[get("/nothing")]
#[auth(public)]
#[headers]
async fn nothing() {}

#[get("/unknown")]
#[auth(public)]
#[headers(nosniff, content_security_policy = "default-src 'self'", 5)]
async fn unknown() {}

#[get("/values")]
#[auth(public)]
#[headers(csp, frame =, preload = true, referrer = NAMED, hsts = "a year")]
async fn values() {}

#[get("/lists")]
#[auth(public)]
#[headers(frame = nobody, permissions = "camera=()")]
async fn lists() {}

#[get("/named-lists")]
#[auth(public)]
#[headers(frame = ["https://a.example", NAMED], permissions = ["camera=()", NAMED])]
async fn named_lists() {}

#[get("/twice")]
#[auth(public)]
#[headers(coop = "same-origin", frame = any, hsts = 60, preload, coop = "unsafe-none", frame = none, hsts = 0, preload)]
async fn twice() {}

#[get("/merged")]
#[auth(public)]
#[headers(NAMED, corp = "same-origin")]
async fn merged() {}

#[get("/none")]
#[auth(public)]
#[headers(none, every_response)]
async fn none() {}

#[get("/second")]
#[auth(public)]
#[headers(none)]
#[headers(NAMED)]
async fn second() {}

#[get("/from-nobody")]
#[auth(public)]
#[isolation]
async fn from_nobody() {}

#[get("/from-many")]
#[auth(public)]
#[isolation(same_origin, same_site)]
async fn from_many() {}

#[get("/from-unknown")]
#[auth(public)]
#[isolation(cross_origin)]
async fn from_unknown() {}

#[isolation(same_site)]
#[headers(none)]
async fn no_route() {}

fn main() {
    let _ = App::new(()).routes(routes![nothing, second, from_nobody]);
}

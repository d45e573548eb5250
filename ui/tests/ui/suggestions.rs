//! A word that is nearly right.
#![allow(unused_variables)]
use policy_server::prelude::*;

#[get("/1")]
#[auth(sesion)]
async fn session() {}

#[get("/2")]
#[auth(session | toekn, role = ["admin"], scope = ["a"])]
async fn rights() {}

#[get("/3")]
#[auth(public)]
#[cors(orgins = ["https://a.example"], expose_headers = ["etag"], allow_credentials, maxage = 60)]
async fn cors() {}

#[get("/4")]
#[auth(public)]
#[cache(publik, maxage = 60)]
async fn cache() {}

#[post("/5")]
#[auth(session)]
#[csrf(exmept = "why")]
async fn csrf() {}

#[get("/6")]
#[auth(public)]
#[limit(rates = "5/s", time_out = "1s", size = "1 MiB")]
async fn limit() {}

#[get("/7")]
#[auth(public)]
#[headers(content_security_policy = "default-src 'self'", frame = sameorigin, refferer = "no-referrer")]
async fn headers() {}

#[get("/8")]
#[auth(public)]
#[isolation(same_orign)]
async fn isolation() {}

#[get("/9")]
#[auth(public)]
#[jsonp(calback = "cb")]
async fn jsonp() -> Json<u8> {
    Json(1)
}

#[get("/10")]
#[auth(public)]
#[cors(banana)]
async fn unlike_any() {}

fn main() {}

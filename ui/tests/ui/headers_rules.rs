//! Values that the fields do not have, and promises that are not whole.
use policy_server::prelude::*;

#[get("/values")]
#[auth(public)]
#[headers(referrer = "never", coop = "Same-Origin", coep = "require", corp = "none")]
async fn values() {}

#[get("/frames")]
#[auth(public)]
#[headers(frame = ["https://a.example", "https://b.example/", "*"])]
async fn frames() {}

#[get("/no-frames")]
#[auth(public)]
#[headers(frame = [])]
async fn no_frames() {}

#[get("/permissions")]
#[auth(public)]
#[headers(permissions = ["camera=()", "microphone=none", "camera=(self)"])]
async fn permissions() {}

#[get("/seconds")]
#[auth(public)]
#[headers(hsts = -1)]
async fn seconds() {}

#[get("/no-subdomains")]
#[auth(public)]
#[headers(preload)]
async fn no_subdomains() {}

#[get("/month")]
#[auth(public)]
#[headers(hsts = 2592000, include_subdomains, preload)]
async fn month() {}

#[get("/shared")]
#[auth(public)]
#[jsonp(callback = "cb")]
#[headers(corp = "same-site")]
async fn shared() {}

fn main() {}

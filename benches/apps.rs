//! The apps of other origins that all peers let read responses.

use policy_server::prelude::*;

pub(crate) const APPS: CorsPolicy = CorsPolicy::origins(&[
    "https://app.example.com",
    "https://admin.example.com",
    "https://shop.example.org",
])
.credentials()
.methods(&["GET", "PUT"])
.headers(&["content-type", "x-request-id"])
.expose(&["x-request-id"])
.max_age(600)
.build();

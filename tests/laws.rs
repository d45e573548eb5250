//! The laws of cross-origin sharing, on generated policies, apps, requests and pages; in `auth`
//! those of sessions, tokens, anti-forgery and caches, and in `http` those of HTTP itself.
//!
//! Each law is a test that is named as a statement, with the law in words above it. A law also
//! fails if too few of its cases were interesting. `PROPTEST_CASES` sets their number.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what a test cannot do without fails it"
)]
#![expect(clippy::print_stdout, reason = "laws say how often they were put to the test")]

#[path = "laws/auth/mod.rs"]
mod auth;
#[path = "support/config.rs"]
mod config;
#[path = "support/exchange.rs"]
#[allow(dead_code, reason = "others use the rest")]
mod exchange;
#[path = "support/fetch.rs"]
#[allow(dead_code, reason = "others use the rest")]
mod fetch;
#[path = "laws/generate.rs"]
mod generate;
#[path = "laws/http/mod.rs"]
mod http_laws;
#[path = "support/law.rs"]
mod law;
#[path = "support/oracle.rs"]
mod oracle;
#[path = "laws/origins.rs"]
mod origins;
#[path = "laws/policies.rs"]
mod policies;
#[path = "laws/shared_cache.rs"]
mod shared_cache;
#[path = "support/store.rs"]
#[allow(dead_code, reason = "others use the rest")]
mod store;
#[path = "laws/theorems/mod.rs"]
mod theorems;
#[path = "laws/world.rs"]
mod world;

//! The final `Cache-Control`: case by case, and its laws against a cache of RFC 9111 that is
//! written here from the text of the standard.
#![cfg(feature = "engine")]
#![expect(clippy::expect_used, reason = "what a test cannot do without fails it")]
#![expect(
    clippy::panic,
    clippy::print_stdout,
    reason = "laws fail, and say how often they were put to the test"
)]

#[path = "../../../tests/support/law.rs"]
mod law;
mod laws;
mod standard;
mod table;

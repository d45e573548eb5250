//! Laws of cookies, origin verdicts, caching, callbacks and redirect targets, each against an
//! oracle of its own.
#![cfg(feature = "engine")]
#![expect(
    clippy::panic,
    clippy::print_stdout,
    reason = "laws fail, and say how often they were put to the test"
)]

mod caching;
mod cookies;
mod csrf;
#[path = "../../../tests/support/law.rs"]
mod law;
mod names;

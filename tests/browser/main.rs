//! Real browsers: Chromium and Firefox, which plain `cargo test` cannot expect. `cargo xtask test`
//! installs them and runs these tests too.
#![expect(clippy::expect_used, clippy::panic, reason = "what a test cannot do without fails it")]
#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]
#![expect(clippy::print_stdout, reason = "a long run says how far it is")]

mod arrivals;
mod auth;
mod diff;
mod guide;
mod http;
mod quickstart;

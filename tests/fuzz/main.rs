//! Parsers of what strangers send, against inputs that change at random: nothing panics, nothing
//! takes more memory than its input warrants, and every verdict is that of a second reading, which
//! is written from the standards.
//!
//! Without instrumentation of the compiler, which takes a nightly one: each check says what the
//! input did, and an input that did something new is kept and changed further. As a test each
//! target runs the same few thousand inputs; `cargo xtask long fuzz` runs others for as long as it
//! is told to.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "what a test cannot do without fails it"
)]

mod engine;
mod mutate;
mod requests;
mod targets;
mod verdict;

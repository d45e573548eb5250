//! Parsers of untrusted input, run on random inputs: nothing panics, no memory is used out of
//! proportion to the input, and every verdict agrees with a second implementation that is written
//! from the standards.
//!
//! Compiler instrumentation would need nightly Rust. Instead each check returns the behaviour that
//! an input caused, and an input with new behaviour is kept and changed further. As a test, each
//! target runs the same few thousand inputs; `cargo xtask long fuzz` runs new ones for a given
//! time.
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

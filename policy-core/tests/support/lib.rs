//! What tests of the engine share with those of the server: the words that cases are written in,
//! what they expect, and how a law is put to the test.
#![expect(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a part of tests: what they cannot do without fails them"
)]

pub mod assembly;
pub mod case;
mod config;
pub mod exchange;
pub mod law;
pub mod verdict;

//! The code that tests of the engine share with tests of the server: the vocabulary of cases, their
//! expectations, the runner of laws, what caches read, and folders for tests.
#![expect(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a part of tests: what they cannot do without fails them"
)]

pub mod assembly;
pub mod caching;
pub mod case;
mod config;
pub mod exchange;
pub mod folder;
pub mod law;
pub mod verdict;

//! The engine and the model of a browser, tested with recorded cases: those of `tests/cases`, the
//! vectors of the standards, and Wycheproof's.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what a test cannot do without fails it"
)]

mod auth;
mod browser;
mod cors;
mod public_suffixes;
mod regions;
mod tokens;

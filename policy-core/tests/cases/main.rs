//! The engine, tested with recorded cases: those of `tests/cases`, the vectors of the standards,
//! and Wycheproof's.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what a test cannot do without fails it"
)]

mod auth;
mod cors;
mod public_suffixes;
mod tokens;

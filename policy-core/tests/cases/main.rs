//! The engine and the model of a browser against cases that are written down: those of
//! `tests/cases`, the vectors of the standards, and those of Wycheproof.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what a test cannot do without fails it"
)]

mod auth;
mod browser;
mod cors;
mod tokens;

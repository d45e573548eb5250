//! Tokens against `tests/cases/auth.json`, the vectors of the standards, those of Wycheproof, and
//! laws.
#![cfg(feature = "engine")]
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what a test cannot do without fails it"
)]

#[cfg(feature = "asym")]
#[path = "tokens/asym.rs"]
mod asym;
#[path = "tokens/cases.rs"]
mod cases;
#[path = "tokens/laws.rs"]
mod laws;
#[path = "tokens/vectors.rs"]
mod vectors;
#[path = "tokens/wycheproof.rs"]
mod wycheproof;

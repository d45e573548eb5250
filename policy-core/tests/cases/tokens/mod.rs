//! Tokens, tested with `tests/cases/auth.json`, the vectors of the standards and of Wycheproof, and
//! laws.

mod asym;
mod cases;
mod laws;
mod vectors;
mod wycheproof;

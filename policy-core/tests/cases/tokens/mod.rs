//! Tokens against `tests/cases/auth.json`, the vectors of the standards, those of Wycheproof, and
//! laws.

mod asym;
mod cases;
mod laws;
mod vectors;
mod wycheproof;

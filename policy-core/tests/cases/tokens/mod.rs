//! Tokens, tested with `tests/cases/auth.json`, the vectors of the standards, the classes
//! of faults of Wycheproof, and laws.

mod asym;
mod cases;
mod laws;
mod signatures;
mod vectors;

//! Laws of security fields and of resource isolation, each against an oracle of its own.
#![cfg(feature = "engine")]
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "laws fail, and say how often they were put to the test"
)]

mod contents;
mod fields;
mod isolation;
#[path = "../../../tests/support/law.rs"]
mod law;

//! Stores that several instances share, on real servers.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what a test cannot do without fails it"
)]

mod history;
mod instances;
mod pair;
mod postgres;
mod redis;
mod site;

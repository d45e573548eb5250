//! Stores that several instances share, on real servers.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what a test cannot do without fails it"
)]

mod history;
mod postgres;
mod site;

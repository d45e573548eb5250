//! Stores that several instances share, on real servers.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "what a test cannot do without fails it"
)]

mod faults;
mod files;
mod histories;
mod history;
mod instances;
mod killed;
mod limits;
mod moving;
mod origins;
mod outages;
mod pair;
mod postgres;
mod records;
mod redis;
mod rollback;
mod site;

//! `cargo policy audit` of a real app behind real proxies: honest ones, and ones that break its policy.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and shows what was found"
)]

mod app;
mod broken_haproxy;
mod broken_nginx;
mod honest;
mod network;
mod wrong_use;

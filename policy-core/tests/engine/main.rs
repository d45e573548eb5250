//! The engine by example: whole responses, sets and lists of origins, and visits of a browser.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "what a test cannot do without fails it"
)]

mod browser_visits;
mod builders;
mod origin_sets;
mod responses;
mod run_time_origins;

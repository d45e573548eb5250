//! The engine by example: whole answers, sets and lists of origins, and visits of a browser.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "what a test cannot do without fails it"
)]

mod answers;
mod browser_visits;
mod origin_sets;
mod run_time_origins;

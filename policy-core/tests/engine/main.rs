//! The engine by example: whole responses, sets and lists of origins.
#![expect(clippy::expect_used, reason = "what a test cannot do without fails it")]

mod builders;
mod origin_sets;
mod responses;
mod run_time_origins;

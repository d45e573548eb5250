//! Laws of the engine, on generated cases, each with a separate oracle.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "laws fail, and say how often they were put to the test"
)]

mod auth;
mod caching;
mod floods;
mod forwarded;
mod headers;
mod http;
mod limits;
mod tables;
mod traces;

use policy_core_tests::law::{Precondition, holds};
use proptest::strategy::Strategy;

/// With proptest's limit of rejects, which does not depend on the number of cases, such a law would
/// be aborted.
#[test]
fn a_law_whose_cases_are_rare_is_tested_with_all_of_them() {
    let rare = (0..100_u8).prop_filter("another number", |number| *number == 0);
    holds("rare", 100, rare, |_zero| Ok(Precondition::Met));
}

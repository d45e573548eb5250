//! Laws of sets of origins, and of the order of policies, on generated cases.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "what a test cannot do without fails it"
)]

mod conditions;
mod growth;
mod headers;
mod order;
mod regions;
mod rules;

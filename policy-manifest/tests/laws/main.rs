//! Laws of sets of origins, and of the order of policies, on generated cases.
#![expect(clippy::expect_used, reason = "what a test cannot do without fails it")]

mod conditions;
mod growth;
mod headers;
mod order;
mod regions;
mod rules;

//! Laws of sets of origins, on generated cases.
#![expect(clippy::expect_used, reason = "what a test cannot do without fails it")]

mod regions;

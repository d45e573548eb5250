//! Sets of origins, tested with recorded cases, and the recipes of rules.
#![expect(clippy::expect_used, clippy::panic, reason = "what a test cannot do without fails it")]

mod recipes;
mod regions;

//! Sets of origins, tested with recorded cases.
#![expect(clippy::expect_used, clippy::panic, reason = "what a test cannot do without fails it")]

mod regions;

//! `policy_tests!` for apps: those of the examples, one that uses every attribute, a large one,
//! and some that break laws on purpose.

#![expect(clippy::expect_used, clippy::panic, reason = "what a test cannot do without fails it")]

#[path = "proof/broken.rs"]
mod broken;
#[path = "proof/every_attribute.rs"]
mod every_attribute;
#[path = "proof/examples.rs"]
mod examples;
#[path = "proof/large.rs"]
mod large;

policy_server::policy_tests!(everything: crate::every_attribute::app());

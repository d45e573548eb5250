//! `policy_tests!` for apps: those of the examples, one that uses every attribute, a large one,
//! and some that break laws on purpose.

#[path = "proof/every_attribute.rs"]
mod every_attribute;

policy_server::policy_tests!(everything: crate::every_attribute::app());

//! `policy_tests!` for apps: those of the examples, one that uses every attribute, a large one,
//! and some that break laws on purpose.

#[path = "proof/every_attribute.rs"]
mod every_attribute;
#[path = "proof/large.rs"]
mod large;

policy_server::policy_tests!(everything: crate::every_attribute::app());
policy_server::policy_tests!(twenty_policies: crate::large::app(20));
policy_server::policy_tests!(hundred_policies: crate::large::app(100));

//! `policy_tests!` for apps: those of the examples, one that uses every attribute, a large one,
//! and some that break laws on purpose.

mod awaited;
mod broken;
mod clauses;
mod every_attribute;
mod large;
mod report_only;

policy_server::policy_tests!(everything: crate::proof::every_attribute::app());

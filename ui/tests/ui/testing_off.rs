//! `policy_tests!` without the feature `testing`: nothing outside of tests, and what it expands to in
//! tests is an error.

policy_server::policy_tests!(no_such_app());
policy_server::policy_tests!(named: no_such_app());

policy_server::__policy_laws!(policy_laws: no_such_app());

fn main() {}

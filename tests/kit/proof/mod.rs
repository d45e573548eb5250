//! `policy_tests!` for apps: those of the examples, one that uses every attribute, a large one,
//! and some that break laws on purpose.

mod awaited;
mod broken;
mod clauses;
mod every_attribute;
mod large;
mod report_only;

use policy_server::{
    App,
    codegen::{Law, prove},
};

/// The laws that an app breaks, with their messages.
fn refutations(app: App<()>) -> (Vec<Law>, Vec<String>) {
    let proof = prove(app);
    let all = Law::ALL.into_iter().map(|law| (law, proof.refutation(law)));
    all.filter(|(_, text)| !text.is_empty()).unzip()
}

policy_server::policy_tests!(everything: crate::proof::every_attribute::app());

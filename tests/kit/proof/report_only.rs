//! An app that observes a candidate, on all requests that it can tell apart.

use policy_server::{
    candidate::Candidate, manifest::Manifest, prelude::*, testing::every_exchange,
};

use super::every_attribute;

/// Decides everything by the candidate, too.
fn observed(app: App<()>, manifest: Manifest) -> Candidate {
    let candidate = Candidate::new(manifest);
    every_exchange(app.report_only(&candidate), |_exchange| ());
    candidate
}

#[test]
fn nothing_differs_from_the_policy_in_force() {
    let app = every_attribute::app();
    let manifest = app.manifest();
    let own = observed(app, manifest);
    let (counts, differences) = (own.counts(), own.differences());
    assert!(differences.is_empty(), "{counts:?}, {differences:#?}");
    // A candidate that decides nothing would agree, too.
    assert!(counts.agreed > 10_000 && counts.undecided * 100 < counts.agreed, "{counts:?}");
}

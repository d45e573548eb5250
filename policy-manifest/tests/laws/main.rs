//! Laws of sets of origins, and of the order of policies, on generated cases.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "what a test cannot do without fails it"
)]

mod conditions;
mod growth;
mod headers;
mod order;
mod regions;
mod rules;

use policy_manifest::{Direction, Manifest, changes};

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

/// Whether a change of a policy opens, and whether it narrows.
fn effects(old: &Manifest, new: &Manifest) -> (bool, bool) {
    let changes = changes(old, new).expect("two policies");
    let any = |is: fn(Direction) -> bool| changes.iter().any(|change| is(change.direction));
    (any(Direction::opens), any(Direction::narrows))
}

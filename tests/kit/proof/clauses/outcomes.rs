//! Routes refuse as they are documented. No layer can break it, since the law judges what the app
//! responds behind the layers. Faults in the documented responses of a route do, one for each clause.

use super::*;
use crate::proof::every_attribute;

#[test]
fn every_attribute_is_documented() {
    prove(every_attribute::app()).check(Law::DocumentedOutcomes);
}

#[test]
fn routes_behind_layers_are_judged_by_what_the_app_responds() {
    let app = responding(with_sessions().routes(routes![orders]), |_, response| {
        if response.status() == 401 {
            *response.status_mut() = StatusCode::IM_A_TEAPOT;
        }
    });
    let proof = prove(app);
    assert_eq!(proof.refutation(Law::DocumentedOutcomes), "");
    let text = proof.confirmation(Law::DocumentedOutcomes);
    assert!(!text.contains(": 0 cases"), "{text}");
}

/// A mount serves HEAD as a method of its own, and its refusals have no body that states their code.
#[test]
fn refusals_of_head_occur() {
    let files = Mount::new(axum::Router::new()).auth(AuthRequirement::session());
    breaks_none(with_sessions().mount("/files", files));
}

//! Routes refuse as they are documented. No layer can break it, since layers may respond. Faults in
//! the documented responses of a route do, one for each clause.

use super::*;
use crate::proof::every_attribute;

#[test]
fn every_attribute_is_documented() {
    prove(every_attribute::app()).check(Law::DocumentedOutcomes);
}

#[test]
fn layers_around_an_app_may_respond() {
    let app = app().layer(MapRequestLayer::new(|request: Request| request));
    let proof = prove(app.routes(routes![open]));
    assert_eq!(proof.refutation(Law::DocumentedOutcomes), "");
}

#[get("/open")]
#[auth(public)]
async fn open() {}

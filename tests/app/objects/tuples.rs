//! Extractors that are one argument together, as manifests describe them.

use policy_server::{
    FromRequestParts,
    extract::ContextRejection,
    http::{HeaderMap, request::Parts},
    manifest::{Manifest, ManifestRoute},
};
use serde::Deserialize;

use super::*;

/// An extractor of which nothing is known.
struct Unknown;

impl<S: Sync> FromRequestParts<S> for Unknown {
    type Rejection = Infallible;

    async fn from_request_parts(_: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self)
    }
}

#[derive(Deserialize)]
struct Move {
    order_id: u64,
}

#[get("/three")]
#[auth(scheme = CallerScheme)]
async fn three((_orders, _addr, _fields): (Scope<Order>, ClientAddr, HeaderMap)) {}

#[get("/unknown")]
#[auth(scheme = CallerScheme)]
async fn unknown((_orders, _unknown): (Lookup<Order, Edit>, Unknown)) {}

type Three = (Scope<Order>, ClientAddr, HeaderMap);

#[get("/alias")]
#[auth(scheme = CallerScheme)]
async fn alias(_alias: Three) {}

#[get("/result")]
#[auth(scheme = CallerScheme)]
async fn in_result(_orders: Result<(Scope<Order>, ClientAddr, HeaderMap), Response>) {}

#[get("/tuple")]
#[auth(scheme = CallerScheme)]
async fn in_tuple(_tuple: (ClientAddr, (Unknown, Result<Scope<Order>, ContextRejection>))) {}

#[post("/body")]
#[auth(scheme = CallerScheme)]
async fn body((_addr, _fields, Json(moved)): (ClientAddr, HeaderMap, Json<Move>)) -> String {
    moved.order_id.to_string()
}

#[post("/exempt")]
#[auth(scheme = CallerScheme)]
#[object(none = "ids are only stored")]
async fn exempt((_addr, Json(moved)): (ClientAddr, Json<Move>)) -> String {
    moved.order_id.to_string()
}

fn manifest() -> Manifest {
    let routes = routes![three, unknown, alias, in_result, in_tuple, body, exempt];
    App::new(Orders::sample()).scheme(CallerScheme).routes(routes).manifest()
}

fn route<'a>(manifest: &'a Manifest, method: &str, path: &str) -> &'a ManifestRoute {
    manifest.route(method, path).expect("a route of the app")
}

#[test]
fn no_tuple_hides_an_object_from_the_manifest() {
    let manifest = manifest();
    for (path, action) in [
        ("/three", "view"),
        ("/unknown", "edit"),
        ("/alias", "view"),
        ("/result", "view"),
        ("/tuple", "view"),
    ] {
        let objects = route(&manifest, "GET", path).object.clone().unwrap_or_default();
        let found: Vec<_> =
            objects.uses.iter().map(|it| (it.object.as_str(), it.action.as_str())).collect();
        assert_eq!(found, [("Order", action)], "{path}");
    }
    assert!(route(&manifest, "GET", "/unknown").handler.open, "its problems are unknown");
    assert!(!route(&manifest, "GET", "/three").handler.open);
}

#[test]
fn no_tuple_hides_a_field_like_an_id_from_the_manifest() {
    let manifest = manifest();
    for (path, fields) in [("/body", &["order_id"][..]), ("/exempt", &[])] {
        let objects = route(&manifest, "POST", path).object.clone().unwrap_or_default();
        assert_eq!(objects.fields.iter().collect::<Vec<_>>(), fields, "{path}");
    }
}

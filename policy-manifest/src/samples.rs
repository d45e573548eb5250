//! Policies with which tests begin.

use std::collections::BTreeMap;

pub(crate) use crate::facets::texts;
use crate::{
    Manifest, ManifestRoute, ObjectKey, ObjectUse, RouteCors, RouteObjects, RouteOrigins,
    RouteRequirement, RuntimeOrigins, SessionFacts, TokenFacts,
};

/// The origin of the app.
pub(crate) const OWN: &str = "https://api.shop.example";

/// An app of these routes, with sessions and with tokens of its own.
pub(crate) fn app(routes: Vec<ManifestRoute>) -> Manifest {
    let mut manifest = Manifest::new();
    manifest.app.public_origin = Some(OWN.to_owned());
    manifest.app.sessions = Some(SessionFacts::new("memory", "__Host-sid", "lax"));
    manifest.app.tokens = Some(tokens());
    manifest.routes = routes;
    manifest
}

/// Tokens that the app issues.
pub(crate) fn tokens() -> TokenFacts {
    TokenFacts { issuer: Some(OWN.to_owned()), ..TokenFacts::default() }
}

pub(crate) fn session() -> RouteRequirement {
    RouteRequirement { session: true, ..RouteRequirement::default() }
}

pub(crate) fn token() -> RouteRequirement {
    RouteRequirement { token: true, ..RouteRequirement::default() }
}

pub(crate) fn cors(origins: &[&str], credentials: bool) -> RouteCors {
    RouteCors { credentials, ..RouteCors::new(RouteOrigins::Listed(texts(origins))) }
}

/// The origins of the list `partners`, which is given at run time.
pub(crate) fn partners(within: Option<&[&str]>) -> RouteOrigins {
    let within = within.map(texts);
    RouteOrigins::AtRunTime(RuntimeOrigins { list: "partners".to_owned(), within, by: None })
}

/// The policy of a route that checks an order for this action.
pub(crate) fn order(action: &str, key: ObjectKey) -> RouteObjects {
    let (object, action) = ("Order".to_owned(), action.to_owned());
    RouteObjects::new([ObjectUse { object, action, key }])
}

/// The key in the parameter `id`.
pub(crate) fn id() -> ObjectKey {
    ObjectKey::Parameter("id".to_owned())
}

pub(crate) fn object_rules(rules: &[(&str, &str)]) -> BTreeMap<String, String> {
    rules.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

//! What a route can respond with instead of serving a request. Documents, tables and laws read this
//! and have no list of their own.

use std::collections::BTreeMap;

use policy_core::{
    Refusal,
    auth::OWN_ISSUER,
    method::is_safe,
    outcome::{ArgumentKind, EVERY_REQUEST},
};

use crate::{
    Manifest, ManifestRoute, OwnProblem, RouteKind,
    facets::{self, MethodRequests},
};

/// What a route can respond with instead of serving a request of one method.
///
/// What every request can meet is not listed: see [`EVERY_REQUEST`].
///
/// ```
/// use policy_manifest::{Auth, Manifest, ManifestRoute, RouteRequirement};
///
/// let requirement = RouteRequirement { token: true, ..RouteRequirement::default() };
/// let mut manifest = Manifest::new();
/// let route = ManifestRoute::handler("/orders", ["GET"], Auth::Required(requirement));
/// let outcomes = manifest.outcomes(&route, "GET");
/// assert_eq!(outcomes.by_status().into_keys().collect::<Vec<_>>(), [400, 401, 500, 503]);
/// assert!(outcomes.by_status()[&401].contains(&Some("auth.token-expired")));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcomes {
    /// The refusals of gates and of arguments, by status and code.
    pub refusals: Vec<Refusal>,
    /// The problems that the handler declares.
    pub problems: Vec<OwnProblem>,
    /// Whether what serves the route may respond with errors that it does not declare.
    pub is_open: bool,
    /// Whether a navigation without a session is redirected to the login page (303).
    pub has_login_page: bool,
}

impl Outcomes {
    /// The codes of each status, in their order; `None` is a problem without a code.
    pub fn by_status(&self) -> BTreeMap<u16, Vec<Option<&str>>> {
        let refusals = self.refusals.iter().map(|it| (it.status(), Some(it.code())));
        let problems = self.problems.iter().map(|it| (it.status, it.code.as_deref()));
        let mut found: BTreeMap<u16, Vec<Option<&str>>> = BTreeMap::new();
        for (status, code) in refusals.chain(problems) {
            found.entry(status).or_default().push(code);
        }
        for codes in found.values_mut() {
            codes.sort_unstable();
            codes.dedup();
        }
        found
    }

    /// Whether a request that does not reach what serves the route can get a response of this status and
    /// code; `None` is any code.
    pub fn refuse(&self, status: u16, code: Option<&str>) -> bool {
        let is = |refusal: &Refusal| {
            refusal.status() == status && code.is_none_or(|code| refusal.code() == code)
        };
        self.refusals.iter().chain(EVERY_REQUEST).any(is) || (self.has_login_page && status == 303)
    }
}

impl Manifest {
    /// What a route can respond with instead of serving a request of this method.
    pub fn outcomes(&self, route: &ManifestRoute, method: &str) -> Outcomes {
        let requests = MethodRequests { manifest: self, route, method };
        let mut refusals = Vec::new();
        add_kind_refusals(requests, &mut refusals);
        facets::ALL.iter().for_each(|facet| (facet.refusals)(requests, &mut refusals));
        refusals.sort_unstable_by_key(|refusal| (refusal.status(), refusal.code()));
        refusals.dedup();
        let requirement = route.auth.requirement();
        let requires_session = requirement.is_some_and(|it| it.session && !it.optional);
        Outcomes {
            refusals,
            problems: route.handler.problems.clone(),
            is_open: route.kind.is_service() || route.handler.open || !route.layers.is_empty(),
            has_login_page: requires_session
                && method == "GET"
                && self.app.sessions.as_ref().is_some_and(|facts| facts.login_page.is_some()),
        }
    }
}

/// Adds the refusals of what serves the route.
fn add_kind_refusals(requests: MethodRequests<'_>, found: &mut Vec<Refusal>) {
    let route = requests.route;
    match route.kind {
        RouteKind::Handler => add_handler_refusals(requests, found),
        RouteKind::Proxy => found.extend([
            Refusal::ProxyPath,
            Refusal::UpstreamUnreachable,
            Refusal::UpstreamAnswer,
            Refusal::UpstreamTimedOut,
        ]),
        RouteKind::Tunnel => found.extend([
            Refusal::TunnelOrigin,
            Refusal::TunnelTarget,
            Refusal::TunnelAddress,
            Refusal::TunnelUnreachable,
            Refusal::TunnelTimedOut,
            Refusal::ConcurrencyExceeded,
        ]),
        RouteKind::Probe => {
            found.extend([
                Refusal::ServerStopping,
                Refusal::StoredListOutdated,
                Refusal::SessionStore,
                Refusal::TokenStoreUnavailable,
            ]);
        }
        RouteKind::NotFound => found.push(Refusal::RouteNotFound),
        RouteKind::Mount | RouteKind::Fallback => (),
    }
    if !matches!(route.kind, RouteKind::Probe | RouteKind::NotFound) {
        found.push(Refusal::Internal);
    }
}

fn add_handler_refusals(requests: MethodRequests<'_>, found: &mut Vec<Refusal>) {
    let MethodRequests { route, method, .. } = requests;
    let is_read = matches!(method, "GET" | "HEAD");
    // The rules of objects are about users of the app.
    let checks_objects = route.object.as_ref().is_some_and(|objects| !objects.uses.is_empty());
    let user = checks_objects.then_some(&ArgumentKind::User);
    for taken in route.handler.takes.iter().chain(user) {
        match taken {
            // As in HTML, a form is in the query of a GET.
            ArgumentKind::Form if is_read => found.push(Refusal::QueryInvalid),
            ArgumentKind::Session | ArgumentKind::Sessions if is_safe(method) => {
                found.extend(taken.refusals().iter().copied());
                found.push(Refusal::LoginNavigation);
            }
            ArgumentKind::User if !takes_foreign_tokens(requests) => (),
            ArgumentKind::ReadConditions | ArgumentKind::Range if !is_read => (),
            taken => found.extend(taken.refusals().iter().copied()),
        }
    }
    match method {
        "PUT" => found.push(Refusal::ContentRange),
        "QUERY" => found.push(Refusal::MediaType),
        _ => (),
    }
}

/// Whether its callers may be users of another issuer. If it names no issuer, it takes the tokens of the
/// app, or those of the only issuer of an app that signs none.
fn takes_foreign_tokens(MethodRequests { manifest, route, .. }: MethodRequests<'_>) -> bool {
    let Some(requirement) = route.auth.requirement() else { return false };
    let Some(tokens) = &manifest.app.tokens else { return false };
    let is_other = |name: &String| name != OWN_ISSUER && tokens.issuer.as_ref() != Some(name);
    let takes_others = match requirement.issuers.as_slice() {
        [] => tokens.issuer.is_none(),
        named => named.iter().any(is_other),
    };
    (requirement.token || requirement.ticket) && !tokens.accepts.is_empty() && takes_others
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Auth, IssuerFacts, ObjectKey, RouteRequirement,
        samples::{OWN, app, id, object_rules, order, texts, token},
    };

    /// The tokens of another issuer name users who could have the names of others.
    #[test]
    fn a_route_for_users_refuses_those_of_the_issuers_that_it_takes() {
        const PARTNER: &str = "https://id.partner.example";
        let refuses = |issuers: &[&str], signs: bool, key: Option<ObjectKey>| {
            let requirement = RouteRequirement { issuers: texts(issuers), ..token() };
            let mut route = ManifestRoute::handler("/orders", ["GET"], Auth::Required(requirement));
            match key {
                None => route.handler.takes.push(ArgumentKind::User),
                Some(key) => route.object = Some(order("view", key)),
            }
            let mut manifest = app(Vec::new());
            if let Some(tokens) = &mut manifest.app.tokens {
                tokens.accepts.push(IssuerFacts::new(PARTNER));
                tokens.issuer.take_if(|_| !signs);
            }
            manifest.outcomes(&route, "GET").refuse(403, Some("auth.caller-foreign"))
        };
        for key in [None, Some(id()), Some(ObjectKey::Handler), Some(ObjectKey::List)] {
            for (issuers, signs, expected) in [
                (&[OWN_ISSUER][..], true, false),
                (&[OWN], true, false),
                (&[], true, false),
                (&[], false, true),
                (&[OWN_ISSUER, PARTNER], true, true),
            ] {
                assert_eq!(refuses(issuers, signs, key.clone()), expected, "{issuers:?} {key:?}");
            }
        }
    }

    #[test]
    fn a_route_refuses_by_the_objects_that_it_loads() {
        let not_found = Refusal::ObjectNotFound;
        for (action, key, expected) in [
            ("view", id(), &[not_found][..]),
            ("edit", id(), &[Refusal::ObjectDenied, not_found]),
            ("edit", ObjectKey::Handler, &[Refusal::ObjectDenied, not_found]),
            ("edit", ObjectKey::List, &[]),
            ("pay", id(), &[Refusal::ObjectDenied, not_found, Refusal::EngineUnavailable]),
            ("pay", ObjectKey::List, &[]),
        ] {
            let mut route = ManifestRoute::handler("/orders/{id}", ["PUT"], Auth::Public);
            route.object = Some(order(action, key));
            let mut manifest = Manifest::new();
            manifest.objects = object_rules(&[
                ("Order.view", "anyone"),
                ("Order.edit", "owner(user)"),
                ("Order.pay", "owner(user) | engine"),
            ]);
            let found = manifest.outcomes(&route, "PUT").refusals;
            let found: Vec<_> =
                found.into_iter().filter(|it| it.code().starts_with("object.")).collect();
            assert_eq!(found, expected, "{action}");
        }
    }
}

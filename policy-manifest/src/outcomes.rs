//! What a route can respond with instead of serving a request. Documents, tables and laws read this
//! and have no list of their own.

use std::collections::BTreeMap;

use policy_core::{
    Refusal,
    method::is_safe,
    outcome::{ArgumentKind, EVERY_REQUEST},
};

use crate::{
    Auth, Csrf, Manifest, ManifestRoute, ObjectKey, ObjectUse, OwnProblem, RouteKind,
    RouteRequirement, facets::VIEW,
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
        let mut found = Found { manifest: self, route, method, refusals: Vec::new() };
        found.of_kind();
        found.of_auth();
        found.of_csrf();
        found.of_limits();
        found.of_objects();
        if route.isolation.is_some() {
            found.add([Refusal::CrossSite]);
        }
        if route.jsonp.is_some() {
            found.add([Refusal::CallbackInvalid]);
        }
        let mut refusals = found.refusals;
        refusals.sort_unstable_by_key(|refusal| (refusal.status(), refusal.code()));
        refusals.dedup();
        let requires_session = matches!(
            &route.auth,
            Auth::Required(RouteRequirement { session: true, optional: false, .. })
        );
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

/// The refusals of one route that are found so far.
struct Found<'a> {
    manifest: &'a Manifest,
    route: &'a ManifestRoute,
    method: &'a str,
    refusals: Vec<Refusal>,
}

impl Found<'_> {
    fn add(&mut self, refusals: impl IntoIterator<Item = Refusal>) {
        self.refusals.extend(refusals);
    }

    /// The refusals of what serves the route.
    fn of_kind(&mut self) {
        match self.route.kind {
            RouteKind::Handler => self.of_handler(),
            RouteKind::Proxy => self.add([
                Refusal::ProxyPath,
                Refusal::UpstreamUnreachable,
                Refusal::UpstreamAnswer,
                Refusal::UpstreamTimedOut,
            ]),
            RouteKind::Tunnel => self.add([
                Refusal::TunnelOrigin,
                Refusal::TunnelTarget,
                Refusal::TunnelAddress,
                Refusal::TunnelUnreachable,
                Refusal::TunnelTimedOut,
                Refusal::ConcurrencyExceeded,
            ]),
            RouteKind::Probe => {
                self.add([
                    Refusal::ServerStopping,
                    Refusal::StoredListOutdated,
                    Refusal::SessionStore,
                    Refusal::TokenStoreUnavailable,
                ]);
            }
            RouteKind::NotFound => self.add([Refusal::RouteNotFound]),
            RouteKind::Mount | RouteKind::Fallback => (),
        }
        if !matches!(self.route.kind, RouteKind::Probe | RouteKind::NotFound) {
            self.add([Refusal::Internal]);
        }
    }

    fn of_handler(&mut self) {
        let is_read = matches!(self.method, "GET" | "HEAD");
        for taken in &self.route.handler.takes {
            match taken {
                // As in HTML, a form is in the query of a GET.
                ArgumentKind::Form if is_read => self.add([Refusal::QueryInvalid]),
                ArgumentKind::Session | ArgumentKind::Sessions if is_safe(self.method) => {
                    self.add(taken.refusals().iter().copied());
                    self.add([Refusal::LoginNavigation]);
                }
                ArgumentKind::User if !self.takes_foreign_tokens() => (),
                ArgumentKind::ReadConditions | ArgumentKind::Range if !is_read => (),
                taken => self.add(taken.refusals().iter().copied()),
            }
        }
        match self.method {
            "PUT" => self.add([Refusal::ContentRange]),
            "QUERY" => self.add([Refusal::MediaType]),
            _ => (),
        }
    }

    /// Whether its callers may be users of another issuer.
    fn takes_foreign_tokens(&self) -> bool {
        let Auth::Required(requirement) = &self.route.auth else { return false };
        let accepts = self.manifest.app.tokens.as_ref().is_some_and(|it| !it.accepts.is_empty());
        (requirement.token || requirement.ticket) && accepts
    }

    fn of_auth(&mut self) {
        let takes_session = self.route.takes_session
            || matches!(&self.route.auth, Auth::Required(requirement) if requirement.session);
        if takes_session {
            self.add([Refusal::CookiesTooLarge, Refusal::CredentialsUnchecked]);
        }
        let Auth::Required(requirement) = &self.route.auth else { return };
        if self.route.kind == RouteKind::Tunnel {
            self.add([Refusal::TunnelCredentials]);
        } else {
            self.of_credentials(requirement);
        }
        if requirement.token || requirement.ticket || requirement.scheme.is_some() {
            self.add([Refusal::CredentialsUnchecked]);
        }
        if requirement.token {
            self.add([Refusal::AuthorizationMalformed]);
        }
        if !(requirement.scopes.is_empty() && requirement.roles.is_empty()) {
            self.add([Refusal::RightsMissing]);
        }
    }

    /// The refusals with 401, which are 407 for a tunnel.
    fn of_credentials(&mut self, requirement: &RouteRequirement) {
        if !requirement.optional {
            self.add([Refusal::CredentialsMissing]);
        }
        if requirement.token {
            self.add([Refusal::TokenInvalid, Refusal::TokenExpired]);
        }
        // No other method takes a ticket.
        if requirement.ticket && matches!(self.method, "GET" | "CONNECT") {
            self.add([Refusal::TicketInvalid]);
        }
        if requirement.scheme.is_some() {
            self.add([Refusal::CredentialInvalid]);
        }
        if requirement.fresh.is_some() {
            self.add([Refusal::LoginTooOld]);
        }
    }

    fn of_csrf(&mut self) {
        if matches!(self.route.csrf, Csrf::Exempt(_)) || self.route.kind == RouteKind::Tunnel {
            return;
        }
        let takes_ticket =
            matches!(&self.route.auth, Auth::Required(requirement) if requirement.ticket);
        // The request that opens a WebSocket acts for its caller, though its method is safe.
        let opens_socket = self.route.handler.takes.contains(&ArgumentKind::WebSocket);
        if opens_socket && (takes_ticket || self.route.is_ambient()) {
            self.add([Refusal::CsrfOrigin]);
        }
        if is_safe(self.method) {
            return;
        }
        if self.route.is_ambient() || self.route.kind.is_service() {
            self.add([Refusal::CsrfOrigin]);
        }
        if self.route.is_ambient() && self.route.csrf != Csrf::Origin {
            self.add([Refusal::CsrfToken]);
        }
    }

    fn of_objects(&mut self) {
        let uses = self.route.object.iter().flat_map(|objects| &objects.uses);
        for it in uses.filter(|it| it.key != ObjectKey::List) {
            self.add([Refusal::ObjectNotFound]);
            if it.action != VIEW {
                self.add([Refusal::ObjectDenied]);
            }
            let mut rules = it.rules().filter_map(|rule| self.manifest.condition(&rule));
            if rules.any(|rule| rule.asks_engine()) {
                self.add([Refusal::EngineUnavailable]);
            }
        }
    }

    fn of_limits(&mut self) {
        // Nothing runs for a path without a route.
        if self.route.kind == RouteKind::NotFound {
            return;
        }
        let limits = &self.route.limits;
        if limits.rate.is_some() {
            self.add([Refusal::RateExceeded]);
        }
        if limits.concurrency.is_some() {
            self.add([Refusal::ConcurrencyExceeded]);
        }
        if limits.timeout_ms.is_some() {
            self.add([Refusal::HandlerTimedOut]);
        }
        let has_key = |object: &ObjectUse| object.key != ObjectKey::List;
        let loads = self.route.object.as_ref().is_some_and(|it| it.uses.iter().any(has_key));
        if limits.misses.is_some() && loads {
            self.add([Refusal::ObjectMissesExceeded]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RouteObjects;

    #[test]
    fn a_route_refuses_by_the_objects_that_it_loads() {
        let not_found = Refusal::ObjectNotFound;
        let parameter = || ObjectKey::Parameter("id".to_owned());
        for (action, key, expected) in [
            ("view", parameter(), &[not_found][..]),
            ("edit", parameter(), &[Refusal::ObjectDenied, not_found]),
            ("edit", ObjectKey::Handler, &[Refusal::ObjectDenied, not_found]),
            ("edit", ObjectKey::List, &[]),
            ("pay", parameter(), &[Refusal::ObjectDenied, not_found, Refusal::EngineUnavailable]),
            ("pay", ObjectKey::List, &[]),
        ] {
            let mut route = ManifestRoute::handler("/orders/{id}", ["PUT"], Auth::Public);
            let uses = ObjectUse { object: "Order".to_owned(), action: action.to_owned(), key };
            route.object = Some(RouteObjects::of([uses]));
            let mut manifest = Manifest::new();
            for (action, text) in
                [("view", "anyone"), ("edit", "owner(user)"), ("pay", "owner(user) | engine")]
            {
                manifest.objects.insert(format!("Order.{action}"), text.to_owned());
            }
            let found = manifest.outcomes(&route, "PUT").refusals;
            let found: Vec<_> =
                found.into_iter().filter(|it| it.code().starts_with("object.")).collect();
            assert_eq!(found, expected, "{action}");
        }
    }
}

//! Checks who may call a route, and resolves the schemes, sessions, tokens and issuers of that
//! policy.

use std::{any::TypeId, sync::Arc};

use http::Method;
use policy_core::{
    Rule, Violation,
    auth::{AuthPart, AuthPolicy, AuthSpec, OWN_ISSUER, Requirement},
    cors::Cors,
    csrf::CsrfPolicy,
    route::{Authentication, Level, RouteFacts},
};

use super::builder::Builder;
use crate::{
    auth::{RouteAuth, scheme::Schemes},
    base::error::StartProblem,
};

/// The means by which an app can authenticate callers.
pub(super) struct Available<'a> {
    pub(super) sessions: bool,
    pub(super) tokens: bool,
    pub(super) schemes: &'a Schemes,
}

/// The policy about callers of a route, with the type of its scheme.
#[derive(Clone, Copy)]
pub(super) struct GuardedRoute {
    pub(super) auth: AuthPolicy,
    pub(super) csrf: CsrfPolicy,
    pub(super) scheme: Option<TypeId>,
    /// Whether an argument of its handler is a session.
    pub(super) takes_session: bool,
}

impl Builder<'_> {
    /// Checks the CSRF protection that an app or a group states, as if each of its routes had a
    /// session: routes without one inherit it, too, but have nothing to protect.
    pub(super) fn check_csrf(&mut self, location: &str, csrf: Option<CsrfPolicy>) {
        let session = AuthPolicy::Required(Requirement { session: true, ..Requirement::NONE });
        let spec = AuthSpec::from_policies(&session, csrf.as_ref());
        self.errors(location, spec.violations().map(Violation::into_named));
    }

    /// The request headers that credentials need. A public route may also handle the session
    /// itself, as a logout does.
    pub(super) fn request_headers(
        &self,
        auth: &AuthPolicy,
        csrf: &CsrfPolicy,
        method: &Method,
    ) -> &'static [&'static str] {
        let by_hand = AuthPolicy::Required(Requirement { session: true, ..Requirement::NONE });
        let is_by_hand = *auth == AuthPolicy::Public && self.available.sessions;
        let auth = if is_by_hand { &by_hand } else { auth };
        auth.request_headers(csrf, method.as_str())
    }

    /// Whether the caller of a route may be needed, by its policy or by an argument of its handler or
    /// service.
    pub(super) fn asks_caller(&self, facts: &RouteFacts<'_>, extracts: bool) -> bool {
        let knows_callers = self.available.sessions || self.available.tokens;
        facts.authentication != Authentication::Public || (extracts && knows_callers)
    }

    /// Resolves the schemes, sessions and tokens of a policy. `value` names the target of the policy.
    pub(super) fn guard(
        &mut self,
        location: &str,
        guarded: GuardedRoute,
        value: &str,
    ) -> RouteAuth {
        let GuardedRoute { auth, csrf, scheme, takes_session } = guarded;
        let scheme = scheme.and_then(|id| self.available.schemes.get(id)).cloned();
        let policy = match &auth {
            AuthPolicy::Required(policy) => *policy,
            _ => Requirement::NONE,
        };
        let takes_sessions = policy.session || takes_session;
        let missing = [
            (takes_sessions && !self.available.sessions, Rule::SessionsMissing),
            ((policy.token || policy.ticket) && !self.available.tokens, Rule::TokensMissing),
            (policy.scheme.is_some() && scheme.is_none(), Rule::SchemeMissing),
        ];
        for (_, rule) in missing.into_iter().filter(|(is_missing, _)| *is_missing) {
            self.rule(location, rule, value);
        }
        if (policy.token || policy.ticket) && self.available.tokens {
            self.check_issuers(location, &policy, value);
        }
        RouteAuth::new(auth, csrf, scheme).unwrap_or_else(|rule| {
            // The app will not start.
            self.problems.push(StartProblem::without_value(rule, location));
            RouteAuth::public()
        })
    }

    /// Checks that the session cookie reaches a route that refuses every caller without it. A problem
    /// of the policy of a group or of the app is reported once, and not for each of its routes.
    pub(super) fn check_site(
        &mut self,
        location: &str,
        auth: &AuthPolicy,
        cors: Option<&Arc<Cors>>,
        level: Option<Level>,
    ) {
        let (Some(own), Some(cors)) = (&self.cookie_site, cors) else { return };
        let is_known = level != Some(Level::Route)
            && self.withheld.iter().any(|known| Arc::ptr_eq(known, cors));
        if own.is_loopback() || !needs_session(auth) || is_known {
            return;
        }
        if let Err(errors) = cors.require_site(location, own) {
            self.problems.extend(errors.into_iter().map(StartProblem::from));
            self.withheld.push(Arc::clone(cors));
        }
    }

    /// Checks that the app accepts the issuers that a policy names.
    fn check_issuers(&mut self, location: &str, policy: &Requirement, value: &str) {
        if policy.issuers.is_empty() && self.own_issuer.is_none() && self.issuers.len() > 1 {
            self.rule(location, Rule::IssuersMissing, value);
        }
        // If none is named, the policy takes the only issuer of an app without its own tokens.
        let is_only = policy.issuers.is_empty() && self.own_issuer.is_none();
        let takes = |issuer: &str| is_only || policy.issuers.contains(&issuer);
        self.taken_issuers.extend(self.issuers.iter().filter(|issuer| takes(issuer)).cloned());
        for issuer in policy.issuers {
            // Tickets are issued from sessions, too.
            let signs = self.own_issuer.is_some() || (policy.ticket && self.available.sessions);
            let is_own = self.own_issuer.as_deref() == Some(issuer);
            let is_accepted = self.issuers.iter().any(|accepted| **accepted == **issuer);
            if !(is_own || is_accepted || (*issuer == OWN_ISSUER && signs)) {
                self.rule(location, Rule::IssuerNotAccepted, issuer);
            }
        }
    }

    /// The issuers that the app accepts but no route does: their tokens are refused everywhere.
    pub(super) fn unused_issuers(&self) -> Vec<StartProblem> {
        let unused = self.issuers.iter().filter(|issuer| !self.taken_issuers.contains(*issuer));
        unused
            .map(|issuer| StartProblem::new(Rule::IssuerUnused, "App::tokens", &**issuer))
            .collect()
    }

    /// Whether a policy takes tokens of an external issuer without naming it.
    pub(super) fn takes_only_issuer(&self, policy: &AuthPolicy) -> bool {
        let takes =
            |policy: &Requirement| (policy.token || policy.ticket) && policy.issuers.is_empty();
        self.own_issuer.is_none()
            && !self.issuers.is_empty()
            && matches!(policy, AuthPolicy::Required(policy) if takes(policy))
    }
}

/// Whether the second requirement admits every caller that the first one admits: as
/// [`AuthPolicy::is_as_strict_as`], but two schemes are the same if their types are. Two types can have
/// one name, and one type can have two.
pub(super) fn is_as_strict_as(
    (mut own, own_scheme): (AuthPolicy, Option<TypeId>),
    (other, other_scheme): (AuthPolicy, Option<TypeId>),
) -> bool {
    if let (AuthPolicy::Required(own), AuthPolicy::Required(other)) = (&mut own, &other)
        && let Some(scheme) = &mut own.scheme
    {
        let same = other.scheme.filter(|_| own_scheme == other_scheme);
        // No scheme has an empty name.
        scheme.name = same.map_or("", |same| same.name);
    }
    own.is_as_strict_as(&other)
}

/// Whether a route refuses every caller without a session.
pub(super) fn needs_session(auth: &AuthPolicy) -> bool {
    let AuthPolicy::Required(policy) = auth else { return false };
    policy.session && !policy.token && !policy.ticket && policy.scheme.is_none() && !policy.optional
}

/// Violations and notices of the callers of a route, checked on the resolved policy, which may come
/// from its group or from the app. `takes_session` is also true where nothing is known about that.
pub(crate) fn violations_of_callers<'a>(
    spec: AuthSpec<'a>,
    takes_session: bool,
    cors: Option<&Cors>,
) -> impl Iterator<Item = Violation<'a, AuthPart>> + use<'a> {
    let without_credentials = cors.is_some_and(|cors| !cors.allows_credentials());
    AuthSpec { without_credentials, takes_session, ..spec }.violations()
}

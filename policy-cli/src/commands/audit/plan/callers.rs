//! The callers of a route: without a credential, with a forged one, and with those of the user of the
//! command.

use http::{HeaderValue, header};
use policy_core::auth::OWN_ISSUER;
use policy_manifest::{
    ManifestRoute, RouteRequirement,
    engine::{CredentialState, Login, RequestCredentials},
};

use super::{Credential, Planner, Probe};

/// A bearer token that no key has signed.
const FORGED: &str = "Bearer policy-audit";

impl Planner<'_> {
    /// Callers that must not get each other's responses: without a credential, with a forged one, and
    /// with a good one.
    pub(super) fn callers(&self, route: &ManifestRoute, path: &str) -> Vec<Vec<Probe>> {
        let Some(plain) = self.probe("GET", path, &[]) else { return Vec::new() };
        let mut orders = Vec::new();
        if takes_token(route) {
            let forged = self.probe("GET", path, &[("authorization", FORGED)]);
            let forged = forged.map(|probe| Probe {
                caller: RequestCredentials {
                    token: CredentialState::Invalid,
                    ..RequestCredentials::default()
                },
                ..probe
            });
            orders.extend(forged.map(|forged| vec![forged, plain.clone()]));
        }
        orders.extend(self.with_credentials(route, &plain).map(|with| vec![with, plain.clone()]));
        if orders.is_empty() && self.is_reached("GET", path) {
            orders.push(vec![plain.clone(), plain]);
        }
        orders
    }

    /// A probe with each credential of the user of the command that a route takes.
    pub(super) fn with_credentials(
        &self,
        route: &ManifestRoute,
        plain: &Probe,
    ) -> impl Iterator<Item = Probe> {
        let session = takes_session(route).then(|| self.with_session(route, plain)).flatten();
        let token = (self.options.has_token && takes_token(route)).then(|| {
            let token = self.login_of(route);
            let caller = RequestCredentials { token, ..RequestCredentials::default() };
            with(plain, caller, Credential::Token)
        });
        session.into_iter().chain(token)
    }

    /// A probe with the session of the user of the command.
    pub(super) fn with_session(&self, route: &ManifestRoute, plain: &Probe) -> Option<Probe> {
        self.options.has_session.then(|| {
            let session = self.login_of(route);
            let caller = RequestCredentials { session, ..RequestCredentials::default() };
            with(plain, caller, Credential::Session)
        })
    }

    /// A login with every right that a route requires. The actual rights of the credential are not
    /// known.
    fn login_of(&self, route: &ManifestRoute) -> CredentialState {
        let none = RouteRequirement::default();
        let requirement = route.auth.requirement().unwrap_or(&none);
        let tokens = self.manifest.app.tokens.as_ref();
        let is_own = tokens.is_some_and(|facts| facts.issuer.is_some());
        let issuer = match requirement.issuers.first() {
            Some(issuer) => (issuer != OWN_ISSUER).then(|| issuer.clone()),
            None if is_own => None,
            None => {
                tokens.and_then(|facts| facts.accepts.first()).map(|facts| facts.issuer.clone())
            }
        };
        let (scopes, roles) = (requirement.scopes.clone(), requirement.roles.clone());
        CredentialState::Valid(Login { scopes, roles, age: Some(0), issuer })
    }
}

pub(super) fn takes_session(route: &ManifestRoute) -> bool {
    let is_required = route.auth.requirement().is_some_and(|requirement| requirement.session);
    is_required || route.takes_session
}

pub(super) fn takes_token(route: &ManifestRoute) -> bool {
    route.auth.requirement().is_some_and(|requirement| requirement.token)
}

/// A probe with a placeholder, which the sender replaces with the credential.
fn with(probe: &Probe, caller: RequestCredentials, credential: Credential) -> Probe {
    let mut probe = Probe { caller, credential: Some(credential), ..probe.clone() };
    let (name, value) = match credential {
        Credential::Session => (header::COOKIE, "SESSION"),
        Credential::Token => (header::AUTHORIZATION, "Bearer TOKEN"),
    };
    probe.request.headers_mut().insert(name, HeaderValue::from_static(value));
    probe
}

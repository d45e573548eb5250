//! Compiles the tunnel of an app, and who may use it.

use std::sync::Arc;

use policy_core::{Rule, Violation, auth::AuthPolicy, csrf::CsrfPolicy};

use super::{builder::Builder, violations_of_callers};
use crate::{
    app::tunnel::Tunnel,
    auth::RouteAuth,
    base::error::StartProblem,
    pipeline::compiled_app::{CompiledRoute, Target},
    route::compiled_policy::CompiledRoutePolicy,
};

impl Builder<'_> {
    /// Compiles the tunnel; `None` if it has a problem.
    pub(super) fn tunnel(
        &mut self,
        tunnel: Tunnel,
        rules: &Arc<CompiledRoutePolicy>,
    ) -> Option<Arc<CompiledRoute>> {
        let place = "App::tunnel";
        let mut guard = RouteAuth::public();
        if let Some(requirement) = tunnel.requirement {
            // Pages cannot send CONNECT, and a request with an `Origin` is refused.
            let (auth, csrf) =
                (requirement.policy(), CsrfPolicy::Exempt("no page can send CONNECT"));
            let scheme = requirement.scheme.and_then(|id| self.available.schemes.get(id)).cloned();
            if requirement.scheme.is_some() && scheme.is_none() {
                self.rule(place, Rule::SchemeMissing, "CONNECT");
            }
            if requirement.scheme.is_none() && !self.available.tokens {
                self.rule(place, Rule::TokensMissing, "CONNECT");
            }
            self.errors(place, violations_of_callers(&auth, &csrf, None).map(Violation::named));
            match RouteAuth::new(auth, csrf, scheme) {
                Ok(checked) => guard = checked,
                Err(error) => {
                    self.problems.push(StartProblem::without_value(error.rule(), place));
                }
            }
        }
        match tunnel.check() {
            Ok(opens) => {
                let asks_caller = guard.auth != AuthPolicy::Public;
                let target = Target::Tunnel(Arc::new(opens));
                Some(self.unlisted(rules, guard, asks_caller, target))
            }
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        }
    }
}

//! Compiles the tunnel of an app, and who may use it.

use std::sync::Arc;

use policy_core::{Rule, Violation, auth::AuthPolicy, csrf::CsrfPolicy};

use super::{
    builder::Builder,
    callers::{GuardedRoute, violations_of_callers},
};
use crate::{
    app::tunnel::Tunnel,
    auth::RouteAuth,
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
        let location = "App::tunnel";
        let mut guard = RouteAuth::public();
        if let Some(requirement) = tunnel.requirement {
            // Pages cannot send CONNECT, and a request with an `Origin` is refused.
            let csrf = CsrfPolicy::Exempt("no page can send CONNECT");
            let (auth, spec) = (requirement.policy(), requirement.spec(Some(&csrf)));
            if spec.session || spec.ticket || spec.optional {
                self.rule(location, Rule::TunnelCallers, &auth.to_string());
            }
            let violations = violations_of_callers(spec, true, None);
            self.errors(location, violations.map(Violation::into_named));
            let scheme = requirement.scheme;
            let guarded = GuardedRoute { auth, csrf, scheme, takes_session: false };
            guard = self.guard(location, guarded, "CONNECT");
        }
        match tunnel.check() {
            Ok(opens) => {
                let asks_caller = guard.auth != AuthPolicy::Public;
                let target = Target::Tunnel(Arc::new(opens));
                Some(Arc::new(self.unlisted(rules, guard, asks_caller, target)))
            }
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        }
    }
}

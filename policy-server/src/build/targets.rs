//! Everything that serves the requests of an app.

use std::{mem, sync::Arc};

use super::{builder::Builder, mount::Outer};
use crate::{
    app::AppParts, observe::health::Readiness, pipeline::compiled_app::CompiledRoute,
    route::compiled_policy::CompiledRoutePolicy,
};

/// What serves requests that match no route.
pub(super) struct UnroutedTargets {
    /// What the readiness probes of the app report.
    pub(super) readiness: Readiness,
    /// The policy of responses to paths without a route, and of preflights for them.
    pub(super) not_found_policy: Arc<CompiledRoutePolicy>,
    /// The policy of responses to requests that are rejected before routing.
    pub(super) no_route_policy: Arc<CompiledRoutePolicy>,
    pub(super) tunnel: Option<Arc<CompiledRoute>>,
    pub(super) fallback: Option<Arc<CompiledRoute>>,
}

impl Builder<'_> {
    /// Compiles the handlers, mounts, proxies and probes of an app, which it takes out of its parts.
    pub(super) fn targets(&mut self, app: &mut AppParts) -> UnroutedTargets {
        let outer = Outer::default();
        for route in mem::take(&mut app.routes) {
            self.handler(route, &outer);
        }
        for (prefix, group) in mem::take(&mut app.groups) {
            self.group(&prefix, group);
        }
        for (prefix, mount) in mem::take(&mut app.mounts) {
            self.mounted(&prefix, mount, &outer);
        }
        #[cfg(feature = "gateway")]
        for proxy in mem::take(&mut app.gateway.upstreams) {
            self.proxied(proxy, &outer);
        }
        let readiness = Readiness::default();
        for (path, probe) in mem::take(&mut app.probes) {
            self.probe(path, probe, &readiness);
        }
        let (not_found_policy, no_route_policy) = self.without_route();
        #[cfg(feature = "gateway")]
        let tunnel =
            app.gateway.tunnel.take().and_then(|tunnel| self.tunnel(tunnel, &no_route_policy));
        #[cfg(not(feature = "gateway"))]
        let tunnel = None;
        let fallback = app.fallback.take().map(|fallback| self.fallback(fallback));
        let not_found_policy =
            fallback.as_ref().map_or(not_found_policy, |fallback| Arc::clone(&fallback.rules));
        self.check_engine();
        UnroutedTargets { readiness, not_found_policy, no_route_policy, tunnel, fallback }
    }
}

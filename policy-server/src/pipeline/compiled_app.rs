//! An app that passed every check, as requests find it.

use std::{fmt, sync::Arc};

use http::Method;
use policy_core::{gate::OwnOrigin, route::Level};

#[cfg(feature = "proxy")]
use crate::gateway::proxy::Gateway;
use crate::{
    app::settings::Settings,
    auth::{AuthService, RouteAuth},
    base::clock::Random,
    client::trusted_proxies::TrustedProxies,
    gateway::tunnel::OpenTunnels,
    handler::{BoxFuture, Call, Description, RouteInfo, service::SharedService},
    observe::{health::Readiness, observation::Observing},
    route::{compiled_policy::CompiledRoutePolicy, router::Router},
};

/// An app that passed every check.
pub(crate) struct CompiledApp {
    pub(crate) own_origin: OwnOrigin,
    pub(crate) router: Router,
    pub(crate) routes: Vec<Arc<CompiledRoute>>,
    /// For responses to paths that no route has: what the app says.
    pub(crate) not_found_policy: Arc<CompiledRoutePolicy>,
    /// For responses to requests that are rejected before routing: the same, shared with nobody.
    pub(crate) no_route_policy: Arc<CompiledRoutePolicy>,
    /// What answers for paths that no route has.
    pub(crate) fallback: Option<Arc<CompiledRoute>>,
    pub(crate) random: Random,
    pub(crate) settings: Settings,
    pub(crate) readiness: Readiness,
    pub(crate) observing: Observing,
    pub(crate) auth: Arc<AuthService>,
    pub(crate) proxies: Option<TrustedProxies>,
    pub(crate) tunnel: Option<Arc<CompiledRoute>>,
    /// Whether TRACE is answered.
    pub(crate) traces: bool,
}

/// One route of an app that passed every check.
pub(crate) struct CompiledRoute {
    pub(crate) info: Arc<RouteInfo>,
    pub(crate) methods: Vec<Method>,
    pub(crate) rules: Arc<CompiledRoutePolicy>,
    /// Who said what `rules` has of CORS.
    pub(crate) level: Option<Level>,
    /// What it asks of its callers.
    pub(crate) auth: RouteAuth,
    /// Whether anybody asks who sent a request: the route, or an argument of its handler could.
    pub(crate) asks_caller: bool,
    pub(crate) target: Target,
    /// Whether an orchestrator asks for it, by whatever name it has for this server.
    pub(crate) is_probe: bool,
}

/// What answers for a route.
pub(crate) enum Target {
    Handler(fn(Call) -> BoxFuture),
    Service(SharedService),
    #[cfg(feature = "proxy")]
    Proxy(Arc<Gateway>),
    Tunnel(Arc<OpenTunnels>),
    /// For paths that no route has.
    Fallback(SharedService),
}

impl CompiledApp {
    pub(crate) fn route(&self, index: usize) -> Option<&Arc<CompiledRoute>> {
        self.routes.get(index)
    }

    pub(crate) fn routes(&self) -> &[Arc<CompiledRoute>] {
        &self.routes
    }

    /// Puts these in the place of all code of the application's own behind the gates: handlers and
    /// mounted services, the fallback, and schemes.
    #[cfg(feature = "testing")]
    pub(crate) fn replace_own_code(
        &mut self,
        handler: fn(Call) -> BoxFuture,
        fallback: &SharedService,
        scheme: impl Fn(&crate::auth::scheme::SharedScheme) -> crate::auth::scheme::SharedScheme,
    ) {
        for route in self.routes.iter_mut().filter_map(Arc::get_mut) {
            route.target = Target::Handler(handler);
            route.auth.scheme = route.auth.scheme.as_ref().map(&scheme);
        }
        if let Some(own) = self.fallback.as_mut().and_then(Arc::get_mut) {
            own.target = Target::Fallback(fallback.clone());
        }
    }
}

impl CompiledRoute {
    /// The template of the path, prefix included.
    pub(crate) fn path(&self) -> &Arc<str> {
        &self.info.path
    }

    /// Whether it is a path that the app lists, and neither the fallback nor the tunnel.
    pub(crate) fn is_listed(&self) -> bool {
        !matches!(self.target, Target::Fallback(_) | Target::Tunnel(_))
    }

    /// What its attributes say; nothing where it is no handler.
    pub(crate) fn description(&self) -> Option<&Description> {
        self.info.description.as_ref()
    }
}

impl fmt::Debug for CompiledApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths: Vec<_> = self.routes.iter().map(|route| &**route.path()).collect();
        f.debug_struct("CompiledApp")
            .field("own_origin", &self.own_origin)
            .field("routes", &paths)
            .finish_non_exhaustive()
    }
}

//! An app that passed every check, as requests find it.

use std::{fmt, sync::Arc};

use http::Method;
use policy_core::{
    gate::OwnOrigin,
    route::{Authentication, Level},
};

#[cfg(feature = "proxy")]
use crate::gateway::proxy::Gateway;
use crate::{
    app::settings::Settings,
    auth::{Guard, RouteGuard},
    base::clock::Random,
    client::trusted_proxies::TrustedProxies,
    gateway::tunnel::OpenTunnels,
    handler::{BoxFuture, Call, Description, RouteInfo, service::SharedService},
    observe::{exchange::Observing, health::Readiness},
    route::{route_policy::Rules, router::Router},
};

/// An app that passed every check.
pub(crate) struct CompiledApp {
    pub(crate) own_origin: OwnOrigin,
    pub(crate) router: Router,
    pub(crate) routes: Vec<CompiledRoute>,
    /// What holds for unknown paths: what the app says.
    pub(crate) unknown: Arc<Rules>,
    /// What holds where no route may be looked for: the same, shared with nobody.
    pub(crate) outside: Arc<Rules>,
    pub(crate) fallback: Option<SharedService>,
    pub(crate) random: Random,
    pub(crate) settings: Settings,
    pub(crate) readiness: Readiness,
    pub(crate) observing: Observing,
    pub(crate) guard: Arc<Guard>,
    pub(crate) proxies: Option<TrustedProxies>,
    pub(crate) tunnel: Option<CompiledTunnel>,
    /// Whether TRACE is answered.
    pub(crate) traces: bool,
}

/// The tunnel of an app that passed every check.
pub(crate) struct CompiledTunnel {
    pub(crate) opens: Arc<OpenTunnels>,
    pub(crate) rules: Arc<Rules>,
    pub(crate) guard: RouteGuard,
}

/// One route of an app that passed every check.
pub(crate) struct CompiledRoute {
    pub(crate) info: Arc<RouteInfo>,
    pub(crate) methods: Vec<Method>,
    pub(crate) rules: Arc<Rules>,
    /// Who said what `rules` has of CORS.
    pub(crate) level: Option<Level>,
    pub(crate) authentication: Authentication,
    pub(crate) guard: RouteGuard,
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
}

impl CompiledApp {
    pub(crate) fn route(&self, index: usize) -> Option<&CompiledRoute> {
        self.routes.get(index)
    }

    /// What a route asks of its callers, if there is anybody to ask.
    pub(crate) fn guard_of(&self, route: usize) -> Option<&RouteGuard> {
        let route = self.routes.get(route)?;
        let extracts = route.info.description.as_ref().is_some_and(|handler| handler.extracts);
        let may_ask = extracts && self.guard.is_needed();
        (route.authentication != Authentication::Public || may_ask).then_some(&route.guard)
    }

    pub(crate) fn routes(&self) -> &[CompiledRoute] {
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
        for route in &mut self.routes {
            route.target = Target::Handler(handler);
            route.guard.scheme = route.guard.scheme.as_ref().map(&scheme);
        }
        self.fallback = self.fallback.as_ref().map(|_| fallback.clone());
    }
}

impl CompiledRoute {
    /// The template of the path, prefix included.
    pub(crate) fn path(&self) -> &Arc<str> {
        &self.info.path
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

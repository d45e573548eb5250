//! A compiled app: what requests are routed through.

use std::{fmt, sync::Arc};

use http::Method;
#[cfg(feature = "metrics")]
use policy_core::head::Head;
use policy_core::{head::OwnOrigin, origin::Site, route::Level, router::Router};

#[cfg(feature = "gateway")]
use crate::gateway::{proxy::Gateway, tunnel::OpenTunnels};
use crate::{
    app::settings::ServerSettings,
    auth::{AuthService, RouteAuth},
    base::{clock::Random, error::StartProblem},
    client::trusted_proxies::CompiledProxies,
    handler::{BoxFuture, Call, Description, RouteInfo, service::SharedService},
    observe::{health::Readiness, observation::Observing, traces::Tracing},
    route::compiled_policy::CompiledRoutePolicy,
};
#[cfg(feature = "metrics")]
use crate::{observe::metrics::Meter, route::limits::RateLimit};

/// An app that passed every check.
pub(crate) struct CompiledApp {
    pub(crate) own_origin: OwnOrigin,
    /// The own site, if pages of other sites send no session cookie.
    pub(crate) cookie_site: Option<Site>,
    pub(crate) router: Router,
    pub(crate) routes: Vec<Arc<CompiledRoute>>,
    /// The policy for responses to paths without a route.
    pub(crate) not_found_policy: Arc<CompiledRoutePolicy>,
    /// The policy for responses to requests that are rejected before routing. It allows no sharing.
    pub(crate) no_route_policy: Arc<CompiledRoutePolicy>,
    /// Serves paths without a route.
    pub(crate) fallback: Option<Arc<CompiledRoute>>,
    /// Whether tower layers are around the app.
    pub(crate) is_layered: bool,
    pub(crate) random: Random,
    pub(crate) settings: ServerSettings,
    pub(crate) readiness: Readiness,
    pub(crate) observing: Observing,
    pub(crate) tracing: Tracing,
    #[cfg(feature = "metrics")]
    pub(crate) meter: Option<Arc<Meter>>,
    pub(crate) auth: Arc<AuthService>,
    pub(crate) proxies: Option<CompiledProxies>,
    /// Whether requests can carry credentials.
    pub(crate) has_credentials: bool,
    /// The notices about its files.
    pub(crate) notices: Vec<StartProblem>,
    /// Whether it has a proxy. Always `false` without the feature `gateway`.
    pub(crate) forwards: bool,
    /// Always `None` without the feature `gateway`.
    pub(crate) tunnel: Option<Arc<CompiledRoute>>,
    /// Whether TRACE is served.
    #[cfg(feature = "gateway")]
    pub(crate) traces: bool,
}

/// One route of an app that passed every check.
pub(crate) struct CompiledRoute {
    pub(crate) info: Arc<RouteInfo>,
    /// Its index among the routes of the app; no index for other targets.
    #[cfg(feature = "metrics")]
    pub(crate) index: usize,
    pub(crate) methods: Vec<Method>,
    pub(crate) rules: Arc<CompiledRoutePolicy>,
    /// The level that declared the CORS policy in `rules`: route, group or app.
    pub(crate) level: Option<Level>,
    /// What the route requires of its callers.
    pub(crate) auth: RouteAuth,
    /// The level that declared the CSRF policy in `auth`; `None` for the default.
    pub(crate) csrf_level: Option<Level>,
    /// Whether the caller may be needed: by the route, or by an argument of its handler.
    pub(crate) asks_caller: bool,
    pub(crate) target: Target,
    /// The layers around the target, the outermost first.
    pub(crate) layers: Vec<SharedService>,
    /// The media type of what the target reads of a QUERY, if it is known.
    pub(crate) reads: Option<&'static str>,
    /// Whether it is a health probe, which an orchestrator requests under any host name.
    pub(crate) is_probe: bool,
    /// Whether the target never treats two paths as one resource.
    pub(crate) tells_paths_apart: bool,
}

/// What serves a route.
pub(crate) enum Target {
    Handler(fn(&mut Call) -> BoxFuture),
    Service(SharedService),
    #[cfg(feature = "gateway")]
    Proxy(Arc<Gateway>),
    #[cfg(feature = "gateway")]
    Tunnel(Arc<OpenTunnels>),
}

impl CompiledApp {
    pub(crate) fn route(&self, index: usize) -> Option<&Arc<CompiledRoute>> {
        self.routes.get(index)
    }

    /// The rates of everything that serves requests, each once.
    #[cfg(feature = "metrics")]
    pub(crate) fn rates(&self) -> Vec<Arc<RateLimit>> {
        let routes = self.routes.iter().chain(&self.fallback).chain(&self.tunnel);
        let rates = routes.flat_map(|route| [route.rules.rate.clone(), route.rules.misses.clone()]);
        let mut rates: Vec<_> = rates.flatten().collect();
        rates.sort_by_key(|rate| Arc::as_ptr(rate).addr());
        rates.dedup_by(|one, other| Arc::ptr_eq(one, other));
        rates
    }

    /// Replaces all application code behind the gates with these: handlers, targets without attributes,
    /// and schemes. The layers of groups and routes stay, behind an `entrance`.
    #[cfg(feature = "testing")]
    pub(crate) fn replace_own_code(
        &mut self,
        handler: fn(&mut Call) -> BoxFuture,
        service: &SharedService,
        scheme: impl Fn(&crate::auth::scheme::SharedScheme) -> crate::auth::scheme::SharedScheme,
        entrance: fn(SharedService) -> SharedService,
    ) {
        let routes = self.routes.iter_mut().chain(&mut self.fallback);
        for route in routes.filter_map(Arc::get_mut) {
            match route.description().map(|handler| handler.takes_objects) {
                // The gates treat a service differently from a handler.
                None => route.target = Target::Service(service.clone()),
                Some(false) => route.target = Target::Handler(handler),
                // A handler of objects checks them, and calls the replacement itself.
                Some(true) => (),
            }
            route.auth.scheme = route.auth.scheme.as_ref().map(&scheme);
            if !route.layers.is_empty() {
                route.layers.insert(0, entrance(super::gates::target::behind_layers()));
            }
        }
    }
}

impl Target {
    /// Whether requests go on to another server.
    #[inline(always)]
    pub(crate) fn is_proxy(&self) -> bool {
        #[cfg(feature = "gateway")]
        return matches!(self, Self::Proxy(_));
        #[cfg(not(feature = "gateway"))]
        false
    }
}

impl CompiledRoute {
    /// A route without methods, layers and levels, which asks for no caller.
    pub(crate) fn new(
        info: RouteInfo,
        rules: Arc<CompiledRoutePolicy>,
        auth: RouteAuth,
        target: Target,
    ) -> Self {
        Self {
            info: Arc::new(info),
            #[cfg(feature = "metrics")]
            index: usize::MAX,
            methods: Vec::new(),
            rules,
            level: None,
            auth,
            csrf_level: None,
            asks_caller: false,
            target,
            layers: Vec::new(),
            reads: None,
            is_probe: false,
            tells_paths_apart: true,
        }
    }

    /// The path template, prefix included.
    pub(crate) fn path(&self) -> &Arc<str> {
        &self.info.path
    }

    /// Whether the route serves the method of a request, or its preflight.
    #[cfg(feature = "metrics")]
    pub(crate) fn takes(&self, head: &Head<'_>) -> bool {
        let serves = |method| self.methods.contains(method);
        let is_head = *head.method == Method::HEAD && serves(&Method::GET);
        serves(head.method) || is_head || head.is_preflight()
    }

    /// Whether the app lists this route; the fallback and the tunnel have no path.
    pub(crate) fn is_listed(&self) -> bool {
        !self.path().is_empty()
    }

    /// The attributes of the handler; `None` for other targets.
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

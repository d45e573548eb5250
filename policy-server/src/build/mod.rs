//! From an [`App`] to what serves requests: everything is checked here, and every problem is
//! found before anything is said.

mod builder;
pub(crate) mod origin_lists;
pub(crate) mod report;
mod route_policy;
mod stores;

use std::{any::Any, fmt, sync::Arc};

use http::Method;
use policy_core::{
    auth::{self, AuthPolicy, AuthSpec},
    cors::Cors,
    csrf::CsrfPolicy,
    gate::OwnOrigin,
    headers::HeadersPolicy,
    path::PathTemplate,
    route::{Facet, Level},
};

#[cfg(feature = "proxy")]
use crate::gateway::proxy::{Gateway, Proxy};
use crate::{
    app::settings::Settings,
    app::{
        AppParts,
        defaults::Defaults,
        mount::{Mount, SharedService},
    },
    auth::{Guard, RouteGuard, revocation_events::Endings},
    base::{
        clock::Random,
        error::{Error, StartProblem},
    },
    build::origin_lists::NamedLists,
    client::trusted_proxies::TrustedProxies,
    gateway::tunnel::OpenTunnels,
    handler::{BoxFuture, Call, Description},
    observe::health::Readiness,
    route::{route_policy::Rules, router::Router},
};

use builder::{Assembler, Known, Mounted};
use route_policy::{Rates, Stated};
pub(crate) use stores::Plan;

/// An app that passed every check.
pub(crate) struct Assembled {
    /// Of the type that all its handlers take.
    state: Box<dyn Any + Send + Sync>,
    pub(crate) own_origin: OwnOrigin,
    pub(crate) router: Router,
    routes: Vec<AssembledRoute>,
    /// What holds for unknown paths: what the app says.
    pub(crate) unknown: Arc<Rules>,
    /// What holds where no route may be looked for: the same, shared with nobody.
    pub(crate) outside: Arc<Rules>,
    pub(crate) fallback: Option<SharedService>,
    pub(crate) random: Random,
    pub(crate) settings: Settings,
    pub(crate) readiness: Readiness,
    pub(crate) request_ids: bool,
    pub(crate) access_log: bool,
    pub(crate) guard: Arc<Guard>,
    pub(crate) proxies: Option<TrustedProxies>,
    pub(crate) tunnel: Option<AssembledTunnel>,
    /// Whether TRACE is answered.
    pub(crate) traces: bool,
}

/// The tunnel of an app that passed every check.
pub(crate) struct AssembledTunnel {
    pub(crate) opens: Arc<OpenTunnels>,
    pub(crate) rules: Arc<Rules>,
    pub(crate) guard: RouteGuard,
}

/// One route of an app that passed every check.
pub(crate) struct AssembledRoute {
    path: Arc<str>,
    /// What its attributes say; nothing for a mounted service.
    pub(crate) description: Option<Description>,
    pub(crate) methods: Vec<Method>,
    pub(crate) rules: Arc<Rules>,
    /// Who said what `rules` has of CORS.
    pub(crate) level: Option<Level>,
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

impl Assembled {
    pub(crate) fn state<S: 'static>(&self) -> Option<&S> {
        self.state.downcast_ref()
    }

    pub(crate) fn route(&self, index: usize) -> Option<&AssembledRoute> {
        self.routes.get(index)
    }

    /// What a route asks of its callers, if there is anybody to ask.
    pub(crate) fn guard_of(&self, route: usize) -> Option<&RouteGuard> {
        let route = self.routes.get(route)?;
        let extracts = route.description.as_ref().is_some_and(|handler| handler.extracts);
        let may_ask = extracts && self.guard.is_needed();
        (route.guard.auth != AuthPolicy::Public || may_ask).then_some(&route.guard)
    }

    pub(crate) fn routes(&self) -> &[AssembledRoute] {
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

impl AssembledRoute {
    /// The template of the path, prefix included.
    pub(crate) fn path(&self) -> &Arc<str> {
        &self.path
    }

    /// The path of the handler's function; empty for a mounted service.
    pub(crate) fn handler(&self) -> &'static str {
        self.description.as_ref().map_or("", |handler| handler.handler)
    }

    /// The name of a parameter.
    pub(crate) fn parameter(&self, index: usize) -> Option<String> {
        let template = PathTemplate::parse(&self.path).ok()?;
        template.parameters().nth(index).map(str::to_owned)
    }
}

impl fmt::Debug for Assembled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths: Vec<_> = self.routes.iter().map(|route| &*route.path).collect();
        f.debug_struct("Assembled")
            .field("own_origin", &self.own_origin)
            .field("routes", &paths)
            .finish_non_exhaustive()
    }
}

/// The issuer and the audience of tokens, unless the app says others.
fn own_text(own: &OwnOrigin) -> &str {
    match own {
        OwnOrigin::Development => "http://localhost",
        OwnOrigin::Public(origin) => origin.as_str(),
    }
}

/// What is wrong, or odd, in who may call, asked once more about the policy that holds for a
/// route: it may be the one of its scope or of the app.
pub(crate) fn violations_of_callers(
    auth: &AuthPolicy,
    csrf: &CsrfPolicy,
    cors: Option<&Cors>,
) -> impl Iterator<Item = auth::Violation<'static>> + use<> {
    let without_credentials = cors.is_some_and(|cors| !cors.allows_credentials());
    // What arguments the handler has, only its macro sees: it asked that.
    let takes_session = true;
    AuthSpec { without_credentials, takes_session, ..AuthSpec::of(auth, csrf) }.violations()
}

/// Checks an app and puts it together.
pub(crate) fn assemble(app: AppParts) -> Result<Plan, Error> {
    let mut problems = Vec::new();
    let named = NamedLists::read(app.origins, app.config_file.as_deref(), &mut problems);
    let known = Known {
        sessions: app.sessions.is_some(),
        tokens: app.tokens.is_some(),
        schemes: &app.schemes,
    };
    let mut assembler =
        Assembler::new(problems, &named.lists, known, Rates::new(&app.clock, &app.random));
    let own_origin = assembler.own_origin(app.public_origin.as_deref());
    let headers = match app.defaults.headers {
        Facet::Inherit => Facet::Set(HeadersPolicy::DEFAULT),
        stated => stated,
    };
    assembler.default = assembler.level("app", Defaults { headers, ..app.defaults });

    for route in app.routes {
        assembler.handler(route, "", &Stated::default());
    }
    for (prefix, scope) in app.scopes {
        assembler.scope(&prefix, scope);
    }
    for (prefix, Mount { service, methods, defaults }) in app.mounts {
        let mounted = Mounted { kind: "mount", prefix: &prefix, methods, defaults };
        assembler.mount(mounted, Target::Service(service));
    }
    #[cfg(feature = "proxy")]
    for proxy in app.upstreams {
        match Gateway::new(&format!("proxy {}", proxy.prefix), &proxy) {
            Ok(gateway) => {
                let Proxy { prefix, methods, defaults, .. } = proxy;
                let mounted = Mounted { kind: "proxy", prefix: &prefix, methods, defaults };
                let target = Target::Proxy(Arc::new(gateway));
                assembler.mount(mounted, target);
            }
            Err(problems) => assembler.problems.extend(problems),
        }
    }
    let readiness = Readiness::default();
    for (path, probe) in app.probes {
        assembler.probe(path, probe, &readiness);
    }
    let (unknown, outside) = assembler.without_route();
    let tunnel = app.tunnel.and_then(|tunnel| assembler.tunnel(tunnel, &outside));
    let (router, routes, mut problems) = assembler.finish(&named);
    let settings = app.sessions.iter().flat_map(|sessions| sessions.violations(&own_origin));
    problems.extend(settings.map(|(rule, value)| {
        let place = "App::sessions".to_owned();
        StartProblem::Rule { place, rule, value }
    }));
    problems.extend(app.tokens.iter().flat_map(|tokens| tokens.problems(own_text(&own_origin))));
    let proxies = app.proxies.and_then(|proxies| {
        let checked = proxies.check();
        checked.map_err(|found| problems.extend(found)).ok()
    });
    if !problems.is_empty() {
        return Err(Error::Start(problems));
    }

    let assembled = Assembled {
        state: app.state,
        own_origin,
        router: router.finish(),
        routes,
        unknown,
        outside,
        fallback: app.fallback,
        random: app.random.clone(),
        settings: app.settings,
        readiness,
        request_ids: app.request_ids,
        access_log: app.access_log,
        guard: Arc::new(Guard::new(app.clock, Endings::default())),
        proxies,
        tunnel,
        traces: app.traces,
    };
    let (sessions, tokens) = (app.sessions, app.tokens);
    Ok(Plan { assembled, layers: app.layers, sessions, tokens, random: app.random })
}

//! From an [`App`] to what serves requests: everything is checked here, and every problem is
//! found before anything is said.

mod plan;
mod rules;

use std::{any::Any, fmt, sync::Arc};

use http::Method;
use policy_core::{
    Rule, Severity,
    auth::{self, AuthPolicy, AuthSpec, Requirement},
    cache::CachePolicy,
    cors::{Cors, Field, OriginLists, PolicyError},
    csrf::CsrfPolicy,
    gate::{OwnOrigin, PublicOrigin},
    headers::HeadersPolicy,
    path::PathTemplate,
    route::{Facet, Level, RoutePolicy, check_method},
};

#[cfg(feature = "proxy")]
use crate::proxy::{Gateway, Proxy};
use crate::{
    app::AppParts,
    clock::Random,
    config_file::NamedLists,
    defaults::Defaults,
    endings::Endings,
    error::{Error, StartProblem},
    guard::{Guard, RouteGuard},
    handler::{BoxFuture, Call, Description},
    health::{Probe, Readiness},
    mount::{Mount, SharedService},
    proxies::TrustedProxies,
    route::Entry,
    router::{AddError, Router, RouterBuilder},
    rules::Rules,
    scheme::Schemes,
    scope::Group,
    serve::Settings,
    source::CorsSource,
    tunnel::{OpenTunnels, Tunnel},
};

pub(crate) use plan::Plan;
use rules::{Callers, Rates, Stated};

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
        scheme: impl Fn(&crate::scheme::SharedScheme) -> crate::scheme::SharedScheme,
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

    let mut router = RouterBuilder::default();
    let mut routes = Vec::new();
    for route in app.routes {
        assembler.handler(route, "", &Stated::default(), &mut router, &mut routes);
    }
    for (prefix, scope) in app.scopes {
        assembler.scope(&prefix, scope, &mut router, &mut routes);
    }
    for (prefix, Mount { service, methods, defaults }) in app.mounts {
        let mounted = Mounted { kind: "mount", prefix: &prefix, methods, defaults };
        assembler.mount(mounted, Target::Service(service), &mut router, &mut routes);
    }
    #[cfg(feature = "proxy")]
    for proxy in app.upstreams {
        match Gateway::new(&format!("proxy {}", proxy.prefix), &proxy) {
            Ok(gateway) => {
                let Proxy { prefix, methods, defaults, .. } = proxy;
                let mounted = Mounted { kind: "proxy", prefix: &prefix, methods, defaults };
                let target = Target::Proxy(Arc::new(gateway));
                assembler.mount(mounted, target, &mut router, &mut routes);
            }
            Err(problems) => assembler.problems.extend(problems),
        }
    }
    let readiness = Readiness::default();
    for (path, probe) in app.probes {
        assembler.probe(path, probe, &readiness, &mut router, &mut routes);
    }
    let (unknown, outside) = assembler.without_route();
    let tunnel = app.tunnel.and_then(|tunnel| assembler.tunnel(tunnel, &outside));
    let mut problems = assembler.finish(&named);
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

/// What answers below a prefix, and is no handler.
struct Mounted<'a> {
    kind: &'static str,
    prefix: &'a str,
    methods: Vec<Method>,
    defaults: Defaults,
}

/// What an app was given to know its callers by.
struct Known<'a> {
    sessions: bool,
    tokens: bool,
    schemes: &'a Schemes,
}

struct Assembler<'a> {
    problems: Vec<StartProblem>,
    lists: &'a OriginLists,
    /// What the app says, compiled once for all that say nothing themselves.
    default: Stated,
    known: Known<'a>,
    /// Whether browsers may be told to reach the host by https alone.
    is_https: bool,
    rates: Rates,
}

impl Assembler<'_> {
    /// Looks at the lists of origins once every route has said what it demands, and gives all
    /// problems.
    fn finish(mut self, named: &NamedLists) -> Vec<StartProblem> {
        self.problems.extend(named.fill());
        if !named.is_complete {
            // The file that is missing may have had them.
            self.problems.retain(|problem| problem.code() != Rule::OriginListMissing.code());
        }
        self.problems.extend(named.lists.unused().map(|name| {
            StartProblem::Policy(PolicyError::new(
                "app",
                Rule::OriginListUnused,
                Field::Origins,
                name,
            ))
        }));
        self.problems
    }

    fn rule(&mut self, place: &str, rule: Rule, value: &str) {
        let (place, value) = (place.to_owned(), value.to_owned());
        self.problems.push(StartProblem::Rule { place, rule, value });
    }

    fn own_origin(&mut self, public: Option<&str>) -> OwnOrigin {
        match public.map(PublicOrigin::parse) {
            None => OwnOrigin::Development,
            Some(Ok(origin)) => {
                self.is_https = !origin.is_loopback();
                OwnOrigin::Public(origin)
            }
            Some(Err(rule)) => {
                self.rule("public origin", rule, public.unwrap_or_default());
                OwnOrigin::Development
            }
        }
    }

    fn is_prefix(&mut self, place: &str, prefix: &str) -> bool {
        match PathTemplate::parse_prefix(prefix) {
            Ok(_) => true,
            Err(rule) => {
                self.rule(place, rule, prefix);
                false
            }
        }
    }

    /// Says why a route could not be added.
    fn conflict(&mut self, place: &str, route: String, error: AddError, routes: &[AssembledRoute]) {
        let other = match error {
            AddError::Rule(rule) => return self.rule(place, rule, &route),
            AddError::Overlap(path) => format!("`{path}`"),
            AddError::Taken(taken) => match routes.get(taken) {
                Some(AssembledRoute { path, is_probe: true, .. }) => {
                    format!("the probe at `{path}`")
                }
                Some(AssembledRoute { path, description: None, .. }) => {
                    format!("what is mounted at `{path}`")
                }
                Some(AssembledRoute { path, description: Some(other), .. }) => {
                    format!("`{path}` of {}", other.handler)
                }
                None => "itself".to_owned(),
            },
        };
        let place = place.to_owned();
        self.problems.push(StartProblem::Conflict { place, route, other });
    }

    fn scope(
        &mut self,
        prefix: &str,
        scope: Group,
        router: &mut RouterBuilder,
        routes: &mut Vec<AssembledRoute>,
    ) {
        if !self.is_prefix("scope", prefix) {
            return;
        }
        let stated = self.level(&format!("scope {prefix}"), scope.defaults);
        for route in scope.routes {
            self.handler(route, prefix, &stated, router, routes);
        }
    }

    fn handler(
        &mut self,
        Entry { description, call }: Entry,
        prefix: &str,
        scope: &Stated,
        router: &mut RouterBuilder,
        routes: &mut Vec<AssembledRoute>,
    ) {
        // A handler with several route attributes has one policy, which is compiled once.
        let place = format!("{} ({}:{})", description.handler, description.file, description.line);
        let RoutePolicy { cors, auth, csrf, cache, jsonp, limits, headers, isolation } =
            description.policy;
        let own = self.level(
            &place,
            Defaults { cors: cors.map(CorsSource::Policy), cache, headers, isolation, limits },
        );
        let callers = Callers {
            methods: description.routes.iter().map(|(method, _)| *method).collect(),
            is_personal: auth != AuthPolicy::Public || description.takes_session,
        };
        let (rules, level) = self.rules(&place, [&own, scope], &callers, jsonp);
        let guard = self.guard(&place, &description);
        let violations = violations_of_callers(&auth, &csrf, rules.cors.as_deref());
        for auth::Violation { rule, part, value, .. } in violations {
            if rule.severity() == Severity::Error {
                let value = if value.is_empty() { part.name() } else { value };
                self.rule(&place, rule, value);
            }
        }
        for (method, path) in description.routes {
            let path = match *path {
                "/" if !prefix.is_empty() => prefix.to_owned(),
                path => format!("{prefix}{path}"),
            };
            let route_text = format!("{method} {path}");
            let method = check_method(method).and_then(|()| {
                Method::from_bytes(method.as_bytes()).map_err(|_too_long| Rule::RouteMethod)
            });
            let methods = match method {
                Ok(method) => vec![method],
                Err(rule) => {
                    self.rule(&place, rule, &route_text);
                    continue;
                }
            };
            let by_credentials = methods
                .first()
                .map_or(&[][..], |method| self.request_headers(&auth, &csrf, method));
            let added = router.add(&path, &methods, routes.len(), &rules, by_credentials);
            if let Err(error) = added {
                self.conflict(&place, route_text, error, routes);
            }
            routes.push(AssembledRoute {
                path: path.into(),
                description: Some(description),
                methods,
                rules: Arc::clone(&rules),
                level,
                guard: guard.clone(),
                target: Target::Handler(call),
                is_probe: false,
            });
        }
    }

    /// The request headers that credentials need. A public route may take the session in its own
    /// hands, as a logout does.
    fn request_headers(
        &self,
        auth: &AuthPolicy,
        csrf: &CsrfPolicy,
        method: &Method,
    ) -> &'static [&'static str] {
        let by_hand = AuthPolicy::Required(Requirement { session: true, ..Requirement::NONE });
        let is_by_hand = *auth == AuthPolicy::Public && self.known.sessions;
        let auth = if is_by_hand { &by_hand } else { auth };
        auth.request_headers(csrf, method.as_str())
    }

    /// Looks for what the policy of a handler names.
    fn guard(&mut self, place: &str, description: &Description) -> RouteGuard {
        let RoutePolicy { auth, csrf, .. } = description.policy;
        let scheme = description.scheme.and_then(|id| self.known.schemes.get(id())).cloned();
        let policy = match &auth {
            AuthPolicy::Required(policy) => *policy,
            _ => Requirement::NONE,
        };
        let takes_sessions = policy.session || description.takes_session;
        let missing = [
            (takes_sessions && !self.known.sessions, Rule::SessionsMissing),
            ((policy.token || policy.ticket) && !self.known.tokens, Rule::TokensMissing),
            (policy.scheme.is_some() && scheme.is_none(), Rule::SchemeMissing),
        ];
        for (_, rule) in missing.into_iter().filter(|(is_missing, _)| *is_missing) {
            let routes: Vec<_> = description
                .routes
                .iter()
                .map(|(method, path)| format!("{method} {path}"))
                .collect();
            self.rule(place, rule, &routes.join(", "));
        }
        RouteGuard::new(auth, csrf, scheme).unwrap_or_else(|error| {
            // The app does not start.
            self.problems.push(StartProblem::setting(place, error.to_string()));
            RouteGuard::public()
        })
    }

    /// The tunnel, unless there is something wrong with it.
    fn tunnel(&mut self, tunnel: Tunnel, rules: &Arc<Rules>) -> Option<AssembledTunnel> {
        let place = "App::tunnel";
        let mut guard = RouteGuard::public();
        if let Some(callers) = tunnel.callers() {
            // No page sends CONNECT, and one that does is refused.
            let (auth, csrf) = (callers.policy(), CsrfPolicy::Exempt("no page can send CONNECT"));
            let scheme = callers.scheme.and_then(|id| self.known.schemes.get(id)).cloned();
            if callers.scheme.is_some() && scheme.is_none() {
                self.rule(place, Rule::SchemeMissing, "CONNECT");
            }
            if callers.scheme.is_none() && !self.known.tokens {
                self.rule(place, Rule::TokensMissing, "CONNECT");
            }
            let violations = violations_of_callers(&auth, &csrf, None);
            self.errors(place, violations.map(|found| (found.rule, found.value)));
            match RouteGuard::new(auth, csrf, scheme) {
                Ok(checked) => guard = checked,
                Err(error) => self.problems.push(StartProblem::setting(place, error.to_string())),
            }
        }
        match tunnel.check() {
            Ok(opens) => {
                Some(AssembledTunnel { opens: Arc::new(opens), rules: Arc::clone(rules), guard })
            }
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        }
    }

    fn mount(
        &mut self,
        mounted: Mounted<'_>,
        target: Target,
        router: &mut RouterBuilder,
        routes: &mut Vec<AssembledRoute>,
    ) {
        let Mounted { kind, prefix, methods, defaults } = mounted;
        let place = format!("{kind} {prefix}");
        let own = self.level(&place, defaults);
        let callers =
            Callers { methods: methods.iter().map(Method::as_str).collect(), is_personal: false };
        let (rules, level) = self.rules(&place, [&own, &Stated::default()], &callers, None);
        for method in &methods {
            if let Err(rule) = check_method(method.as_str()) {
                self.rule(&place, rule, method.as_str());
            }
        }
        if !self.is_prefix(kind, prefix) {
            return;
        }
        let below = format!("{prefix}/{{*path}}");
        let paths = [prefix, &format!("{prefix}/"), &below];
        let added = paths.into_iter().try_for_each(|path| {
            let added = router.add(path, &methods, routes.len(), &rules, &[]);
            added.map_err(|error| (path.to_owned(), error))
        });
        if let Err((path, error)) = added {
            self.conflict(&place, path, error, routes);
        }
        routes.push(AssembledRoute {
            path: below.into(),
            description: None,
            methods,
            rules,
            level,
            guard: RouteGuard::public(),
            target,
            is_probe: false,
        });
    }

    /// A route that is outside of every policy of the app.
    fn probe(
        &mut self,
        path: String,
        probe: Probe,
        readiness: &Readiness,
        router: &mut RouterBuilder,
        routes: &mut Vec<AssembledRoute>,
    ) {
        let (place, methods) = (probe.to_string(), vec![Method::GET, Method::HEAD]);
        let cache = Facet::Set(CachePolicy::no_store().build());
        let headers = Facet::Set(HeadersPolicy::DEFAULT);
        let default = std::mem::take(&mut self.default);
        let own = self.level(&place, Defaults { cache, headers, ..Defaults::default() });
        let callers = Callers { methods: vec!["GET", "HEAD"], is_personal: false };
        let (rules, level) = self.rules(&place, [&own, &Stated::default()], &callers, None);
        self.default = default;
        if let Err(error) = router.add(&path, &methods, routes.len(), &rules, &[]) {
            self.conflict(&place, format!("GET {path}"), error, routes);
        }
        routes.push(AssembledRoute {
            path: path.into(),
            description: None,
            methods,
            rules,
            level,
            guard: RouteGuard::public(),
            target: Target::Service(probe.service(readiness)),
            is_probe: true,
        });
    }
}

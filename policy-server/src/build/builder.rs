//! Checks and compiles an app, part by part.

use std::{
    any::{Any, TypeId},
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use http::Method;
#[cfg(feature = "metrics")]
use policy_core::problem::DeclaredProblem;
use policy_core::{
    Rule,
    cache::CachePolicy,
    cors::{self, Cors, CorsPolicy, OriginLists},
    head::{OwnOrigin, PublicOrigin},
    headers::HeadersPolicy,
    origin::Site,
    path::{PathTemplate, TrailingSlash},
    route::{Facet, RouteFacts, RoutePolicy},
    router::{AddError, RouterBuilder, Sharing},
};

use super::{
    callers::Available,
    route_policy::{CompiledLevel, Rates},
};
use crate::{
    app::{access::Access, policies::Policies},
    auth::RouteAuth,
    base::error::StartProblem,
    build::origin_lists::NamedLists,
    handler::{
        RouteInfo,
        object::{ObjectEngine, ObjectSchema},
    },
    observe::health::{Probe, Readiness},
    pipeline::compiled_app::{CompiledRoute, Target},
    route::{compiled_policy::CompiledRoutePolicy, socket_limits::SocketLimits},
};

/// An app while it is checked: the problems so far, and the compiled parts.
pub(super) struct Builder<'a> {
    pub(super) problems: Vec<StartProblem>,
    /// The notices that the start reports of a valid app.
    pub(super) notices: Vec<StartProblem>,
    pub(super) lists: &'a OriginLists,
    /// The compiled form of constant CORS policies: many routes state the same one.
    pub(super) cors: HashMap<CorsPolicy, Arc<Cors>>,
    /// The policies of the app, compiled once for all routes that set none.
    pub(super) default: CompiledLevel,
    /// The app's statement about the callers of its mounts, proxies and fallback.
    pub(super) access: Access,
    pub(super) available: Available<'a>,
    /// The issuer of the app's own tokens, if it signs any.
    pub(super) own_issuer: Option<Box<str>>,
    /// The beginning of `type` in problems.
    pub(super) problem_types: Option<Arc<str>>,
    /// The external issuers that the app accepts.
    pub(super) issuers: Vec<Box<str>>,
    /// The external issuers that a route accepts.
    pub(super) taken_issuers: HashSet<Box<str>>,
    /// The types of the objects that handlers take, by name.
    pub(super) objects: HashMap<&'static str, HashSet<TypeId>>,
    /// The objects whose rules ask the engine.
    pub(super) asking: BTreeMap<&'static str, ObjectSchema>,
    /// The engine of the app.
    pub(super) engine: Option<Arc<dyn ObjectEngine>>,
    /// Whether HSTS may be sent for the host.
    pub(super) is_https: bool,
    /// Whether the app has no public origin.
    pub(super) is_development: bool,
    /// The site of the app, if requests from pages of other sites carry no session cookie.
    pub(super) cookie_site: Option<Site>,
    /// The CORS policies of groups and of the app whose origins were found to be of other sites.
    pub(super) withheld: Vec<Arc<Cors>>,
    pub(super) rates: Rates,
    /// The limits of WebSockets if no level states any, counted for the whole app.
    pub(super) sockets: SocketLimits,
    /// The state, of the type that all handlers take.
    state: Arc<dyn Any + Send + Sync>,
    pub(super) router: RouterBuilder,
    pub(super) routes: Vec<Arc<CompiledRoute>>,
    /// The problems that the errors of handlers are sent as.
    #[cfg(feature = "metrics")]
    pub(super) declared: Vec<DeclaredProblem>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        problems: Vec<StartProblem>,
        lists: &'a OriginLists,
        available: Available<'a>,
        rates: Rates,
        state: Arc<dyn Any + Send + Sync>,
        trailing_slash: TrailingSlash,
    ) -> Self {
        Self {
            problems,
            notices: Vec::new(),
            lists,
            cors: HashMap::new(),
            default: CompiledLevel::default(),
            access: Access::default(),
            available,
            own_issuer: None,
            problem_types: None,
            issuers: Vec::new(),
            taken_issuers: HashSet::new(),
            objects: HashMap::new(),
            asking: BTreeMap::new(),
            engine: None,
            is_https: false,
            is_development: false,
            cookie_site: None,
            withheld: Vec::new(),
            rates,
            sockets: SocketLimits::default(),
            state,
            router: RouterBuilder::new(trailing_slash),
            routes: Vec::new(),
            #[cfg(feature = "metrics")]
            declared: Vec::new(),
        }
    }

    /// Fills the lists of origins once all routes have registered their bounds, and returns the
    /// routes or all problems.
    pub(super) fn finish(
        mut self,
        named: &NamedLists,
    ) -> (RouterBuilder, Vec<Arc<CompiledRoute>>, Vec<StartProblem>) {
        self.problems.extend(named.fill());
        // A policy without its bound does not use its list.
        let unset = self.problems.iter().filter(|problem| problem.rule() == Rule::BoundUnset);
        let unset: Vec<_> =
            unset.filter_map(|problem| problem.value().map(str::to_owned)).collect();
        if !named.is_complete {
            // Lists and bounds may be missing because their source is.
            let follows = [Rule::OriginListMissing, Rule::BoundUnset];
            self.problems.retain(|problem| !follows.contains(&problem.rule()));
        }
        self.problems.extend(named.lists.unused_bounds().map(|name| {
            StartProblem::new(Rule::BoundUnused, "app", name)
                .with_part(cors::CorsPart::Within.name())
        }));
        let unused = named.lists.unused().filter(|name| unset.iter().all(|unset| unset != name));
        self.problems.extend(unused.map(|name| {
            StartProblem::new(Rule::OriginListUnused, "app", name)
                .with_part(cors::CorsPart::Origins.name())
        }));
        (self.router, self.routes, self.problems)
    }

    pub(super) fn rule(&mut self, location: &str, rule: Rule, value: &str) {
        self.problems.push(StartProblem::new(rule, location, value));
    }

    /// Sets the address of the pages about problems. Its characters must be those of a URI reference
    /// (RFC 3986 4.1).
    pub(super) fn set_problem_types(&mut self, address: Option<String>) {
        let is_of_uri = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
        match address {
            Some(address) if address.is_empty() || !address.bytes().all(is_of_uri) => {
                self.rule("App::problem_types", Rule::ProblemTypes, &address);
            }
            address => self.problem_types = address.map(Into::into),
        }
    }

    pub(super) fn own_origin(&mut self, public: Option<&str>) -> OwnOrigin {
        match public.map(PublicOrigin::parse) {
            None => {
                self.is_development = true;
                OwnOrigin::Development
            }
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

    /// A route without a handler.
    pub(super) fn info(&self, path: String) -> RouteInfo {
        let (path, clock) = (path.into(), self.rates.clock.clone());
        let state = Arc::clone(&self.state);
        RouteInfo { path, description: None, state, engine: None, misses: None, clock }
    }

    pub(super) fn is_prefix(&mut self, location: &str, prefix: &str) -> bool {
        match PathTemplate::parse_prefix(prefix) {
            Ok(_) => true,
            Err(rule) => {
                self.rule(location, rule, prefix);
                false
            }
        }
    }

    /// Adds a route under its paths. `name` is its name in problems.
    pub(super) fn add(
        &mut self,
        location: &str,
        #[cfg_attr(not(feature = "metrics"), expect(unused_mut, reason = "for metrics"))] mut route: CompiledRoute,
        paths: impl IntoIterator<Item = String>,
        by_credentials: &'static [&'static str],
        name: impl Fn(&str) -> String,
    ) {
        let index = self.routes.len();
        #[cfg(feature = "metrics")]
        {
            route.index = index;
        }
        let sharing =
            Sharing { cors: route.rules.cors.clone(), by_credentials: by_credentials.to_vec() };
        let added = paths.into_iter().try_for_each(|path| {
            let added = self.router.add(&path, &route.methods, index, &sharing);
            added.map_err(|error| (path, error))
        });
        if let Err((path, error)) = added {
            self.conflict(location, name(&path), error);
        }
        self.routes.push(Arc::new(route));
    }

    /// Reports why a route could not be added.
    fn conflict(&mut self, location: &str, route: String, error: AddError) {
        let other = match error {
            AddError::Rule(rule) => return self.rule(location, rule, &route),
            AddError::Taken(taken) => match self.routes.get(taken) {
                Some(other) if other.is_probe => format!("the probe at `{}`", other.path()),
                Some(other) => match other.description() {
                    None => format!("the mount at `{}`", other.path()),
                    Some(handler) => format!("`{}` of {}", other.path(), handler.handler),
                },
                None => "itself".to_owned(),
            },
            AddError::Overlap(path) => format!("`{path}`"),
        };
        let problem = StartProblem::new(Rule::RouteConflict, location, route);
        self.problems.push(problem.caused_by(other));
    }

    /// The targets outside the path tree: the tunnel and the fallback.
    pub(super) fn unlisted(
        &self,
        rules: &Arc<CompiledRoutePolicy>,
        auth: RouteAuth,
        asks_caller: bool,
        target: Target,
    ) -> CompiledRoute {
        let info = self.info(String::new());
        let route = CompiledRoute::new(info, Arc::clone(rules), auth, target);
        CompiledRoute { asks_caller, ..route }
    }

    /// A health probe, which is exempt from every policy of the app.
    pub(super) fn probe(&mut self, path: String, probe: Probe, readiness: &Readiness) {
        let (location, methods) = (probe.to_string(), vec![Method::GET, Method::HEAD]);
        let mut policies = Policies::new();
        policies.level.cache = Facet::Set(CachePolicy::no_store().build());
        policies.level.headers = Facet::Set(HeadersPolicy::DEFAULT);
        let default = std::mem::take(&mut self.default);
        let own = self.level(&location, policies);
        let facts = RouteFacts { methods: &["GET", "HEAD"], ..RouteFacts::PUBLIC };
        let (rules, level) =
            self.rules(&location, [&own, &CompiledLevel::default()], facts, &RoutePolicy::PUBLIC);
        self.default = default;
        let paths = [path.clone()];
        let target = Target::Service(probe.service(readiness));
        let route = CompiledRoute::new(self.info(path), rules, RouteAuth::public(), target);
        let route = CompiledRoute { methods, level, is_probe: true, ..route };
        self.add(&location, route, paths, &[], |path| format!("GET {path}"));
    }
}

//! Resolves the policies of a route from those of its levels.

use std::{collections::HashMap, iter, sync::Arc};

use policy_core::{
    Rule, Violation,
    cors::{Cors, CorsExtension, CorsPolicy, Origins, PolicyErrors},
    headers::SecurityHeaders,
    limits::{Limits, Rate, RateCapacity},
    path::value_of,
    route::{Facet, FacetPolicy, FromSpec, Level, LevelPolicy, RouteFacts, RoutePolicy, nearest},
};

use super::builder::Builder;
use crate::{
    app::{cors_source::CorsSource, policies::Policies},
    base::{
        clock::{Clock, Random},
        error::StartProblem,
    },
    route::{
        compiled_policy::CompiledRoutePolicy,
        limits::{BODY, Concurrency, RateLimit, TIMEOUT, words},
        shared_limits::{LimitBook, SharedPermits, SharedRate},
        socket_limits::{CallerSockets, SocketLimits},
    },
};

/// The compiled policies of one level.
#[derive(Clone, Default)]
pub(super) struct CompiledLevel {
    pub(super) policies: LevelPolicy<Arc<Cors>>,
    rate: Option<Arc<RateLimit>>,
    concurrency: Option<Arc<Concurrency>>,
    sockets: Option<Arc<Concurrency>>,
    sockets_per_caller: Option<Arc<CallerSockets>>,
    misses: Option<Arc<RateLimit>>,
}

/// The common settings of all rate limits of an app.
pub(super) struct Rates {
    pub(super) clock: Clock,
    random: Random,
    capacity: RateCapacity,
    /// The shared accounts of all instances, if any, and whether concurrent requests are shared too.
    shared: Option<(Arc<LimitBook>, bool)>,
    /// How many levels have each name: groups and mounts may have equal prefixes.
    names: HashMap<String, u32>,
}

impl Rates {
    pub(super) fn new(
        clock: &Clock,
        random: &Random,
        capacity: RateCapacity,
        shared: Option<(Arc<LimitBook>, bool)>,
    ) -> Self {
        let (clock, random) = (clock.clone(), random.clone());
        Self { clock, random, capacity, shared, names: HashMap::new() }
    }

    /// The name under which the limits of a level are shared. No other level has it, and it is the
    /// same in all instances, since levels are compiled in the order of their declaration.
    fn unique_name(&mut self, name: &str) -> String {
        let number = self.names.entry(name.to_owned()).or_default();
        *number += 1;
        format!("{name}#{number}")
    }
}

impl Builder<'_> {
    /// Compiles the policies of one level. Violations are reported here once, and the policy is
    /// then treated as absent.
    pub(super) fn level(&mut self, location: &str, policies: Policies) -> CompiledLevel {
        self.named_level(location, location, policies)
    }

    /// Compiles a level with a name for its limits, which is the same in all instances.
    pub(super) fn named_level(
        &mut self,
        location: &str,
        name: &str,
        policies: Policies,
    ) -> CompiledLevel {
        let Limits { rate, concurrency, sockets, sockets_per_caller, misses, .. } =
            policies.level.limits;
        self.errors(location, policies.level.limits.violations().map(Violation::into_named));
        let name = self.rates.unique_name(name);
        let shared = self.rates.shared.clone();
        let rate = rate.and_then(|rate| {
            let limit = self.rate_limit(location, rate)?;
            Some(Arc::new(match shared {
                Some((book, _)) => {
                    limit.shared(SharedRate::new(&book, &name, rate, self.rates.capacity))
                }
                None => limit,
            }))
        });
        let misses = misses.and_then(|rate| self.rate_limit(location, rate)).map(Arc::new);
        let concurrency = concurrency.map(|most| match &self.rates.shared {
            Some((book, true)) => Concurrency::shared(SharedPermits::new(book, &name, most)),
            _ => Concurrency::new(most),
        });
        let policies = policies.level.map_cors(|cors| match cors {
            Facet::Inherit => Facet::Inherit,
            Facet::None => Facet::None,
            Facet::Set(source) => match self.cors(location, &source) {
                Ok(cors) => Facet::Set(cors),
                Err(errors) => {
                    self.problems.extend(errors.into_iter().map(StartProblem::from));
                    Facet::None
                }
            },
        });
        CompiledLevel {
            policies,
            rate,
            concurrency,
            sockets: sockets.map(Concurrency::new),
            sockets_per_caller: sockets_per_caller.map(CallerSockets::new),
            misses,
        }
    }

    /// Compiles a CORS policy, or reuses the compiled form of an equal one. A policy that depends on
    /// its location, for a warning or for its list, is compiled for each location.
    fn cors(&mut self, location: &str, source: &CorsSource) -> Result<Arc<Cors>, PolicyErrors> {
        let constant = match source {
            CorsSource::Policy(policy) => Some(*policy),
            CorsSource::Config(_) => None,
        };
        if let Some(cors) = constant.and_then(|policy| self.cors.get(&policy)) {
            return Ok(Arc::clone(cors));
        }
        let cors = Arc::new(source.compile(location, self.lists)?);
        let is_listed = |policy: &CorsPolicy| matches!(policy.spec().origins, Origins::Listed(_));
        if let Some(policy) = constant.filter(is_listed)
            && cors.notices().is_empty()
        {
            self.cors.insert(policy, Arc::clone(&cors));
        }
        Ok(cors)
    }

    /// A rate that this instance counts.
    fn rate_limit(&mut self, location: &str, rate: Rate) -> Option<RateLimit> {
        let Rates { clock, random, capacity, .. } = &self.rates;
        match random.draw::<16>() {
            Ok(seed) => Some(RateLimit::new(rate, *capacity, words(seed), clock)),
            Err(error) => {
                let problem = StartProblem::without_value(Rule::RandomMissing, location);
                self.problems.push(problem.caused_by(error));
                None
            }
        }
    }

    /// The policies for 404 responses and for requests rejected before routing.
    pub(super) fn without_route(&mut self) -> (Arc<CompiledRoutePolicy>, Arc<CompiledRoutePolicy>) {
        let anybody = RouteFacts { methods: &["GET"], ..RouteFacts::PUBLIC };
        let nobody = CompiledLevel::default();
        let (unknown, _) = self.rules("app", [&nobody, &nobody], anybody, &RoutePolicy::PUBLIC);
        let mut unshared = CompiledLevel::default();
        unshared.policies.cors = Facet::None;
        let (outside, _) = self.rules("app", [&unshared, &nobody], anybody, &RoutePolicy::PUBLIC);
        (unknown, outside)
    }

    /// The policy of a route, and the level that set its CORS policy. `route` is its
    /// own level, and `group` the level of its group.
    pub(super) fn rules(
        &mut self,
        location: &str,
        [route, group]: [&CompiledLevel; 2],
        facts: RouteFacts<'_>,
        own: &RoutePolicy,
    ) -> (Arc<CompiledRoutePolicy>, Option<Level>) {
        let app = self.default.clone();
        let levels = [(Level::Route, route), (Level::Group, group), (Level::App, &app)];
        let (cors, level) = nearest_facet(levels, |stated| stated.policies.cors.clone());
        let level = level.filter(|_| cors.is_some());
        let cors = self.extended(location, cors, &own.cors_extension);
        let route = RouteFacts { has_jsonp: own.jsonp.is_some(), ..facts };
        let facets = self.facets(location, levels, own, route);
        let headers = facets
            .headers
            .map(|fields| if self.is_https { fields } else { fields.without_transport() });
        let takes_nonce = headers.as_ref().is_some_and(SecurityHeaders::takes_nonce);
        let (caching, _) = nearest_facet(levels, |stated| stated.policies.cache);
        // A page with a nonce may declare what a response to one person may declare.
        let one_person = RouteFacts { takes_session: true, ..RouteFacts::UNKNOWN };
        if let Some(policy) = caching.filter(|_| takes_nonce && facets.cache.is_some())
            && policy.violations(one_person).iter().any(Violation::is_error)
        {
            self.rule(location, Rule::HeadersNonceShared, "");
        }
        let stated = || levels.into_iter().map(|(_, stated)| stated);
        let limits = stated().fold(Limits::NONE, |limits, outer| limits.or(outer.policies.limits));
        let rate = stated().find_map(|stated| stated.rate.clone());
        let fields = [
            cors.as_ref().map(|_| 4),
            facets.cache.as_ref().map(|_| 2),
            headers.as_ref().map(SecurityHeaders::count),
            rate.as_ref().map(|_| 2),
        ];
        let rules = CompiledRoutePolicy {
            cors,
            headers,
            body: limits.body.unwrap_or(BODY),
            timeout: limits.timeout.unwrap_or(TIMEOUT),
            rate,
            misses: stated().find_map(|stated| stated.misses.clone()),
            concurrency: stated().find_map(|stated| stated.concurrency.clone()),
            sockets: SocketLimits {
                message: limits.message.unwrap_or(self.sockets.message),
                silence: limits.silence.unwrap_or(self.sockets.silence),
                in_all: stated()
                    .find_map(|stated| stated.sockets.clone())
                    .unwrap_or_else(|| Arc::clone(&self.sockets.in_all)),
                per_caller: stated()
                    .find_map(|stated| stated.sockets_per_caller.clone())
                    .unwrap_or_else(|| Arc::clone(&self.sockets.per_caller)),
            },
            problem_types: self.problem_types.clone(),
            fields: fields.into_iter().flatten().sum(),
            tells_codes: self.is_development,
            ..facets
        };
        (Arc::new(rules), level)
    }

    /// Checks that the path of a route has the parameter that selects its list of origins.
    pub(super) fn check_list_key(&mut self, location: &str, cors: Option<&Cors>, path: &str) {
        let key = cors.and_then(Cors::key);
        if key.is_some_and(|key| value_of(path, key, path).is_none()) {
            self.rule(location, Rule::OriginListBy, path);
        }
    }

    /// The CORS policy of an outer level, with the header names that a route adds.
    fn extended(
        &mut self,
        location: &str,
        nearest: Option<Arc<Cors>>,
        extension: &CorsExtension<'_>,
    ) -> Option<Arc<Cors>> {
        if extension.is_empty() {
            return nearest;
        }
        if nearest.is_none() {
            self.rule(location, Rule::ExtensionOfNothing, "");
        }
        nearest.map(|cors| Arc::new(cors.extended(extension)))
    }

    /// One facet of a route, checked again where it must agree with the route.
    fn facet<P: FacetPolicy>(
        &mut self,
        location: &str,
        stated: Option<(P, Level)>,
        route: RouteFacts<'_>,
    ) -> Option<P::Compiled> {
        let (policy, _) = stated.filter(|(policy, level)| policy.applies(*level, route))?;
        self.errors(location, policy.violations(route).into_iter());
        Some(policy.compile())
    }

    /// The policy of a spec that only a route states. A violation is reported here, and the policy
    /// is then treated as absent.
    fn own<P: FromSpec>(&mut self, location: &str, spec: P::Spec) -> Option<P> {
        match P::from_spec(spec) {
            Ok(policy) => Some(policy),
            Err(violation) => {
                self.errors(location, iter::once(violation));
                None
            }
        }
    }

    /// Reports the errors among the violations of a policy.
    pub(super) fn errors<'v>(
        &mut self,
        location: &str,
        violations: impl Iterator<Item = Violation<'v, &'static str>>,
    ) {
        for Violation { rule, part, value, .. } in violations.filter(Violation::is_error) {
            let problem = match value {
                "" => StartProblem::without_value(rule, location),
                value => StartProblem::new(rule, location, value),
            };
            self.problems.push(problem.with_part(part));
        }
    }
}

macro_rules! compile_facets {
    (
        levels { $(
            $(#[$doc:meta])* $name:ident: $Spec:ty => $Policy:ty => $Compiled:ty,
            $(#[$none_doc:meta])* $none:ident;
        )* }
        route { $($(#[$own_doc:meta])* $own:ident: $OwnSpec:ty => $OwnPolicy:ty => $OwnCompiled:ty,)* }
    ) => {
        impl Builder<'_> {
            /// Takes each facet from the nearest level that sets it.
            fn facets(
                &mut self,
                location: &str,
                levels: [(Level, &CompiledLevel); 3],
                policy: &RoutePolicy,
                route: RouteFacts<'_>,
            ) -> CompiledRoutePolicy {
                CompiledRoutePolicy {
                    $($name: {
                        let (policy, level) = nearest_facet(levels, |stated| stated.policies.$name);
                        self.facet(location, policy.zip(level), route)
                    },)*
                    $($own: {
                        let stated = policy.$own.and_then(|spec| self.own::<$OwnPolicy>(location, spec));
                        self.facet(location, stated.map(|policy| (policy, Level::Route)), route)
                    },)*
                    ..CompiledRoutePolicy::default()
                }
            }
        }
    };
}

policy_core::facets!([compile_facets]);

/// The value of the nearest level that states something, and that level.
fn nearest_facet<T>(
    levels: [(Level, &CompiledLevel); 3],
    of: impl Fn(&CompiledLevel) -> Facet<T>,
) -> (Option<T>, Option<Level>) {
    nearest(levels.map(|(level, stated)| (level, of(stated))))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use policy_core::Rule;

    use crate::{base::error::StartProblem, build::report::notices, prelude::*};

    const KEPT: CachePolicy = CachePolicy::public().max_age(60).build();
    const HIDDEN: HeadersPolicy = HeadersPolicy::builder().corp("same-origin").build();

    #[get("/public")]
    #[auth(public)]
    async fn public() {}

    #[get("/page")]
    #[headers(csp = "script-src 'nonce'")]
    #[auth(public)]
    async fn page() {}

    /// A warning names the location of each.
    #[test]
    fn equal_cors_policies_are_compiled_once_unless_they_warn() {
        const SHARED: CorsPolicy = CorsPolicy::origins(&["https://app.example"]).build();
        const CAPPED: CorsPolicy =
            CorsPolicy::origins(&["https://app.example"]).max_age(86_400).build();
        let service = |policy: CorsPolicy| {
            let group =
                || Group::new().policies(Policies::new().cors(policy)).routes(routes![public]);
            App::new(()).group("/a", group()).group("/b", group()).into_service()
        };
        let shared = service(SHARED);
        let compiled: Vec<_> =
            shared.app().routes.iter().filter_map(|route| route.rules.cors.as_ref()).collect();
        assert_eq!(compiled.len(), 2);
        assert!(Arc::ptr_eq(compiled[0], compiled[1]));
        let noticed = notices(service(CAPPED).app());
        let locations: Vec<_> = noticed.iter().map(StartProblem::location).collect();
        assert_eq!(locations, ["group /a", "group /b"]);
    }

    #[test]
    fn levels_that_contradict_each_other_do_not_start() {
        #[get("/script")]
        #[jsonp(callback = "cb")]
        #[auth(public)]
        async fn script() -> Json<u8> {
            Json(1)
        }

        let aged_in_shared_caches = CachePolicy::unstated().s_maxage(60).build();
        for (policies, code) in [
            (Policies::new().headers(HIDDEN), "headers.corp-of-shared"),
            (Policies::new().cache(KEPT), "headers.nonce-shared"),
            (Policies::new().cache(aged_in_shared_caches), "headers.nonce-shared"),
        ] {
            let app = App::new(()).policies(policies).routes(routes![page, public, script]);
            let error = app.check().unwrap_err().to_string();
            assert!(error.contains(code), "{error}");
        }
    }

    /// Refusals of gates and of preflights, and problems of handlers, have the address of their page. A
    /// problem that states an address itself keeps it, and one without a code has none.
    #[tokio::test]
    async fn problems_have_the_address_of_their_page() {
        #[get("/coded")]
        #[auth(public)]
        async fn coded() -> Problem {
            Problem::conflict().code("lamps.sold").detail("\"gone\"")
        }

        #[get("/stated")]
        #[auth(public)]
        async fn stated() -> Problem {
            Problem::conflict().code("lamps.sold").type_uri("/lamps/sold")
        }

        #[get("/plain")]
        #[auth(public)]
        async fn plain() -> Problem {
            Problem::conflict()
        }

        let app = App::new(()).routes(routes![coded, stated, plain]);
        let client = app.problem_types("https://docs.example/errors/?code=").test();
        for (method, path, expected) in [
            ("GET", "/coded", "https://docs.example/errors/?code=lamps.sold"),
            ("GET", "/stated", "/lamps/sold"),
            ("GET", "/plain", "about:blank"),
            ("GET", "/missing", "https://docs.example/errors/?code=route.not-found"),
            ("PUT", "/plain", "https://docs.example/errors/?code=route.method-not-allowed"),
            ("GET", "/a//b", "https://docs.example/errors/?code=wire.path-empty-segment"),
        ] {
            let response = client.request(method.parse().unwrap(), path).send().await;
            let problem: serde_json::Value = response.json();
            assert_eq!(problem["type"], expected, "{method} {path}: {problem}");
            assert_eq!(response.header("content-type"), Some("application/problem+json"));
        }
        let preflight = client
            .request(http::Method::OPTIONS, "/coded")
            .origin("https://a.example")
            .header("access-control-request-method", "GET");
        let problem: serde_json::Value = preflight.send().await.json();
        let expected = "https://docs.example/errors/?code=cors.origin-not-granted";
        assert_eq!(problem["type"], expected);
        let page = client.get("/coded").header("accept", "text/html").send().await;
        let link =
            "<a href=\"https://docs.example/errors/?code=lamps.sold\"><code>lamps.sold</code></a>";
        assert!(page.text().contains(link), "{}", page.text());
        let text = client.get("/coded").header("accept", "text/plain").send().await;
        assert!(
            text.text()
                .ends_with("code: lamps.sold\nhttps://docs.example/errors/?code=lamps.sold\n")
        );
    }

    #[test]
    fn the_address_of_pages_is_a_uri_reference() {
        for address in ["https://docs.example/errors/", "/errors/", "urn:shop:", "#"] {
            assert!(App::new(()).problem_types(address).check().is_ok(), "{address}");
        }
        for address in ["", "https://docs.example/my errors/", "\"", "/b\u{fc}cher/", "/{code}"] {
            let built = App::new(()).problem_types(address).check();
            let Err(crate::Error::Start(problems)) = built else { panic!("{address} is accepted") };
            let rules: Vec<_> = problems.iter().map(StartProblem::rule).collect();
            assert_eq!(rules, [Rule::ProblemTypes], "{address}");
        }
    }
}

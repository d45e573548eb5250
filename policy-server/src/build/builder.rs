//! Checks and compiles an app, part by part.

use std::{
    any::{Any, TypeId},
    sync::Arc,
};

use http::Method;
use policy_core::{
    Rule, Violation,
    auth::{AuthPolicy, AuthSpec, OWN_ISSUER, Requirement},
    cache::CachePolicy,
    cors::{self, OriginLists},
    csrf::CsrfPolicy,
    gate::{OwnOrigin, PublicOrigin},
    headers::HeadersPolicy,
    path::PathTemplate,
    route::{Authentication, Facet, Level, RouteFacts, RoutePolicy, check_method},
};

use super::{
    mount::Outer,
    route_policy::{CompiledLevel, Rates},
    violations_of_callers,
};
use crate::{
    app::{
        access::Access, cors_source::CorsSource, defaults::Defaults, group::GroupParts,
        route::Entry,
    },
    auth::{RouteAuth, scheme::Schemes},
    base::error::StartProblem,
    build::origin_lists::NamedLists,
    handler::{Description, RouteInfo, service::SharedService},
    observe::health::{Probe, Readiness},
    pipeline::{
        compiled_app::{CompiledRoute, Target},
        gates::target,
    },
    route::{
        compiled_policy::CompiledRoutePolicy,
        router::{AddError, RouterBuilder},
    },
};

/// The means by which an app can authenticate callers.
pub(super) struct Available<'a> {
    pub(super) sessions: bool,
    pub(super) tokens: bool,
    pub(super) schemes: &'a Schemes,
}

/// An app while it is checked: the problems so far, and the compiled parts.
pub(super) struct Builder<'a> {
    pub(super) problems: Vec<StartProblem>,
    pub(super) lists: &'a OriginLists,
    /// The policies of the app, compiled once for all routes that set none.
    pub(super) default: CompiledLevel,
    /// What the app states about the callers of its mounts, proxies and fallback.
    pub(super) access: Access,
    pub(super) available: Available<'a>,
    /// The issuer of the app's own tokens, if it signs any.
    pub(super) own_issuer: Option<Box<str>>,
    /// The external issuers that the app accepts.
    pub(super) issuers: Vec<Box<str>>,
    /// Whether HSTS may be sent for the host.
    pub(super) is_https: bool,
    pub(super) rates: Rates,
    /// Of the state type that all handlers take.
    state: Arc<dyn Any + Send + Sync>,
    pub(super) router: RouterBuilder,
    pub(super) routes: Vec<Arc<CompiledRoute>>,
}

/// Who may call a route, with what it refers to by type.
#[derive(Clone, Copy)]
pub(super) struct Guarded {
    pub(super) auth: AuthPolicy,
    pub(super) csrf: CsrfPolicy,
    pub(super) scheme: Option<TypeId>,
    /// Whether an argument of its handler is a session.
    pub(super) takes_session: bool,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        problems: Vec<StartProblem>,
        lists: &'a OriginLists,
        available: Available<'a>,
        rates: Rates,
        state: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        Self {
            problems,
            lists,
            default: CompiledLevel::default(),
            access: Access::default(),
            available,
            own_issuer: None,
            issuers: Vec::new(),
            is_https: false,
            rates,
            state,
            router: RouterBuilder::default(),
            routes: Vec::new(),
        }
    }

    /// Fills the lists of origins once all routes have registered their bounds, and returns the
    /// routes or all problems.
    pub(super) fn finish(
        mut self,
        named: &NamedLists,
    ) -> (RouterBuilder, Vec<Arc<CompiledRoute>>, Vec<StartProblem>) {
        self.problems.extend(named.fill());
        if !named.is_complete {
            // Lists may be missing because the configuration file is.
            self.problems.retain(|problem| problem.code() != Rule::OriginListMissing.code());
        }
        self.problems.extend(named.lists.unused().map(|name| {
            StartProblem::new(Rule::OriginListUnused, "app", name)
                .of_part(cors::Part::Origins.name())
        }));
        (self.router, self.routes, self.problems)
    }

    pub(super) fn rule(&mut self, location: &str, rule: Rule, value: &str) {
        self.problems.push(StartProblem::new(rule, location, value));
    }

    pub(super) fn own_origin(&mut self, public: Option<&str>) -> OwnOrigin {
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

    pub(super) fn info(&self, path: String, description: Option<Description>) -> Arc<RouteInfo> {
        Arc::new(RouteInfo { path: path.into(), description, state: Arc::clone(&self.state) })
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

    /// Reports why a route could not be added.
    pub(super) fn conflict(&mut self, location: &str, route: String, error: AddError) {
        let other = match error {
            AddError::Rule(rule) => return self.rule(location, rule, &route),
            AddError::Overlap(path) => format!("`{path}`"),
            AddError::Taken(taken) => match self.routes.get(taken) {
                Some(other) if other.is_probe => format!("the probe at `{}`", other.path()),
                Some(other) => match other.description() {
                    None => format!("the mount at `{}`", other.path()),
                    Some(handler) => format!("`{}` of {}", other.path(), handler.handler),
                },
                None => "itself".to_owned(),
            },
        };
        let problem = StartProblem::new(Rule::RouteConflict, location, route);
        self.problems.push(problem.caused_by(other));
    }

    pub(super) fn group(&mut self, prefix: &str, group: GroupParts) {
        if !self.is_prefix("group", prefix) {
            return;
        }
        let location = format!("group {prefix}");
        self.check_csrf(&location, group.access.csrf);
        let level = self.level(&location, group.defaults);
        // Applied once, so that one layer serves the whole group.
        let wrapped = group.layers.into_iter().fold(None, |inner: Option<SharedService>, layer| {
            Some(layer(inner.unwrap_or_else(target::behind_layers)))
        });
        let outer = Outer { prefix, level, access: group.access, layer: wrapped };
        for route in group.routes {
            self.handler(route, &outer);
        }
        for (prefix, mount) in group.mounts {
            self.mounted(&prefix, mount, &outer);
        }
        #[cfg(feature = "gateway")]
        for proxy in group.upstreams {
            self.proxied(proxy, &outer);
        }
    }

    pub(super) fn handler(&mut self, Entry { description, call, layer }: Entry, outer: &Outer<'_>) {
        let &Outer { prefix, level: ref group, access, .. } = outer;
        let own = layer.map(|wrap| wrap(target::behind_layers()));
        let layers: Vec<_> = outer.layer.iter().cloned().chain(own).collect();
        // A handler with several route attributes has one policy, which is compiled once.
        let location =
            format!("{} ({}:{})", description.handler, description.file, description.line);
        let RoutePolicy { auth, csrf: stated, .. } = description.policy;
        let (csrf, csrf_level) = self.csrf(stated, access.csrf);
        let (own, violations) = description.policy.level();
        self.errors(&location, violations.into_iter());
        let own = self.level(&location, own.map_cors(|cors| cors.map(CorsSource::Policy)));
        let methods: Vec<_> = description.routes.iter().map(|(method, _)| *method).collect();
        let spec = AuthSpec {
            takes_session: description.takes_session,
            ..AuthSpec::of(&auth, stated.as_ref())
        };
        let facts = RouteFacts::of(&spec, &methods, false);
        let (rules, level) = self.rules(&location, [&own, group], facts, &description.policy);
        let routes: Vec<_> =
            description.routes.iter().map(|(method, path)| format!("{method} {path}")).collect();
        let scheme = description.scheme.map(|id| id());
        let guarded = Guarded { auth, csrf, scheme, takes_session: description.takes_session };
        let guard = self.guard(&location, guarded, &routes.join(", "));
        if description.takes_user && self.takes_only_issuer(&auth) {
            self.rule(&location, Rule::PrincipalOfOthers, &routes.join(", "));
        }
        let knows_callers = self.available.sessions || self.available.tokens;
        let asks_caller = facts.authentication != Authentication::Public
            || (description.extracts && knows_callers);
        let violations = violations_of_callers(spec, rules.cors.as_deref());
        self.errors(&location, violations.map(Violation::named));
        for (method, path) in description.routes {
            let path = match *path {
                "/" if !prefix.is_empty() => (*prefix).to_owned(),
                path => format!("{prefix}{path}"),
            };
            let route_text = format!("{method} {path}");
            let method = check_method(method).and_then(|()| {
                Method::from_bytes(method.as_bytes()).map_err(|_too_long| Rule::RouteMethod)
            });
            let methods = match method {
                Ok(method) => vec![method],
                Err(rule) => {
                    self.rule(&location, rule, &route_text);
                    continue;
                }
            };
            let by_credentials = methods
                .first()
                .map_or(&[][..], |method| self.request_headers(&auth, &csrf, method));
            let added = self.router.add(&path, &methods, self.routes.len(), &rules, by_credentials);
            if let Err(error) = added {
                self.conflict(&location, route_text, error);
            }
            let info = self.info(path, Some(description));
            self.routes.push(Arc::new(CompiledRoute {
                info,
                methods,
                rules: Arc::clone(&rules),
                level,
                auth: guard.clone(),
                csrf_level,
                asks_caller,
                target: Target::Handler(call),
                layers: layers.clone(),
                is_probe: false,
                tells_paths_apart: true,
            }));
        }
    }

    /// The CSRF protection of the nearest level that states one, and that level.
    pub(super) fn csrf(
        &self,
        own: Option<CsrfPolicy>,
        group: Option<CsrfPolicy>,
    ) -> (CsrfPolicy, Option<Level>) {
        let levels = [(Level::Route, own), (Level::Group, group), (Level::App, self.access.csrf)];
        let stated = levels.into_iter().find_map(|(level, csrf)| Some((csrf?, Some(level))));
        stated.unwrap_or_default()
    }

    /// Checks the CSRF protection that an app or a group states, as if each of its routes had a
    /// session: the others have nothing to protect, and inherit it all the same.
    pub(super) fn check_csrf(&mut self, location: &str, csrf: Option<CsrfPolicy>) {
        let session = AuthPolicy::Required(Requirement { session: true, ..Requirement::NONE });
        let spec = AuthSpec::of(&session, csrf.as_ref());
        self.errors(location, spec.violations().map(Violation::named));
    }

    /// The request headers that credentials need. A public route may also handle the session
    /// itself, as a logout does.
    pub(super) fn request_headers(
        &self,
        auth: &AuthPolicy,
        csrf: &CsrfPolicy,
        method: &Method,
    ) -> &'static [&'static str] {
        let by_hand = AuthPolicy::Required(Requirement { session: true, ..Requirement::NONE });
        let is_by_hand = *auth == AuthPolicy::Public && self.available.sessions;
        let auth = if is_by_hand { &by_hand } else { auth };
        auth.request_headers(csrf, method.as_str())
    }

    /// Resolves what a policy refers to: schemes, sessions and tokens. `value` names what it is the
    /// policy of.
    pub(super) fn guard(&mut self, location: &str, guarded: Guarded, value: &str) -> RouteAuth {
        let Guarded { auth, csrf, scheme, takes_session } = guarded;
        let scheme = scheme.and_then(|id| self.available.schemes.get(id)).cloned();
        let policy = match &auth {
            AuthPolicy::Required(policy) => *policy,
            _ => Requirement::NONE,
        };
        let takes_sessions = policy.session || takes_session;
        let missing = [
            (takes_sessions && !self.available.sessions, Rule::SessionsMissing),
            ((policy.token || policy.ticket) && !self.available.tokens, Rule::TokensMissing),
            (policy.scheme.is_some() && scheme.is_none(), Rule::SchemeMissing),
        ];
        for (_, rule) in missing.into_iter().filter(|(is_missing, _)| *is_missing) {
            self.rule(location, rule, value);
        }
        if (policy.token || policy.ticket) && self.available.tokens {
            self.check_issuers(location, &policy, value);
        }
        RouteAuth::new(auth, csrf, scheme).unwrap_or_else(|error| {
            // The app will not start.
            self.problems.push(StartProblem::without_value(error.rule(), location));
            RouteAuth::public()
        })
    }

    /// Checks that the app accepts the issuers that a policy names.
    fn check_issuers(&mut self, location: &str, policy: &Requirement, value: &str) {
        if policy.issuers.is_empty() && self.own_issuer.is_none() && self.issuers.len() > 1 {
            self.rule(location, Rule::IssuersMissing, value);
        }
        for issuer in policy.issuers {
            // Tickets are issued from sessions, too.
            let signs = self.own_issuer.is_some() || (policy.ticket && self.available.sessions);
            let is_own = self.own_issuer.as_deref() == Some(issuer);
            let is_accepted = self.issuers.iter().any(|accepted| **accepted == **issuer);
            if !(is_own || is_accepted || (*issuer == OWN_ISSUER && signs)) {
                self.rule(location, Rule::IssuerNotAccepted, issuer);
            }
        }
    }

    /// Whether a policy takes tokens of an external issuer without naming it.
    fn takes_only_issuer(&self, policy: &AuthPolicy) -> bool {
        let takes =
            |policy: &Requirement| (policy.token || policy.ticket) && policy.issuers.is_empty();
        self.own_issuer.is_none()
            && !self.issuers.is_empty()
            && matches!(policy, AuthPolicy::Required(policy) if takes(policy))
    }

    /// The targets outside the path tree: the tunnel and the fallback.
    pub(super) fn unlisted(
        &self,
        rules: &Arc<CompiledRoutePolicy>,
        auth: RouteAuth,
        asks_caller: bool,
        target: Target,
    ) -> Arc<CompiledRoute> {
        Arc::new(CompiledRoute {
            info: self.info(String::new(), None),
            methods: Vec::new(),
            rules: Arc::clone(rules),
            level: None,
            auth,
            csrf_level: None,
            asks_caller,
            target,
            layers: Vec::new(),
            is_probe: false,
            tells_paths_apart: true,
        })
    }

    /// A health probe, which is exempt from every policy of the app.
    pub(super) fn probe(&mut self, path: String, probe: Probe, readiness: &Readiness) {
        let (location, methods) = (probe.to_string(), vec![Method::GET, Method::HEAD]);
        let mut defaults = Defaults::default();
        defaults.cache = Facet::Set(CachePolicy::no_store().build());
        defaults.headers = Facet::Set(HeadersPolicy::DEFAULT);
        let default = std::mem::take(&mut self.default);
        let own = self.level(&location, defaults);
        let facts = RouteFacts { methods: &["GET", "HEAD"], ..RouteFacts::PUBLIC };
        let (rules, level) =
            self.rules(&location, [&own, &CompiledLevel::default()], facts, &RoutePolicy::PUBLIC);
        self.default = default;
        if let Err(error) = self.router.add(&path, &methods, self.routes.len(), &rules, &[]) {
            self.conflict(&location, format!("GET {path}"), error);
        }
        let info = self.info(path, None);
        self.routes.push(Arc::new(CompiledRoute {
            info,
            methods,
            rules,
            level,
            auth: RouteAuth::public(),
            csrf_level: None,
            asks_caller: false,
            target: Target::Service(probe.service(readiness)),
            layers: Vec::new(),
            is_probe: true,
            tells_paths_apart: true,
        }));
    }
}

//! Compiles targets without attributes: mounts, proxies and the fallback.

use std::sync::Arc;

use http::Method;
#[cfg(feature = "metrics")]
use policy_core::auth::AuthPolicy;
use policy_core::{
    Rule, Violation,
    auth::AuthSpec,
    method::is_safe,
    route::{Level, RouteFacts, RoutePolicy, check_method},
};

use super::{
    builder::Builder,
    callers::{GuardedRoute, violations_of_callers},
    handlers::wrapped,
    route_policy::CompiledLevel,
};
#[cfg(feature = "metrics")]
use crate::{app::mount::ServedBy, base::error::StartProblem};
#[cfg(feature = "gateway")]
use crate::{app::proxy::ReverseProxy, gateway::proxy::Gateway};
use crate::{
    app::{
        access::{Access, Callers},
        fallback::Fallback,
        mount::{Mount, paths::MountedPaths},
        policies::Policies,
    },
    auth::RouteAuth,
    handler::service::SharedService,
    pipeline::compiled_app::{CompiledRoute, Target},
    route::compiled_policy::CompiledRoutePolicy,
};

/// A group, as its mounts see it; the default is no group.
#[derive(Default)]
pub(super) struct Outer<'a> {
    pub(super) prefix: &'a str,
    pub(super) level: CompiledLevel,
    pub(super) access: Access,
    /// The layers of the group.
    pub(super) layer: Option<SharedService>,
}

/// The service for a whole prefix.
struct MountSpec {
    kind: &'static str,
    prefix: String,
    methods: Vec<Method>,
    paths: MountedPaths,
    target: Target,
    stated: TargetPolicies,
}

/// The policies that a mount, a proxy or the fallback states.
struct TargetPolicies {
    policies: Policies,
    access: Access,
    /// Whether the target may extract the caller: code of this process may, an upstream may not.
    extracts: bool,
}

/// The resolved policy of a mount, a proxy or the fallback.
struct ResolvedPolicy {
    rules: Arc<CompiledRoutePolicy>,
    level: Option<Level>,
    guard: RouteAuth,
    csrf_level: Option<Level>,
    asks_caller: bool,
}

impl Builder<'_> {
    pub(super) fn mounted(&mut self, prefix: &str, mount: Mount, outer: &Outer<'_>) {
        #[cfg(feature = "metrics")]
        let is_metrics = matches!(mount.served_by, ServedBy::Metrics);
        let Mount { service, methods, strips_prefix, paths, access, policies, .. } = mount;
        let prefix = format!("{}{prefix}", outer.prefix);
        let segments = prefix.matches('/').count();
        let service = if strips_prefix { service.below(segments) } else { service };
        let mounted = MountSpec {
            kind: "mount",
            prefix,
            methods,
            paths,
            target: Target::Service(service),
            stated: TargetPolicies { policies, access, extracts: true },
        };
        #[cfg(feature = "metrics")]
        let location = format!("mount {}", mounted.prefix);
        self.mount(mounted, outer);
        #[cfg(feature = "metrics")]
        if is_metrics && self.routes.last().is_some_and(|it| it.auth.auth == AuthPolicy::Public) {
            self.notices.push(StartProblem::without_value(Rule::MetricsPublic, location));
        }
    }

    #[cfg(feature = "gateway")]
    pub(super) fn proxied(&mut self, mut proxy: ReverseProxy, outer: &Outer<'_>) {
        proxy.prefix.insert_str(0, outer.prefix);
        match Gateway::new(&format!("proxy {}", proxy.prefix), &proxy) {
            Ok(gateway) => {
                let ReverseProxy { prefix, methods, paths, access, policies, .. } = proxy;
                let target = Target::Proxy(Arc::new(gateway));
                let stated = TargetPolicies { policies, access, extracts: false };
                let kind = "proxy";
                self.mount(MountSpec { kind, prefix, methods, paths, target, stated }, outer);
            }
            Err(problems) => self.problems.extend(problems),
        }
    }

    fn mount(&mut self, mounted: MountSpec, outer: &Outer<'_>) {
        let MountSpec { kind, prefix, methods, paths: of_paths, target, stated } = mounted;
        let location = format!("{kind} {prefix}");
        let names: Vec<_> = methods.iter().map(Method::as_str).collect();
        let resolved = self.resolve(&location, &prefix, stated, outer, &names);
        let ResolvedPolicy { rules, level, guard, csrf_level, asks_caller } = resolved;
        for method in &methods {
            if let Err(rule) = check_method(method.as_str()) {
                self.rule(&location, rule, method.as_str());
            }
        }
        // The group has checked its own prefix. Joined to it, `files` would look right.
        let own = prefix.strip_prefix(outer.prefix).unwrap_or(&prefix);
        if !self.is_prefix(kind, own) {
            return;
        }
        let unsafe_method = methods.iter().find(|method| !is_safe(method.as_str()));
        let by_credentials = unsafe_method
            .or(methods.first())
            .map_or(&[][..], |method| self.request_headers(&guard.auth, &guard.csrf, method));
        let below = format!("{prefix}/{{*path}}");
        let rest = if of_paths.take_slashes { "{*path:slashes}" } else { "{*path}" };
        let paths = [prefix.clone(), format!("{prefix}/"), format!("{prefix}/{rest}")];
        let route = CompiledRoute {
            methods,
            level,
            csrf_level,
            asks_caller,
            layers: outer.layer.iter().cloned().collect(),
            tells_paths_apart: of_paths.are_exact,
            ..CompiledRoute::new(self.info(below), rules, guard, target)
        };
        self.add(&location, route, paths, by_credentials, str::to_owned);
    }

    pub(super) fn fallback(&mut self, fallback: Fallback) -> Arc<CompiledRoute> {
        let Fallback { service, access, policies, layers, .. } = fallback;
        let stated = TargetPolicies { policies, access, extracts: true };
        let resolved = self.resolve("fallback", "", stated, &Outer::default(), &["GET"]);
        let ResolvedPolicy { rules, guard, asks_caller, .. } = resolved;
        let route = self.unlisted(&rules, guard, asks_caller, Target::Service(service));
        let layers = wrapped(layers);
        Arc::new(CompiledRoute { layers: layers.into_iter().collect(), ..route })
    }

    /// The policy that the nearest level states. If no level states the callers, no caller is admitted.
    fn resolve(
        &mut self,
        location: &str,
        prefix: &str,
        stated: TargetPolicies,
        outer: &Outer<'_>,
        methods: &[&str],
    ) -> ResolvedPolicy {
        let TargetPolicies { policies, access, extracts } = stated;
        let Access { callers, .. } = access.or(outer.access).or(self.access);
        let callers = callers.unwrap_or_else(|| {
            self.rule(location, Rule::MountCallersMissing, prefix);
            Callers::Public
        });
        let auth = callers.policy();
        let (csrf, csrf_level) = access.csrf_of_target(outer.access, self.access, &auth, extracts);
        let spec: AuthSpec<'_> = callers.spec(access.csrf.as_ref());
        let facts = RouteFacts::new(&spec, methods, false);
        let own = self.level(location, policies);
        let (rules, level) =
            self.rules(location, [&own, &outer.level], facts, &RoutePolicy::PUBLIC);
        let violations = violations_of_callers(spec, true, rules.cors.as_deref());
        self.errors(location, violations.map(Violation::into_named));
        self.check_list_key(location, rules.cors.as_deref(), prefix);
        self.check_site(location, &auth, rules.cors.as_ref(), level);
        let guarded = GuardedRoute { auth, csrf, scheme: callers.scheme(), takes_session: false };
        let guard = self.guard(location, guarded, prefix).for_service();
        let asks_caller = self.asks_caller(&facts, extracts);
        ResolvedPolicy { rules, level, guard, csrf_level, asks_caller }
    }
}

//! Compiles handlers, and groups of them.

use std::{mem, sync::Arc};

use http::Method;
use policy_core::{
    Rule, Violation,
    auth::{AuthPolicy, AuthSpec},
    limits::LimitSpec,
    route::{Level, RouteFacts, check_method},
};

use super::{
    builder::Builder,
    callers::{GuardedRoute, is_as_strict_as, violations_of_callers},
    mount::Outer,
};
use crate::{
    app::{
        access::{Access, HandlerCallers},
        cors_source::CorsSource,
        group::{GroupParts, path_below},
        policies::Policies,
        route::Entry,
    },
    base::error::StartProblem,
    handler::{
        RouteInfo,
        describe::Signature,
        object::MissRate,
        service::{SharedService, Wrap},
    },
    pipeline::{
        compiled_app::{CompiledRoute, Target},
        gates::target,
    },
};

impl Builder<'_> {
    pub(super) fn group(&mut self, prefix: &str, group: GroupParts) {
        if !self.is_prefix("group", prefix) {
            return;
        }
        let location = format!("group {prefix}");
        self.check_csrf(&location, group.access.csrf);
        let level = self.level(&location, group.policies);
        // Applied once, so that one layer serves the whole group.
        let layer = wrapped(group.layers);
        let outer = Outer { prefix, level, access: group.access, layer };
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

    pub(super) fn handler(&mut self, entry: Entry, outer: &Outer<'_>) {
        let Entry { description, call, layer, describe, .. } = entry;
        let &Outer { prefix, level: ref group, access, .. } = outer;
        let own = layer.map(|wrap| wrap(target::behind_layers()));
        let layers: Vec<_> = outer.layer.iter().cloned().chain(own).collect();
        // A handler with several route attributes has one policy, which is compiled once.
        let location =
            format!("{} ({}:{})", description.handler, description.file, description.line);
        let stated = description.policy.csrf;
        let (csrf, csrf_level) = Access::nearest_csrf(stated, access, self.access);
        let (own, violations) = description.policy.level();
        self.errors(&location, violations.into_iter());
        // The limits of a handler are named by its routes, since its line changes with each release.
        let routes: Vec<_> =
            description.routes.iter().map(|(method, path)| format!("{method} {path}")).collect();
        let routes = routes.join(", ");
        let signature = Signature::new(describe);
        self.check_object_names(&location, &signature);
        let callers = HandlerCallers::find(&description, access, self.access);
        if callers.is_none() {
            self.rule(&location, Rule::GroupCallersMissing, &routes);
        }
        let inherits = callers.as_ref().is_some_and(|callers| callers.level != Level::Route);
        let (auth, scheme) =
            callers.map_or((AuthPolicy::Public, None), |callers| (callers.auth, callers.scheme));
        let of_group = access.callers.map(|group| (group.policy(), group.scheme()));
        if of_group.is_some_and(|group| !is_as_strict_as((auth, scheme), group)) {
            self.notices.push(StartProblem::new(Rule::LaxerThanGroup, &location, &*routes));
        }
        let own = Policies::from(own.map_cors(|cors| cors.map(CorsSource::Policy)));
        let own = self.named_level(&location, &format!("{prefix} {routes}"), own);
        let methods: Vec<_> = description.routes.iter().map(|(method, _)| *method).collect();
        let spec = AuthSpec {
            methods: &methods,
            takes_session: description.takes_session,
            // The macro has checked the requirement that it saw.
            principal: inherits && description.takes_caller,
            takes_user: inherits && description.takes_user,
            ..AuthSpec::from_policies(&auth, stated.as_ref())
        };
        let facts = RouteFacts::new(&spec, &methods, false);
        if inherits {
            let limits = LimitSpec { limits: description.policy.limits, route: facts };
            self.errors(&location, limits.violations().map(Violation::into_named));
        }
        let (rules, level) = self.rules(&location, [&own, group], facts, &description.policy);
        let guarded = GuardedRoute { auth, csrf, scheme, takes_session: description.takes_session };
        let guard = self.guard(&location, guarded, &routes);
        if description.takes_user && self.takes_only_issuer(&auth) {
            self.rule(&location, Rule::PrincipalOfOthers, &routes);
        }
        let asks_caller = self.asks_caller(&facts, description.extracts);
        // What a handler states itself, the macro has checked with its arguments.
        let takes_session = !inherits || description.takes_session;
        let violations = violations_of_callers(spec, takes_session, rules.cors.as_deref());
        self.errors(&location, violations.map(Violation::into_named));
        self.check_site(&location, &auth, rules.cors.as_ref(), level);
        #[cfg(feature = "metrics")]
        self.declared.extend(signature.problems);
        for (method, path) in description.routes {
            let path = path_below(prefix, path);
            let route_text = format!("{method} {path}");
            self.check_list_key(&location, rules.cors.as_deref(), &path);
            let method = check_method(method).and_then(|()| {
                Method::from_bytes(method.as_bytes()).map_err(|_too_long| Rule::RouteMethod)
            });
            let method = match method {
                Ok(method) => method,
                Err(rule) => {
                    self.rule(&location, rule, &route_text);
                    continue;
                }
            };
            let by_credentials = self.request_headers(&auth, &csrf, &method);
            let info = RouteInfo {
                description: Some(description),
                engine: self.engine.clone(),
                misses: rules.misses.clone().map(|rate| rate as Arc<dyn MissRate>),
                ..self.info(path.clone())
            };
            let target = Target::Handler(call);
            let route = CompiledRoute {
                methods: vec![method],
                level,
                csrf_level,
                asks_caller,
                layers: layers.clone(),
                reads: signature.reads,
                ..CompiledRoute::new(info, Arc::clone(&rules), guard.clone(), target)
            };
            self.add(&location, route, [path], by_credentials, |_| route_text.clone());
        }
    }

    /// Refuses a second type with the same name, once: manifests list rules by the name of the
    /// object.
    fn check_object_names(&mut self, location: &str, signature: &Signature) {
        for object in &signature.objects {
            let types = self.objects.entry(object.name).or_default();
            if types.insert(object.id) && types.len() > 1 {
                self.rule(location, Rule::ObjectNameTwice, object.name);
            }
            if let Some(schema) = object.asked_schema() {
                self.asking.insert(object.name, schema);
            }
        }
    }

    /// Checks that the app has an engine if rules ask one, and that it can decide about their
    /// objects.
    pub(super) fn check_engine(&mut self) {
        let asking: Vec<_> = mem::take(&mut self.asking).into_values().collect();
        match self.engine.clone() {
            None => asking.iter().for_each(|object| {
                for action in &object.actions {
                    let rule = format!("{}.{action}", object.name);
                    self.rule("App::engine", Rule::EngineMissing, &rule);
                }
            }),
            Some(engine) if asking.is_empty() => self.notices.push(StartProblem::new(
                Rule::EngineUnused,
                "App::engine",
                engine.name(),
            )),
            Some(engine) => {
                self.problems.extend(engine.validate(&asking).into_iter().map(|found| {
                    StartProblem::new(Rule::EngineInvalid, "App::engine", engine.name())
                        .caused_by(found)
                }));
            }
        }
    }
}

/// Combines layers into one; the last is the outermost.
pub(super) fn wrapped(layers: Vec<Wrap>) -> Option<SharedService> {
    layers.into_iter().fold(None, |inner: Option<SharedService>, layer| {
        Some(layer.around(inner.unwrap_or_else(target::behind_layers)))
    })
}

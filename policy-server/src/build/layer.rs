//! Compiles the policies of a layer in front of another service.

use std::{sync::Arc, time::Duration};

use policy_core::{
    Rule,
    csrf::CsrfPolicy,
    limits::{Limits, RateCapacity},
    path::TrailingSlash,
    route::{Facet, RouteFacts, RoutePolicy},
};

use super::{
    builder::Builder,
    callers::Available,
    origin_lists::NamedLists,
    route_policy::{CompiledLevel, Rates},
};
use crate::{
    app::policy_layer::PolicyLayerBuilder,
    auth::scheme::Schemes,
    base::{
        clock::{Clock, Random},
        error::Error,
    },
    pipeline::layer::{CompiledLayer, PolicyLayer},
    route::{compiled_policy::CompiledRoutePolicy, socket_limits::SocketLimits},
};

/// Its name in problems.
const LAYER: &str = "PolicyLayer";

impl PolicyLayerBuilder {
    /// Checks the policies, also against each other.
    ///
    /// # Errors
    ///
    /// All problems together, as for an app.
    pub fn build(self) -> Result<PolicyLayer, Error> {
        let Self { policies, public_origin, origins, problem_types, csrf, peer } = self;
        let mut problems = Vec::new();
        let named = NamedLists::read(origins, &mut problems);
        let schemes = Schemes::default();
        let available = Available { sessions: false, tokens: false, schemes: &schemes };
        let random = Random::system();
        let rates = Rates::new(&Clock::system(), &random, RateCapacity::DEFAULT, None);
        let mut builder = Builder::new(
            problems,
            &named.lists,
            available,
            rates,
            Arc::new(()),
            TrailingSlash::Strict,
        );
        builder.set_problem_types(problem_types);
        let own_origin = builder.own_origin(public_origin.as_deref());
        builder.is_development = false;
        // A limit that is not stated does not apply.
        builder.sockets = SocketLimits::new(Limits::NONE);
        let limits = policies.level.limits;
        let leaves_cors = matches!(policies.level.cors, Facet::Inherit);
        let counts_callers = limits.rate.is_some() || limits.sockets_per_caller.is_some();
        if counts_callers && peer.is_none() {
            builder.rule(LAYER, Rule::RateOfLayer, "");
        }
        if let Some(CsrfPolicy::Token | CsrfPolicy::OriginElseToken) = csrf {
            builder.rule(LAYER, Rule::CsrfTokenOfLayer, "");
        }
        for (name, _) in &named.stored {
            builder.rule(LAYER, Rule::StoredListWithoutStore, name);
        }
        builder.check_csrf(LAYER, csrf);
        let level = builder.level(LAYER, policies);
        let facts = RouteFacts { methods: &["GET"], ..RouteFacts::PUBLIC };
        let outer = CompiledLevel::default();
        let (rules, _) = builder.rules(LAYER, [&level, &outer], facts, &RoutePolicy::PUBLIC);
        builder.check_list_key(LAYER, rules.cors.as_deref(), "");
        let (_, _, problems) = builder.finish(&named);
        if !problems.is_empty() {
            return Err(Error::Start(problems));
        }
        let rules = Arc::into_inner(rules).unwrap_or_default();
        let rules = CompiledRoutePolicy {
            leaves_cors,
            body: limits.body.unwrap_or(u64::MAX),
            timeout: limits.timeout.unwrap_or(Duration::MAX),
            ..rules
        };
        Ok(PolicyLayer::compiled(CompiledLayer {
            rules: Arc::new(rules),
            preflight: None,
            own_origin,
            csrf,
            peer,
            limits_body: limits.body.is_some(),
            limits_sockets: limits.message.is_some()
                || limits.silence.is_some()
                || limits.sockets.is_some()
                || limits.sockets_per_caller.is_some()
                || limits.concurrency.is_some(),
            random,
        }))
    }
}

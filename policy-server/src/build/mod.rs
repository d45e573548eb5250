//! Compiles an [`App`] into a service. All checks happen here, and all problems are reported
//! together.

mod builder;
pub(crate) mod callers;
#[cfg(feature = "config_file")]
mod config_file;
mod handlers;
mod layer;
#[cfg(feature = "manifest")]
pub(crate) mod manifest;
mod mount;
#[cfg(feature = "openapi")]
pub(crate) mod openapi;
pub(crate) mod origin_lists;
pub(crate) mod report;
mod route_policy;
mod stores;
#[cfg(feature = "gateway")]
mod tunnel;

use std::{mem, sync::Arc};

use policy_core::{Rule, head::OwnOrigin, headers::HeadersPolicy, route::Facet};

#[cfg(feature = "manifest")]
use crate::observe::decision_record::Decisions;
#[cfg(feature = "metrics")]
use crate::observe::metrics::{Meter, MetricsTarget, Target};
use crate::{
    app::AppParts,
    auth::{
        AuthService, revocation_events::RevocationBus, session::SessionSettings,
        tokens::TokenSettings,
    },
    base::{
        clock::{Clock, Random},
        error::{Error, StartProblem},
    },
    build::origin_lists::NamedLists,
    observe::{health::Readiness, observation::Observing},
    pipeline::compiled_app::CompiledApp,
    route::shared_limits::{LimitBook, SharedLimits},
};

use builder::Builder;
use callers::Available;
use mount::Outer;
use route_policy::Rates;
pub(crate) use stores::Plan;

/// The default issuer and audience of tokens.
fn own_text(own: &OwnOrigin) -> &str {
    match own {
        OwnOrigin::Development => "http://localhost",
        OwnOrigin::Public(origin) => origin.as_str(),
    }
}

/// Checks an app and compiles it.
pub(crate) fn compile(app: AppParts) -> Result<Plan, Error> {
    #[cfg(feature = "manifest")]
    let decisions = app
        .decision_records
        .map(|records| Arc::new(Decisions::new(manifest::read(&app).0.digest(), records)));
    let mut problems = Vec::new();
    #[cfg(feature = "openapi")]
    openapi::write(&app, &mut problems);
    let named = NamedLists::read(app.origins, &mut problems);
    let available = Available {
        sessions: app.sessions.is_some(),
        tokens: app.tokens.is_some(),
        schemes: &app.schemes,
    };
    let book = limit_book(app.shared_limits.as_ref(), &app.random, &app.clock, &mut problems);
    let permits = app.shared_limits.as_ref().is_some_and(SharedLimits::shares_permits);
    let shared = book.clone().map(|book| (book, permits));
    let mut builder = Builder::new(
        problems,
        &named.lists,
        available,
        Rates::new(&app.clock, &app.random, app.rate_capacity, shared),
        Arc::from(app.state),
        app.trailing_slash,
    );
    builder.set_problem_types(app.problem_types);
    builder.engine = app.engine;
    let own_origin = builder.own_origin(app.public_origin.as_deref());
    if let Some(tokens) = &app.tokens {
        builder.own_issuer = tokens.own_issuer(own_text(&own_origin)).map(Into::into);
        builder.issuers = tokens.external_issuers().map(Into::into).collect();
    }
    builder.cookie_site =
        app.sessions.as_ref().and_then(|sessions| sessions.cookie_site(&own_origin));
    let cookie_site = builder.cookie_site.clone();
    let mut policies = app.policies;
    if policies.level.headers == Facet::Inherit {
        policies.level.headers = Facet::Set(HeadersPolicy::DEFAULT);
    }
    builder.default = builder.level("app", policies);
    builder.access = app.access;
    builder.check_csrf("app", app.access.csrf);

    let outer = Outer::default();
    for route in app.routes {
        builder.handler(route, &outer);
    }
    for (prefix, group) in app.groups {
        builder.group(&prefix, group);
    }
    for (prefix, mount) in app.mounts {
        builder.mounted(&prefix, mount, &outer);
    }
    #[cfg(feature = "gateway")]
    for proxy in app.gateway.upstreams {
        builder.proxied(proxy, &outer);
    }
    let readiness = Readiness::default();
    for (path, probe) in app.probes {
        builder.probe(path, probe, &readiness);
    }
    let (not_found_policy, no_route_policy) = builder.without_route();
    #[cfg(feature = "gateway")]
    let tunnel = app.gateway.tunnel.and_then(|tunnel| builder.tunnel(tunnel, &no_route_policy));
    #[cfg(not(feature = "gateway"))]
    let tunnel = None;
    let fallback = app.fallback.map(|fallback| builder.fallback(fallback));
    // Preflights for unknown paths use the policy of the responses for these paths.
    let not_found_policy =
        fallback.as_ref().map_or(not_found_policy, |fallback| Arc::clone(&fallback.rules));
    builder.check_engine();
    let mut notices = mem::take(&mut builder.notices);
    notices.extend(builder.unused_issuers());
    #[cfg(feature = "metrics")]
    let declared = mem::take(&mut builder.declared);
    let (router, routes, mut problems) = builder.finish(&named);
    let (sessions, tokens) = (app.sessions, app.tokens);
    check_credentials(
        sessions.as_ref(),
        tokens.as_ref(),
        &own_origin,
        app.is_tested,
        &mut problems,
    );
    problems.extend(app.tracing.problems());
    let proxies = app.proxies.and_then(|proxies| {
        let checked = proxies.check();
        checked.map_err(|found| problems.extend(found)).ok()
    });
    #[cfg(feature = "manifest")]
    let candidate = app.candidate.and_then(|candidate| {
        let cookie = sessions.as_ref().and_then(|settings| settings.cookie_names(&own_origin));
        let compiled = candidate.compile(&named.lists, cookie).map_err(|error| {
            let problem = StartProblem::without_value(Rule::Candidate, "App::report_only");
            problems.push(problem.caused_by(error));
        });
        compiled.ok().map(Arc::new)
    });
    #[cfg(feature = "metrics")]
    if let Some(MetricsTarget(Target::Own(metrics))) = &app.metrics {
        let invalid = metrics.invalid_labels();
        problems.extend(
            invalid.map(|name| StartProblem::new(Rule::MetricsLabel, "App::metrics", name)),
        );
    }
    if !problems.is_empty() {
        return Err(Error::Start(problems));
    }

    #[cfg(feature = "metrics")]
    let meter = app.metrics.map(|MetricsTarget(target)| {
        let paths = routes.iter().map(|route| Arc::clone(route.path()));
        Arc::new(Meter::new(&target, paths, &declared))
    });
    let observing = Observing::new(app.request_ids, app.access_log);
    #[cfg(feature = "manifest")]
    let observing = observing.with_policies(decisions, candidate);
    let of_keys = tokens.iter().flat_map(TokenSettings::notices);
    let auth = AuthService::new(&own_origin, app.clock, RevocationBus::default());
    let assembled = CompiledApp {
        notices: of_keys.chain(notices).collect(),
        own_origin,
        cookie_site,
        router: router.finish(),
        routes,
        not_found_policy,
        no_route_policy,
        fallback,
        is_layered: !app.layers.is_empty(),
        random: app.random.clone(),
        settings: app.settings,
        readiness,
        observing,
        tracing: app.tracing,
        #[cfg(feature = "metrics")]
        meter,
        auth: Arc::new(auth),
        proxies,
        tunnel,
        #[cfg(feature = "gateway")]
        traces: app.gateway.traces,
    };
    let limits = app.shared_limits.zip(book);
    Ok(Plan {
        assembled,
        layers: app.layers,
        sessions,
        tokens,
        limits,
        origins: named.stored,
        values: None,
        random: app.random,
    })
}

/// Where the limits of this instance are counted, if an app shares them.
fn limit_book(
    limits: Option<&SharedLimits>,
    random: &Random,
    clock: &Clock,
    problems: &mut Vec<StartProblem>,
) -> Option<Arc<LimitBook>> {
    match (limits, random.draw()) {
        (None, _) => None,
        (Some(_), Ok(instance)) => Some(LimitBook::new(instance, clock.clone())),
        (Some(_), Err(error)) => {
            let problem = StartProblem::without_value(Rule::RandomMissing, "App::shared_limits");
            problems.push(problem.caused_by(error));
            None
        }
    }
}

/// Checks the settings of sessions and tokens, alone and together.
fn check_credentials(
    sessions: Option<&SessionSettings>,
    tokens: Option<&TokenSettings>,
    own_origin: &OwnOrigin,
    is_tested: bool,
    problems: &mut Vec<StartProblem>,
) {
    let settings = sessions.into_iter().flat_map(|sessions| sessions.violations(own_origin));
    problems.extend(settings.map(|(rule, value)| StartProblem::new(rule, "App::sessions", value)));
    let Some(tokens) = tokens else { return };
    problems.extend(tokens.problems(own_text(own_origin)));
    if let OwnOrigin::Public(origin) = own_origin
        && !origin.is_loopback()
        && !is_tested
        && tokens.has_keys_of_development()
    {
        problems.push(StartProblem::without_value(Rule::KeysOfDevelopment, "App::tokens"));
    }
    if sessions.is_some_and(|sessions| sessions.leaves_tokens() && !tokens.has_own_store()) {
        problems.push(StartProblem::without_value(Rule::TokensOfMoving, "App::tokens"));
    }
}

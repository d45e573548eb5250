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
mod targets;
#[cfg(feature = "gateway")]
mod tunnel;

use std::{mem, sync::Arc};

use policy_core::{Rule, head::OwnOrigin, headers::HeadersPolicy, route::Facet};

#[cfg(feature = "metrics")]
use crate::observe::metrics::{Meter, MetricsTarget, Target};
#[cfg(feature = "manifest")]
use crate::observe::{candidate::RunningCandidate, decision_record::Decisions};
use crate::{
    app::{AppParts, settings::ServerSettings},
    auth::{AuthService, revocation_events::RevocationBus, tokens::TokenSettings},
    base::{
        clock::{Clock, Random},
        error::{Error, StartProblem},
    },
    build::origin_lists::NamedLists,
    observe::observation::Observing,
    pipeline::compiled_app::CompiledApp,
    route::shared_limits::{LimitBook, SharedLimits},
};

use builder::Builder;
use callers::Available;
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
pub(crate) fn compile(mut app: AppParts) -> Result<Plan, Error> {
    #[cfg(feature = "manifest")]
    let decisions = app
        .decision_records
        .map(|records| Arc::new(Decisions::new(manifest::read(&app).0.digest(), records)));
    let has_credentials = app.has_credentials();
    let mut problems = Vec::new();
    #[cfg(feature = "openapi")]
    openapi::write(&app, &mut problems);
    let named = NamedLists::read(mem::take(&mut app.origins), &mut problems);
    let schemes = mem::take(&mut app.schemes);
    let available = Available {
        sessions: app.sessions.is_some(),
        tokens: app.tokens.is_some(),
        schemes: &schemes,
    };
    let book = limit_book(app.shared_limits.as_ref(), &app.random, &app.clock, &mut problems);
    let permits = app.shared_limits.as_ref().is_some_and(SharedLimits::shares_permits);
    let shared = book.clone().map(|book| (book, permits));
    let mut builder = Builder::new(
        problems,
        &named.lists,
        available,
        Rates::new(&app.clock, &app.random, app.rate_capacity, shared),
        Arc::clone(&app.state.0),
        app.trailing_slash,
    );
    let own_origin = app_level(&mut builder, &mut app);
    let cookie_site = builder.cookie_site.clone();
    let unrouted = builder.targets(&mut app);
    let mut notices = app.tokens.iter().flat_map(TokenSettings::notices).collect::<Vec<_>>();
    notices.append(&mut builder.notices);
    notices.extend(builder.unused_issuers());
    #[cfg(feature = "metrics")]
    let declared = mem::take(&mut builder.declared);
    let (router, routes, mut problems) = builder.finish(&named);
    check_credentials(&app, &own_origin, &mut problems);
    check_settings(&app.settings, &mut problems);
    problems.extend(app.tracing.problems());
    let proxies = app.proxies.take().and_then(|proxies| {
        let checked = proxies.check();
        checked.map_err(|found| problems.extend(found)).ok()
    });
    #[cfg(feature = "manifest")]
    let candidate = compiled_candidate(&mut app, &named, &own_origin, &mut problems);
    #[cfg(feature = "metrics")]
    check_labels(app.metrics.as_ref(), &mut problems);
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
    let auth = AuthService::new(&own_origin, app.clock, RevocationBus::default());
    let forwards = routes.iter().any(|route| route.target.is_proxy());
    let assembled = CompiledApp {
        notices,
        own_origin,
        cookie_site,
        router: router.finish(),
        routes,
        not_found_policy: unrouted.not_found_policy,
        no_route_policy: unrouted.no_route_policy,
        fallback: unrouted.fallback,
        is_layered: !app.layers.is_empty(),
        random: app.random.clone(),
        settings: app.settings,
        readiness: unrouted.readiness,
        observing,
        tracing: app.tracing,
        #[cfg(feature = "metrics")]
        meter,
        auth: Arc::new(auth),
        proxies,
        has_credentials,
        forwards,
        tunnel: unrouted.tunnel,
        #[cfg(feature = "gateway")]
        traces: app.gateway.traces,
    };
    let limits = app.shared_limits.zip(book);
    Ok(Plan {
        assembled,
        layers: app.layers,
        sessions: app.sessions,
        tokens: app.tokens,
        limits,
        origins: named.stored,
        values: None,
        random: app.random,
    })
}

/// Compiles what an app states for all that it serves, and returns its origin.
fn app_level(builder: &mut Builder<'_>, app: &mut AppParts) -> OwnOrigin {
    builder.set_problem_types(app.problem_types.take());
    builder.engine = app.engine.take();
    let own_origin = builder.own_origin(app.public_origin.as_deref());
    if let Some(tokens) = &app.tokens {
        builder.own_issuer = tokens.own_issuer(own_text(&own_origin)).map(Into::into);
        builder.issuers = tokens.external_issuers().map(Into::into).collect();
    }
    builder.cookie_site =
        app.sessions.as_ref().and_then(|sessions| sessions.cookie_site(&own_origin));
    let mut policies = mem::take(&mut app.policies);
    if policies.level.headers == Facet::Inherit {
        policies.level.headers = Facet::Set(HeadersPolicy::DEFAULT);
    }
    builder.default = builder.level("app", policies);
    builder.access = app.access;
    builder.check_csrf("app", app.access.csrf);
    own_origin
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

/// The policy that the app compares with its own.
#[cfg(feature = "manifest")]
fn compiled_candidate(
    app: &mut AppParts,
    named: &NamedLists,
    own_origin: &OwnOrigin,
    problems: &mut Vec<StartProblem>,
) -> Option<Arc<RunningCandidate>> {
    let candidate = app.candidate.take()?;
    let cookie = app.sessions.as_ref().and_then(|settings| settings.cookie_names(own_origin));
    let compiled = candidate.compile(&named.lists, cookie).map_err(|error| {
        let problem = StartProblem::without_value(Rule::Candidate, "App::report_only");
        problems.push(problem.caused_by(error));
    });
    compiled.ok().map(Arc::new)
}

/// Checks the labels of metrics that the app renders itself.
#[cfg(feature = "metrics")]
fn check_labels(target: Option<&MetricsTarget>, problems: &mut Vec<StartProblem>) {
    if let Some(MetricsTarget(Target::Own(metrics))) = target {
        let invalid = metrics.invalid_labels();
        problems.extend(
            invalid.map(|name| StartProblem::new(Rule::MetricsLabel, "App::metrics", name)),
        );
    }
}

/// Checks the times within which clients have to act. Those of a stop may be zero.
fn check_settings(settings: &ServerSettings, problems: &mut Vec<StartProblem>) {
    let ServerSettings { header_timeout, idle_timeout, .. } = *settings;
    for (name, time) in [("header_timeout", header_timeout), ("idle_timeout", idle_timeout)] {
        if time.is_zero() {
            problems.push(StartProblem::new(Rule::ServerTimeZero, "App::settings", name));
        }
    }
}

/// Checks the settings of sessions and tokens, alone and together.
fn check_credentials(app: &AppParts, own_origin: &OwnOrigin, problems: &mut Vec<StartProblem>) {
    let (sessions, tokens) = (app.sessions.as_ref(), app.tokens.as_ref());
    let settings = sessions.into_iter().flat_map(|sessions| sessions.violations(own_origin));
    problems.extend(settings.map(|(rule, value)| StartProblem::new(rule, "App::sessions", value)));
    let Some(tokens) = tokens else { return };
    problems.extend(tokens.problems(own_text(own_origin)));
    if let OwnOrigin::Public(origin) = own_origin
        && !origin.is_loopback()
        && !app.is_tested
        && tokens.has_keys_of_development()
    {
        problems.push(StartProblem::without_value(Rule::KeysOfDevelopment, "App::tokens"));
    }
    if sessions.is_some_and(|sessions| sessions.leaves_tokens() && !tokens.has_own_store()) {
        problems.push(StartProblem::without_value(Rule::TokensOfMoving, "App::tokens"));
    }
}

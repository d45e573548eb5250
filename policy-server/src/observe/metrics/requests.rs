//! The series of requests: a table of fixed size, in which each series is found by indexes.

use std::{
    mem,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::Duration,
};

use axum_core::{body::Body, response::Response};
use http::{Method, Version};
use http_body::Body as HttpBody;
use metrics::{Counter, Gauge};
use policy_core::{head::Head, problem::DeclaredProblem};

use super::{
    Target,
    connections::Connections,
    instruments::Parts,
    names::{self, OTHER},
    outcome::{NO_RESPONSE, Outcome, Outcomes},
    process::Process,
    stopwatch::Stopwatch,
};
use crate::{
    base::{
        body::{BodyObserver, ObservedBody, PolledFrame},
        clock::Clock,
        problem,
    },
    route::limits::RateLimit,
};

/// The known methods (OpenTelemetry semantic conventions 1.44, HTTP), then the value of all others.
const METHODS: [&str; 11] = [
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE", OTHER,
];

fn index_of(method: &Method) -> usize {
    match *method {
        Method::GET => 2,
        Method::POST => 6,
        Method::HEAD => 3,
        Method::OPTIONS => 4,
        Method::PUT => 7,
        Method::DELETE => 1,
        Method::PATCH => 5,
        Method::CONNECT => 0,
        Method::QUERY => 8,
        Method::TRACE => 9,
        _ => 10,
    }
}

/// A table has to be read to know how full it is.
const RATES_INTERVAL: Duration = Duration::from_secs(10);

const SCHEMES: [&str; 2] = ["http", "https"];

const VERSIONS: [&str; 4] = ["1.0", "1.1", "2", "3"];

fn index_of_version(version: Version) -> usize {
    match version {
        Version::HTTP_11 => 1,
        Version::HTTP_2 => 2,
        Version::HTTP_3 => 3,
        _ => 0,
    }
}

/// The combinations of method, version and scheme.
const KINDS: usize = METHODS.len() * VERSIONS.len() * SCHEMES.len();

/// The metrics of one app.
pub(crate) struct Meter {
    target: Target,
    /// The path templates of the routes.
    routes: Box<[Arc<str>]>,
    outcomes: Outcomes,
    /// For each route.
    series: Box<[RouteSeries]>,
    /// Of the requests without a route.
    unmatched: RouteSeries,
    /// By kind of request; the versions share gauges.
    active: Box<[Gauge]>,
    /// Granted and refused.
    preflights: [Counter; 2],
    pub(crate) connections: Connections,
    process: Arc<Process>,
}

struct RouteSeries {
    /// By kind of request, then by outcome.
    kinds: Box<[OnceLock<Slots<Box<Series>>>; KINDS]>,
    /// By code, as the outcomes number them.
    codes: OnceLock<Slots<Counter>>,
}

impl RouteSeries {
    fn new() -> Self {
        Self { kinds: Box::new([const { OnceLock::new() }; KINDS]), codes: OnceLock::new() }
    }
}

/// The series of requests with the same outcome.
struct Series {
    duration: Parts,
    request_size: Parts,
    response_size: Parts,
}

/// Slots, each of which is filled at its first use.
type Slots<T> = Box<[OnceLock<T>]>;

fn slots<T>(count: usize) -> Slots<T> {
    (0..count).map(|_| OnceLock::new()).collect()
}

impl Meter {
    /// The table of an app with these path templates, whose handlers declare these problems.
    pub(crate) fn new(
        target: &Target,
        routes: impl Iterator<Item = Arc<str>>,
        declared: &[DeclaredProblem],
    ) -> Self {
        let routes: Box<[_]> = routes.collect();
        let process = target.process();
        target.with(|to| Self {
            target: target.clone(),
            outcomes: Outcomes::new(declared),
            series: routes.iter().map(|_| RouteSeries::new()).collect(),
            unmatched: RouteSeries::new(),
            active: (0..KINDS)
                .map(|kind| {
                    let (method, _, scheme) = names_of(kind);
                    names::ACTIVE.gauge(to, &[(names::METHOD, method), (names::SCHEME, scheme)])
                })
                .collect(),
            preflights: ["granted", "refused"]
                .map(|outcome| names::PREFLIGHTS.counter(to, &[(names::OUTCOME, outcome)])),
            connections: Connections::new(to),
            routes,
            process,
        })
    }

    /// Adds these tables to those of the process, and records every ten seconds how full the fullest
    /// one is.
    pub(crate) async fn follow_rates(self: Arc<Self>, rates: Vec<Arc<RateLimit>>, clock: Clock) {
        self.process.add_rates(&rates);
        loop {
            self.process.record_rates();
            clock.sleep(RATES_INTERVAL).await;
        }
    }

    /// The series of a route, or of requests without one.
    fn series_of(&self, route: usize) -> &RouteSeries {
        self.series.get(route).unwrap_or(&self.unmatched)
    }

    /// Records a response of known length at once, and any other at its end.
    #[inline(always)]
    pub(crate) fn on_response(
        self: &Arc<Self>,
        request: &ReceivedRequest,
        route: usize,
        response: &mut Response,
    ) {
        match response.body().size_hint().exact() {
            Some(size) => {
                let outcome = self.outcome(request, route, response);
                self.record(request, route, outcome, size);
            }
            None => self.follow(request, route, response),
        }
    }

    #[cold]
    fn follow(self: &Arc<Self>, request: &ReceivedRequest, route: usize, response: &mut Response) {
        MeasuredRequest::waiting(self, *request, route).on_response(response);
    }

    /// The outcome of a request with this response. Counts its problem.
    #[inline(always)]
    fn outcome(&self, request: &ReceivedRequest, route: usize, response: &Response) -> Outcome {
        if request.is_preflight {
            let [granted, refused] = &self.preflights;
            if response.status().is_success() { granted } else { refused }.increment(1);
        }
        // Most responses have no extensions.
        let code = (!response.extensions().is_empty()).then(|| problem::code(response)).flatten();
        if let Some(code) = &code {
            self.count_code(route, code);
        }
        self.outcomes.find(response.status(), code.as_deref())
    }

    #[inline(always)]
    fn record(
        &self,
        request: &ReceivedRequest,
        route: usize,
        outcome: Outcome,
        response_size: u64,
    ) {
        let Some(series) = self.series(request.kind, route, outcome) else { return };
        series.duration.record(request.begun.nanoseconds());
        if request.size > 0 {
            series.request_size.record(request.size);
        }
        if response_size > 0 {
            series.response_size.record(response_size);
        }
    }

    #[inline(always)]
    fn series(&self, kind: usize, route: usize, outcome: Outcome) -> Option<&Series> {
        let outcomes = self.series_of(route).kinds.get(kind)?;
        match outcomes.get().and_then(|outcomes| outcomes.get(outcome)).and_then(OnceLock::get) {
            Some(series) => Some(series),
            None => self.first_of_series(outcomes, kind, route, outcome),
        }
    }

    #[cold]
    fn first_of_series<'a>(
        &self,
        outcomes: &'a OnceLock<Slots<Box<Series>>>,
        kind: usize,
        route: usize,
        outcome: Outcome,
    ) -> Option<&'a Series> {
        let outcomes = outcomes.get_or_init(|| slots(self.outcomes.len()));
        Some(outcomes.get(outcome)?.get_or_init(|| self.new_series(kind, route, outcome)))
    }

    fn new_series(&self, kind: usize, route: usize, outcome: Outcome) -> Box<Series> {
        let (status, error) = self.outcomes.attributes(outcome);
        let (method, version, scheme) = names_of(kind);
        let attributes = [
            (names::METHOD, method),
            (names::ROUTE, self.routes.get(route).map_or("", |path| path)),
            (names::SCHEME, scheme),
            (names::VERSION, version),
            (names::STATUS, status),
            (names::ERROR, error),
        ];
        Box::new(Series {
            duration: names::DURATION.parts(&self.target, &attributes),
            request_size: names::REQUEST_SIZE.parts(&self.target, &attributes),
            response_size: names::RESPONSE_SIZE.parts(&self.target, &attributes),
        })
    }

    /// Counts a problem that was sent to a client. All codes that neither the catalogue nor the app
    /// has count as one.
    #[cold]
    fn count_code(&self, route: usize, code: &str) {
        let codes = self.series_of(route).codes.get_or_init(|| slots(self.outcomes.codes()));
        let (index, name) = self.outcomes.code(code);
        if let Some(counter) = codes.get(index) {
            let path = self.routes.get(route).map_or("", |path| path);
            let attributes = [(names::CODE, name), (names::ROUTE, path)];
            let new = || self.target.with(|to| names::REFUSALS.counter(to, &attributes));
            counter.get_or_init(new).increment(1);
        }
    }
}

/// A request that was received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceivedRequest {
    begun: Stopwatch,
    kind: usize,
    is_preflight: bool,
    /// The stated length.
    size: u64,
}

impl ReceivedRequest {
    #[inline(always)]
    pub(crate) fn new(head: &Head<'_>, size: Option<u64>) -> Self {
        let kind = index_of(head.method) * VERSIONS.len() + index_of_version(head.version);
        Self {
            begun: Stopwatch::start(),
            kind: kind * SCHEMES.len() + usize::from(head.is_secure),
            is_preflight: head.is_preflight(),
            size: size.unwrap_or(0),
        }
    }
}

/// Method, version and scheme of a kind of request.
fn names_of(kind: usize) -> (&'static str, &'static str, &'static str) {
    let of = |all: &[&'static str], index: usize| all.get(index).copied().unwrap_or(OTHER);
    let (rest, scheme) = (kind / SCHEMES.len(), kind % SCHEMES.len());
    let (method, version) = (rest / VERSIONS.len(), rest % VERSIONS.len());
    (of(&METHODS, method), of(&VERSIONS, version), of(&SCHEMES, scheme))
}

/// A request in flight. It is recorded on drop: its response is then complete, or never will be.
pub(crate) struct MeasuredRequest {
    meter: Arc<Meter>,
    request: ReceivedRequest,
    /// The index of its route in the app.
    route: usize,
    outcome: Outcome,
    response_size: u64,
}

impl MeasuredRequest {
    pub(crate) fn waiting(meter: &Arc<Meter>, request: ReceivedRequest, route: usize) -> Self {
        let meter = Arc::clone(meter);
        let measured = Self { meter, request, route, outcome: NO_RESPONSE, response_size: 0 };
        measured.active(|gauge| gauge.increment(1.0));
        measured
    }

    fn active(&self, change: impl FnOnce(&Gauge)) {
        if let Some(gauge) = self.meter.active.get(self.request.kind) {
            change(gauge);
        }
    }

    /// Notes the response. One of known length is complete at once.
    pub(crate) fn on_response(mut self, response: &mut Response) {
        self.outcome = self.meter.outcome(&self.request, self.route, response);
        match response.body().size_hint().exact() {
            Some(size) => self.response_size = size,
            None => {
                let body = mem::take(response.body_mut());
                *response.body_mut() = Body::new(ObservedBody::new(body, self));
            }
        }
    }
}

impl Drop for MeasuredRequest {
    fn drop(&mut self) {
        self.active(|gauge| gauge.decrement(1.0));
        self.meter.record(&self.request, self.route, self.outcome, self.response_size);
    }
}

impl BodyObserver<Body> for MeasuredRequest {
    fn after(&mut self, polled: &mut PolledFrame<Body>, _body: &Body, _context: &mut Context<'_>) {
        if let Poll::Ready(Some(Ok(frame))) = polled {
            self.response_size += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
    }
}

//! The series of requests: a table of fixed size, in which each series is found by indexes.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use axum_core::{body::Body, response::Response};
use http::{
    HeaderMap, Method, Version,
    header::{ACCESS_CONTROL_REQUEST_METHOD, ORIGIN},
};
use http_body::Body as HttpBody;
use metrics::{Counter, Gauge, Histogram};
use policy_core::{Refusal, head::Head};

use super::{
    Target,
    connections::Connections,
    names::{self, OTHER},
    outcome::{NO_RESPONSE, Outcome, Outcomes},
    process::Process,
};
use crate::{
    base::{
        body::{BodyObserver, ObservedBody, Polled},
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

/// The metrics of one app.
pub(crate) struct Meter {
    target: Target,
    /// The path templates of the routes.
    routes: Box<[Arc<str>]>,
    outcomes: Outcomes,
    /// For each route, and once for requests without one.
    series: Box<[RouteSeries]>,
    /// By method and scheme.
    active: [[Gauge; SCHEMES.len()]; METHODS.len()],
    /// Granted and refused.
    preflights: [Counter; 2],
    pub(crate) connections: Connections,
    process: Arc<Process>,
}

#[derive(Default)]
struct RouteSeries {
    /// By method.
    methods: [ByVersion; METHODS.len()],
    /// By refusal, and last all codes of the application.
    codes: OnceLock<Box<[OnceLock<Counter>]>>,
}

/// By version of the protocol, scheme, and outcome.
type ByVersion =
    OnceLock<Box<[[OnceLock<Box<[OnceLock<Box<Series>>]>>; SCHEMES.len()]; VERSIONS.len()]>>;

/// The series of the requests that end alike.
struct Series {
    duration: Histogram,
    request_size: Histogram,
    response_size: Histogram,
}

fn slots<T>(count: usize) -> Box<[OnceLock<T>]> {
    (0..count).map(|_| OnceLock::new()).collect()
}

impl Meter {
    pub(crate) fn new(target: &Target, routes: impl Iterator<Item = Arc<str>>) -> Self {
        let routes: Box<[_]> = routes.collect();
        let process = target.process();
        target.with(|to| Self {
            target: target.clone(),
            outcomes: Outcomes::new(),
            series: (0..=routes.len()).map(|_| RouteSeries::default()).collect(),
            active: METHODS.map(|method| {
                SCHEMES.map(|scheme| {
                    names::ACTIVE.gauge(to, &[(names::METHOD, method), (names::SCHEME, scheme)])
                })
            }),
            preflights: ["granted", "refused"]
                .map(|outcome| names::PREFLIGHTS.counter(to, &[(names::OUTCOME, outcome)])),
            connections: Connections::new(to),
            routes,
            process,
        })
    }

    /// States the share of the fullest of these tables, every ten seconds.
    pub(crate) async fn follow_rates(self: Arc<Self>, rates: Vec<Arc<RateLimit>>, clock: Clock) {
        loop {
            let fullest = rates.iter().map(|rate| rate.utilization()).fold(0.0, f64::max);
            self.process.rate_fill.set(fullest);
            clock.sleep(RATES_INTERVAL).await;
        }
    }

    fn series_of(&self, request: &Measured) -> Option<&Series> {
        let Measured { method, version, is_secure, outcome, .. } = *request;
        let series = self.series.get(request.route).or(self.series.last())?;
        let versions = series.methods.get(method)?.get_or_init(Box::default);
        let outcomes = versions.get(version)?.get(usize::from(is_secure))?;
        let outcomes = outcomes.get_or_init(|| slots(self.outcomes.len()));
        Some(outcomes.get(outcome)?.get_or_init(|| self.new_series(request)))
    }

    #[cold]
    fn new_series(&self, request: &Measured) -> Box<Series> {
        let (status, error) = self.outcomes.attributes(request.outcome);
        let text = |all: &[&'static str], index: usize| all.get(index).copied().unwrap_or(OTHER);
        let attributes = [
            (names::METHOD, text(&METHODS, request.method)),
            (names::ROUTE, self.routes.get(request.route).map_or("", |path| path)),
            (names::SCHEME, text(&SCHEMES, usize::from(request.is_secure))),
            (names::VERSION, text(&VERSIONS, request.version)),
            (names::STATUS, status),
            (names::ERROR, error),
        ];
        self.target.with(|to| {
            Box::new(Series {
                duration: names::DURATION.histogram(to, &attributes),
                request_size: names::REQUEST_SIZE.histogram(to, &attributes),
                response_size: names::RESPONSE_SIZE.histogram(to, &attributes),
            })
        })
    }

    /// Counts a problem that a client was shown. All codes that are not of the catalogue count as one.
    #[cold]
    fn count_code(&self, route: usize, code: &str) {
        let Some(series) = self.series.get(route).or(self.series.last()) else { return };
        let codes = series.codes.get_or_init(|| slots(Refusal::ALL.len() + 1));
        let index = Refusal::ALL.iter().position(|refusal| refusal.code() == code);
        let name = Refusal::ALL.get(index.unwrap_or(usize::MAX)).map_or(OTHER, |it| it.code());
        if let Some(counter) = codes.get(index.unwrap_or(Refusal::ALL.len())) {
            let path = self.routes.get(route).map_or("", |path| path);
            let attributes = [(names::CODE, name), (names::ROUTE, path)];
            let new = || self.target.with(|to| names::REFUSALS.counter(to, &attributes));
            counter.get_or_init(new).increment(1);
        }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").field("routes", &self.routes).finish_non_exhaustive()
    }
}

/// A request in flight. It is recorded on drop: its response is then complete, or never will be.
#[derive(Debug)]
pub(crate) struct Measured {
    meter: Arc<Meter>,
    begun: Instant,
    route: usize,
    method: usize,
    version: usize,
    is_secure: bool,
    is_preflight: bool,
    outcome: Outcome,
    /// The stated length of the request.
    request_size: u64,
    response_size: u64,
}

impl Measured {
    pub(crate) fn begin(
        meter: &Arc<Meter>,
        head: &Head<'_>,
        headers: &HeaderMap,
        request_size: Option<u64>,
    ) -> Self {
        let method = index_of(head.method);
        let measured = Self {
            meter: Arc::clone(meter),
            begun: Instant::now(),
            route: usize::MAX,
            method,
            version: index_of_version(head.version),
            is_secure: head.is_secure,
            is_preflight: *head.method == Method::OPTIONS
                && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
                && headers.contains_key(ORIGIN),
            outcome: NO_RESPONSE,
            request_size: request_size.unwrap_or(0),
            response_size: 0,
        };
        measured.active(|gauge| gauge.increment(1.0));
        measured
    }

    fn active(&self, change: impl FnOnce(&Gauge)) {
        let of_method = self.meter.active.get(self.method);
        if let Some(gauge) = of_method.and_then(|all| all.get(usize::from(self.is_secure))) {
            change(gauge);
        }
    }

    /// Notes the route, by its index in the app.
    pub(crate) fn routed(&mut self, route: usize) {
        self.route = route;
    }

    /// Notes the response. One of known length is complete at once; another one is followed to its end.
    pub(crate) fn answered(mut self, response: Response) -> Response {
        // Most responses have no extensions.
        let code = (!response.extensions().is_empty()).then(|| problem::code(&response)).flatten();
        self.outcome = self.meter.outcomes.of(response.status(), code.as_deref());
        if let Some(code) = code {
            self.meter.count_code(self.route, &code);
        }
        if self.is_preflight {
            let [granted, refused] = &self.meter.preflights;
            if response.status().is_success() { granted } else { refused }.increment(1);
        }
        match response.body().size_hint().exact() {
            Some(size) => {
                self.response_size = size;
                response
            }
            None => response.map(|body| Body::new(ObservedBody::new(body, self))),
        }
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        self.active(|gauge| gauge.decrement(1.0));
        let Some(series) = self.meter.series_of(self) else { return };
        series.duration.record(self.begun.elapsed().as_secs_f64());
        for (histogram, size) in
            [(&series.request_size, self.request_size), (&series.response_size, self.response_size)]
        {
            if size > 0 {
                histogram.record(size as f64);
            }
        }
    }
}

impl BodyObserver<Body> for Measured {
    fn after(&mut self, polled: &mut Polled<Body>, _body: &Body, _context: &mut Context<'_>) {
        if let Poll::Ready(Some(Ok(frame))) = polled {
            self.response_size += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
    }
}

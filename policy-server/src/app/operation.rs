//! What operators see of an app: probes, problems, logs, traces, metrics, and the records of decisions.

use std::io;

use super::App;
#[cfg(feature = "openapi")]
use super::openapi::OpenApiSettings;
#[cfg(feature = "metrics")]
use crate::observe::metrics::MetricsTarget;
#[cfg(feature = "manifest")]
use crate::observe::{candidate::Candidate, decision_record::DecisionRecords};
use crate::{
    base::{event::json_lines::JsonLines, log::ACCESS},
    observe::{health::Probe, traces::Tracing},
};

impl<S> App<S> {
    /// Responds to GET and HEAD of this path with 200 for as long as the process lives: a liveness
    /// probe for an orchestrator.
    ///
    /// A probe is exempt from all policies: it needs no credential, has no rate limit, is shared
    /// with no other origin, and skips the host check, since orchestrators address a process by IP,
    /// and load balancers send HTTP/1.0 without `Host`.
    /// Its responses are never cached.
    ///
    /// ```
    /// use policy_server::prelude::*;
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let client = App::new(()).health("/healthz").readiness("/readyz").test();
    /// assert_eq!(client.get("/healthz").send().await.status(), 200);
    /// assert_eq!(client.get("/readyz").send().await.header("cache-control"), Some("no-store"));
    /// # });
    /// ```
    pub fn health(mut self, path: impl Into<String>) -> Self {
        self.parts.probes.push((path.into(), Probe::Health));
        self
    }

    /// Responds to GET and HEAD of this path with 200 while the server accepts requests, and with
    /// 503 (`server.stopping`) from the moment that it is asked to stop. A load balancer then has
    /// the time [`ServerSettings::drain`](crate::ServerSettings::drain) to notice. It also responds
    /// with 503 while a store cannot write, since no user could log in or out, and while a stored
    /// list of origins cannot be used.
    ///
    /// It is exempt from policies like [`health`](Self::health).
    pub fn readiness(mut self, path: impl Into<String>) -> Self {
        self.parts.probes.push((path.into(), Probe::Readiness));
        self
    }

    /// The address of the pages about problems: `type` of every problem with a code is this text with
    /// the code at its end (RFC 9457 3.1.1), and its HTML page links to it. The default is
    /// `about:blank`, since only the app knows where its documentation is.
    ///
    /// It applies to refusals by the framework and to problems of handlers, unless these have a
    /// [`type_uri`](crate::Problem::type_uri). Clients compare `code`. The guide has a page for
    /// each of the framework's codes, `cargo policy code CODE` prints it, and
    /// `cargo policy code --pages` writes all of them for an app that serves its own.
    ///
    /// ```
    /// use policy_server::prelude::*;
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let app = App::new(()).problem_types("https://docs.shop.example/errors/");
    /// let problem: serde_json::Value = app.test().get("/").send().await.json();
    /// assert_eq!(problem["type"], "https://docs.shop.example/errors/route.not-found");
    /// # });
    /// ```
    ///
    /// A text that cannot be the beginning of a URI reference stops the start.
    pub fn problem_types(mut self, address: impl Into<String>) -> Self {
        self.parts.problem_types = Some(address.into());
        self
    }

    /// Gives every request an id of 128 random bits. Its response carries it as `x-request-id`, spans
    /// and the [access log](Self::access_log) contain it, and handlers can take it as
    /// [`RequestId`](crate::RequestId).
    ///
    /// An id sent by a [trusted proxy](Self::behind) is kept if it has at most 128 letters, digits
    /// and `-._~+/=`; an id from any other client is replaced. Mounted services see the resulting
    /// header. Problem documents do not repeat the id.
    pub fn request_ids(mut self) -> Self {
        self.parts.request_ids = true;
        self
    }

    /// Writes one `tracing` event of level INFO and target `policy::access` for every request, when
    /// the last byte of its response is handed to the connection or the client is gone. A head that
    /// cannot be parsed or is too long (400, 414, 431) is no request. Where the [semantic
    /// conventions](https://opentelemetry.io/docs/specs/semconv/http/) of OpenTelemetry define a
    /// field, it has their name:
    ///
    /// | field | value |
    /// |---|---|
    /// | `http.request.method` | of the request; `_OTHER` if no standard defines it, which is then in `http.request.method_original` |
    /// | `url.path` | of the request, escaped, cut to 256 characters, without query |
    /// | `http.route` | the path template of the route; absent without a route |
    /// | `http.response.status_code` | absent if the client was gone before there was a response |
    /// | `http.response.body.size` | bytes of the response body that the connection took |
    /// | `http.server.request.duration` | seconds from the request head to the end of the response |
    /// | `error.type` | of a response of 500 or above: `policy.code`, or else the status |
    /// | `client.address` | as rate limits see it |
    /// | `network.protocol.version` | `1.0`, `1.1`, `2` or `3` |
    /// | `trace_id`, `span_id` | of the span of the request, if a [tracer](crate::traces::Tracing::tracer) gave it one, or of an accepted parent |
    /// | `policy.request_id` | if [ids](Self::request_ids) are on |
    /// | `policy.code` | of a [`Problem`](crate::Problem): why the request failed |
    /// | `policy.cause`, `policy.detail`, `policy.origin` | of a refused request: the exact reason, and its `Origin` |
    /// | `policy.is_complete` | whether the client took the whole response, according to the connection |
    ///
    /// The event contains no header, query or body of a request or response, and so no credential
    /// from these. It does contain the path: a secret in a path ends up in this log, as in those of
    /// all servers on its way.
    pub fn access_log(mut self) -> Self {
        self.parts.access_log.has_events = true;
        self
    }

    /// Writes the [access log](Self::access_log) as lines of JSON, to standard output or a file. Each
    /// line is an object with the fields of the event, beside `timestamp` (RFC 3339, in UTC); the
    /// schema is `docs/schema/access-1.json` of the repository. It needs no subscriber of `tracing`,
    /// and is independent of the events.
    ///
    /// ```no_run
    /// use policy_server::prelude::*;
    ///
    /// let app = App::new(()).access_log_json(std::io::stdout());
    /// ```
    ///
    /// Lines are written by the thread that has sent the response, each by one call of `write_all`:
    /// use an output that does not block for long. An error is logged (`server.access-log-failed`),
    /// and the line is lost.
    pub fn access_log_json(mut self, output: impl io::Write + Send + 'static) -> Self {
        self.parts.access_log.json = Some(JsonLines::new(ACCESS, output));
        self
    }

    /// What the span of each request records, and which trace it belongs to.
    ///
    /// Every request has a span `request` of level INFO, by the [semantic
    /// conventions](https://opentelemetry.io/docs/specs/semconv/http/http-spans/) of OpenTelemetry; with
    /// no subscriber it costs one comparison:
    ///
    /// | field | value |
    /// |---|---|
    /// | `otel.name`, `otel.kind` | the method and the route, as `GET /orders/{id}`, or else the method; `server` |
    /// | `http.request.method`, `url.path`, `http.route`, `client.address`, `network.protocol.version` | as in the [access log](Self::access_log) |
    /// | `url.scheme` | `https` or `http`, as the client uses it |
    /// | `url.query` | the [parameters](Tracing::queries) that the app names; by default absent |
    /// | `http.response.status_code`, `error.type` | as in the access log, once there is the head of a response |
    /// | `otel.status_code` | `ERROR` for a status of 500 or above, else absent |
    /// | `policy.request_id`, `policy.code` | as in the access log; the code of a refusal |
    ///
    /// Spans contain no header, body or credential of a request. `traceparent`, `tracestate` and
    /// `baggage` of strangers are removed before a handler, a mounted service or an upstream sees them:
    /// see [`TraceParents`](crate::traces::TraceParents).
    pub fn tracing(mut self, tracing: Tracing) -> Self {
        self.parts.tracing = tracing;
        self
    }

    /// Counts what the app does, in [`Metrics`](crate::Metrics) or by the
    /// [recorder](crate::GlobalRecorder) that the program has installed (feature `metrics`).
    /// Nothing that clients send becomes a value of an attribute, so the number of values is fixed.
    ///
    /// | name | kind | attributes |
    /// |---|---|---|
    /// | `http.server.request.duration` | histogram, seconds | `http.request.method`, `http.route`, `http.response.status_code`, `error.type`, `url.scheme`, `network.protocol.version` |
    /// | `http.server.request.body.size`, `http.server.response.body.size` | histograms, bytes | the same |
    /// | `http.server.active_requests` | gauge | `http.request.method`, `url.scheme` |
    /// | `policy.refusals` | counter | `policy.code`, `http.route` |
    /// | `policy.cors.preflights` | counter | `policy.outcome`: `granted`, `refused` |
    /// | `policy.logins` | counter | `policy.credential`: `session`, `token` |
    /// | `policy.session.renewals` | counter | |
    /// | `policy.session.count` | gauge | |
    /// | `policy.token.refreshes` | counter | `policy.outcome`: `granted`, `repeated`, `reused`, `refused` |
    /// | `policy.revocations` | counter | `policy.object`: `session`, `sessions_of_user`, `all_sessions`, `token`, `tokens_of_session`, `tokens_of_user`, `all_tokens` |
    /// | `policy.rate.requests` | counter | `policy.outcome`: `granted`, `refused` |
    /// | `policy.rate.utilization` | gauge, 0 to 1 | |
    /// | `policy.store.call.duration` | histogram, seconds | `policy.store`: `embedded`, `postgres`, `redis`; `error.type` |
    /// | `policy.store.circuit.open` | gauge, 0 or 1 | `policy.store`: `postgres`, `redis` |
    /// | `policy.reloads` | counter | `policy.object`: `certificate`, `token_keys`, `origins`; `policy.outcome`: `applied`, `kept` |
    /// | `policy.events` | counter | `policy.code`: the code of an event in the log |
    /// | `policy.server.connections` | counter | `network.protocol.version`: `1`, `2`, `3` |
    /// | `policy.server.connections.open` | gauge | the same |
    /// | `policy.server.requests.abandoned` | counter | |
    /// | `policy.tls.handshake.failures` | counter | |
    ///
    /// - A request counts once, when its response is complete, or when its client is gone: then it has no
    ///   status, and `error.type` is `abandoned`. One that a [layer](Self::layer) around the app answers
    ///   itself is not counted.
    /// - Calls of a store in memory are not measured: they wait for nothing. A call of the embedded store that
    ///   writes lasts from its submission until its commit, and a purge is a call for each of its steps.
    /// - A request is active while its handler waits, and while a response of unknown length is
    ///   sent. A request that is answered without waiting is never active.
    /// - `http.route` is the path template, and absent without a route. An unknown method is `_OTHER`.
    /// - `error.type` of a 5xx is the code of its problem, and the status itself where there is none.
    ///   `policy.code` is the code of any problem. Both are `_OTHER` for codes that neither the catalogue
    ///   has nor the [errors](macro@crate::Problems) of the app's handlers.
    /// - The size of a request is what it states; bodies without content are not recorded.
    /// - Counts of sessions, tokens, stores and the log are those of the whole process. `policy.session.count`
    ///   is the number in one store: if apps of a process have several, in the one that was counted last.
    ///
    /// ```
    /// use policy_server::{Metrics, prelude::*};
    ///
    /// let metrics = Metrics::new();
    /// let app = App::new(())
    ///     .metrics(&metrics)
    ///     .mount("/metrics", Mount::metrics(&metrics).public());
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let response = app.test().get("/metrics").send().await;
    /// assert!(response.text().contains("# TYPE http_server_active_requests gauge"));
    /// # });
    /// ```
    #[cfg(feature = "metrics")]
    pub fn metrics(mut self, target: impl Into<MetricsTarget>) -> Self {
        self.parts.metrics = Some(target.into());
        self
    }

    /// Writes one `tracing` event of level INFO and target `policy::decision` for every request
    /// that is refused, and for a sample of the others if the records state one (feature
    /// `manifest`). From this event, `cargo policy explain --log` evaluates the request again:
    ///
    /// | field | value |
    /// |---|---|
    /// | `policy` | the digest of the [manifest](Self::manifest), as in the lock file |
    /// | `method`, `path` | of the request; the path is escaped, cut to 256 characters, and has no query |
    /// | `route` | the path template of the route; absent without a route |
    /// | `origin`, `site`, `mode`, `dest`, `asks` | `Origin`, `Sec-Fetch-Site`, `Sec-Fetch-Mode`, `Sec-Fetch-Dest`, `Access-Control-Request-Method`, escaped |
    /// | `cookie`, `authorization` | whether the request has these headers; never their values |
    /// | `status`, `code` | of the response; the code of its [`Problem`](crate::Problem), or of the refusal for which it redirects to the login page |
    /// | `request_id` | if [ids](Self::request_ids) are on |
    #[cfg(feature = "manifest")]
    pub fn decision_records(mut self, records: DecisionRecords) -> Self {
        self.parts.decision_records = Some(records);
        self
    }

    /// Sets the title, the version and the description of the [OpenAPI document](Self::openapi) (feature
    /// `openapi`); by default `API` and `0.0.0`.
    #[cfg(feature = "openapi")]
    pub fn openapi_settings(mut self, settings: OpenApiSettings) -> Self {
        self.parts.openapi = settings;
        self
    }

    /// Evaluates every request by a candidate policy as well, and counts the differences, to find out
    /// what a stricter policy would refuse before it is in force. It changes no response, calls no
    /// store, and waits for nothing (feature `manifest`). The candidate is a
    /// [manifest](Self::manifest), such as the one in the lock file of another branch, or a
    /// [`Candidate`], whose counts an app can read.
    ///
    /// For up to 20 differences a second, one `tracing` event of level INFO with the code
    /// `candidate.differs` is written:
    ///
    /// | field | value |
    /// |---|---|
    /// | `candidate` | the digest of its manifest |
    /// | `method`, `path`, `origin` | of the request; path and origin are escaped and cut to 256 characters |
    /// | `route` | the path template of the route that served the request, or else of the candidate's |
    /// | `decided`, `would` | the outcome of the app, and of the candidate: see [`Difference`](crate::candidate::Difference) |
    /// | `fields` | CORS headers that would be added (`+`), removed (`-`) or changed (`~`) |
    /// | `suppressed` | how many differences were not written since the last event |
    ///
    /// If a candidate needs a credential that the policy in force does not check, the request is
    /// counted as undecided. So is a request that a rate or a permit refuses. Run-time lists of origins
    /// are those of the app.
    #[cfg(feature = "manifest")]
    pub fn report_only(mut self, candidate: impl Into<Candidate>) -> Self {
        self.parts.candidate = Some(candidate.into());
        self
    }
}

//! The app and its builder methods.

pub(crate) mod access;
pub(crate) mod cors_source;
pub(crate) mod fallback;
#[cfg(feature = "files")]
pub(crate) mod files;
#[cfg(feature = "gateway")]
pub(crate) mod gateway;
pub(crate) mod group;
pub(crate) mod mount;
pub(crate) mod mounted_paths;
#[cfg(feature = "openapi")]
pub(crate) mod openapi;
pub(crate) mod origin_list;
pub(crate) mod policies;
pub(crate) mod policy_layer;
#[cfg(feature = "gateway")]
pub(crate) mod proxy;
pub(crate) mod route;
pub(crate) mod settings;
#[cfg(feature = "tls")]
pub(crate) mod tls;
#[cfg(feature = "gateway")]
pub(crate) mod tunnel;

#[cfg(feature = "config_file")]
use std::path::PathBuf;
use std::{any::Any, fmt, io, marker::PhantomData, sync::Arc};

use policy_core::{limits::RateCapacity, path::TrailingSlash};

#[cfg(feature = "gateway")]
use crate::app::gateway::GatewayParts;
#[cfg(feature = "openapi")]
use crate::app::openapi::OpenApiSettings;
#[cfg(feature = "config_file")]
use crate::app::origin_list::OriginSource;
#[cfg(feature = "tls")]
use crate::app::tls::Tls;
#[cfg(feature = "metrics")]
use crate::observe::metrics::MetricsTarget;
#[cfg(feature = "manifest")]
use crate::observe::{candidate::Candidate, decision_record::DecisionRecords};
use crate::{
    app::{
        access::{Access, access_methods},
        fallback::Fallback,
        group::{Group, GroupParts},
        mount::Mount,
        origin_list::OriginList,
        policies::Policies,
        route::{Entry, Route},
        settings::ServerSettings,
    },
    auth::{
        scheme::{Scheme, Schemes},
        session::SessionSettings,
        tokens::TokenSettings,
    },
    base::{
        clock::{Clock, Random},
        event::json_lines::JsonLines,
        log::{ACCESS, AccessLog},
    },
    client::trusted_proxies::TrustedProxies,
    handler::{
        object::ObjectEngine,
        service::{RouteLayer, Wrap},
    },
    observe::{health::Probe, traces::Tracing},
    route::shared_limits::SharedLimits,
};

/// Builder of an HTTP service: its state, its routes and their common settings.
///
/// Declaring an app opens nothing. [`serve`](Self::serve) checks everything, reports all problems
/// together, and only then opens the stores and listens.
///
/// ```
/// use policy_server::prelude::*;
///
/// #[get("/hello/{name}")]
/// #[cors(origins = ["https://app.shop.example"])]
/// #[auth(public)]
/// async fn hello(name: String) -> String {
///     format!("Hello, {name}!")
/// }
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![hello]).test();
/// let response = client.get("/hello/Ada").origin("https://app.shop.example").send().await;
/// assert_eq!(response.text(), "Hello, Ada!");
/// assert_eq!(response.header("access-control-allow-origin"), Some("https://app.shop.example"));
/// # });
/// ```
///
/// # Methods by purpose
///
/// - Routes: [`routes`](Self::routes), [`group`](Self::group), [`mount`](Self::mount),
///   [`fallback`](Self::fallback), [`layer`](Self::layer), [`trailing_slash`](Self::trailing_slash); with the feature `gateway` also `proxy`,
///   `tunnel` and `trace`.
/// - Policies of routes without their own: [`policies`](Self::policies).
/// - Callers of mounts, proxies and the fallback without their own: [`auth`](Self::auth),
///   [`public`](Self::public), [`csrf`](Self::csrf).
/// - Lists of origins: [`origins`](Self::origins); with the feature `config_file` also `config_file`.
/// - Authentication: [`sessions`](Self::sessions), [`tokens`](Self::tokens),
///   [`scheme`](Self::scheme); rights on objects: [`engine`](Self::engine).
/// - Address and connections: [`public_origin`](Self::public_origin), [`behind`](Self::behind),
///   [`settings`](Self::settings); with the feature `tls` also `tls`.
/// - Operation: [`health`](Self::health), [`readiness`](Self::readiness),
///   [`problem_types`](Self::problem_types),
///   [`request_ids`](Self::request_ids), [`access_log`](Self::access_log),
///   [`access_log_json`](Self::access_log_json), [`tracing`](Self::tracing);
///   with the feature `manifest` also `decision_records` and `report_only`;
///   with the feature `metrics` also `metrics`.
/// - Tests, with the feature `testing`: `test`, `into_service`, `clock`, `random`.
/// - Start: [`serve`](Self::serve), [`bind`](Self::bind), [`open`](Self::open); before one,
///   [`check`](Self::check).
#[must_use = "an app does nothing until it is served"]
pub struct App<S> {
    pub(crate) parts: AppParts,
    state: PhantomData<fn(S)>,
}

/// The parts of an app. The type does not name the state type, so that checking, proving and
/// serving are compiled once and not for each state type.
pub(crate) struct AppParts {
    /// The state, of the type that all its handlers take.
    pub(crate) state: Arc<dyn Any + Send + Sync>,
    pub(crate) public_origin: Option<String>,
    pub(crate) trailing_slash: TrailingSlash,
    pub(crate) policies: Policies,
    /// The callers of mounts, proxies and the fallback.
    pub(crate) access: Access,
    pub(crate) routes: Vec<Entry>,
    pub(crate) groups: Vec<(String, GroupParts)>,
    pub(crate) mounts: Vec<(String, Mount)>,
    #[cfg(feature = "gateway")]
    pub(crate) gateway: GatewayParts,
    pub(crate) fallback: Option<Fallback>,
    pub(crate) origins: Vec<(String, OriginList)>,
    pub(crate) settings: ServerSettings,
    pub(crate) rate_capacity: RateCapacity,
    /// The beginning of `type` in problems.
    pub(crate) problem_types: Option<String>,
    pub(crate) shared_limits: Option<SharedLimits>,
    pub(crate) probes: Vec<(String, Probe)>,
    pub(crate) request_ids: bool,
    pub(crate) access_log: AccessLog,
    pub(crate) tracing: Tracing,
    #[cfg(feature = "metrics")]
    pub(crate) metrics: Option<MetricsTarget>,
    #[cfg(feature = "manifest")]
    pub(crate) decision_records: Option<DecisionRecords>,
    #[cfg(feature = "manifest")]
    pub(crate) candidate: Option<Candidate>,
    #[cfg(feature = "openapi")]
    pub(crate) openapi: OpenApiSettings,
    pub(crate) layers: Vec<Wrap>,
    pub(crate) sessions: Option<SessionSettings>,
    pub(crate) tokens: Option<TokenSettings>,
    pub(crate) schemes: Schemes,
    /// Decides where the rules of objects ask an engine.
    pub(crate) engine: Option<Arc<dyn ObjectEngine>>,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<Tls>,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) proxies: Option<TrustedProxies>,
    /// Whether a test runs the app. Its keys may then end with the process.
    pub(crate) is_tested: bool,
}

impl AppParts {
    /// Whether requests can carry credentials.
    pub(crate) fn has_credentials(&self) -> bool {
        self.sessions.is_some() || self.tokens.is_some() || !self.schemes.is_empty()
    }

    /// The handlers, each with the prefix of its group; empty without one.
    #[cfg(any(feature = "openapi", feature = "testing"))]
    pub(crate) fn handlers(&self) -> impl Iterator<Item = (&str, &route::Entry)> {
        let of_groups = self.groups.iter().flat_map(|(prefix, group)| {
            group.routes.iter().map(move |entry| (prefix.as_str(), entry))
        });
        self.routes.iter().map(|entry| ("", entry)).chain(of_groups)
    }
}

impl<S: Send + Sync + 'static> App<S> {
    /// An app without routes. `state` is what [`State`](crate::handler::extract::State) extracts.
    pub fn new(state: S) -> Self {
        let parts = AppParts {
            state: Arc::new(state),
            public_origin: None,
            trailing_slash: TrailingSlash::Strict,
            policies: Policies::default(),
            access: Access::default(),
            routes: Vec::new(),
            groups: Vec::new(),
            mounts: Vec::new(),
            #[cfg(feature = "gateway")]
            gateway: GatewayParts::default(),
            fallback: None,
            origins: Vec::new(),
            settings: ServerSettings::default(),
            rate_capacity: RateCapacity::DEFAULT,
            problem_types: None,
            shared_limits: None,
            probes: Vec::new(),
            request_ids: false,
            access_log: AccessLog::default(),
            tracing: Tracing::new(),
            #[cfg(feature = "metrics")]
            metrics: None,
            #[cfg(feature = "manifest")]
            decision_records: None,
            #[cfg(feature = "manifest")]
            candidate: None,
            #[cfg(feature = "openapi")]
            openapi: OpenApiSettings::default(),
            layers: Vec::new(),
            sessions: None,
            tokens: None,
            schemes: Schemes::default(),
            engine: None,
            #[cfg(feature = "tls")]
            tls: None,
            clock: Clock::system(),
            random: Random::system(),
            proxies: None,
            is_tested: false,
        };
        Self { parts, state: PhantomData }
    }
}

impl<S> App<S> {
    /// The `https` origin under which browsers reach the app, such as
    /// `https://api.shop.example`; requests for any other host get 421.
    ///
    /// Without it the app runs in the development profile: it listens on loopback only and refuses
    /// requests that name another host or came through a proxy. Each response that shows a problem then
    /// names its code in `Server-Timing` (`policy;desc="csrf.token"`), which the network tools of
    /// browsers show, for preflights and HEAD as well.
    pub fn public_origin(mut self, origin: impl Into<String>) -> Self {
        self.parts.public_origin = Some(origin.into());
        self
    }

    /// Sets the meaning of a path that differs from its route only in the trailing slash. By default
    /// it is another path, so `/users/` gets 404 if only `/users` has a route.
    ///
    /// With the other settings, one route object with one policy serves both spellings, and two
    /// routes whose paths differ only in the slash are a start error (`route.conflict`). With
    /// [`TrailingSlash::Redirect`](crate::TrailingSlash::Redirect), a request with a safe method
    /// gets 308 to the spelling of the route, with its query; any other gets 404. Mounts, proxies
    /// and `{*rest}` get both spellings as they were sent, and decide themselves about slashes
    /// below their prefix.
    ///
    /// ```
    /// use policy_server::{TrailingSlash, prelude::*};
    ///
    /// #[get("/users/{id}")]
    /// #[auth(public)]
    /// async fn user(id: u64) -> String {
    ///     format!("user {id}")
    /// }
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let app = || App::new(()).routes(routes![user]);
    /// assert_eq!(app().test().get("/users/7/").send().await.status(), 404);
    ///
    /// let same = app().trailing_slash(TrailingSlash::Same).test();
    /// assert_eq!(same.get("/users/7/").send().await.text(), "user 7");
    ///
    /// let redirecting = app().trailing_slash(TrailingSlash::Redirect).test();
    /// let response = redirecting.get("/users/7/?page=2").send().await;
    /// assert_eq!(response.status(), 308);
    /// assert_eq!(response.header("location"), Some("../7?page=2"));
    /// # });
    /// ```
    pub fn trailing_slash(mut self, meaning: TrailingSlash) -> Self {
        self.parts.trailing_slash = meaning;
        self
    }

    /// Trusts these proxies to report the client, scheme and host of a request. Forwarding headers
    /// from any other peer are ignored.
    pub fn behind(mut self, proxies: TrustedProxies) -> Self {
        self.parts.proxies = Some(proxies);
        self
    }

    /// The policies of routes that have none of their own, and of unknown paths. A cache policy is
    /// inherited only by public responses to GET and HEAD: see [`Policies::cache`]. If it is called
    /// again, the facets that the later call states replace those of the earlier one.
    pub fn policies(mut self, policies: Policies) -> Self {
        self.parts.policies.replace(policies);
        self
    }
    access_methods!(
        parts,
        "mounts, proxies and the fallback, unless they state their own, and to handlers with `#[auth(group)]` whose group states none";
        csrf: "handlers, mounts, proxies and the fallback, unless they state their own"
    );

    /// Enables sessions: routes can use `#[auth(session)]`, and handlers can take
    /// [`Sessions`](crate::Sessions) and [`Session`](crate::Session).
    pub fn sessions(mut self, sessions: SessionSettings) -> Self {
        self.parts.sessions = Some(sessions);
        self
    }

    /// Enables signed tokens: routes can use `#[auth(token)]`, and handlers can take
    /// [`Tokens`](crate::Tokens).
    pub fn tokens(mut self, tokens: TokenSettings) -> Self {
        self.parts.tokens = Some(tokens);
        self
    }

    /// Registers an authentication scheme of the application, which routes name as `#[auth(scheme =
    /// TheType)]`.
    pub fn scheme(mut self, scheme: impl Scheme) -> Self {
        self.parts.schemes.add(scheme);
        self
    }

    /// Sets the [`ObjectEngine`] that decides where the rule of an object says `engine`; a second call replaces it.
    ///
    /// The app does not start if a rule asks an engine and there is none (`object.engine-missing`), or if
    /// the engine [cannot decide](ObjectEngine::validate) about the objects (`object.engine-invalid`).
    pub fn engine(mut self, engine: impl ObjectEngine) -> Self {
        self.parts.engine = Some(Arc::new(engine));
        self
    }

    /// Serves HTTPS.
    ///
    /// ```no_run
    /// use policy_server::{Tls, prelude::*};
    ///
    /// # async fn serve() -> Result<(), Error> {
    /// App::new(())
    ///     .public_origin("https://api.shop.example")
    ///     .tls(Tls::files("cert.pem", "key.pem").redirect_http("0.0.0.0:80"))
    ///     .serve("0.0.0.0:443")
    ///     .await
    /// # }
    /// ```
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.parts.tls = Some(tls);
        self
    }

    /// The clock, in place of the system's, for a test that advances it (feature `testing`).
    #[cfg(any(test, feature = "testing"))]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.parts.clock = clock;
        self
    }

    /// The source of random bytes, in place of the system's, for a test that needs the same ones again
    /// (feature `testing`).
    #[cfg(any(test, feature = "testing"))]
    pub fn random(mut self, random: Random) -> Self {
        self.parts.random = random;
        self
    }

    /// Adds handlers.
    pub fn routes(mut self, routes: Vec<Route<S>>) -> Self {
        self.parts.routes.extend(routes.into_iter().map(|route| route.entry));
        self
    }

    /// Adds handlers below a prefix, with their own default policy.
    pub fn group(mut self, prefix: impl Into<String>, group: Group<S>) -> Self {
        self.parts.groups.push((prefix.into(), group.parts));
        self
    }

    /// Mounts a service at a prefix and every path below it.
    pub fn mount(mut self, prefix: impl Into<String>, mount: Mount) -> Self {
        self.parts.mounts.push((prefix.into(), mount));
        self
    }

    /// Serves paths without a route, in place of a 404. The fallback inherits the policies that it
    /// does not state from the app.
    pub fn fallback(mut self, fallback: Fallback) -> Self {
        self.parts.fallback = Some(fallback);
        self
    }

    /// Wraps the whole app in a `tower` layer. Later layers wrap earlier ones.
    ///
    /// A layer sees requests before any gate, and responses after the policy was written onto them.
    /// It cannot set credentials: callers are authenticated from `Authorization`, `Cookie`,
    /// `Sec-WebSocket-Protocol` and the query as the client sent them, and handlers get these as
    /// well; a [`Scheme`](crate::Scheme) sees all headers as they were sent. A response that the
    /// layer makes itself carries no policy. The extensions of a response have the
    /// [`MatchedRoute`](crate::extract::MatchedRoute), so that a layer can count per route.
    ///
    /// To compress only a [mounted](Self::mount) service, put the compression middleware of
    /// `tower-http` around that service, so that the policy is written onto the compressed
    /// response; the example `catalogue` shows it. Around a whole app it works too: `Vary` is kept
    /// and completed. Such a route needs `#[cache(.., vary = ["accept-encoding"])]`, since the
    /// layer does not touch 304 responses and responses to HEAD, and
    /// [`ETag::weak`](crate::handler::response::ETag::weak), since two encodings are not the same
    /// bytes.
    pub fn layer(mut self, layer: impl RouteLayer + Send + 'static) -> Self {
        self.parts.layers.push(Wrap::new(layer));
        self
    }

    /// Sets the list of origins that routes name by `origins = config("name")`: an array of origins, a
    /// [`SharedOrigins`](crate::SharedOrigins) that is replaced while the app runs, a
    /// [`StoredOrigins`](crate::StoredOrigins), or [`OriginList::env`]. [`OriginList::within`] states
    /// its bound.
    pub fn origins(mut self, name: impl Into<String>, list: impl Into<OriginList>) -> Self {
        self.parts.origins.push((name.into(), list.into()));
        self
    }

    /// Reads lists of origins, and [bounds](OriginList::within) of lists, from a TOML file when the app
    /// starts (feature `config_file`):
    ///
    /// ```toml
    /// [origins]
    /// partners = ["https://a.partner.example", "https://b.partner.example"]
    ///
    /// [bounds]
    /// customer = ["https://*.acme.example"]
    /// ```
    ///
    /// Several files may be given. If several lists have one name, the last one applies, whatever
    /// its source.
    #[cfg(feature = "config_file")]
    pub fn config_file(mut self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        self.parts.origins.push((path.display().to_string(), OriginSource::File(path).into()));
        self
    }

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

    /// Gives every request an id of 128 random bits. Every response carries it as `x-request-id`,
    /// spans and the [access log](Self::access_log) contain it, and handlers can take it as
    /// [`RequestId`](crate::RequestId).
    ///
    /// An id sent by a [trusted proxy](Self::behind) is kept if it has at most 128 letters, digits
    /// and `-._~+/=`; an id from any other client is replaced. Mounted services see the resulting
    /// header. Problem documents do not repeat the id.
    pub fn request_ids(mut self) -> Self {
        self.parts.request_ids = true;
        self
    }

    /// Writes one `tracing` event of level INFO and target `policy::access` for every response,
    /// when its last byte is handed to the connection or the client is gone. Where the [semantic
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
    /// | `policy.request_id`, `policy.code` | as in the access log; the code is that of a refusal |
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
    /// | `policy.events` | counter | `policy.code`: that of an event in the log |
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
    /// - Counts of sessions, tokens, stores and the log are those of the whole process.
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
    /// | `policy` | the digest of the [manifest](Self::manifest), which is that of the lock file |
    /// | `method`, `path` | of the request; the path is escaped, cut to 256 characters, and has no query |
    /// | `route` | the path template of the route; absent without a route |
    /// | `origin`, `site`, `mode`, `dest`, `asks` | `Origin`, `Sec-Fetch-Site`, `Sec-Fetch-Mode`, `Sec-Fetch-Dest`, `Access-Control-Request-Method`, escaped |
    /// | `cookie`, `authorization` | whether the request has these headers; never their values |
    /// | `status`, `code` | of the response; the code is that of a [`Problem`](crate::Problem) |
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
    /// | `decided`, `would` | the outcome, and that of the candidate: see [`Difference`](crate::candidate::Difference) |
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

    /// The number of clients that each rate limit distinguishes, and how many of one IPv6 network are
    /// served. Every level that states a rate has a table of this size.
    ///
    /// ```
    /// use policy_server::{RateCapacity, prelude::*};
    ///
    /// const SMALL: RateCapacity = RateCapacity::DEFAULT.clients(100_000);
    /// assert!(SMALL.memory() < 8_000_000);
    /// let policies = Policies::new().limits(Limits::NONE.rate(Rate::per_minute(100)));
    /// let app = App::new(()).policies(policies).rate_capacity(SMALL);
    /// ```
    pub fn rate_capacity(mut self, capacity: RateCapacity) -> Self {
        self.parts.rate_capacity = capacity;
        self
    }

    /// Counts rates and concurrent requests together with the other instances of the app. Without
    /// this, each instance counts its own.
    pub fn shared_limits(mut self, limits: SharedLimits) -> Self {
        self.parts.shared_limits = Some(limits);
        self
    }

    /// The limits of connections.
    pub fn settings(mut self, settings: ServerSettings) -> Self {
        self.parts.settings = settings;
        self
    }
}

impl<S> fmt::Debug for App<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App")
            .field("public_origin", &self.parts.public_origin)
            .field("routes", &self.parts.routes)
            .finish_non_exhaustive()
    }
}

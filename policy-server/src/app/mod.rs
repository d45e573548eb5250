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
#[cfg(feature = "openapi")]
pub(crate) mod openapi;
mod operation;
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
use std::{any::Any, fmt, marker::PhantomData, sync::Arc};

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
        log::AccessLog,
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
#[derive(Default)]
pub(crate) struct AppParts {
    pub(crate) state: AppState,
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

/// The state of an app, of the type that all its handlers take.
pub(crate) struct AppState(pub(crate) Arc<dyn Any + Send + Sync>);

impl Default for AppState {
    fn default() -> Self {
        Self(Arc::new(()))
    }
}

impl AppParts {
    /// Whether requests can carry credentials.
    pub(crate) fn has_credentials(&self) -> bool {
        self.sessions.is_some() || self.tokens.is_some() || !self.schemes.is_empty()
    }

    /// The handlers, each with the prefix of its group, which is empty without one, and with what the
    /// group states about callers.
    #[cfg(any(feature = "openapi", feature = "testing"))]
    pub(crate) fn handlers(&self) -> impl Iterator<Item = (&str, Access, &route::Entry)> {
        let of_groups = self.groups.iter().flat_map(|(prefix, group)| {
            group.routes.iter().map(move |entry| (prefix.as_str(), group.access, entry))
        });
        self.routes.iter().map(|entry| ("", Access::default(), entry)).chain(of_groups)
    }
}

impl<S: Send + Sync + 'static> App<S> {
    /// An app without routes. `state` is what [`State`](crate::handler::extract::State) extracts.
    pub fn new(state: S) -> Self {
        let parts = AppParts { state: AppState(Arc::new(state)), ..AppParts::default() };
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

    /// The policies of routes that have none of their own, and of unknown paths. A cache policy but
    /// `no_store` is inherited only by public responses to GET and HEAD: see [`Policies::cache`]. If
    /// it is called again, the facets that the later call states replace those of the earlier one.
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
    /// `Proxy-Authorization`, `Sec-WebSocket-Protocol` and the query as the client sent them, and
    /// handlers get these as well; a [`Scheme`](crate::Scheme) sees all headers as they were sent. A
    /// response that the layer makes itself carries no policy. The extensions of a response have
    /// the [`MatchedRoute`](crate::extract::MatchedRoute), so that a layer can count per route.
    ///
    /// To compress only a [mounted](Self::mount) service, put the compression middleware of
    /// `tower-http` around that service, so that the policy is written onto the compressed
    /// response; the example `catalogue` shows it. Around a whole app it works too: `Vary` is kept
    /// and completed. Such a route needs `#[cache(.., vary = ["accept-encoding"])]`, since the
    /// layer does not touch 304 responses and responses to HEAD. The strong `ETag` of a compressed
    /// response becomes weak, as behind a [layer of a route](macro@crate::layer).
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

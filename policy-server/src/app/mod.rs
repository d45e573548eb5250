//! Putting an app together.

pub(crate) mod access;
pub(crate) mod cors_source;
pub(crate) mod defaults;
pub(crate) mod group;
pub(crate) mod mount;
#[cfg(feature = "proxy")]
pub(crate) mod proxy;
pub(crate) mod route;
pub(crate) mod settings;
#[cfg(feature = "tls")]
pub(crate) mod tls;
pub(crate) mod tunnel;

use std::{any::Any, fmt, marker::PhantomData, path::PathBuf};

use axum_core::{BoxError, extract::Request, response::IntoResponse};
use bytes::Bytes;
use policy_core::cors::SharedOrigins;
use tower_layer::Layer;
use tower_service::Service;

#[cfg(feature = "proxy")]
use crate::app::proxy::Proxy;
#[cfg(feature = "tls")]
use crate::app::tls::Tls;
use crate::{
    app::{
        defaults::{Defaults, policy_methods},
        group::{Group, Scope},
        mount::Mount,
        route::{Entry, Route},
        settings::Settings,
        tunnel::Tunnel,
    },
    auth::{
        scheme::{Scheme, Schemes},
        session::{self, Sessions},
        tokens::{self, Tokens},
    },
    base::clock::{Clock, Random},
    client::trusted_proxies::Proxies,
    handler::service::{SharedService, Wrap},
    observe::health::Probe,
};

/// An HTTP service in the making: its state, its routes and what holds for all of them.
///
/// Building one opens nothing. [`serve`](Self::serve) and [`build`](Self::build) check
/// everything, report every problem at once, and only then listen.
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
#[must_use = "an app does nothing until it is served"]
pub struct App<S> {
    pub(crate) parts: AppParts,
    state: PhantomData<fn(S)>,
}

/// What an app is made of. Its type does not name the state, so that what checks, proves and serves
/// apps is compiled once, and not again for every state.
pub(crate) struct AppParts {
    /// Of the type that all its handlers take.
    pub(crate) state: Box<dyn Any + Send + Sync>,
    pub(crate) public_origin: Option<String>,
    pub(crate) defaults: Defaults,
    pub(crate) routes: Vec<Entry>,
    pub(crate) scopes: Vec<(String, Group)>,
    pub(crate) mounts: Vec<(String, Mount)>,
    #[cfg(feature = "proxy")]
    pub(crate) upstreams: Vec<Proxy>,
    pub(crate) fallback: Option<SharedService>,
    pub(crate) origins: Vec<(String, OriginsFrom)>,
    pub(crate) config_file: Option<PathBuf>,
    pub(crate) settings: Settings,
    pub(crate) probes: Vec<(String, Probe)>,
    pub(crate) request_ids: bool,
    pub(crate) access_log: bool,
    pub(crate) layers: Vec<Wrap>,
    pub(crate) sessions: Option<Sessions<session::Settings>>,
    pub(crate) tokens: Option<Tokens<tokens::Settings>>,
    pub(crate) schemes: Schemes,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<Tls>,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) proxies: Option<Proxies>,
    pub(crate) tunnel: Option<Tunnel>,
    pub(crate) traces: bool,
}

impl AppParts {
    /// Whether requests carry secrets.
    pub(crate) fn has_credentials(&self) -> bool {
        self.sessions.is_some() || self.tokens.is_some() || !self.schemes.is_empty()
    }
}

/// Where a run-time list of origins comes from.
#[derive(Clone)]
pub(crate) enum OriginsFrom {
    Code(Vec<String>),
    Handle(SharedOrigins),
    Environment(String),
}

impl<S: Send + Sync + 'static> App<S> {
    /// An app without routes. `state` is what [`State`](crate::handler::extract::State) extracts.
    pub fn new(state: S) -> Self {
        let parts = AppParts {
            state: Box::new(state),
            public_origin: None,
            defaults: Defaults::default(),
            routes: Vec::new(),
            scopes: Vec::new(),
            mounts: Vec::new(),
            #[cfg(feature = "proxy")]
            upstreams: Vec::new(),
            fallback: None,
            origins: Vec::new(),
            config_file: None,
            settings: Settings::default(),
            probes: Vec::new(),
            request_ids: false,
            access_log: false,
            layers: Vec::new(),
            sessions: None,
            tokens: None,
            schemes: Schemes::default(),
            #[cfg(feature = "tls")]
            tls: None,
            clock: Clock::system(),
            random: Random::system(),
            proxies: None,
            tunnel: None,
            traces: false,
        };
        Self { parts, state: PhantomData }
    }
}

impl<S> App<S> {
    /// The `https` origin under which browsers reach the app, such as
    /// `https://api.shop.example`; requests for any other host get 421.
    ///
    /// Without it the app runs in the development profile: it listens on loopback only and
    /// answers nothing that names another host or came through a proxy.
    pub fn public_origin(mut self, origin: impl Into<String>) -> Self {
        self.parts.public_origin = Some(origin.into());
        self
    }

    /// Stands behind these proxies, and believes what they say about the clients in front of them.
    /// Nobody else is believed, and without this nobody at all.
    pub fn behind(mut self, proxies: Proxies) -> Self {
        self.parts.proxies = Some(proxies);
        self
    }

    /// Opens tunnels to a few hosts for those who may (CONNECT, RFC 9110 9.3.6). Without this, a
    /// CONNECT gets 400.
    pub fn tunnel(mut self, tunnel: Tunnel) -> Self {
        self.parts.tunnel = Some(tunnel);
        self
    }

    /// Answers TRACE on every path with the request as it arrived (RFC 9110 9.3.8): for finding out
    /// what proxies make of it. Without this, TRACE gets 405.
    ///
    /// What could be a credential is left out: every field whose name has `auth`, `cookie`,
    /// `token`, `key`, `secret`, `password`, `credential`, `session` or `signature` in it; and so
    /// are forwarded fields. No page of another origin may read the answer. A notice at the start
    /// says that it is on.
    pub fn trace(mut self) -> Self {
        self.parts.traces = true;
        self
    }

    policy_methods!(parts.defaults, "routes that have none of their own, and of unknown paths");

    /// Has sessions, so that routes can say `#[auth(session)]` and handlers take
    /// [`Sessions`] and [`Session`](crate::Session).
    pub fn sessions(mut self, sessions: Sessions<session::Settings>) -> Self {
        self.parts.sessions = Some(sessions);
        self
    }

    /// Has signed tokens, so that routes can say `#[auth(token)]` and handlers take [`Tokens`].
    pub fn tokens(mut self, tokens: Tokens<tokens::Settings>) -> Self {
        self.parts.tokens = Some(tokens);
        self
    }

    /// Gives a scheme of the application's own, which routes name as
    /// `#[auth(scheme = TheType)]`.
    pub fn scheme(mut self, scheme: impl Scheme) -> Self {
        self.parts.schemes.add(scheme);
        self
    }

    /// Speaks HTTPS.
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

    /// The clock; the system's unless a test gives one that it moves.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.parts.clock = clock;
        self
    }

    /// Where random bytes come from; the system unless a test gives a source that it foretells.
    pub fn random(mut self, random: Random) -> Self {
        self.parts.random = random;
        self
    }

    /// Adds handlers.
    pub fn routes(mut self, routes: impl IntoIterator<Item = Route<S>>) -> Self {
        self.parts.routes.extend(routes.into_iter().map(|route| route.entry));
        self
    }

    /// Adds handlers below a prefix, with a default policy of their own.
    pub fn scope(mut self, prefix: impl Into<String>, scope: Scope<S>) -> Self {
        self.parts.scopes.push((prefix.into(), scope.group));
        self
    }

    /// Adds a service for a prefix and every path below it.
    pub fn mount(mut self, prefix: impl Into<String>, mount: Mount) -> Self {
        self.parts.mounts.push((prefix.into(), mount));
        self
    }

    /// Has another server answer for a prefix and every path below it.
    #[cfg(feature = "proxy")]
    pub fn proxy(mut self, proxy: Proxy) -> Self {
        self.parts.upstreams.push(proxy);
        self
    }

    /// Answers requests for paths that no route has, in place of a 404. The app's default policy
    /// holds for these answers.
    pub fn fallback<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(Request) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output: IntoResponse> + Send + 'static,
    {
        self.parts.fallback = Some(SharedService::from_fn(handler));
        self
    }

    /// Wraps the whole app into a `tower` layer. A later one wraps the earlier ones.
    ///
    /// A layer sees requests before any gate, and answers after the policy was written onto
    /// them. What it answers by itself has no policy.
    ///
    /// Compression by `tower-http` belongs around a [mounted](Self::mount) service where that is
    /// what is compressed, so that the policy is written onto what is sent; the example
    /// `catalogue` shows it. Around an app it works too, `Vary` is kept and completed, and a route
    /// needs two things: `#[cache(.., vary = ["accept-encoding"])]`, since the layer leaves a 304
    /// and an answer to HEAD as they are, and [`ETag::weak`](crate::handler::response::ETag::weak), since
    /// two encodings are not the same bytes.
    pub fn layer<L, B>(mut self, layer: L) -> Self
    where
        L: Layer<SharedService> + Send + 'static,
        L::Service: Service<Request, Response = http::Response<B>, Error: Into<BoxError>>
            + Clone
            + Send
            + Sync
            + 'static,
        <L::Service as Service<Request>>::Future: Send,
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        self.parts.layers.push(Box::new(move |inner| SharedService::new(layer.layer(inner))));
        self
    }

    /// Gives the list of origins that routes name by `origins = config("name")`.
    pub fn origins<T: Into<String>>(
        mut self,
        name: impl Into<String>,
        origins: impl IntoIterator<Item = T>,
    ) -> Self {
        let origins = origins.into_iter().map(Into::into).collect();
        self.parts.origins.push((name.into(), OriginsFrom::Code(origins)));
        self
    }

    /// Gives a list of origins by a handle, through which it can be replaced while the app runs.
    ///
    /// ```
    /// use policy_server::{SharedOrigins, prelude::*};
    ///
    /// #[get("/prices")]
    /// #[cors(origins = config("partners", within = ["https://*.partner.example"]))]
    /// #[auth(public)]
    /// async fn prices() -> &'static str {
    ///     "prices"
    /// }
    ///
    /// let partners = SharedOrigins::new();
    /// let client = App::new(()).shared_origins("partners", &partners).routes(routes![prices]).test();
    /// assert!(partners.replace(&["https://a.partner.example"]).is_ok());
    /// // Outside of the bound: refused whole, and the list stays as it is.
    /// assert!(partners.replace(&["https://evil.example"]).is_err());
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let response = client.get("/prices").origin("https://a.partner.example").send().await;
    /// assert!(response.header("access-control-allow-origin").is_some());
    /// # });
    /// ```
    pub fn shared_origins(mut self, name: impl Into<String>, origins: &SharedOrigins) -> Self {
        self.parts.origins.push((name.into(), OriginsFrom::Handle(origins.clone())));
        self
    }

    /// Gives a list of origins by an environment variable: separated by commas or blanks.
    pub fn origins_from_env(
        mut self,
        name: impl Into<String>,
        variable: impl Into<String>,
    ) -> Self {
        self.parts.origins.push((name.into(), OriginsFrom::Environment(variable.into())));
        self
    }

    /// Reads lists of origins from a TOML file when the app starts:
    ///
    /// ```toml
    /// [origins]
    /// partners = ["https://a.partner.example", "https://b.partner.example"]
    /// ```
    pub fn config_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.parts.config_file = Some(path.into());
        self
    }

    /// Answers GET and HEAD of this path with 200 for as long as the process lives: what an
    /// orchestrator asks before it starts another one in its place.
    ///
    /// Such a route belongs to nobody's policy: no credential, no rate, no page of another
    /// origin, and no check of the host, since an orchestrator asks by address. No cache keeps
    /// its answers.
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

    /// Answers GET and HEAD of this path with 200 while requests may be sent here, and with 503
    /// (`server.stopping`) from the moment that the server is told to stop. What balances the load
    /// has then [`Settings::drain`](crate::Settings::drain) to notice.
    ///
    /// Otherwise as [`health`](Self::health).
    pub fn readiness(mut self, path: impl Into<String>) -> Self {
        self.parts.probes.push((path.into(), Probe::Readiness));
        self
    }

    /// Gives every request an id of 128 random bits: every answer carries it as `x-request-id`,
    /// spans and the [access log](Self::access_log) name it, and handlers get it as
    /// [`RequestId`](crate::RequestId).
    ///
    /// An id that a [proxy of the app's](Self::behind) sent is kept where it has at most 128
    /// letters, digits and `-._~+/=`; whatever anybody else sends is replaced. Mounted services
    /// see the field of the request as it holds then. The bodies of problems do not repeat it.
    pub fn request_ids(mut self) -> Self {
        self.parts.request_ids = true;
        self
    }

    /// Writes one `tracing` event of level INFO and target `policy::access` for every answer,
    /// when its last byte is given to the connection or its client is gone:
    ///
    /// | field | value |
    /// |---|---|
    /// | `method`, `path` | of the request; the path escaped, at most 256 characters, without its query |
    /// | `route` | the template that took it; none where no route did |
    /// | `status` | of the answer; none where the client was gone before there was one |
    /// | `code` | of a [`Problem`](crate::Problem): why the request failed |
    /// | `bytes` | of the answer's body that the connection took |
    /// | `duration_us` | from the head of the request to the end of the answer |
    /// | `client` | its address, as the limits see it |
    /// | `protocol` | `HTTP/1.1`, `HTTP/2.0`, .. |
    /// | `request_id` | where there are [ids](Self::request_ids) |
    /// | `is_complete` | whether the client took the answer to its end, as far as the connection knows |
    ///
    /// No field of a request or an answer is among them, no query and no body, so no credential
    /// can be. A path is: a secret in a path is one in every log on its way.
    pub fn access_log(mut self) -> Self {
        self.parts.access_log = true;
        self
    }

    /// The limits of connections.
    pub fn settings(mut self, settings: Settings) -> Self {
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

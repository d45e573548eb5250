//! Services without attributes, under the same policies.

pub(crate) mod paths;

use std::any::type_name;

use http::Method;
use policy_core::method::EVERY;

#[cfg(feature = "files")]
use crate::app::files::Files;
#[cfg(feature = "openapi")]
use crate::app::openapi::ServedDocument;
#[cfg(feature = "metrics")]
use crate::observe::metrics::{Metrics, service};
use crate::{
    app::{
        access::{Access, access_methods},
        mount::paths::{MountedPaths, path_methods},
        policies::Policies,
    },
    base::problem::{convert_text, is_text},
    handler::service::{HttpService, SharedService},
};

/// A `tower` service below a prefix: files, a proxy, another framework's router.
///
/// It gets the requests for the prefix and every path below it, with the whole path in its
/// [normal form](policy_core::head::NormalPath), or [without the prefix](Self::strip_prefix). Its
/// responses carry the policy set here, or the default of its group or of the app.
///
/// It has to state its callers, or its group or app has to; otherwise the app does not start
/// (`auth.mount-callers-missing`). The gates are those of a handler, and so are the session cookie,
/// challenges, `no-store` and the end of streams.
///
/// Inside a mounted axum router, the extractors of [`extract`](crate::extract) work as in handlers:
/// [`Principal`](crate::Principal), [`Session`](crate::Session), [`Sessions`](crate::Sessions),
/// [`CsrfToken`](crate::extract::CsrfToken), [`ClientAddr`](crate::extract::ClientAddr).
///
/// ```
/// use policy_server::{http, prelude::*};
/// use std::convert::Infallible;
///
/// const EVERYBODY: CorsPolicy = CorsPolicy::origins(&["*"]).build();
///
/// let echo = tower::service_fn(async |request: http::Request<_>| {
///     let _: &policy_server::Body = request.body();
///     Ok::<_, Infallible>(http::Response::new(request.uri().path().to_owned()))
/// });
/// let echo = Mount::new(echo).public().policies(Policies::new().cors(EVERYBODY));
/// let app = App::new(()).mount("/echo", echo);
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let response = app.test().get("/echo/x").origin("https://a.example").send().await;
/// assert_eq!(response.text(), "/echo/x");
/// assert_eq!(response.header("access-control-allow-origin"), Some("*"));
/// # });
/// ```
#[derive(Clone, Debug)]
#[must_use = "a mount does nothing outside of an app"]
pub struct Mount {
    pub(crate) service: SharedService,
    #[cfg_attr(
        not(any(feature = "manifest", feature = "metrics")),
        expect(dead_code, reason = "for manifests and notices")
    )]
    pub(crate) served_by: ServedBy,
    pub(crate) converts_problems: bool,
    pub(crate) methods: Vec<Method>,
    pub(crate) strips_prefix: bool,
    pub(crate) paths: MountedPaths,
    pub(crate) access: Access,
    pub(crate) policies: Policies,
}

/// What serves a mount or the fallback.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "manifest"), expect(dead_code, reason = "for manifests"))]
pub(crate) enum ServedBy {
    /// A service or a function, by the name of its type.
    Service(&'static str),
    #[cfg(feature = "files")]
    Files(Files),
    /// The OpenAPI document of the app.
    #[cfg(feature = "openapi")]
    OpenApi(ServedDocument),
    #[cfg(feature = "metrics")]
    Metrics,
}

impl Mount {
    /// Mounts a service for GET and HEAD.
    pub fn new<S: HttpService>(service: S) -> Self {
        Self::from_shared(SharedService::new(service), ServedBy::Service(type_name::<S>()))
    }

    /// The text of these [metrics](Metrics), for a Prometheus that calls the app by its public
    /// origin and has a credential (feature `metrics`). If it is public, a notice at start reports
    /// it (`app.metrics-public`).
    ///
    /// ```
    /// use policy_server::{AuthRequirement, Metrics, prelude::*};
    ///
    /// let metrics = Metrics::new();
    /// let scraped = Mount::metrics(&metrics).auth(AuthRequirement::token().scopes(&["metrics"]));
    /// let app = App::new(()).metrics(&metrics).mount("/metrics", scraped);
    /// ```
    #[cfg(feature = "metrics")]
    pub fn metrics(metrics: &Metrics) -> Self {
        Self::from_shared(service(metrics), ServedBy::Metrics)
    }

    pub(crate) fn from_shared(service: SharedService, served_by: ServedBy) -> Self {
        Self {
            service,
            served_by,
            converts_problems: false,
            methods: vec![Method::GET, Method::HEAD],
            strips_prefix: false,
            paths: MountedPaths::default(),
            access: Access::default(),
            policies: Policies::default(),
        }
    }

    /// Passes these methods to the service, in place of GET and HEAD.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.methods = methods.into_iter().collect();
        self
    }

    /// Passes all methods to the service: GET, HEAD, POST, PUT, PATCH, DELETE and QUERY, as
    /// [`#[any]`](macro@crate::any) does for a handler.
    pub fn all_methods(self) -> Self {
        let every = EVERY.iter().filter_map(|method| method.parse().ok());
        self.methods(every.chain([Method::HEAD]))
    }

    /// Passes paths to the service without the prefix: a service that is mounted at `/files` gets `/a`
    /// for `/files/a`, and `/` for `/files`. Policies, logs and
    /// [`MatchedRoute`](crate::handler::extract::MatchedRoute) use the whole path.
    ///
    /// ```
    /// use policy_server::prelude::*;
    ///
    /// let hello = axum::Router::new().route("/hello", axum::routing::get(async || "hello"));
    /// let app = App::new(()).mount("/old", Mount::new(hello).public().strip_prefix());
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// assert_eq!(app.test().get("/old/hello").send().await.text(), "hello");
    /// # });
    /// ```
    pub fn strip_prefix(mut self) -> Self {
        self.strips_prefix = true;
        self
    }

    /// Converts errors of the service without a body or with one in plain text, such as the rejections
    /// of axum's extractors, into problems: `application/problem+json` with the same status, and with
    /// the text as `detail`. The text of a server error is only logged. Other responses are unchanged,
    /// and so is text that a layer inside of the mount has compressed.
    ///
    /// ```
    /// use policy_server::prelude::*;
    ///
    /// let add = axum::routing::get(async |axum::extract::Query(_): axum::extract::Query<u32>| ());
    /// let old = axum::Router::new().route("/old/add", add);
    /// let app = App::new(()).mount("/old", Mount::new(old).public().problems());
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let response = app.test().get("/old/add?x").send().await;
    /// assert_eq!(response.status(), 400);
    /// assert_eq!(response.header("content-type"), Some("application/problem+json"));
    /// assert!(response.text().contains("Failed to deserialize query string"));
    /// # });
    /// ```
    pub fn problems(mut self) -> Self {
        self.converts_problems = true;
        let service = self.service;
        self.service = SharedService::boxed(move |request| {
            let response = service.run(request);
            Box::pin(async move {
                let response = response.await;
                if is_text(&response) { convert_text(response, None).await } else { response }
            })
        });
        self
    }

    access_methods!();
    path_methods!();
}

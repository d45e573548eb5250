//! The policies of a layer in front of another service.

use std::net::SocketAddr;

use http::Extensions;
use policy_core::csrf::CsrfPolicy;

use crate::app::{origin_list::OriginList, policies::Policies};

/// Builds a [`PolicyLayer`](crate::PolicyLayer) from its policies. A facet that is not stated is left
/// to the service behind the layer; nothing is on by default. A page to which the layer adds a nonce
/// is also kept out of shared caches.
///
/// ```
/// use policy_server::{CsrfPolicy, PolicyLayer, prelude::*, testing::TestClient};
/// use std::time::Duration;
/// use tower::Layer;
///
/// const SHOP: CorsPolicy = CorsPolicy::origins(&["https://shop.example"]).build();
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let layer = PolicyLayer::builder()
///     .public_origin("https://api.shop.example")
///     .policies(
///         Policies::new()
///             .cors(SHOP)
///             .headers(HeadersPolicy::API)
///             .cache(CachePolicy::no_store().build())
///             .limits(Limits::NONE.body(64 * 1024).timeout(Duration::from_secs(5))),
///     )
///     .csrf(CsrfPolicy::Origin)
///     .build()?;
/// let router = axum::Router::new().route("/lamp", axum::routing::get(async || "a lamp"));
/// let service = layer.layer(router);
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
/// # runtime.block_on(async {
/// let client = TestClient::new(service, "api.shop.example");
/// let response = client.get("/lamp").send().await;
/// assert_eq!(response.header("cache-control"), Some("no-store"));
/// assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
/// # });
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "it does nothing until `build`"]
pub struct PolicyLayerBuilder {
    pub(crate) policies: Policies,
    pub(crate) public_origin: Option<String>,
    pub(crate) origins: Vec<(String, OriginList)>,
    pub(crate) problem_types: Option<String>,
    pub(crate) csrf: Option<CsrfPolicy>,
    pub(crate) peer: Option<fn(&Extensions) -> Option<SocketAddr>>,
}

impl PolicyLayerBuilder {
    /// The policies of the responses of the service, and of refusals. If it is called again, the facets that the later call states
    /// replace those of the earlier one.
    pub fn policies(mut self, policies: Policies) -> Self {
        self.policies.replace(policies);
        self
    }

    /// The `https` origin under which browsers reach the service. Requests for any other host
    /// get 421. HSTS is sent if there are [`headers`](Policies::headers). If CORS or CSRF
    /// protection is stated, a WebSocket from another origin is refused unless
    /// [`cors`](Policies::cors) grants that origin (RFC 6455 10.2), with credentials if there is a
    /// cookie, or an `Authorization` other than a bearer token. Without a public origin,
    /// [`csrf`](Self::csrf) and [`isolation`](Policies::isolation) compare a request without Fetch
    /// Metadata, and `csrf` every WebSocket, with `http://` and the host that the request names, which
    /// suits development only.
    pub fn public_origin(mut self, origin: impl Into<String>) -> Self {
        self.public_origin = Some(origin.into());
        self
    }

    /// The CSRF protection: [`CsrfPolicy::Origin`] refuses unsafe requests that a page of another
    /// origin sent (403 `csrf.origin`), and WebSockets that it opens (403
    /// `cors.websocket-origin-not-granted`), unless CORS grants that page with credentials, or grants
    /// it and the request has no cookie, and no `Authorization` other than a bearer token. A request
    /// with neither `Origin`, Fetch Metadata nor `Cookie`, such as a webhook, passes.
    ///
    /// A policy that requires a token needs the sessions of an app, and is an error here.
    pub fn csrf(mut self, policy: CsrfPolicy) -> Self {
        self.csrf = Some(policy);
        self
    }

    /// The function that finds the peer's address, which rates count by, in the extensions that a
    /// server sets. With axum: `|of| of.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0)`.
    pub fn peer(mut self, peer: fn(&Extensions) -> Option<SocketAddr>) -> Self {
        self.peer = Some(peer);
        self
    }

    /// Sets the list of origins that the CORS policy names, as [`App::origins`](crate::App::origins)
    /// does. A layer opens no store, so a list that is stored is an error.
    ///
    /// ```
    /// use policy_server::{CorsPolicy, Policies, PolicyLayer, SharedOrigins};
    ///
    /// const PARTNERS: CorsPolicy = CorsPolicy::origins_at_run_time("partners").build();
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let partners = SharedOrigins::new();
    /// let layer = PolicyLayer::builder()
    ///     .policies(Policies::new().cors(PARTNERS))
    ///     .origins("partners", &partners)
    ///     .build()?;
    /// // At any time, for all requests from then on:
    /// partners.replace(&["https://a.example", "https://b.example"])?;
    /// # drop(layer);
    /// # Ok(())
    /// # }
    /// ```
    pub fn origins(mut self, name: impl Into<String>, list: impl Into<OriginList>) -> Self {
        self.origins.push((name.into(), list.into()));
        self
    }

    /// The address of the pages about problems, as with
    /// [`App::problem_types`](crate::App::problem_types).
    pub fn problem_types(mut self, address: impl Into<String>) -> Self {
        self.problem_types = Some(address.into());
        self
    }

    /// Not for layers: callers are stated in an app, by
    /// [`Fallback::auth`](crate::Fallback::auth) or [`Mount::auth`](crate::Mount::auth).
    #[doc(hidden)]
    pub fn auth<T: OfApps>(self, _: T) -> Self {
        self
    }
}

/// A bound for methods that only an app supports: no type implements it.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}`: a layer cannot say who may call: sessions, tokens and schemes belong to an app (auth.callers-of-layer)",
    label = "not in a layer",
    note = "put the service into an app, `App::new(()).fallback(Fallback::new(router).auth(..))`, or behind a `Mount`"
)]
pub trait OfApps {}

//! Routes that share a prefix and a default policy.

use std::{fmt, marker::PhantomData};

#[cfg(feature = "gateway")]
use crate::app::proxy::ReverseProxy;
use crate::{
    app::{
        access::{Access, access_methods},
        mount::Mount,
        policies::Policies,
        route::{Entry, Route},
    },
    handler::service::{RouteLayer, Wrap},
};

/// A group of routes below one prefix.
///
/// Its policy is the default of its routes. A route's own attribute replaces the group's policy
/// completely, and the group's policy replaces that of the app; policies are never merged. Every
/// handler states its callers: `#[auth(group)]` takes those of the group, which are also a default
/// of its mounts and proxies. Its CSRF protection is a default for handlers, too.
///
/// ```
/// use policy_server::prelude::*;
///
/// const PARTNERS: CorsPolicy = CorsPolicy::origins(&["https://shop.example"]).build();
///
/// #[get("/orders")]
/// #[auth(public)]
/// async fn orders() -> &'static str {
///     "orders"
/// }
///
/// let partners = Group::new().policies(Policies::new().cors(PARTNERS)).routes(routes![orders]);
/// let app = App::new(()).group("/partners", partners);
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let response = app.test().get("/partners/orders").origin("https://shop.example").send().await;
/// assert_eq!(response.header("access-control-allow-origin"), Some("https://shop.example"));
/// # });
/// ```
#[derive(Debug)]
#[must_use = "a group does nothing outside of an app"]
pub struct Group<S> {
    pub(crate) parts: GroupParts,
    state: PhantomData<fn(S)>,
}

/// The parts of a group that do not depend on the state type of its app.
#[derive(Default)]
pub(crate) struct GroupParts {
    pub(crate) policies: Policies,
    /// The callers of its mounts and proxies; its CSRF protection applies to handlers, too.
    pub(crate) access: Access,
    pub(crate) routes: Vec<Entry>,
    pub(crate) mounts: Vec<(String, Mount)>,
    #[cfg(feature = "gateway")]
    pub(crate) upstreams: Vec<ReverseProxy>,
    pub(crate) layers: Vec<Wrap>,
}

/// The path of a route below the prefix of its group, which is empty without one. `/` is the prefix
/// itself.
pub(crate) fn path_below(prefix: &str, path: &str) -> String {
    match path {
        "/" if !prefix.is_empty() => prefix.to_owned(),
        path => format!("{prefix}{path}"),
    }
}

impl fmt::Debug for GroupParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupParts")
            .field("routes", &self.routes)
            .field("mounts", &self.mounts)
            .finish_non_exhaustive()
    }
}

impl<S> Group<S> {
    /// A group without routes or policy.
    pub fn new() -> Self {
        Self { parts: GroupParts::default(), state: PhantomData }
    }

    /// The policies of routes that have none of their own; [`Policies::cache`] states which of them
    /// inherit a cache policy. If it is called again, the facets that the later call states replace
    /// those of the earlier one.
    pub fn policies(mut self, policies: Policies) -> Self {
        self.parts.policies.replace(policies);
        self
    }
    access_methods!(
        parts,
        "its mounts and proxies, unless they state their own, and to its handlers with `#[auth(group)]`";
        csrf: "its handlers, mounts and proxies, unless they state their own"
    );

    /// Adds handlers. A path `/` is the prefix itself.
    pub fn routes(mut self, routes: Vec<Route<S>>) -> Self {
        self.parts.routes.extend(routes.into_iter().map(|route| route.entry));
        self
    }

    /// Mounts a service at a prefix below that of the group, and every path below it.
    pub fn mount(mut self, prefix: impl Into<String>, mount: Mount) -> Self {
        self.parts.mounts.push((prefix.into(), mount));
        self
    }

    /// Proxies a prefix below that of the group, and every path below it, to another server
    /// (feature `gateway`).
    #[cfg(feature = "gateway")]
    pub fn proxy(mut self, proxy: ReverseProxy) -> Self {
        self.parts.upstreams.push(proxy);
        self
    }

    /// Wraps the handlers, mounts and proxies of the group in a `tower` layer. Later layers wrap
    /// earlier ones, and all of them the [layer](macro@crate::layer) of a route. One layer serves the
    /// whole group, so a limit in it is shared by all of its routes.
    ///
    /// A layer runs behind the gates of the route and inside its protections: only admitted
    /// requests reach it, the extractors of this crate find their caller there, and responses that
    /// it makes or changes get the policies of the route. The handler sees what a layer changes
    /// about the request, except for its method and target, about which the gates have decided.
    ///
    /// ```
    /// use policy_server::{Request, http, prelude::*};
    /// use tower::util::MapRequestLayer;
    ///
    /// #[get("/greeting")]
    /// #[auth(public)]
    /// async fn greeting(headers: http::HeaderMap) -> String {
    ///     format!("hello {:?}", headers["x-greeted-by"])
    /// }
    ///
    /// let name = MapRequestLayer::new(|mut request: Request| {
    ///     request.headers_mut().insert("x-greeted-by", http::HeaderValue::from_static("us"));
    ///     request
    /// });
    /// let app = App::new(()).group("/v1", Group::new().layer(name).routes(routes![greeting]));
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// assert_eq!(app.test().get("/v1/greeting").send().await.text(), "hello \"us\"");
    /// # });
    /// ```
    pub fn layer(mut self, layer: impl RouteLayer + Send + 'static) -> Self {
        self.parts.layers.push(Wrap::new(layer));
        self
    }
}

impl<S> Default for Group<S> {
    fn default() -> Self {
        Self::new()
    }
}

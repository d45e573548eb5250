//! Routes that share a prefix and a default policy.

use std::marker::PhantomData;

#[cfg(feature = "gateway")]
use crate::app::proxy::Proxy;
use crate::app::{
    access::{Access, access_methods},
    defaults::{Defaults, policy_methods},
    mount::Mount,
    route::{Entry, Route},
};

/// A group of routes below one prefix.
///
/// Its policy is the default of its routes. A route's own attribute replaces the group's policy
/// completely, and the group's policy replaces that of the app; policies are never merged. Who may
/// call is a default of its mounts and proxies only: every handler says that itself.
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
/// let app = App::new(()).group("/partners", Group::new().cors(PARTNERS).routes(routes![orders]));
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

/// What a group is made of, whatever the state of its app.
#[derive(Debug, Default)]
pub(crate) struct GroupParts {
    pub(crate) defaults: Defaults,
    /// Of the callers of its mounts and proxies.
    pub(crate) access: Access,
    pub(crate) routes: Vec<Entry>,
    pub(crate) mounts: Vec<(String, Mount)>,
    #[cfg(feature = "gateway")]
    pub(crate) upstreams: Vec<Proxy>,
}

impl<S> Group<S> {
    /// A group without routes or policy.
    pub fn new() -> Self {
        Self { parts: GroupParts::default(), state: PhantomData }
    }

    policy_methods!(parts.defaults, "routes that have none of their own");
    access_methods!(
        parts.access,
        "its mounts and proxies that do not state their own; handlers always do"
    );

    /// Adds handlers. A path `/` is the prefix itself.
    pub fn routes(mut self, routes: impl IntoIterator<Item = Route<S>>) -> Self {
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
    pub fn proxy(mut self, proxy: Proxy) -> Self {
        self.parts.upstreams.push(proxy);
        self
    }
}

impl<S> Default for Group<S> {
    fn default() -> Self {
        Self::new()
    }
}

//! Routes that share a prefix and a default policy.

use std::marker::PhantomData;

use crate::app::{
    defaults::{Defaults, policy_methods},
    route::{Entry, Route},
};

/// A group of routes below one prefix.
///
/// Its policy is the default of its routes. A route's own attribute replaces the group's policy
/// completely, and the group's policy replaces that of the app; policies are never merged.
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
    pub(crate) routes: Vec<Entry>,
}

impl<S> Group<S> {
    /// A group without routes or policy.
    pub fn new() -> Self {
        Self { parts: GroupParts::default(), state: PhantomData }
    }

    policy_methods!(parts.defaults, "routes that have none of their own");

    /// Adds handlers. A path `/` is the prefix itself.
    pub fn routes(mut self, routes: impl IntoIterator<Item = Route<S>>) -> Self {
        self.parts.routes.extend(routes.into_iter().map(|route| route.entry));
        self
    }
}

impl<S> Default for Group<S> {
    fn default() -> Self {
        Self::new()
    }
}

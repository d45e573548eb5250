//! The route that a request matched.

use std::sync::Arc;

use axum_core::extract::FromRequestParts;
use http::request::Parts;

use super::context::{Context, ContextRejection, optional};
use crate::handler::RouteInfo;

/// The route that the request matched: a name for metrics and logs whose number of values does not
/// depend on what clients send.
///
/// It is available in the handlers of an [`App`](crate::App). Elsewhere, such as in a mounted
/// service, it fails with 500, and `Option<MatchedRoute>` is `None`.
///
/// The layers of [`App::layer`](crate::App::layer) find it in the extensions of a response, if the
/// request reached its route: a preflight, and a request that an earlier gate refuses, has none.
///
/// ```
/// use policy_server::prelude::*;
///
/// #[get("/users/{id}")]
/// #[auth(public)]
/// async fn user(id: u64, route: MatchedRoute) -> String {
///     format!("{id} of {}", route.path())
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![user]).test();
/// assert_eq!(client.get("/users/7").send().await.text(), "7 of /users/{id}");
/// # });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MatchedRoute {
    path: Arc<str>,
    handler: &'static str,
}

impl MatchedRoute {
    pub(crate) fn new(route: &RouteInfo) -> Self {
        Self { path: Arc::clone(&route.path), handler: route.handler() }
    }

    /// The path as the attribute states it, after the prefix of its group.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The handler function with its module path, such as `shop::orders::order`.
    pub fn handler(&self) -> &'static str {
        self.handler
    }
}

impl<S: Send + Sync> FromRequestParts<S> for MatchedRoute {
    type Rejection = ContextRejection;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ContextRejection> {
        let context = Context::from_extensions(&parts.extensions)?;
        Ok(Self::new(&context.route))
    }
}

optional!(MatchedRoute);

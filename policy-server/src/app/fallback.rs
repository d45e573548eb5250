//! The service for paths without a route.

use std::{any::type_name, fmt};

use axum_core::{extract::Request, response::IntoResponse};

use crate::{
    app::{
        access::{Access, access_methods},
        mount::ServedBy,
        policies::Policies,
    },
    handler::service::{HttpService, RouteLayer, SharedService, Wrap},
};

/// Serves the paths without a route, in place of a 404. Pass it to
/// [`App::fallback`](crate::App::fallback).
///
/// It gets requests with every method, and states its callers, as a handler does by its attribute.
/// A preflight for an unknown path is not granted.
///
/// ```
/// use policy_server::prelude::*;
///
/// let page = Fallback::handler(async |_| "the page").public();
/// let app = App::new(()).fallback(page);
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// assert_eq!(app.test().get("/settings").send().await.text(), "the page");
/// # });
/// ```
#[must_use = "a fallback does nothing outside of an app"]
pub struct Fallback {
    pub(crate) service: SharedService,
    #[cfg_attr(not(feature = "manifest"), expect(dead_code, reason = "for manifests"))]
    pub(crate) served_by: ServedBy,
    pub(crate) access: Access,
    pub(crate) policies: Policies,
    pub(crate) layers: Vec<Wrap>,
}

impl Fallback {
    /// A `tower` service, such as tower-http's `ServeDir`.
    pub fn new<S: HttpService>(service: S) -> Self {
        Self::from_shared(SharedService::new(service), ServedBy::Service(type_name::<S>()))
    }

    /// A function from the request to its response.
    pub fn handler<F, Fut>(handler: F) -> Self
    where
        F: Fn(Request) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output: IntoResponse> + Send + 'static,
    {
        Self::from_shared(SharedService::from_fn(handler), ServedBy::Service(type_name::<F>()))
    }

    pub(crate) fn from_shared(service: SharedService, served_by: ServedBy) -> Self {
        Self {
            service,
            served_by,
            access: Access::default(),
            policies: Policies::default(),
            layers: Vec::new(),
        }
    }

    /// Wraps it in a `tower` layer, as [`Group::layer`](crate::Group::layer) wraps the routes of a
    /// group: behind the gates, inside its protections. Later layers wrap earlier ones.
    ///
    /// ```
    /// use policy_server::{http, prelude::*};
    /// use tower::util::MapResponseLayer;
    ///
    /// let layer = MapResponseLayer::new(|mut response: Response| {
    ///     response.headers_mut().insert("x-served-by", http::HeaderValue::from_static("us"));
    ///     response
    /// });
    /// let page = Fallback::handler(async |_| "the page").public().layer(layer);
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let response = App::new(()).fallback(page).test().get("/settings").send().await;
    /// assert_eq!(response.header("x-served-by"), Some("us"));
    /// # });
    /// ```
    pub fn layer(mut self, layer: impl RouteLayer + Send + 'static) -> Self {
        self.layers.push(Wrap::new(layer));
        self
    }

    access_methods!();
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fallback").field("policies", &self.policies).finish_non_exhaustive()
    }
}

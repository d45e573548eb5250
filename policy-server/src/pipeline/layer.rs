//! A CORS policy in front of any `tower` service.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum_core::{
    body::Body,
    response::{IntoResponse, Response},
};
use pin_project_lite::pin_project;
use policy_core::{
    Refusal,
    cache::forbid_storing,
    cors::{Cors, OriginDecision, OriginLists, PolicyErrors, Preflight},
    gate::Head,
};
use tower_layer::Layer;
use tower_service::Service;

use crate::{
    app::cors_source::CorsSource,
    base::{message_body::MessageBody, problem::Problem},
    pipeline::respond::head::without_content,
};

/// Puts a CORS policy in front of a service such as an axum router: the first step of a migration,
/// before its handlers have attributes.
///
/// It responds to preflights itself and writes the policy onto every other response, errors
/// included. CORS headers that the service wrote are removed.
///
/// ```
/// use policy_server::{PolicyLayer, CorsPolicy, testing::TestClient};
///
/// const SHOP: CorsPolicy = CorsPolicy::origins(&["https://shop.example"])
///     .methods(&["GET", "PUT"])
///     .headers(&["content-type"])
///     .build();
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let router = axum::Router::new()
///     .route("/lamp", axum::routing::get(|| async { "a lamp" }))
///     .layer(PolicyLayer::new(SHOP)?);
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// let client = TestClient::new(router, "localhost");
/// let response = client.get("/lamp").origin("https://shop.example").send().await;
/// assert_eq!(response.header("access-control-allow-origin"), Some("https://shop.example"));
/// # });
/// # Ok(())
/// # }
/// ```
///
/// # Limitations
///
/// An [`App`](crate::App) derives from its routes which methods a preflight allows, and that a body
/// has a `content-type`. A layer sees no routes. A policy without `methods` allows only those that
/// browsers always let through: GET, HEAD and POST. Request headers are those named in `headers`.
#[derive(Clone, Debug)]
pub struct PolicyLayer(Arc<Plan>);

#[derive(Debug)]
struct Plan {
    cors: Cors,
    preflight: Preflight,
}

impl PolicyLayer {
    /// A layer for a [`CorsPolicy`](crate::CorsPolicy) or a [`CorsConfig`](crate::CorsConfig).
    ///
    /// # Errors
    ///
    /// All mistakes of the policy: those that the compiler cannot find in a constant, all rules for
    /// a configuration, and origins that come at run time, which need
    /// [`with_origins`](Self::with_origins).
    pub fn new(policy: impl Into<CorsSource>) -> Result<Self, PolicyErrors> {
        Self::with_origins(policy, &OriginLists::new())
    }

    /// A layer for a policy whose origins come at run time.
    ///
    /// ```
    /// use policy_server::{CorsPolicy, PolicyLayer, SharedOrigins, policy::OriginLists};
    ///
    /// const PARTNERS: CorsPolicy = CorsPolicy::origins_at_run_time("partners").build();
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let partners = SharedOrigins::new();
    /// let mut lists = OriginLists::new();
    /// lists.insert("partners", partners.clone());
    /// let layer = PolicyLayer::with_origins(PARTNERS, &lists)?;
    /// // At any time, for all requests from then on:
    /// partners.replace(&["https://a.example", "https://b.example"])?;
    /// # drop(layer);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// All mistakes of the policy and of the list that it names.
    pub fn with_origins(
        policy: impl Into<CorsSource>,
        lists: &OriginLists,
    ) -> Result<Self, PolicyErrors> {
        let cors = policy.into().compile("PolicyLayer", lists)?;
        let preflight = cors.preflight(&[], &[]);
        Ok(Self(Arc::new(Plan { cors, preflight })))
    }
}

impl<T> Layer<T> for PolicyLayer {
    type Service = PolicyService<T>;

    fn layer(&self, inner: T) -> PolicyService<T> {
        PolicyService { plan: Arc::clone(&self.0), inner }
    }
}

/// A service behind a [`PolicyLayer`].
#[derive(Clone, Debug)]
pub struct PolicyService<T> {
    plan: Arc<Plan>,
    inner: T,
}

impl<T, A, B> Service<http::Request<A>> for PolicyService<T>
where
    T: Service<http::Request<A>, Response = http::Response<B>>,
    B: MessageBody,
{
    type Response = Response;
    type Error = T::Error;
    type Future = PolicyFuture<T::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), T::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<A>) -> PolicyFuture<T::Future> {
        let head = Head::read(&request);
        let stage = if head.is_preflight() {
            Stage::Preflight { response: Some(self.plan.answer(&head)) }
        } else {
            let grant = Some(self.plan.cors.decide_origin(head.origin));
            let plan = Arc::clone(&self.plan);
            Stage::Passed { inner: self.inner.call(request), plan, grant }
        };
        PolicyFuture { stage }
    }
}

impl Plan {
    fn answer(&self, head: &Head<'_>) -> Response {
        match self.preflight.answer(&self.cors, head.origin, head.request_method) {
            Ok((status, headers)) => without_content(status, headers),
            Err(refusal) => self.refused(refusal),
        }
    }

    fn refused(&self, refusal: Refusal) -> Response {
        tracing::debug!(code = refusal.code(), "preflight refused");
        let mut response = Problem::from(refusal).into_response();
        let headers = response.headers_mut();
        forbid_storing(headers);
        self.cors.apply(OriginDecision::Refused, headers);
        response
    }
}

pin_project! {
    /// The response of a [`PolicyService`], as a future.
    #[derive(Debug)]
    pub struct PolicyFuture<F> {
        #[pin]
        stage: Stage<F>,
    }
}

pin_project! {
    #[project = StageProjection]
    #[derive(Debug)]
    enum Stage<F> {
        /// The layer responds to a preflight itself.
        Preflight { response: Option<Response> },
        /// The service responds.
        Passed {
            #[pin]
            inner: F,
            plan: Arc<Plan>,
            grant: Option<OriginDecision>,
        },
    }
}

impl<F, B, E> Future for PolicyFuture<F>
where
    F: Future<Output = Result<http::Response<B>, E>>,
    B: MessageBody,
{
    type Output = Result<Response, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().stage.project() {
            // A future polled after its completion stays pending.
            StageProjection::Preflight { response } => {
                response.take().map_or(Poll::Pending, |response| Poll::Ready(Ok(response)))
            }
            StageProjection::Passed { inner, plan, grant } => {
                let mut response = ready!(inner.poll(context))?.map(Body::new);
                let grant = grant.take().unwrap_or(OriginDecision::Refused);
                plan.cors.apply(grant, response.headers_mut());
                Poll::Ready(Ok(response))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::Bytes;
    use http::{Method, Request};
    use http_body_util::{BodyExt, Empty, Full};
    use policy_core::{
        Rule,
        cors::{CorsConfig, CorsPolicy, PolicyError, SharedOrigins},
    };
    use tower::{ServiceExt, service_fn};

    use super::*;

    const POLICY: CorsPolicy =
        CorsPolicy::origins(&["https://a.test"]).credentials().methods(&["PUT"]).build();

    /// Sends a request through the layer to a service with another body type.
    async fn send(layer: &PolicyLayer, method: Method, headers: &[(&str, &str)]) -> Response {
        let inner = service_fn(async |request: Request<Empty<Bytes>>| {
            let body = Full::new(Bytes::from(request.method().to_string()));
            Ok::<_, Infallible>(http::Response::new(body))
        });
        let mut request = Request::builder().method(method);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        layer.layer(inner).oneshot(request.body(Empty::new()).unwrap()).await.unwrap()
    }

    async fn text(response: Response) -> String {
        let body = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(body.to_vec()).unwrap()
    }

    fn names(response: &Response) -> Vec<&str> {
        let mut names: Vec<_> = response.headers().keys().map(http::HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    #[tokio::test]
    async fn a_preflight_does_not_reach_the_service() {
        let layer = PolicyLayer::new(POLICY).unwrap();
        let asked = [("origin", "https://a.test"), ("access-control-request-method", "PUT")];
        let response = send(&layer, Method::OPTIONS, &asked).await;
        assert_eq!(response.status(), 204);
        assert_eq!(response.headers()["access-control-allow-methods"], "PUT");
        assert_eq!(text(response).await, "");
    }

    #[tokio::test]
    async fn a_refused_preflight_explains_itself_and_grants_nothing() {
        let layer = PolicyLayer::new(POLICY).unwrap();
        let asked = [("origin", "https://evil.test"), ("access-control-request-method", "PUT")];
        let response = send(&layer, Method::OPTIONS, &asked).await;
        assert_eq!(response.status(), 403);
        assert_eq!(names(&response), ["cache-control", "content-type", "vary"]);
        assert!(text(response).await.contains("cors.origin-not-granted"));
    }

    #[tokio::test]
    async fn other_requests_pass_and_their_responses_are_finished() {
        let layer = PolicyLayer::new(POLICY).unwrap();
        for (method, origin, granted) in [
            (Method::GET, "https://a.test", true),
            (Method::OPTIONS, "https://a.test", true),
            (Method::DELETE, "https://evil.test", false),
        ] {
            let response = send(&layer, method.clone(), &[("origin", origin)]).await;
            assert_eq!(response.headers()["vary"], "origin");
            let allowed = response.headers().contains_key("access-control-allow-origin");
            assert_eq!(allowed, granted, "{method}");
            assert_eq!(text(response).await, method.as_str());
        }
    }

    #[tokio::test]
    async fn errors_of_the_service_stay_errors() {
        let layer = PolicyLayer::new(POLICY).unwrap();
        let inner = service_fn(async |_: Request<()>| Err::<http::Response<Body>, _>("broken"));
        let error = layer.layer(inner).oneshot(Request::new(())).await.unwrap_err();
        assert_eq!(error, "broken");
    }

    #[tokio::test]
    async fn origins_can_be_replaced_while_it_serves() {
        const PARTNERS: CorsPolicy = CorsPolicy::origins_at_run_time("partners").build();
        let partners = SharedOrigins::new();
        let mut lists = OriginLists::new();
        lists.insert("partners", partners.clone());
        let layer = PolicyLayer::with_origins(PARTNERS, &lists).unwrap();
        for (list, granted) in [(&["https://a.test"][..], true), (&[], false)] {
            partners.replace(list).unwrap();
            let response = send(&layer, Method::GET, &[("origin", "https://a.test")]).await;
            assert_eq!(response.headers().contains_key("access-control-allow-origin"), granted);
        }
        let missing = PolicyLayer::new(PARTNERS).unwrap_err();
        assert_eq!(missing.errors()[0].rule(), Rule::OriginListMissing);
    }

    #[test]
    fn a_configuration_is_checked_whole() {
        let mut config = CorsConfig::new(["*"]);
        config.headers = vec!["host".to_owned()];
        config.credentials = true;
        let errors = PolicyLayer::new(config).unwrap_err();
        let rules: Vec<_> = errors.errors().iter().map(PolicyError::rule).collect();
        assert_eq!(rules, [Rule::AnyOriginWithCredentials, Rule::HeaderForbidden]);
    }
}

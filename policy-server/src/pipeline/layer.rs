//! Policies in front of any `tower` service.

use std::{
    convert::Infallible,
    net::SocketAddr,
    ops::ControlFlow,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum_core::{
    body::Body,
    extract::DefaultBodyLimit,
    response::{IntoResponse, Response},
};
use http::{
    Extensions, HeaderMap, Method, StatusCode,
    header::{
        ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, ALLOW, COOKIE, ORIGIN,
    },
};
use policy_core::{
    Refusal,
    cache::ResponseFacts,
    cors::{Cors, OriginDecision, OriginLists, PolicyErrors, Preflight},
    csrf::{CsrfPolicy, OriginFacts, Provenance},
    gate::{Head, OwnOrigin, Single},
    isolation::{FetchMetadata, StatedOrigin},
};
use tower_layer::Layer;
use tower_service::Service;

use crate::{
    app::{cors_source::CorsSource, policy_layer::PolicyLayerBuilder},
    base::{clock::Random, message_body::MessageBody, problem::Problem},
    handler::{
        extract::Context as RequestContext,
        service::{HttpService, SharedService},
    },
    pipeline::{
        gates::{body, limits::Taken},
        respond::{ResponsePolicy, head::without_content},
        response_future::{ResponseFuture, Work},
    },
    route::compiled_policy::CompiledRoutePolicy,
};

/// The most methods that are taken from an `Allow` of the service.
const MOST_METHODS: usize = 32;

/// Puts policies in front of a service such as an axum router: the first step of a migration,
/// before its handlers have attributes.
///
/// It responds to preflights itself and writes the policy onto every other response, errors
/// included. What is not stated stays as the service has it. [`new`](Self::new) is CORS alone,
/// [`builder`](Self::builder) has the other facets, too.
///
/// ```
/// use policy_server::{PolicyLayer, CorsPolicy, testing::TestClient};
/// use tower::Layer;
///
/// const SHOP: CorsPolicy =
///     CorsPolicy::origins(&["https://shop.example"]).headers(&["content-type"]).build();
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use axum::routing::get;
///
/// let router = axum::Router::new().route("/lamp", get(async || "a lamp").put(async || "lit"));
/// let service = PolicyLayer::new(SHOP)?.layer(router);
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// let client = TestClient::new(service, "localhost");
/// let response = client.get("/lamp").origin("https://shop.example").send().await;
/// assert_eq!(response.header("access-control-allow-origin"), Some("https://shop.example"));
/// let asked = client.options("/lamp").origin("https://shop.example");
/// let preflight = asked.header("access-control-request-method", "PUT").send().await;
/// assert_eq!(preflight.header("access-control-allow-methods"), Some("GET,HEAD,PUT"));
/// # });
/// # Ok(())
/// # }
/// ```
///
/// # Methods of a preflight
///
/// The methods that a policy names by `methods` are those that a granted preflight allows; the service
/// is not asked. Otherwise the service gets an `OPTIONS` without the headers of CORS, and the preflight
/// allows what its `Allow` lists. A service that does not say what it serves, such as one that responds to
/// `OPTIONS` by itself, gets a preflight that allows GET, HEAD and POST, for which browsers need no
/// permission.
///
/// axum writes `Allow` outside of the layers of `Router::layer`, which therefore do not see it. Put
/// this layer around the whole router, as above: the result is a service for
/// `Router::fallback_service`, [`Mount`](crate::Mount) or any server.
///
/// # Limitations
///
/// A layer sees no routes: one policy is that of all paths, and an [`App`](crate::App) derives more
/// from its routes. Who may call cannot be stated, since sessions, tokens and schemes need an app:
/// [`Fallback::new(router)`](crate::Fallback) is the same router in one. Inside of an app, in a
/// [`Mount`](crate::Mount), the policy of the mount is written over that of the layer.
#[derive(Clone, Debug)]
pub struct PolicyLayer(Arc<CompiledLayer>);

/// The policies of a layer, compiled.
#[derive(Debug)]
pub(crate) struct CompiledLayer {
    pub(crate) rules: Arc<CompiledRoutePolicy>,
    /// `None` without CORS: preflights are the service's own then.
    pub(crate) preflight: Option<Preflight>,
    pub(crate) own_origin: OwnOrigin,
    pub(crate) csrf: Option<CsrfPolicy>,
    /// Where the address of the peer is, for rates.
    pub(crate) peer: Option<fn(&Extensions) -> Option<SocketAddr>>,
    /// Whether bodies have a limit of this layer.
    pub(crate) limits_body: bool,
    pub(crate) random: Random,
}

impl PolicyLayer {
    /// A layer for a [`CorsPolicy`](crate::CorsPolicy) or a [`CorsConfig`](crate::CorsConfig), and
    /// for nothing else.
    ///
    /// # Errors
    ///
    /// All mistakes of the policy: those that the compiler cannot find in a constant, all rules for
    /// a configuration, and origins that come at run time, which need
    /// [`with_origins`](Self::with_origins).
    pub fn new(policy: impl Into<CorsSource>) -> Result<Self, PolicyErrors> {
        Self::with_origins(policy, &OriginLists::new())
    }

    /// A layer with more than CORS.
    pub fn builder() -> PolicyLayerBuilder {
        PolicyLayerBuilder::default()
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
        let rules = CompiledRoutePolicy {
            cors: Some(Arc::new(cors)),
            body: u64::MAX,
            timeout: Duration::MAX,
            fields: 4,
            ..CompiledRoutePolicy::default()
        };
        Ok(Self::compiled(CompiledLayer {
            rules: Arc::new(rules),
            preflight: None,
            own_origin: OwnOrigin::Development,
            csrf: None,
            peer: None,
            limits_body: false,
            random: Random::system(),
        }))
    }

    pub(crate) fn compiled(layer: CompiledLayer) -> Self {
        let preflight = layer.rules.cors.as_ref().map(|cors| cors.preflight(&[], &[]));
        Self(Arc::new(CompiledLayer { preflight, ..layer }))
    }
}

impl<T: HttpService> Layer<T> for PolicyLayer {
    type Service = PolicyService;

    fn layer(&self, inner: T) -> PolicyService {
        PolicyService { layer: Arc::clone(&self.0), inner: SharedService::new(inner) }
    }
}

/// A service behind a [`PolicyLayer`]. An error of the service is logged and becomes a 500.
#[derive(Clone, Debug)]
pub struct PolicyService {
    layer: Arc<CompiledLayer>,
    inner: SharedService,
}

impl<A: MessageBody> Service<http::Request<A>> for PolicyService {
    type Response = Response;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<A>) -> ResponseFuture {
        let mut head = Head::read(&request);
        // Behind another server, the scheme is that of the public origin.
        head.is_secure = self.layer.own_origin != OwnOrigin::Development;
        if head.is_preflight()
            && let Some(preflight) = &self.layer.preflight
            && let Some(cors) = &self.layer.rules.cors
        {
            let asked = match preflight.answer(cors, head.origin, head.request_method) {
                Ok(granted) if cors.names_methods() => Ok(without_content(granted.0, granted.1)),
                Ok(_) => return self.ask_for_methods(request),
                Err(refusal) => Err(refusal),
            };
            return ResponseFuture::ready(asked.unwrap_or_else(|refusal| {
                let policy = self.layer.response_policy(&head, &request, OriginDecision::Refused);
                refused(refusal, policy)
            }));
        }
        let grant = self.layer.grant(&head);
        let mut policy = self.layer.response_policy(&head, &request, grant.clone());
        let mut taken = Taken::default();
        let checked = self.layer.check(&head, &request, &grant, &mut taken);
        policy.note_taken(taken);
        match checked {
            Ok(()) => self.pass(request, policy),
            Err(refusal) => ResponseFuture::ready(refused(refusal, policy)),
        }
    }
}

impl PolicyService {
    /// Runs the service.
    fn pass<A: MessageBody>(
        &self,
        request: http::Request<A>,
        mut policy: ResponsePolicy,
    ) -> ResponseFuture {
        let rules = &self.layer.rules;
        let (mut parts, body) = request.into_parts();
        if let Err(error) = policy.draw_nonce(&self.layer.random, &mut parts.extensions) {
            let response = Problem::internal(error).into_response();
            return ResponseFuture::ready(policy.apply(response, ResponseFacts::default()));
        }
        let (body, progress) = body::limit(body, rules.body);
        let mut request = http::Request::from_parts(parts, body);
        if self.layer.limits_body {
            // That of axum's extractors is smaller, perhaps.
            DefaultBodyLimit::disable().apply(&mut request);
        }
        let begun = Ok(ControlFlow::Continue(Work::Target(self.inner.run(request))));
        let span = tracing::Span::none();
        ResponseFuture::begun(begun, policy, None, progress, rules.timeout, &span)
    }

    /// Responds to a granted preflight with the methods that the service lists.
    fn ask_for_methods<A>(&self, request: http::Request<A>) -> ResponseFuture {
        let (layer, inner) = (Arc::clone(&self.layer), self.inner.clone());
        let (mut parts, _) = request.into_parts();
        let asked = parts.headers.clone();
        for name in [ORIGIN, ACCESS_CONTROL_REQUEST_METHOD, ACCESS_CONTROL_REQUEST_HEADERS] {
            parts.headers.remove(name);
        }
        let request = http::Request::from_parts(parts, Body::empty());
        ResponseFuture::boxed(Box::pin(async move {
            let response = inner.run(request).await;
            let served = match response.status() {
                StatusCode::METHOD_NOT_ALLOWED => listed(response.headers()),
                status if status.is_success() => listed(response.headers()),
                _ => Vec::new(),
            };
            layer.granted(&asked, &served)
        }))
    }
}

/// The methods in `Allow`, except for OPTIONS: the layer responds to preflights, and no page sends
/// another.
fn listed(headers: &HeaderMap) -> Vec<Method> {
    let lines = headers.get_all(ALLOW).iter().filter_map(|line| line.to_str().ok());
    let names = lines.flat_map(|line| line.split(',')).map(str::trim).take(MOST_METHODS);
    let methods = names.filter_map(|name| name.parse().ok());
    methods.filter(|method| *method != Method::OPTIONS).collect()
}

/// The response to a request that does not reach the service.
fn refused(refusal: Refusal, mut policy: ResponsePolicy) -> Response {
    tracing::debug!(code = refusal.code(), "refused in front of a service");
    policy.note_refusal();
    policy.apply(Problem::from(refusal).into_response(), ResponseFacts::default())
}

impl CompiledLayer {
    /// The response to a preflight whose origin is granted already.
    fn granted(&self, asked: &HeaderMap, served: &[Method]) -> Response {
        let Some(cors) = &self.rules.cors else { return Response::default() };
        let origin = Single::of(asked, &ORIGIN);
        let method = Single::of(asked, &ACCESS_CONTROL_REQUEST_METHOD);
        let preflight = cors.preflight(served, &[]);
        match preflight.answer(cors, origin, method) {
            Ok((status, headers)) => without_content(status, headers),
            // A list of origins has changed since.
            Err(refusal) => {
                let mut response = Problem::from(refusal).into_response();
                policy_core::cache::forbid_storing(response.headers_mut());
                cors.apply(OriginDecision::Refused, response.headers_mut());
                response
            }
        }
    }

    fn grant(&self, head: &Head<'_>) -> OriginDecision {
        let cors = self.rules.cors.as_ref();
        cors.map_or(OriginDecision::Unasked, |cors| cors.decide_origin(head.origin))
    }

    fn response_policy<A>(
        &self,
        head: &Head<'_>,
        request: &http::Request<A>,
        grant: OriginDecision,
    ) -> ResponsePolicy {
        let mut policy = ResponsePolicy::new(head, request.headers(), &self.rules, grant);
        policy.leave_to_service();
        policy
    }

    /// The gates of a layer, in the order of those of an app.
    fn check<A>(
        &self,
        head: &Head<'_>,
        request: &http::Request<A>,
        grant: &OriginDecision,
        taken: &mut Taken,
    ) -> Result<(), Refusal> {
        if self.own_origin != OwnOrigin::Development {
            self.own_origin.admit(head)?;
        }
        self.check_page(head, request.headers(), grant)?;
        if body::declared_length(head).is_some_and(|length| length > self.rules.body) {
            return Err(Refusal::BodyTooLarge);
        }
        self.take(request.extensions(), taken)
    }

    /// Judges the page that sent a request, by its isolation and by CSRF.
    fn check_page(
        &self,
        head: &Head<'_>,
        headers: &HeaderMap,
        grant: &OriginDecision,
    ) -> Result<(), Refusal> {
        let cors = self.rules.cors.as_deref();
        let is_granted = grant.grants(head.origin, cors);
        let is_own = |origin: &[u8]| self.own_origin.is_own(head, origin);
        if let Some(isolation) = self.rules.isolation {
            let origin = match head.origin {
                _ if is_granted => StatedOrigin::Granted,
                Single::One(origin) if is_own(origin.as_bytes()) => StatedOrigin::Own,
                _ => StatedOrigin::Other,
            };
            isolation.admit(&FetchMetadata::read(headers), head.method, origin)?;
        }
        let Some(csrf) = self.csrf else { return Ok(()) };
        let cookie = headers.get(COOKIE);
        if is_granted && (cookie.is_none() || cors.is_some_and(Cors::allows_credentials)) {
            return Ok(());
        }
        let provenance = Provenance::of(&OriginFacts::read(head, headers), is_own, |_| false);
        provenance.admit_anonymous(csrf, cookie)
    }

    /// Takes a request from the rate, and a permit.
    fn take(&self, extensions: &Extensions, taken: &mut Taken) -> Result<(), Refusal> {
        if let Some(limit) = &self.rules.rate {
            let peer = self.peer.and_then(|peer| peer(extensions)).map(|peer| peer.ip());
            let known = || extensions.get::<RequestContext>()?.client.address();
            let rate = limit.take_address(known().or(peer));
            let is_refused = rate.is_err();
            taken.rate = Some(rate);
            if is_refused {
                return Err(Refusal::RateExceeded);
            }
        }
        if let Some(concurrency) = &self.rules.concurrency {
            taken.permit = concurrency.enter();
            if taken.permit.is_none() {
                return Err(Refusal::ConcurrencyExceeded);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::Bytes;
    use http::{Method, Request};
    use http_body_util::{BodyExt, Full};
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
        let inner = service_fn(async |request: Request<Body>| {
            let body = Full::new(Bytes::from(request.method().to_string()));
            Ok::<_, Infallible>(http::Response::new(body))
        });
        let mut request = Request::builder().method(method);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        layer.layer(inner).oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
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
    async fn errors_and_panics_of_the_service_carry_the_policy() {
        let layer = PolicyLayer::new(POLICY).unwrap();
        let inner = service_fn(async |request: Request<Body>| match request.uri().path() {
            "/panic" => panic!("on purpose"),
            _ => Err::<http::Response<Body>, _>("broken"),
        });
        for path in ["/", "/panic"] {
            let request = Request::builder().uri(path).header("origin", "https://a.test");
            let service = layer.layer(inner);
            let response = service.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            assert_eq!(response.status(), 500);
            assert_eq!(response.headers()["access-control-allow-origin"], "https://a.test");
        }
    }

    /// The service is asked without the headers of CORS, and believed where it says what it serves.
    #[tokio::test]
    async fn a_preflight_allows_what_the_service_lists() {
        const ANY_METHOD: CorsPolicy =
            CorsPolicy::origins(&["https://a.test"]).credentials().build();
        let layer = PolicyLayer::new(ANY_METHOD).unwrap();
        let many = vec!["M"; MOST_METHODS].join(",") + ",PUT";
        for (status, allow, expected) in [
            (405, &["GET, HEAD,put ,DELETE"][..], "DELETE,GET,HEAD,put"),
            (204, &["OPTIONS, PUT", "PATCH"], "PATCH,PUT"),
            (405, &["OPTIONS"], "GET,HEAD,POST"),
            (405, &[], "GET,HEAD,POST"),
            (200, &["G\u{e9}T, (,"], "GET,HEAD,POST"),
            (401, &["PUT"], "GET,HEAD,POST"),
            (500, &["PUT"], "GET,HEAD,POST"),
            (405, &[&many], "M"),
        ] {
            let allow: Vec<_> =
                allow.iter().map(|line| http::HeaderValue::from_str(line).unwrap()).collect();
            let lines = allow.clone();
            let inner = service_fn(move |request: Request<Body>| {
                assert_eq!(request.method(), Method::OPTIONS);
                assert!(request.headers().is_empty(), "{request:?}");
                let mut response = http::Response::new(Body::from("secret"));
                *response.status_mut() = StatusCode::from_u16(status).unwrap();
                for line in &lines {
                    response.headers_mut().append(ALLOW, line.clone());
                }
                std::future::ready(Ok::<_, Infallible>(response))
            });
            let request = Request::builder()
                .method(Method::OPTIONS)
                .header("origin", "https://a.test")
                .header("access-control-request-method", "PUT")
                .header("access-control-request-headers", "x-a");
            let asked = layer.layer(inner).oneshot(request.body(Body::empty()).unwrap());
            let response = asked.await.unwrap();
            assert_eq!(response.status(), 204, "{allow:?}");
            let methods = &response.headers()["access-control-allow-methods"];
            assert_eq!(methods, expected, "{status} {allow:?}");
            assert_eq!(text(response).await, "");
        }
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

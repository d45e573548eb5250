//! Policies in front of any `tower` service.

use std::{
    convert::Infallible,
    net::{IpAddr, SocketAddr},
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
    Extensions, HeaderMap, HeaderName, Method, StatusCode, Version,
    header::{
        ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, ALLOW, EXPECT, ORIGIN,
    },
};
use policy_core::{
    Refusal,
    cache::ResponseFacts,
    cors::{Cors, OriginDecision, OriginLists, PolicyErrors, Preflight},
    csrf::CsrfPolicy,
    gates::{self, EndResponse, GatedApp, GatedRoute, RequestView, Sender},
    head::{Head, OwnOrigin, Single},
    headers::groups,
    limits::{self, RateGrant},
    route::CompiledFacets,
    router::Router,
};
use tower_layer::Layer;
use tower_service::Service;

use crate::{
    app::{cors_source::CorsSource, policy_layer::PolicyLayerBuilder},
    base::{
        body::{Excess, MessageBody},
        clock::Random,
        problem::{Problem, end_connection},
    },
    handler::{
        extract::Context as RequestContext,
        service::{HttpService, SharedService},
    },
    pipeline::{
        gates::{
            body::{self, BodyProgress},
            limits::TakenLimits,
        },
        respond::{ResponsePolicy, head::without_content},
        response_future::{ResponseFuture, Work},
        sockets::{self, PendingSocket, Watching},
    },
    route::compiled_policy::CompiledRoutePolicy,
};

/// The maximum number of methods that are read from an `Allow` of the service.
const MOST_METHODS: usize = 32;

/// Puts policies in front of a service such as an axum router: the first step of a migration,
/// before its handlers have attributes.
///
/// It responds to preflights itself and writes the policy onto every other response, errors
/// included. A facet that is not stated is left to the service, except that every layer refuses
/// what two parsers could read differently (RFC 9112 11.2), and unsafe requests in early data (RFC
/// 8470 5.2). [`new`](Self::new) is CORS alone, [`builder`](Self::builder) has the other facets,
/// too.
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
/// If a policy states `methods`, a granted preflight allows those, and the service is not asked.
/// Otherwise the service gets an `OPTIONS` without the headers of CORS and without a body, and the
/// preflight allows what its `Allow` lists. For a service that does not list its methods, such as
/// one that responds to `OPTIONS` by itself, the preflight allows GET, HEAD and POST, for which
/// browsers need no permission. A preflight for which the service is asked counts against the rate,
/// needs a permit and has the time-out, like any other request.
///
/// axum writes `Allow` outside of the layers of `Router::layer`, which therefore do not see it. Put
/// this layer around the whole router, as above: the result is a service for
/// `Router::fallback_service`, [`Mount`](crate::Mount) or any server.
///
/// # WebSockets
///
/// The WebSocket [limits](crate::Limits) that a layer states apply to its service on any server:
/// `message`, `silence`, `sockets` and `sockets_per_caller`; `concurrency` counts a WebSocket until it
/// ends. `sockets_per_caller` needs a [`peer`](PolicyLayerBuilder::peer). Only an app around the layer
/// knows that the server stops or a credential has ended, and closes the WebSocket with 1001 or 1008.
/// `misses` is for handlers that take objects, which a layer does not know.
///
/// # Limitations
///
/// A layer sees no routes: one policy applies to all paths, whereas an [`App`](crate::App) derives
/// more from its routes. A layer cannot state who may call, since sessions, tokens and schemes need
/// an app: [`Fallback::new(router)`](crate::Fallback) puts the same router into one. In a
/// [`Mount`](crate::Mount) of an app, the policy of the mount overwrites the policy of the layer.
#[derive(Clone, Debug)]
pub struct PolicyLayer(Arc<CompiledLayer>);

/// The policies of a layer, compiled.
#[derive(Debug)]
pub(crate) struct CompiledLayer {
    pub(crate) rules: Arc<CompiledRoutePolicy>,
    /// `None` without CORS.
    pub(crate) preflight: Option<Preflight>,
    pub(crate) own_origin: OwnOrigin,
    pub(crate) csrf: Option<CsrfPolicy>,
    /// Finds the address of the peer, for rates.
    pub(crate) peer: Option<fn(&Extensions) -> Option<SocketAddr>>,
    /// Whether this layer limits bodies.
    pub(crate) limits_body: bool,
    /// Whether this layer limits WebSockets.
    pub(crate) limits_sockets: bool,
    pub(crate) random: Random,
}

impl PolicyLayer {
    /// A layer for a [`CorsPolicy`](crate::CorsPolicy) or a [`CorsConfig`](crate::CorsConfig), and
    /// for nothing else.
    ///
    /// # Errors
    ///
    /// All mistakes of the policy: those that the compiler cannot find in a constant, all rules for
    /// a configuration, and origins that come at run time, whose list
    /// [`PolicyLayerBuilder::origins`] sets.
    pub fn new(policy: impl Into<CorsSource>) -> Result<Self, PolicyErrors> {
        let cors = policy.into().compile("PolicyLayer", &OriginLists::new())?;
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
            limits_sockets: false,
            random: Random::system(),
        }))
    }

    /// A layer with more than CORS.
    pub fn builder() -> PolicyLayerBuilder {
        PolicyLayerBuilder::default()
    }

    pub(crate) fn compiled(layer: CompiledLayer) -> Self {
        let preflight = layer.rules.cors.as_ref().map(|cors| cors.preflight(&[], &[]));
        Self(Arc::new(CompiledLayer { preflight, ..layer }))
    }
}

impl<T: HttpService> Layer<T> for PolicyLayer {
    type Service = PolicyService;

    fn layer(&self, inner: T) -> PolicyService {
        PolicyService { layer: Arc::clone(&self.0), inner: SharedService::with_own_tags(inner) }
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
        let layer = &*self.layer;
        let mut head = Head::read(&request);
        // Behind another server, the scheme is that of the public origin.
        head.is_secure = layer.is_public();
        let (headers, extensions) = (request.headers(), request.extensions());
        // The service interprets the path itself.
        let view = RequestView { head: &head, headers, path: Ok(false) };
        let mut policy = layer.response_policy(&head, headers, view.grant(&layer));
        let mut taken = TakenLimits::default();
        let passed = layer.pass_gates(&view, extensions, &mut taken);
        policy.note_taken(taken);
        match passed {
            Ok(NextStep::ToService) => self.pass(request, policy),
            Ok(NextStep::ToAsk) => self.ask_for_methods(request, policy),
            Ok(NextStep::Granted((status, headers))) => {
                ResponseFuture::ready(without_content(status, headers))
            }
            Err(refused) => ResponseFuture::ready(refused.response(head.version, policy)),
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
        let (body, progress) = body::limit(body, rules.body, || Excess::Shown);
        let mut request = http::Request::from_parts(parts, body);
        if self.layer.limits_body {
            let limit = rules.body.try_into().unwrap_or(usize::MAX);
            DefaultBodyLimit::max(limit).apply(&mut request);
        }
        let version = request.version();
        let target = match self.layer.intercept(&mut request) {
            Ok(None) => self.inner.run(request),
            Ok(Some(socket)) => socket.with(self.inner.run(request)),
            Err(refusal) => {
                return ResponseFuture::ready(
                    LayerRefusal::from(refusal).response(version, policy),
                );
            }
        };
        self.begin(Work::Target(target), policy, progress)
    }

    /// Responds to a granted preflight with the methods that the service lists.
    fn ask_for_methods<A>(
        &self,
        request: http::Request<A>,
        mut policy: ResponsePolicy,
    ) -> ResponseFuture {
        let (layer, inner) = (Arc::clone(&self.layer), self.inner.clone());
        let (mut parts, _) = request.into_parts();
        if let Err(error) = policy.draw_nonce(&layer.random, &mut parts.extensions) {
            let response = Problem::internal(error).into_response();
            return ResponseFuture::ready(policy.apply(response, ResponseFacts::default()));
        }
        let headers = parts.headers.clone();
        for name in headers.keys().filter(|name| is_left_out(name)) {
            parts.headers.remove(name);
        }
        let request = http::Request::from_parts(parts, Body::empty());
        let asking = Box::pin(async move {
            let response = inner.run(request).await;
            let served = match response.status() {
                StatusCode::METHOD_NOT_ALLOWED => allowed_methods(response.headers()),
                status if status.is_success() => allowed_methods(response.headers()),
                _ => Vec::new(),
            };
            layer.answer_preflight(&headers, &served)
        });
        self.begin(Work::Preflight(asking), policy, BodyProgress::default())
    }

    fn begin(&self, work: Work, policy: ResponsePolicy, body: BodyProgress) -> ResponseFuture {
        let begun = Ok(ControlFlow::Continue(work));
        let timeout = self.layer.rules.timeout;
        ResponseFuture::new(begun, policy, None, body, timeout, &tracing::Span::none())
    }
}

/// Where a request goes if the gates of a layer do not refuse it.
enum NextStep {
    ToService,
    /// A granted preflight: the service is asked for its methods.
    ToAsk,
    /// Nowhere: the response to the preflight is known.
    Granted((StatusCode, HeaderMap)),
}

/// A gate refused a request.
enum LayerRefusal {
    /// Other parsers may read it differently, or it is for another host: nothing after it is read
    /// from its connection (RFC 9112 9.6, 11.2).
    Malformed(Refusal),
    Preflight(Refusal),
    Request(Refusal),
}

impl From<Refusal> for LayerRefusal {
    fn from(refusal: Refusal) -> Self {
        Self::Request(refusal)
    }
}

impl LayerRefusal {
    /// The response to a request that does not reach the service.
    fn response(self, version: Version, mut policy: ResponsePolicy) -> Response {
        let (Self::Malformed(refusal) | Self::Preflight(refusal) | Self::Request(refusal)) = self;
        tracing::debug!(code = refusal.code(), "refused in front of a service");
        let mut response = Problem::from(refusal).into_response();
        match self {
            Self::Malformed(_) => {
                end_connection(&mut response, version);
                policy.note_refusal();
            }
            Self::Preflight(_) => policy.note_refused_preflight(),
            Self::Request(_) => policy.note_refusal(),
        }
        policy.apply(response, ResponseFacts::default())
    }
}

/// Whether a field of a preflight is left out when the service is asked for its methods. The service
/// gets no fields about the page, since it is not asked to share, and no body: if it forwarded the
/// length of the body alone, its upstream would take the next request for that body (RFC 9112 11.2).
fn is_left_out(name: &HeaderName) -> bool {
    let is_of_page =
        matches!(*name, ORIGIN | ACCESS_CONTROL_REQUEST_METHOD | ACCESS_CONTROL_REQUEST_HEADERS);
    is_of_page || groups::is_about_content(name.as_str()) || *name == EXPECT
}

/// The methods in `Allow`, except for OPTIONS: the layer responds to preflights, and pages send no
/// other OPTIONS.
fn allowed_methods(headers: &HeaderMap) -> Vec<Method> {
    let lines = headers.get_all(ALLOW).iter().filter_map(|line| line.to_str().ok());
    let names = lines.flat_map(|line| line.split(',')).map(str::trim).take(MOST_METHODS);
    let methods = names.filter_map(|name| name.parse().ok());
    methods.filter(|method| *method != Method::OPTIONS).collect()
}

impl CompiledLayer {
    fn is_public(&self) -> bool {
        self.own_origin != OwnOrigin::Development
    }

    /// The response to a preflight whose origin was granted, for the methods that the service has.
    fn answer_preflight(
        &self,
        headers: &HeaderMap,
        served: &[Method],
    ) -> Result<Response, Refusal> {
        let Some(cors) = &self.rules.cors else { return Err(Refusal::Internal) };
        let origin = Single::read(headers, &ORIGIN);
        let method = Single::read(headers, &ACCESS_CONTROL_REQUEST_METHOD);
        // The preflight is refused if a list of origins has changed since.
        let answer = cors.preflight(served, &[]).answer(cors, origin, method);
        answer.map(|(status, headers)| without_content(status, headers))
    }

    fn response_policy(
        &self,
        head: &Head<'_>,
        headers: &HeaderMap,
        grant: OriginDecision,
    ) -> ResponsePolicy {
        let mut policy = ResponsePolicy::new(head, headers, &self.rules, grant);
        policy.leave_to_service();
        policy
    }

    /// The gates of an app whose only route is the service, which needs no caller.
    fn pass_gates(
        &self,
        view: &RequestView<'_>,
        extensions: &Extensions,
        taken: &mut TakenLimits,
    ) -> Result<NextStep, LayerRefusal> {
        let (head, headers) = (view.head, view.headers);
        let cors = self.rules.cors.as_deref();
        let is_preflight = self.judges_preflights() && head.is_preflight();
        match gates::check_head(&LayerRequest { layer: self, extensions }, view, &mut ()) {
            ControlFlow::Continue(admitted) => {
                taken.rate = admitted.rate;
                if let Some(csrf) = self.csrf {
                    let (own, grant) = (&self.own_origin, &admitted.grant);
                    Sender::new(own, head, headers, cors, grant, csrf, true)
                        .admit_anonymous(headers)?;
                }
                self.take_permit(taken)?;
                Ok(NextStep::ToService)
            }
            ControlFlow::Break(end) => match end.response {
                EndResponse::PreflightGranted(status, headers) => {
                    if cors.is_some_and(Cors::names_methods) {
                        return Ok(NextStep::Granted((status, headers)));
                    }
                    // A preflight for which the service is asked counts like any request.
                    if let Some(limit) = &self.rules.rate {
                        taken.take(limit.take_address(self.address(extensions)))?;
                    }
                    self.take_permit(taken)?;
                    Ok(NextStep::ToAsk)
                }
                EndResponse::RateExceeded(rate) => {
                    taken.rate = rate;
                    Err(Refusal::RateExceeded.into())
                }
                EndResponse::Malformed(refusal) => Err(LayerRefusal::Malformed(refusal)),
                EndResponse::Refused(refusal) if is_preflight => {
                    Err(LayerRefusal::Preflight(refusal))
                }
                EndResponse::Refused(refusal) => Err(refusal.into()),
                // A layer has no paths.
                EndResponse::Asterisk
                | EndResponse::Trace
                | EndResponse::Redirect
                | EndResponse::Options(_)
                | EndResponse::MethodNotAllowed(_) => Err(Refusal::Internal.into()),
            },
        }
    }

    /// The address of the client: the one that an app around the layer knows, else the peer that the
    /// server states.
    fn address(&self, extensions: &Extensions) -> Option<IpAddr> {
        let peer = self.peer.and_then(|peer| peer(extensions)).map(|peer| peer.ip());
        let known = || extensions.get::<RequestContext>()?.client.address();
        known().or(peer)
    }

    /// Gives a request that may upgrade its connection a stream under the limits of this layer. An
    /// app around the layer provides the caller, and reports when its credentials or the server
    /// end.
    fn intercept(
        &self,
        request: &mut http::Request<Body>,
    ) -> Result<Option<PendingSocket>, Refusal> {
        if !self.limits_sockets || !sockets::asks_for_stream(request) {
            return Ok(None);
        }
        let client = self.address(request.extensions());
        let auth = request.extensions().get::<RequestContext>().and_then(|of| of.auth.clone());
        let principal = auth.as_ref().and_then(|auth| auth.principal());
        let watching = Watching { limits: &self.rules.sockets, bus: None, min_read_rate: 0 };
        sockets::intercept(watching, request, principal, client)
    }

    fn take_permit(&self, taken: &mut TakenLimits) -> Result<(), Refusal> {
        let Some(concurrency) = &self.rules.concurrency else { return Ok(()) };
        taken.permit = concurrency.enter();
        if taken.permit.is_some() { Ok(()) } else { Err(Refusal::ConcurrencyExceeded) }
    }
}

/// A request to a layer, as the gates see it.
struct LayerRequest<'a> {
    layer: &'a CompiledLayer,
    extensions: &'a Extensions,
}

impl<'a> GatedApp<'a> for LayerRequest<'a> {
    type Route = &'a CompiledLayer;
    type Rate = Option<Result<RateGrant, limits::RateRefusal>>;

    fn own_origin(&self) -> &'a OwnOrigin {
        &self.layer.own_origin
    }

    /// Without a public origin, any host is the service's own.
    fn admit_host(&self, head: &Head<'_>) -> Result<(), Refusal> {
        if self.layer.is_public() { self.layer.own_origin.admit(head) } else { Ok(()) }
    }

    fn sole_route(&self) -> Option<(&'a CompiledLayer, Option<&'a Preflight>)> {
        Some((self.layer, self.layer.preflight.as_ref()))
    }

    fn router(&self) -> Option<&'a Router> {
        None
    }

    fn route(&self, _index: usize) -> Option<&'a CompiledLayer> {
        None
    }

    fn take_rate(&self, route: &'a CompiledLayer) -> Result<Self::Rate, Self::Rate> {
        let Some(limit) = &route.rules.rate else { return Ok(None) };
        let taken = limit.take_address(route.address(self.extensions));
        taken.map(|granted| Some(Ok(granted))).map_err(|refused| Some(Err(refused)))
    }
}

impl GatedRoute for &CompiledLayer {
    fn template(&self) -> &str {
        ""
    }

    fn cors(&self) -> Option<&Cors> {
        self.rules.cors.as_deref()
    }

    fn facets(&self) -> CompiledFacets<'_> {
        self.rules.facets()
    }

    fn has_jsonp(&self) -> bool {
        false
    }

    fn has_rate(&self) -> bool {
        self.rules.rate.is_some()
    }

    fn body_limit(&self) -> Option<u64> {
        Some(self.rules.body)
    }

    fn needs_caller(&self) -> bool {
        false
    }

    /// Without a statement about CORS, the service responds to preflights.
    fn judges_preflights(&self) -> bool {
        !self.rules.leaves_cors
    }

    /// CSRF protection needs this, since gate 8 lets every GET pass. With CORS alone, only a public
    /// origin says which pages are the service's own.
    fn judges_upgrades(&self) -> bool {
        self.csrf == Some(CsrfPolicy::Origin) || (self.is_public() && !self.rules.leaves_cors)
    }
}

#[cfg(test)]
mod tests;

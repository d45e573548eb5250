//! The path of one request through the gates.

use std::{
    mem,
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use axum_core::response::{IntoResponse, Response};
#[cfg(feature = "http2")]
use http::Method;
use http::{Request, request::Parts};
#[cfg(feature = "http2")]
use hyper::ext::Protocol;
use policy_core::{
    Refusal,
    cache::ResponseFacts,
    gates::lookup_method,
    head::{Head, Single},
};
use tracing::Span;

#[cfg(feature = "gateway")]
use super::compiled_app::Target;
use super::{
    compiled_app::{CompiledApp, CompiledRoute},
    gates::{
        self, AdmittedRequest, body,
        limits::TakenLimits,
        target::{RequestTarget, ready_response},
    },
    normal_form::{normalize, remove_connection_fields},
    request_head::RequestHead,
    respond::ResponsePolicy,
    response_future::{Begun, FirstPoll, ResponseFuture},
};
#[cfg(feature = "gateway")]
use crate::gateway::tunnel;
#[cfg(feature = "metrics")]
use crate::observe::metrics::ReceivedRequest;
use crate::{
    auth::{Denial, LastCredential, RequestAuth, websocket_protocol},
    base::{body::MessageBody, problem::Problem},
    client::{Client, peer::Peer},
    handler::{BoxFuture, Call},
    observe::{observation::Observation, span},
};

/// The connection that a request came over; by default one of another server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Connection<'a> {
    pub(crate) peer: Option<Peer>,
    /// The last credential that it presented.
    pub(crate) last: Option<&'a LastCredential>,
    pub(crate) first_poll: FirstPoll,
}

/// Responds to a request and records the outcome for the operator.
///
/// A function that borrows a request and then passes it on by value copies it, which takes 50
/// instructions. So what changes a request is in functions of its own.
pub(crate) fn dispatch<B>(
    app: &Arc<CompiledApp>,
    request: Request<B>,
    client: Client,
    connection: Connection<'_>,
) -> ResponseFuture
where
    B: MessageBody,
{
    match app.observing.is_wanted() {
        false => respond(app, request, client, connection, None),
        true => observe(app, request, client, connection),
    }
}

/// Responds to a request whose outcome is recorded.
fn observe<B>(
    app: &Arc<CompiledApp>,
    mut request: Request<B>,
    client: Client,
    connection: Connection<'_>,
) -> ResponseFuture
where
    B: MessageBody,
{
    remove_connection_fields(app, &mut request);
    let proxies = app.proxies.as_ref();
    let client = client.with_forwarded(request.headers_mut(), proxies);
    let is_trusted = client.is_proxied(proxies);
    let address = client.address();
    let mut observation =
        Observation::begin(&app.observing, &app.random, &mut request, address, is_trusted);
    respond(app, request, client, connection, Some(&mut observation)).observed(observation)
}

/// Runs the gates and starts the target.
fn respond<B>(
    app: &Arc<CompiledApp>,
    mut request: Request<B>,
    mut client: Client,
    connection: Connection<'_>,
    mut observation: Option<&mut Observation>,
) -> ResponseFuture
where
    B: MessageBody,
{
    // `observe` has done this before it added the id.
    if observation.is_none() {
        remove_connection_fields(app, &mut request);
    }
    if app.auth.takes_websocket_protocol {
        websocket_protocol::present(&mut request);
    }
    let path = normalize(&mut request);
    let mut head = Head::read(&request);
    let (needs_forwarded, is_traced) = (client.needs_forwarded(&head), head.is_traced);
    let mut remote = None;
    if needs_forwarded || is_traced {
        let proxies = app.proxies.as_ref();
        let headers = request.headers_mut();
        if needs_forwarded {
            client.resolve_forwarded(headers, proxies);
        }
        if is_traced {
            remote = app.tracing.take(headers, client.is_proxied(proxies));
        }
        head = Head::read(&request);
    }
    client.note(&mut head, &app.own_origin);
    #[cfg(feature = "gateway")]
    let has_content = *head.method == Method::TRACE && !request.body().is_end_stream();
    #[cfg(feature = "http2")]
    if *head.method == Method::CONNECT {
        head.protocol = request.extensions().get::<Protocol>().map(Protocol::as_str);
    }
    #[cfg(feature = "metrics")]
    let measured = app
        .meter
        .as_ref()
        .map(|meter| (meter, ReceivedRequest::new(&head, request.body().size_hint().exact())));
    let id = observation.as_ref().and_then(|observation| observation.id());
    let route = || traced_route(app, &head).filter(|_| path.is_ok());
    let span = span::begin(&head, &client, id, &app.tracing, route);
    let trace = app.tracing.begin(&span, remote);
    if let (Some(observation), Some(trace)) = (&mut observation, &trace) {
        observation.traced(trace);
    }
    let _entered = span.enter();
    let headers = request.headers();
    #[cfg(feature = "manifest")]
    if let Some(observation) = observation.as_deref_mut() {
        observation.received(&head, headers, &app.auth.clock);
    }
    let received = RequestHead {
        app,
        head: &head,
        headers,
        client: &client,
        path,
        #[cfg(feature = "gateway")]
        has_content,
    };
    let admitted = match gates::check_head(&received) {
        ControlFlow::Continue(admitted) => admitted,
        ControlFlow::Break(ended) => {
            span::responded(&span, &ended.response);
            let future = ResponseFuture::ready(ended.response);
            #[cfg(feature = "metrics")]
            let future = future.measured(measured.as_ref(), ended.route);
            return future;
        }
    };
    if let Some(trace) = &trace {
        trace.write(request.headers_mut());
    }
    #[cfg(feature = "metrics")]
    let route = admitted.route.index;
    let request = request.into_parts();
    let future = admitted.start(app, request, client, connection, &span, observation);
    #[cfg(feature = "metrics")]
    let future = future.measured(measured.as_ref(), route);
    future
}

impl AdmittedRequest {
    /// Starts the target of a request whose head passed the gates.
    fn start<B>(
        self,
        app: &Arc<CompiledApp>,
        (mut parts, body): (Parts, B),
        client: Client,
        Connection { last, first_poll, .. }: Connection<'_>,
        span: &Span,
        mut observation: Option<&mut Observation>,
    ) -> ResponseFuture
    where
        B: MessageBody,
    {
        let Self { route, values, mut policy, mut auth } = self;
        if route.is_listed() {
            if let Some(observation) = &mut observation {
                observation.routed(route.path());
            }
            if app.is_layered {
                policy.state_route(&route.info);
            }
        }
        if let Err(error) = policy.draw_nonce(&app.random, &mut parts.extensions) {
            let response = Problem::internal(error).into_response();
            return ResponseFuture::ready(policy.apply(response, ResponseFacts::default()));
        }
        #[cfg(feature = "gateway")]
        if matches!(route.target, Target::Tunnel(_)) {
            tunnel::present(&mut parts);
            policy.speak_as_proxy();
        }
        let (body, progress) =
            body::limit(body, route.rules.body, || body::excess(&route.target, &parts.headers));
        let mut call = Call {
            request: Request::from_parts(parts, body),
            values,
            client,
            route: Arc::clone(&route.info),
            auth: None,
            body_limit: route.rules.body,
            is_behind_layers: false,
        };
        let target = RequestTarget { app, route: &route };
        // Code of the app may panic: the parsers of path parameters, and the handler.
        let begun = catch_unwind(AssertUnwindSafe(|| {
            target.begin(auth.as_mut(), &mut call, last).poll_first(&mut policy, first_poll)
        }));
        #[cfg(feature = "manifest")]
        if let Some(observation) = observation {
            let has_callback = route.rules.jsonp.is_some();
            observation.on_admission(&route.auth, route.description(), has_callback, auth.as_ref());
        }
        ResponseFuture::new(begun, policy, auth, progress, route.rules.timeout, span)
    }
}

/// The route that the span of a request names. Requests that the gates refuse, and preflights, have
/// one, too.
fn traced_route<'a>(app: &'a CompiledApp, head: &Head<'_>) -> Option<&'a str> {
    let (path, _values) = app.router.find(head.path)?;
    let served = match head.request_method {
        Single::One(method) if head.is_preflight() => path.route_for_name(method.as_bytes()),
        _ => path.route_for(lookup_method(head)),
    };
    let route = app.route(served?.route).filter(|route| route.is_listed())?;
    Some(route.path())
}

/// The response future of a target, or the response of a gate that refused.
pub(crate) struct StartedResponse {
    response: BoxFuture,
    /// The rate and the permit that the request took.
    taken: TakenLimits,
    is_refused: bool,
}

impl StartedResponse {
    fn with(response: BoxFuture, taken: TakenLimits) -> Self {
        Self { response, taken, is_refused: false }
    }

    fn with_refusal(response: Response, taken: TakenLimits) -> Self {
        Self { response: ready_response(response), taken, is_refused: true }
    }

    /// Passes the findings of the gates to the response policy, and returns the response future.
    #[inline(always)]
    pub(crate) fn note(self, policy: Option<&mut ResponsePolicy>) -> BoxFuture {
        if let Some(policy) = policy {
            policy.note_taken(self.taken);
            if self.is_refused {
                policy.note_refusal();
            }
        }
        self.response
    }
}

/// The gates between those that need only the head of a request and its target.
impl RequestTarget<'_> {
    /// Runs the gates and starts the target.
    #[inline(always)]
    fn begin(
        self,
        auth: Option<&mut Arc<RequestAuth>>,
        call: &mut Call,
        last: Option<&LastCredential>,
    ) -> Begun {
        if gates::address_rate::shared(&self.route.rules).is_some() {
            let auth = auth.map(|auth| Arc::clone(auth));
            return self.begin_later(auth, call, TakenLimits::default(), PassedGates::Head);
        }
        match auth {
            Some(auth) => self.ask_caller(auth, call, last),
            None => self.enter(call, None),
        }
    }

    /// Runs the remaining gates, and waits where they do.
    #[cold]
    fn begin_later(
        self,
        auth: Option<Arc<RequestAuth>>,
        call: &mut Call,
        taken: TakenLimits,
        passed: PassedGates,
    ) -> Begun {
        let (app, route) = (Arc::clone(self.app), Arc::clone(self.route));
        Begun::Gates(Box::pin(pass_later(app, route, auth, call.take(), taken, passed)))
    }

    /// Runs gates 7 to 9 and the target. Boxes nothing unless something has to be awaited.
    fn ask_caller(
        self,
        auth: &mut Arc<RequestAuth>,
        call: &mut Call,
        last: Option<&LastCredential>,
    ) -> Begun {
        // The `Arc` has no other owner yet.
        let passed = Arc::get_mut(auth)
            .and_then(|auth| gates::check_caller(auth, &self.route.auth, &call.request, last));
        match passed {
            Some(Ok(())) => self.enter(call, Some(auth)),
            Some(Err(denied)) => {
                Begun::Started(self.denied(auth, call, denied, TakenLimits::default()))
            }
            None => self.begin_later(
                Some(Arc::clone(auth)),
                call,
                TakenLimits::default(),
                PassedGates::Rate,
            ),
        }
    }

    fn denied(
        self,
        auth: &RequestAuth,
        call: &Call,
        denied: Denial,
        taken: TakenLimits,
    ) -> StartedResponse {
        #[cfg(feature = "manifest")]
        auth.note_refused(denied.refusal());
        let (method, path) = (call.request.method(), call.request.uri().path());
        let response = auth.guard().deny(method, path, call.request.headers(), denied);
        StartedResponse::with_refusal(response, taken)
    }

    /// Runs gates 10 and 12.
    #[inline(always)]
    fn enter(self, call: &mut Call, auth: Option<&Arc<RequestAuth>>) -> Begun {
        let principal = auth.and_then(|auth| auth.principal());
        let mut taken = TakenLimits::default();
        match gates::limits::check(&self.route.rules, principal, &call.client, &mut taken) {
            Some(passed) => Begun::Started(self.start_if_passed(call, auth, passed, taken)),
            None => self.begin_later(auth.map(Arc::clone), call, taken, PassedGates::Caller),
        }
    }

    /// Runs gate 12 and starts the target, unless gate 10 refused the request.
    #[inline(always)]
    fn start_if_passed(
        self,
        call: &mut Call,
        auth: Option<&Arc<RequestAuth>>,
        passed: Result<(), Refusal>,
        taken: TakenLimits,
    ) -> StartedResponse {
        if let Err(refusal) = passed {
            return StartedResponse::with_refusal(
                self.app.auth.refuse(refusal, &call.request),
                taken,
            );
        }
        call.auth = auth.map(Arc::clone);
        StartedResponse::with(self.start(call), taken)
    }
}

/// The last gates that a request passed before it had to wait.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum PassedGates {
    /// Gates 1 to 5.
    Head,
    /// Gate 6.
    Rate,
    /// Gates 7 to 9.
    Caller,
}

/// Like [`RequestTarget::begin`], but waits for a store, a scheme, a body or other instances.
async fn pass_later(
    app: Arc<CompiledApp>,
    route: Arc<CompiledRoute>,
    auth: Option<Arc<RequestAuth>>,
    mut call: Call,
    mut taken: TakenLimits,
    passed: PassedGates,
) -> StartedResponse {
    let target = RequestTarget { app: &app, route: &route };
    if let Some(limit) = gates::address_rate::shared(&route.rules)
        && passed < PassedGates::Rate
        && let Err(refusal) =
            gates::address_rate::check_later(limit, &call.client, &mut taken).await
    {
        return StartedResponse::with_refusal(app.auth.refuse(refusal, &call.request), taken);
    }
    if let Some(auth) = &auth
        && passed < PassedGates::Caller
    {
        let (parts, mut body) = mem::take(&mut call.request).into_parts();
        let checked = gates::check_caller_later(auth, &route.auth, &parts, &mut body).await;
        call.request = Request::from_parts(parts, body);
        if let Err(denied) = checked {
            return target.denied(auth, &call, denied, taken);
        }
    }
    let principal = auth.as_ref().and_then(|auth| auth.principal());
    let passed =
        gates::limits::check_later(&route.rules, principal, &call.client, &mut taken).await;
    target.start_if_passed(&mut call, auth.as_ref(), passed, taken)
}

//! The gates of one request, in their order.

use std::{
    future::ready,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
};

use axum_core::{
    BoxError,
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::FutureExt;
use http::{
    HeaderMap, HeaderValue, Method, Request, StatusCode, Version,
    header::{ALLOW, CONNECTION},
};
use hyper::ext::Protocol;
use policy_core::{
    Refusal,
    auth::AuthPolicy,
    cache::Happened,
    cors::Grant,
    gate::{Head, Single},
    headers::{Nonce, SecurityHeaders},
    isolation::FetchMetadata,
    jsonp::JsonpPolicy,
    method,
};

#[cfg(feature = "proxy")]
use crate::proxy;
use crate::{
    assemble::{Assembled, Target},
    body,
    client::Client,
    exchange::Exchange,
    finish::{Finish, without_content},
    guard::{RequestAuth, RouteGuard},
    handler::{BoxFuture, Call},
    jsonp,
    limits::RateLimit,
    mount::SharedService,
    parameters::Values,
    partial,
    problem::Problem,
    response_future::{ResponseFuture, Running, panicked},
    router::Path,
    rules::Rules,
    telemetry, trace, tunnel,
};

/// Done when what a tunnel stands on ends.
type BoxedEnd = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Answers a request, and notes for the operator what became of it.
pub(crate) fn dispatch<S, B>(
    app: &Arc<Assembled<S>>,
    mut request: Request<B>,
    client: Client,
) -> ResponseFuture
where
    S: Send + Sync + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    if !Exchange::is_wanted(app) {
        return gates(app, request, client, None);
    }
    let proxies = app.proxies.as_ref();
    let client = client.hearing(request.headers_mut(), proxies);
    let is_trusted = client.is_proxied(proxies);
    let mut exchange = Exchange::begin(app, &mut request, client.address(), is_trusted);
    gates(app, request, client, Some(&mut exchange)).observed(exchange)
}

/// Asks the gates, and starts what answers.
#[inline(always)]
fn gates<S, B>(
    app: &Arc<Assembled<S>>,
    mut request: Request<B>,
    mut client: Client,
    exchange: Option<&mut Exchange>,
) -> ResponseFuture
where
    S: Send + Sync + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let mut head = Head::read(&request);
    if client.is_to_hear(&head) {
        client.hear(request.headers_mut(), app.proxies.as_ref());
        head = Head::read(&request);
    }
    client.note(&mut head, &app.own_origin);
    let has_content = *head.method == Method::TRACE && !request.body().is_end_stream();
    if *head.method == Method::CONNECT {
        head.protocol = request.extensions().get::<Protocol>().map(Protocol::as_str);
    }
    let id = exchange.as_ref().and_then(|exchange| exchange.id());
    let span = telemetry::span(&head, &client, id);
    let entered = span.enter();
    let admitted = match admit(app, &head, request.headers(), &client, has_content) {
        Admission::Admitted(admitted) => admitted,
        Admission::Answered(response) => {
            span.record("status", response.status().as_u16());
            return ResponseFuture::ready(response);
        }
    };
    let Admitted { answerer, mut finish, auth } = admitted;
    if (!span.is_disabled() || exchange.is_some())
        && let Answerer::Route(route, _) = &answerer
        && let Some(route) = app.route(*route)
    {
        span.record("route", tracing::field::display(route.path()));
        if let Some(exchange) = exchange {
            exchange.routed(route.path());
        }
    }
    let rules = Arc::clone(finish.rules());
    let (mut parts, body) = request.into_parts();
    if rules.headers.as_ref().is_some_and(SecurityHeaders::takes_nonce) {
        match app.random.draw() {
            Ok(random) => {
                let nonce = Nonce::of(random);
                parts.extensions.insert(nonce.clone());
                finish = finish.with_nonce(nonce);
            }
            Err(error) => {
                let response = Problem::internal(error).into_response();
                return ResponseFuture::ready(finish.apply(response, Happened::default()));
            }
        }
    }
    let is_tunnel = matches!(answerer, Answerer::Tunnel);
    if is_tunnel {
        tunnel::present(&mut parts.headers);
    }
    let (body, progress) = body::limit(body, rules.body);
    let request = Request::from_parts(parts, body);
    let timeout = rules.timeout;
    let behind = Behind { app: Arc::clone(app), rules, answerer, client };
    // The parameters of a path are parsed right here, by code of the user's.
    let answer = catch_unwind(AssertUnwindSafe(|| match auth {
        Some(auth) => behind.guarded(auth, request),
        None => (behind.answer(request, None), None),
    }));
    let (answer, auth) = answer.unwrap_or_else(|panic| (answered(panicked(&*panic)), None));
    let answer = if is_tunnel { Box::pin(answer.map(tunnel::as_proxy)) } else { answer };
    drop(entered);
    ResponseFuture::running(Running::new(answer, finish, auth, progress, timeout, span))
}

/// What is behind the gates that need only the head of a request.
struct Behind<S> {
    app: Arc<Assembled<S>>,
    rules: Arc<Rules>,
    answerer: Answerer,
    client: Client,
}

impl<S: Send + Sync + 'static> Behind<S> {
    /// Gates 7 to 9, and what is behind them.
    fn guarded(
        self,
        mut auth: Arc<RequestAuth>,
        request: Request<Body>,
    ) -> (BoxFuture, Option<Arc<RequestAuth>>) {
        let Some(guard) = self.answerer.guard(&self.app) else {
            return (answered(Problem::from(Refusal::Internal).into_response()), None);
        };
        // Nobody else has it yet.
        let admitted = Arc::get_mut(&mut auth).and_then(|auth| auth.admit_now(guard, &request));
        let answer = match admitted {
            Some(Ok(())) => self.limited(request, &auth),
            Some(Err(denied)) => {
                let (method, path) = (request.method(), request.uri().path());
                answered(self.app.guard.deny(method, path, request.headers(), denied))
            }
            None => Box::pin(self.guarded_later(Arc::clone(&auth), request)),
        };
        (answer, Some(auth))
    }

    /// The same where a store, a scheme or a body is to be waited for.
    async fn guarded_later(self, auth: Arc<RequestAuth>, request: Request<Body>) -> Response {
        let (parts, mut body) = request.into_parts();
        let Some(guard) = self.answerer.guard(&self.app) else {
            return Problem::from(Refusal::Internal).into_response();
        };
        match auth.admit(guard, &parts, &mut body).await {
            Ok(()) => self.limited(Request::from_parts(parts, body), &auth).await,
            Err(denied) => {
                self.app.guard.deny(&parts.method, parts.uri.path(), &parts.headers, denied)
            }
        }
    }

    /// Gate 10 for who was asked who they are, and what is behind it.
    fn limited(self, request: Request<Body>, auth: &Arc<RequestAuth>) -> BoxFuture {
        let Some(limit) = self.rules.rate.as_ref().filter(|limit| !limit.is_by_address()) else {
            return self.permitted(request, auth);
        };
        let limit = Arc::clone(limit);
        let taken = limit.take_principal(auth.principal(), self.client.address());
        let answer = match &taken {
            Ok(_) => self.permitted(request, auth),
            Err(_) => answered(self.app.guard.refuse(Refusal::RateExceeded, &request)),
        };
        Box::pin(async move {
            let mut response = answer.await;
            limit.write(&taken, response.headers_mut());
            response
        })
    }

    /// Runs the handler where there is room for one more.
    fn permitted(self, request: Request<Body>, auth: &Arc<RequestAuth>) -> BoxFuture {
        let Some(concurrency) = &self.rules.concurrency else {
            return self.answer(request, Some(auth));
        };
        match concurrency.enter() {
            Some(permit) => {
                let answer = self.answer(request, Some(auth));
                Box::pin(async move { permit.keep(answer.await) })
            }
            None => answered(self.app.guard.refuse(Refusal::ConcurrencyExceeded, &request)),
        }
    }

    #[inline(always)]
    fn answer(self, request: Request<Body>, auth: Option<&Arc<RequestAuth>>) -> BoxFuture {
        match self.rules.jsonp {
            Some(policy) => self.script(policy, request),
            None => self.answerer.start(self.app, request, self.client, auth),
        }
    }

    /// The answer of a route that nobody is asked on who they are.
    fn script(self, policy: JsonpPolicy, mut request: Request<Body>) -> BoxFuture {
        let callback = match jsonp::callback(&policy, &mut request) {
            Ok(callback) => callback,
            Err(refusal) => return answered(self.app.guard.refuse(refusal, &request)),
        };
        let answer = self.answerer.start(self.app, request, self.client, None);
        match callback {
            None => answer,
            Some(callback) => Box::pin(async move { jsonp::script(&callback, answer.await).await }),
        }
    }
}

fn answered(response: Response) -> BoxFuture {
    Box::pin(ready(response))
}

/// What the gates before the handler say.
enum Admission {
    /// Let this answer, if whoever asks may, and write the policy onto it.
    Admitted(Admitted),
    /// A gate has answered, with the policy.
    Answered(Response),
}

/// A request that came as far as its head brings it.
struct Admitted {
    answerer: Answerer,
    finish: Finish,
    /// Where anybody will ask who sent it.
    auth: Option<Arc<RequestAuth>>,
}

/// What answers an admitted request.
enum Answerer {
    /// The route at this place, with the parameters of its path.
    Route(usize, Values),
    Fallback(SharedService),
    /// The tunnel of the app.
    Tunnel,
}

impl Answerer {
    /// What it asks of its callers, if there is anybody to ask.
    fn guard<'a, S>(&self, app: &'a Assembled<S>) -> Option<&'a RouteGuard> {
        match self {
            Self::Route(route, _) => app.guard_of(*route),
            Self::Fallback(_) => None,
            Self::Tunnel => {
                let guard = app.tunnel.as_ref().map(|tunnel| &tunnel.guard);
                guard.filter(|guard| guard.auth != AuthPolicy::Public)
            }
        }
    }

    /// Gate 12; but for the parameters of the path, nothing of a handler has run when this
    /// returns.
    #[inline(always)]
    fn start<S>(
        self,
        app: Arc<Assembled<S>>,
        mut request: Request<Body>,
        client: Client,
        auth: Option<&Arc<RequestAuth>>,
    ) -> BoxFuture {
        match self {
            Self::Fallback(service) => service.run(request),
            Self::Tunnel => match &app.tunnel {
                Some(tunnel) => {
                    let ended: BoxedEnd = match auth {
                        Some(auth) => Box::pin(auth.until_ended()),
                        None => Box::pin(app.guard.endings.end_of_service()),
                    };
                    Box::pin(Arc::clone(&tunnel.opens).open(request, ended))
                }
                None => answered(Problem::from(Refusal::TargetForm).into_response()),
            },
            Self::Route(route, values) => match app.route(route).map(|route| &route.target) {
                Some(Target::Service(service)) => {
                    request.extensions_mut().insert(client);
                    service.run(partial::whole(request))
                }
                #[cfg(feature = "proxy")]
                Some(Target::Proxy(gateway)) => proxy::forward(&app, gateway, request, &client),
                Some(Target::Handler(call)) => {
                    let (call, auth) = (*call, auth.map(Arc::clone));
                    call(Call { request, values, client, app, route, auth })
                }
                // The router names routes of its own app only.
                None => Box::pin(ready(StatusCode::NOT_FOUND.into_response())),
            },
        }
    }
}

/// Gates 1 to 6, the part of 11 that a head decides, and 10 where nobody is asked who they are.
fn admit<S>(
    app: &Assembled<S>,
    head: &Head<'_>,
    headers: &HeaderMap,
    client: &Client,
    has_content: bool,
) -> Admission {
    let request = Received { app, head, headers, client };
    if let Err(refusal) = head.well_formed() {
        return request.misunderstood(refusal);
    }
    if head.is_tunnel()
        && let Some(tunnel) = &app.tunnel
    {
        return request.tunnel(&tunnel.rules);
    }
    let admitted = head.well_formed().and_then(|()| head.target());
    let admitted = admitted.and_then(|()| request.host());
    if let Err(refusal) = admitted.and_then(|()| client.admit(&app.own_origin)) {
        return request.misunderstood(refusal);
    }
    if head.is_asterisk() {
        return Admission::Answered(StatusCode::NO_CONTENT.into_response());
    }
    if *head.method == Method::TRACE && app.traces {
        return request.trace(has_content);
    }
    if head.protocol.is_some() && !head.is_extended_websocket() {
        return request.refuse(Refusal::ProtocolUnknown, &app.outside, Grant::Unasked);
    }
    let Some((path, values)) = app.router.find(head.path) else {
        return request.unknown_path();
    };
    if head.is_preflight() {
        return request.preflight(path);
    }
    // RFC 8441 5: what GET with `Upgrade` is over HTTP/1.1.
    let method = if head.is_extended_websocket() { &Method::GET } else { head.method };
    match path.served(method) {
        Some(served) => request.admit(Answerer::Route(served.route, values), &served.rules),
        None => request.not_served(path),
    }
}

/// The head of a request at the gates.
struct Received<'a, S> {
    app: &'a Assembled<S>,
    head: &'a Head<'a>,
    headers: &'a HeaderMap,
    client: &'a Client,
}

impl<S> Received<'_, S> {
    /// Refuses what may mean something else to whoever sent or forwarded it: in HTTP/1.1 nothing
    /// behind it is read (RFC 9112 9.6, 11.2).
    fn misunderstood(&self, refusal: Refusal) -> Admission {
        let mut response = self.problem(refusal);
        if self.head.version < Version::HTTP_2 {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        self.answered(response, &self.app.outside, Grant::Unasked)
    }

    /// Gate 2. An orchestrator asks by address, and learns nothing that is worth a name.
    fn host(&self) -> Result<(), Refusal> {
        let Self { app, head, .. } = *self;
        app.own_origin.admit(head).or_else(|refusal| {
            let is_probe = || {
                let route = app.router.find(head.path)?.0.served(head.method)?.route;
                Some(app.route(route)?.is_probe)
            };
            if refusal.status() == 421 && is_probe() == Some(true) { Ok(()) } else { Err(refusal) }
        })
    }

    /// The gates behind the router, the same for routes and the fallback.
    #[inline]
    fn admit(&self, answerer: Answerer, rules: &Arc<Rules>) -> Admission {
        let Self { app, head, headers, client } = *self;
        let grant = self.grant(rules);
        let refusal = if head.is_upgrade() && !self.may_upgrade(rules, &grant) {
            Some(Refusal::WebSocketOrigin)
        } else if head.is_early && !self.may_be_early(&answerer) {
            Some(Refusal::TooEarly)
        } else {
            self.isolated(rules, &grant).err()
        };
        if let Some(refusal) = refusal {
            return self.refuse(refusal, rules, grant);
        }
        let guard = answerer.guard(app);
        let mut granted = None;
        // Where nobody is asked who they are, a client is its address.
        let is_counted = |limit: &&Arc<RateLimit>| limit.is_by_address() || guard.is_none();
        if let Some(limit) = rules.rate.as_ref().filter(is_counted) {
            match limit.take_address(client.address()) {
                Ok(taken) => granted = Some(taken),
                Err(refused) => {
                    let mut response = self.problem(Refusal::RateExceeded);
                    limit.write(&Err(refused), response.headers_mut());
                    return self.answered(response, rules, grant);
                }
            }
        }
        if content_length(head).is_some_and(|length| length > rules.body) {
            return self.refuse(Refusal::BodyTooLarge, rules, grant);
        }
        let mut permit = None;
        if let Some(concurrency) = rules.concurrency.as_ref().filter(|_| guard.is_none()) {
            permit = concurrency.enter();
            if permit.is_none() {
                return self.refuse(Refusal::ConcurrencyExceeded, rules, grant);
            }
        }
        let auth = guard.map(|guard| {
            let cors = rules.cors.as_deref();
            let own = &app.own_origin;
            Arc::new(RequestAuth::new(&app.guard, guard, own, head, headers, cors, &grant))
        });
        let mut finish = Finish::new(head, headers, rules, grant).within(granted, permit);
        if auth.is_none() && app.guard.sessions.is_some() {
            finish = finish.keeping_cookie(&app.guard);
        }
        Admission::Admitted(Admitted { answerer, finish, auth })
    }

    /// Whether this may be answered before it is sure that nobody sends it a second time (RFC 8470
    /// 4): what is safe, and does not act for whoever sent it first.
    fn may_be_early(&self, answerer: &Answerer) -> bool {
        method::is_safe(self.head.method.as_str()) && answerer.guard(self.app).is_none()
    }

    /// A CONNECT for a tunnel: it names the host that it leads to, not this server.
    fn tunnel(&self, rules: &Arc<Rules>) -> Admission {
        let Self { app, head, client, .. } = *self;
        let admitted = head
            .well_formed()
            .and_then(|()| head.authority())
            .and_then(|_| client.admit(&app.own_origin));
        match admitted {
            // Pages cannot send CONNECT (Fetch 2.2.1): this pretends to be one.
            Ok(()) if head.origin != Single::Absent => self.misunderstood(Refusal::TunnelOrigin),
            Ok(()) => self.admit(Answerer::Tunnel, rules),
            Err(refusal) => self.misunderstood(refusal),
        }
    }

    /// The request itself, for nobody to share.
    fn trace(&self, has_content: bool) -> Admission {
        match trace::answer(self.head, self.headers, has_content) {
            Ok(response) => self.answered(response, &self.app.outside, Grant::Unasked),
            Err(refusal) => self.misunderstood(refusal),
        }
    }

    /// Gate 5, as far as it asks which page loads something.
    fn isolated(&self, rules: &Rules, grant: &Grant) -> Result<(), Refusal> {
        let Some(isolation) = rules.isolation else { return Ok(()) };
        let shares_with_all = rules.cors.as_ref().is_some_and(|cors| cors.is_any_origin());
        let is_granted = matches!(grant, Grant::Origin(_))
            || (shares_with_all && self.head.origin != Single::Absent)
            || rules.jsonp.is_some();
        isolation.admit(&FetchMetadata::read(self.headers), self.head.method, is_granted)
    }

    /// Gate 4: the answer to a preflight. No handler, no extractor, no body.
    fn preflight(&self, path: &Path) -> Admission {
        let Self { app, head, .. } = *self;
        let served = match head.request_method {
            Single::One(method) => path.asked(method.as_bytes()),
            Single::Absent | Single::Repeated => None,
        };
        let shared = served.or(path.shared()).and_then(|served| {
            Some((&served.rules, served.rules.cors.as_ref()?, served.preflight.as_ref()?))
        });
        let Some((rules, cors, preflight)) = shared else {
            return self.refuse(Refusal::PreflightOrigin, &app.outside, Grant::Unasked);
        };
        match preflight.answer(cors, head.origin, head.request_method) {
            Ok((status, headers)) => Admission::Answered(without_content(status, headers)),
            Err(refusal) => self.refuse(refusal, rules, Grant::Refused),
        }
    }

    /// A path that no route has: the app's default policy holds.
    fn unknown_path(&self) -> Admission {
        let Self { app, head, .. } = *self;
        let rules = &app.unknown;
        if let Some(service) = &app.fallback
            && !head.is_preflight()
        {
            return self.admit(Answerer::Fallback(service.clone()), rules);
        }
        let grant = self.grant(rules);
        let refusal = if head.is_preflight() && grant == Grant::Refused {
            Refusal::PreflightOrigin
        } else if self.is_method_known() {
            Refusal::RouteNotFound
        } else {
            Refusal::MethodUnknown
        };
        self.refuse(refusal, rules, grant)
    }

    /// A path without a route for the method: automatic OPTIONS, 405 for a method that is known,
    /// 501 for one that is not (RFC 9110 9.1, 9.3.7, 15.5.6, 15.6.2).
    fn not_served(&self, path: &Path) -> Admission {
        let Self { app, head, .. } = *self;
        let rules = path.shared().map_or(&app.outside, |served| &served.rules);
        let grant = self.grant(rules);
        let mut response = if head.method == Method::OPTIONS {
            StatusCode::NO_CONTENT.into_response()
        } else if self.is_method_known() {
            self.problem(Refusal::MethodNotAllowed)
        } else {
            return self.refuse(Refusal::MethodUnknown, rules, grant);
        };
        let allow = path.allow.clone().unwrap_or(HeaderValue::from_static("OPTIONS"));
        response.headers_mut().insert(ALLOW, allow);
        self.answered(response, rules, grant)
    }

    /// Whether the standard knows the method, or the app has it somewhere.
    fn is_method_known(&self) -> bool {
        method::is_known(self.head.method.as_str()) || self.app.router.serves(self.head.method)
    }

    fn grant(&self, rules: &Rules) -> Grant {
        rules.cors.as_ref().map_or(Grant::Unasked, |cors| cors.grant(self.head.origin))
    }

    fn refuse(&self, refusal: Refusal, rules: &Arc<Rules>, grant: Grant) -> Admission {
        self.answered(self.problem(refusal), rules, grant)
    }

    /// A refusal, logged.
    fn problem(&self, refusal: Refusal) -> Response {
        let Self { app, head, .. } = *self;
        app.guard.refusals.refused(refusal, None, head.method, head.path, head.origin);
        Problem::from(refusal).into_response()
    }

    fn answered(&self, response: Response, rules: &Arc<Rules>, grant: Grant) -> Admission {
        let finish = Finish::new(self.head, self.headers, rules, grant);
        Admission::Answered(finish.apply(response, Happened::default()))
    }

    /// RFC 6455 10.2: a browser opens a WebSocket to anybody, so the server checks who asks: the
    /// origins that may read the route, and its own.
    fn may_upgrade(&self, rules: &Rules, grant: &Grant) -> bool {
        match (self.head.origin, grant) {
            (Single::Absent, _) | (_, Grant::Origin(_)) => true,
            (Single::Repeated, _) => false,
            (Single::One(origin), _) => {
                rules.cors.as_ref().is_some_and(|cors| cors.is_any_origin())
                    || self.app.own_origin.is_own(self.head, origin.as_bytes())
            }
        }
    }
}

fn content_length(head: &Head<'_>) -> Option<u64> {
    match head.content_length {
        Single::One(length) => length.to_str().ok()?.parse().ok(),
        Single::Absent | Single::Repeated => None,
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use crate::prelude::*;

    #[get("/page")]
    #[headers(csp = "script-src 'self' 'nonce'")]
    #[auth(public)]
    async fn page(nonce: CspNonce) -> ([(&'static str, &'static str); 1], String) {
        ([("content-type", "text/html")], nonce.to_string())
    }

    #[route(PURGE, "/stored")]
    #[auth(public)]
    async fn stored() {}

    #[tokio::test]
    async fn each_page_has_a_nonce_of_its_own_and_states_it() {
        let client = App::new(()).routes(routes![page]).test();
        let mut seen = Vec::new();
        for _ in 0..3 {
            let answer = client.get("/page").send().await;
            let nonce = answer.text().to_owned();
            let csp = answer.header("content-security-policy").unwrap();
            assert!(csp.contains(&format!("'nonce-{nonce}'")), "{csp}");
            assert_eq!(nonce.len(), 22);
            assert!(!seen.contains(&nonce));
            seen.push(nonce);
        }
    }

    /// RFC 9110 9.1, 15.5.6 and 15.6.2.
    #[tokio::test]
    async fn a_method_that_nobody_knows_is_told_from_one_that_is_not_served_here() {
        let client = App::new(()).routes(routes![page, stored]).test();
        for (method, path, status, allow) in [
            ("POST", "/page", 405, Some("GET, HEAD, OPTIONS")),
            ("TRACE", "/page", 405, Some("GET, HEAD, OPTIONS")),
            // Another path serves it.
            ("PURGE", "/page", 405, Some("GET, HEAD, OPTIONS")),
            ("LOCK", "/page", 501, None),
            ("get", "/page", 501, None),
            ("POST", "/nowhere", 404, None),
            ("LOCK", "/nowhere", 501, None),
            ("PURGE", "/stored", 200, None),
        ] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let answer = client.request(method.clone(), path).send().await;
            let found = (answer.status().as_u16(), answer.header("allow"));
            assert_eq!(found, (status, allow), "{method} {path}");
        }
    }
}

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
use http::{Method, Request, StatusCode};
use hyper::ext::Protocol;
use policy_core::{
    Refusal,
    auth::AuthPolicy,
    cache::Happened,
    gate::Head,
    headers::{Nonce, SecurityHeaders},
    jsonp::JsonpPolicy,
};

#[cfg(feature = "proxy")]
use crate::gateway::proxy;
use crate::{
    auth::{RequestAuth, RouteGuard},
    base::problem::Problem,
    client::Client,
    gateway::tunnel,
    handler::{BoxFuture, Call, parameters::Values, service::SharedService},
    observe::{exchange::Exchange, span},
    pipeline::compiled_app::{CompiledApp, Target},
    pipeline::{
        admission::{Admission, Admitted, admit},
        request_body,
        response_future::{ResponseFuture, Running, panicked},
    },
    route::{conditional, jsonp, route_policy::Rules},
};

/// Done when what a tunnel stands on ends.
type BoxedEnd = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Answers a request, and notes for the operator what became of it.
pub(crate) fn dispatch<B>(
    app: &Arc<CompiledApp>,
    mut request: Request<B>,
    client: Client,
) -> ResponseFuture
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    if !app.observing.is_wanted() {
        return gates(app, request, client, None);
    }
    let proxies = app.proxies.as_ref();
    let client = client.hearing(request.headers_mut(), proxies);
    let is_trusted = client.is_proxied(proxies);
    let mut exchange =
        Exchange::begin(app.observing, &app.random, &mut request, client.address(), is_trusted);
    gates(app, request, client, Some(&mut exchange)).observed(exchange)
}

/// Asks the gates, and starts what answers.
#[inline(always)]
fn gates<B>(
    app: &Arc<CompiledApp>,
    mut request: Request<B>,
    mut client: Client,
    exchange: Option<&mut Exchange>,
) -> ResponseFuture
where
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
    let span = span::span(&head, &client, id);
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
    let (body, progress) = request_body::limit(body, rules.body);
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
struct Behind {
    app: Arc<CompiledApp>,
    rules: Arc<Rules>,
    answerer: Answerer,
    client: Client,
}

impl Behind {
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
            None => self.answerer.start(&self.app, request, self.client, auth),
        }
    }

    /// The answer of a route that nobody is asked on who they are.
    fn script(self, policy: JsonpPolicy, mut request: Request<Body>) -> BoxFuture {
        let callback = match jsonp::callback(&policy, &mut request) {
            Ok(callback) => callback,
            Err(refusal) => return answered(self.app.guard.refuse(refusal, &request)),
        };
        let answer = self.answerer.start(&self.app, request, self.client, None);
        match callback {
            None => answer,
            Some(callback) => Box::pin(async move { jsonp::script(&callback, answer.await).await }),
        }
    }
}

fn answered(response: Response) -> BoxFuture {
    Box::pin(ready(response))
}

/// What answers an admitted request.
pub(crate) enum Answerer {
    /// The route at this place, with the parameters of its path.
    Route(usize, Values),
    Fallback(SharedService),
    /// The tunnel of the app.
    Tunnel,
}

impl Answerer {
    /// What it asks of its callers, if there is anybody to ask.
    pub(crate) fn guard<'a>(&self, app: &'a CompiledApp) -> Option<&'a RouteGuard> {
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
    fn start(
        self,
        app: &CompiledApp,
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
            Self::Route(index, values) => {
                // The router names routes of its own app only.
                let Some(route) = app.route(index) else {
                    return answered(StatusCode::NOT_FOUND.into_response());
                };
                match &route.target {
                    Target::Service(service) => {
                        request.extensions_mut().insert(client);
                        service.run(conditional::whole(request))
                    }
                    #[cfg(feature = "proxy")]
                    Target::Proxy(gateway) => {
                        let (guard, own_origin, random) =
                            (&app.guard, &app.own_origin, &app.random);
                        let serving = proxy::Serving { guard, own_origin, random };
                        proxy::forward(&serving, gateway, request, &client)
                    }
                    Target::Handler(call) => {
                        let (route, auth) = (Arc::clone(&route.info), auth.map(Arc::clone));
                        call(Call { request, values, client, route, auth })
                    }
                }
            }
        }
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

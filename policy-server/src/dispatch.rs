//! The gates of one request, in their order.

use std::{
    future::ready,
    net::SocketAddr,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use axum_core::{
    BoxError,
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header::ALLOW};
use policy_core::{
    Refusal,
    cors::{Cors, Grant},
    gate::{Head, Single},
};

use crate::{
    assemble::{Assembled, Target},
    body,
    guard::RequestAuth,
    handler::{BoxFuture, Call},
    mount::SharedService,
    parameters::Values,
    problem::Problem,
    response_future::{Finish, ResponseFuture, Running, panicked, without_content},
    router::Path,
    telemetry,
};

/// Asks the gates, and starts what answers.
pub(crate) fn dispatch<S, B>(
    app: &Arc<Assembled<S>>,
    request: Request<B>,
    peer: Option<SocketAddr>,
) -> ResponseFuture
where
    S: Send + Sync + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let head = Head::read(&request);
    let span = telemetry::span(&head);
    let entered = span.enter();
    let (answerer, finish, auth) = match admit(app, &head, request.headers()) {
        Admission::Admitted(answerer, finish, auth) => (answerer, finish, auth),
        Admission::Answered(response) => {
            span.record("status", response.status().as_u16());
            return ResponseFuture::ready(response);
        }
    };
    if !span.is_disabled()
        && let Answerer::Route(route, _) = &answerer
        && let Some(route) = app.route(*route)
    {
        span.record("route", tracing::field::display(route.path()));
    }
    let (parts, body) = request.into_parts();
    let (body, progress) = body::limit(body, app.limits.body);
    let request = Request::from_parts(parts, body);
    // The parameters of a path are parsed right here, by code of the user's.
    let answer = catch_unwind(AssertUnwindSafe(|| match (auth, &answerer) {
        (Some(auth), Answerer::Route(route, values)) => {
            guarded(app, auth, *route, *values, request, peer)
        }
        _ => (answerer.start(app, request, peer, None), None),
    }));
    let (answer, auth) = answer.unwrap_or_else(|panic| (answered(panicked(&*panic)), None));
    drop(entered);
    ResponseFuture::running(Running::new(answer, finish, auth, progress, app.limits.timeout, span))
}

/// Gates 7 to 9, and the handler behind them.
fn guarded<S: Send + Sync + 'static>(
    app: &Arc<Assembled<S>>,
    mut auth: RequestAuth,
    route: usize,
    values: Values,
    request: Request<Body>,
    peer: Option<SocketAddr>,
) -> (BoxFuture, Option<Arc<RequestAuth>>) {
    let Some(guard) = app.guard_of(route) else {
        return (answered(Problem::from(Refusal::Internal).into_response()), None);
    };
    let admitted = auth.admit_now(guard, &request);
    let auth = Arc::new(auth);
    let answer = match admitted {
        Some(Ok(())) => Answerer::Route(route, values).start(app, request, peer, Some(&auth)),
        Some(Err(denied)) => {
            let (method, path) = (request.method(), request.uri().path());
            answered(app.guard.deny(method, path, request.headers(), denied))
        }
        None => Box::pin(admitted_later(
            Arc::clone(app),
            Arc::clone(&auth),
            (route, values),
            request,
            peer,
        )),
    };
    (answer, Some(auth))
}

/// Gates 7 to 9 where a store, a scheme or a body is to be waited for.
async fn admitted_later<S: Send + Sync + 'static>(
    app: Arc<Assembled<S>>,
    auth: Arc<RequestAuth>,
    (route, values): (usize, Values),
    request: Request<Body>,
    peer: Option<SocketAddr>,
) -> Response {
    let (parts, mut body) = request.into_parts();
    let Some(guard) = app.guard_of(route) else {
        return Problem::from(Refusal::Internal).into_response();
    };
    match auth.admit(guard, &parts, &mut body).await {
        Ok(()) => {
            let request = Request::from_parts(parts, body);
            Answerer::Route(route, values).start(&app, request, peer, Some(&auth)).await
        }
        Err(denied) => app.guard.deny(&parts.method, parts.uri.path(), &parts.headers, denied),
    }
}

fn answered(response: Response) -> BoxFuture {
    Box::pin(ready(response))
}

/// What the gates before the handler say.
enum Admission<'a> {
    /// Let this answer, if whoever asks may, and write the policy onto it.
    Admitted(Answerer<'a>, Finish, Option<RequestAuth>),
    /// A gate has answered, with the policy.
    Answered(Response),
}

/// What answers an admitted request.
enum Answerer<'a> {
    /// The route at this place, with the parameters of its path.
    Route(usize, Values),
    Fallback(&'a SharedService),
}

impl Answerer<'_> {
    /// Gate 12; but for the parameters of the path, nothing of a handler has run when this
    /// returns.
    fn start<S>(
        self,
        app: &Arc<Assembled<S>>,
        request: Request<Body>,
        peer: Option<SocketAddr>,
        auth: Option<&Arc<RequestAuth>>,
    ) -> BoxFuture {
        match self {
            Self::Fallback(service) => service.run(request),
            Self::Route(route, values) => match app.route(route).map(|route| &route.target) {
                Some(Target::Service(service)) => service.run(request),
                Some(Target::Handler(call)) => {
                    let auth = auth.map(Arc::clone);
                    call(Call { request, values, peer, app: Arc::clone(app), route, auth })
                }
                // The router names routes of its own app only.
                None => Box::pin(ready(StatusCode::NOT_FOUND.into_response())),
            },
        }
    }
}

/// Gates 1 to 4, the origin of upgrades, and the part of 11 that a head decides.
fn admit<'a, S>(app: &'a Assembled<S>, head: &Head<'_>, headers: &HeaderMap) -> Admission<'a> {
    if let Err(refusal) = head.target().and_then(|()| app.own_origin.admit(head)) {
        return Admission::Answered(refuse(app, head, refusal, None, Grant::Unasked));
    }
    if head.is_asterisk() {
        return Admission::Answered(StatusCode::NO_CONTENT.into_response());
    }
    let Some((path, values)) = app.router.find(head.path) else {
        return unknown_path(app, head, headers);
    };
    if head.is_preflight() {
        return Admission::Answered(preflight(app, path, head));
    }
    let Some(served) = path.served(head.method) else {
        return Admission::Answered(not_served(app, path, head));
    };
    let cors = served.sharing.as_ref().map(|sharing| &sharing.cors);
    admit_to(app, head, headers, Answerer::Route(served.route, values), cors)
}

/// The gates behind the router, the same for routes and the fallback.
fn admit_to<'a, S>(
    app: &Assembled<S>,
    head: &Head<'_>,
    headers: &HeaderMap,
    answerer: Answerer<'a>,
    cors: Option<&Arc<Cors>>,
) -> Admission<'a> {
    let grant = grant(cors, head);
    let refusal = if head.is_upgrade() && !may_upgrade(app, head, cors, &grant) {
        Refusal::WebSocketOrigin
    } else if content_length(head).is_some_and(|length| length > app.limits.body as u64) {
        Refusal::BodyTooLarge
    } else {
        let auth = request_auth(app, head, headers, &answerer, cors, &grant);
        let finish = Finish::new(head.method, cors, grant);
        let finish = match &auth {
            None if app.guard.sessions.is_some() => finish.keeping_cookie(&app.guard),
            _ => finish,
        };
        return Admission::Admitted(answerer, finish, auth);
    };
    Admission::Answered(refuse(app, head, refusal, cors, grant))
}

/// Gate 5: what the head says about who means this request, where anybody will ask.
fn request_auth<S>(
    app: &Assembled<S>,
    head: &Head<'_>,
    headers: &HeaderMap,
    answerer: &Answerer<'_>,
    cors: Option<&Arc<Cors>>,
    grant: &Grant,
) -> Option<RequestAuth> {
    let Answerer::Route(route, _) = answerer else { return None };
    let route = app.guard_of(*route)?;
    let cors = cors.map(Arc::as_ref);
    Some(RequestAuth::new(&app.guard, route, &app.own_origin, head, headers, cors, grant))
}

/// Gate 4: the answer to a preflight. No handler, no extractor, no body.
fn preflight<S>(app: &Assembled<S>, path: &Path, head: &Head<'_>) -> Response {
    let served = match head.request_method {
        Single::One(method) => path.asked(method.as_bytes()),
        Single::Absent | Single::Repeated => None,
    };
    let sharing = match served {
        Some(served) => served.sharing.as_ref(),
        None => path.sharing(),
    };
    let Some(sharing) = sharing else {
        return refuse(app, head, Refusal::PreflightOrigin, None, Grant::Unasked);
    };
    match sharing.preflight.answer(&sharing.cors, head.origin, head.request_method) {
        Ok((status, headers)) => without_content(status, headers),
        Err(refusal) => refuse(app, head, refusal, Some(&sharing.cors), Grant::Refused),
    }
}

/// A path that no route has: the app's default policy holds.
fn unknown_path<'a, S>(
    app: &'a Assembled<S>,
    head: &Head<'_>,
    headers: &HeaderMap,
) -> Admission<'a> {
    let cors = app.default_cors.as_ref();
    if let Some(service) = &app.fallback
        && !head.is_preflight()
    {
        return admit_to(app, head, headers, Answerer::Fallback(service), cors);
    }
    let grant = grant(cors, head);
    let refusal = if head.is_preflight() && grant == Grant::Refused {
        Refusal::PreflightOrigin
    } else {
        Refusal::RouteNotFound
    };
    Admission::Answered(refuse(app, head, refusal, cors, grant))
}

/// A path without a route for the method: automatic OPTIONS, or 405 (RFC 9110 9.3.7, 15.5.6).
fn not_served<S>(app: &Assembled<S>, path: &Path, head: &Head<'_>) -> Response {
    let cors = path.sharing().map(|sharing| &sharing.cors);
    let grant = grant(cors, head);
    let mut response = if head.method == Method::OPTIONS {
        Finish::new(head.method, cors, grant).apply(StatusCode::NO_CONTENT.into_response())
    } else {
        refuse(app, head, Refusal::MethodNotAllowed, cors, grant)
    };
    let allow = path.allow.clone().unwrap_or(HeaderValue::from_static("OPTIONS"));
    response.headers_mut().insert(ALLOW, allow);
    response
}

fn grant(cors: Option<&Arc<Cors>>, head: &Head<'_>) -> Grant {
    cors.map_or(Grant::Unasked, |cors| cors.grant(head.origin))
}

fn refuse<S>(
    app: &Assembled<S>,
    head: &Head<'_>,
    refusal: Refusal,
    cors: Option<&Arc<Cors>>,
    grant: Grant,
) -> Response {
    app.guard.refusals.refused(refusal, None, head.method, head.path, head.origin);
    Finish::new(head.method, cors, grant).apply(Problem::from(refusal).into_response())
}

/// RFC 6455 10.2: a browser opens a WebSocket to anybody, so the server checks who asks: the
/// origins that may read the route, and its own.
fn may_upgrade<S>(
    app: &Assembled<S>,
    head: &Head<'_>,
    cors: Option<&Arc<Cors>>,
    grant: &Grant,
) -> bool {
    match (head.origin, grant) {
        (Single::Absent, _) | (_, Grant::Origin(_)) => true,
        (Single::Repeated, _) => false,
        (Single::One(origin), _) => {
            cors.is_some_and(|cors| cors.is_any_origin())
                || app.own_origin.is_own(head, origin.as_bytes())
        }
    }
}

fn content_length(head: &Head<'_>) -> Option<u64> {
    match head.content_length {
        Single::One(length) => length.to_str().ok()?.parse().ok(),
        Single::Absent | Single::Repeated => None,
    }
}

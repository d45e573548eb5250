//! The gates of one request, in their order.

use std::{net::SocketAddr, sync::Arc};

use axum_core::{
    BoxError,
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, header::ALLOW};
use policy_core::{
    Refusal,
    cors::{Cors, Grant},
    gate::{Head, Single},
};

use crate::{
    assemble::{Assembled, Target},
    body::{self, BodyProgress},
    handler::{BoxFuture, Call},
    parameters::Values,
    problem::Problem,
    response_future::{Finish, ResponseFuture, Running},
    router::{Path, Served},
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
    let _entered = span.enter();
    if let Err(refusal) = head.target().and_then(|()| app.own_origin.admit(&head)) {
        return refuse(app, &head, refusal, None);
    }
    if head.is_asterisk() {
        return ResponseFuture::ready(StatusCode::NO_CONTENT.into_response());
    }
    let Some((path, values)) = app.router.find(head.uri.path()) else {
        return not_found(app, request);
    };
    if head.is_preflight() {
        return preflight(app, path, &head);
    }
    let Some(served) = path.served(head.method) else {
        return not_served(app, path, &head);
    };
    let cors = served.sharing.as_ref().map(|sharing| &sharing.cors);
    let grant = cors.map_or(Grant::Unasked, |cors| cors.grant(head.origin));
    if head.is_upgrade() && !may_upgrade(app, &head, cors, &grant) {
        return refuse(app, &head, Refusal::WebSocketOrigin, finish(&head, cors, grant));
    }
    let finish = Finish::new(head.method, cors, grant);
    if let Some(length) = content_length(&head)
        && length > app.settings.body_limit as u64
    {
        return refuse(app, &head, Refusal::BodyTooLarge, Some(finish));
    }
    let (answer, body) = start(app, served, values, peer, request);
    drop(_entered);
    ResponseFuture::running(Running::new(answer, finish, body, app.settings.timeout, span))
}

/// Gate 12: the handler, with nothing of it run yet.
fn start<S, B>(
    app: &Arc<Assembled<S>>,
    served: &Served,
    values: Values,
    peer: Option<SocketAddr>,
    request: Request<B>,
) -> (BoxFuture, BodyProgress)
where
    S: Send + Sync + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let (parts, body) = request.into_parts();
    let (body, progress) = body::limit(body, app.settings.body_limit);
    let request = Request::from_parts(parts, body);
    let answer = match app.route(served.route).map(|route| &route.target) {
        Some(Target::Handler(call)) => {
            call(Call { request, values, peer, app: Arc::clone(app), route: served.route })
        }
        Some(Target::Service(service)) => service.run(request),
        None => Box::pin(std::future::ready(Problem::from(Refusal::RouteNotFound).into_response())),
    };
    (answer, progress)
}

/// Gate 4: the answer to a preflight. No handler, no extractor, no body.
fn preflight<S>(app: &Assembled<S>, path: &Path, head: &Head<'_>) -> ResponseFuture {
    let asked = match head.request_method {
        Single::One(method) => Method::from_bytes(method.as_bytes()).ok(),
        Single::Absent | Single::Repeated => None,
    };
    let served = asked.and_then(|method| path.served(&method));
    let sharing = match served {
        Some(served) => served.sharing.as_ref(),
        None => path.sharing(),
    };
    let Some(sharing) = sharing else {
        return refuse(app, head, Refusal::PreflightOrigin, None);
    };
    match sharing.preflight.answer(&sharing.cors, head.origin, head.request_method) {
        Ok((status, headers)) => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = status;
            *response.headers_mut() = headers;
            ResponseFuture::ready(response)
        }
        Err(refusal) => {
            refuse(app, head, refusal, finish(head, Some(&sharing.cors), Grant::Refused))
        }
    }
}

/// A path that no route has: the app's default policy holds.
fn not_found<S, B>(app: &Arc<Assembled<S>>, request: Request<B>) -> ResponseFuture
where
    S: Send + Sync + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let head = Head::read(&request);
    let cors = app.default_cors.as_ref();
    let grant = cors.map_or(Grant::Unasked, |cors| cors.grant(head.origin));
    if head.is_preflight() {
        let refusal = match (&grant, cors) {
            (Grant::Refused, Some(_)) => Refusal::PreflightOrigin,
            _ => Refusal::RouteNotFound,
        };
        return refuse(app, &head, refusal, finish(&head, cors, grant));
    }
    let finish = Finish::new(head.method, cors, grant);
    match &app.fallback {
        None => refuse(app, &head, Refusal::RouteNotFound, Some(finish)),
        Some(fallback) => {
            let span = telemetry::span(&head);
            let (parts, body) = request.into_parts();
            let (body, progress) = body::limit(body, app.settings.body_limit);
            let answer = fallback.run(Request::from_parts(parts, body));
            ResponseFuture::running(Running::new(
                answer,
                finish,
                progress,
                app.settings.timeout,
                span,
            ))
        }
    }
}

/// A path without a route for the method: automatic OPTIONS, or 405 (RFC 9110 9.3.7, 15.5.6).
fn not_served<S>(app: &Assembled<S>, path: &Path, head: &Head<'_>) -> ResponseFuture {
    let cors = path.sharing().map(|sharing| &sharing.cors);
    let grant = cors.map_or(Grant::Unasked, |cors| cors.grant(head.origin));
    let finish = Finish::new(head.method, cors, grant);
    let mut response = if head.method == Method::OPTIONS {
        StatusCode::NO_CONTENT.into_response()
    } else {
        app.refusals.refused(Refusal::MethodNotAllowed, head);
        Problem::from(Refusal::MethodNotAllowed).into_response()
    };
    let allow = path.allow.clone().unwrap_or(HeaderValue::from_static("OPTIONS"));
    response.headers_mut().insert(ALLOW, allow);
    ResponseFuture::ready(finish.apply(response))
}

fn finish(head: &Head<'_>, cors: Option<&Arc<Cors>>, grant: Grant) -> Option<Finish> {
    Some(Finish::new(head.method, cors, grant))
}

fn refuse<S>(
    app: &Assembled<S>,
    head: &Head<'_>,
    refusal: Refusal,
    finish: Option<Finish>,
) -> ResponseFuture {
    app.refusals.refused(refusal, head);
    let response = Problem::from(refusal).into_response();
    ResponseFuture::ready(match finish {
        Some(finish) => finish.apply(response),
        None => response,
    })
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
            cors.is_some_and(|cors| cors.is_any_origin()) || app.own_origin.is_own(head, origin)
        }
    }
}

fn content_length(head: &Head<'_>) -> Option<u64> {
    match head.content_length {
        Single::One(length) => length.to_str().ok()?.parse().ok(),
        Single::Absent | Single::Repeated => None,
    }
}

//! Gate 3: routing by path and method.

use std::{ops::ControlFlow, sync::Arc};

use axum_core::response::{IntoResponse, Response};
use http::{
    HeaderMap, HeaderValue, Method, StatusCode,
    header::{ALLOW, LOCATION},
};
#[cfg(feature = "gateway")]
use policy_core::reverse_proxy::is_last_hop;
use policy_core::{
    Refusal, cache::ResponseFacts, cors::OriginDecision, method, path::TrailingSlash,
};

use super::{Gate, cors};
#[cfg(feature = "gateway")]
use crate::{gateway::trace, pipeline::compiled_app::Target};
use crate::{
    handler::parameters::Values,
    pipeline::{
        compiled_app::{CompiledApp, CompiledRoute},
        request_head::RequestHead,
        respond::ACCEPT_QUERY,
    },
    route::router::{Path, Served},
};

/// The route of a request and the values of its path parameters.
pub(crate) struct Found<'a> {
    pub(crate) route: &'a Arc<CompiledRoute>,
    pub(crate) values: Values,
}

/// The result of matching a path and a method.
pub(crate) enum Matched<'a> {
    Route(Found<'a>),
    /// A preflight for one of the methods of this path.
    Preflight(&'a Path),
}

pub(crate) fn find<'a>(request: &RequestHead<'a>) -> Gate<Matched<'a>> {
    let RequestHead { app, head, .. } = *request;
    if let Some(route) = request.tunnel() {
        return target(route, Values::default());
    }
    if head.is_asterisk() {
        return ControlFlow::Break(StatusCode::NO_CONTENT.into_response());
    }
    #[cfg(feature = "gateway")]
    if *head.method == Method::TRACE && app.traces {
        return ControlFlow::Break(trace(request));
    }
    if head.protocol.is_some() && !head.is_extended_websocket() {
        let policy = &app.no_route_policy;
        let refused = request.refuse(Refusal::ProtocolUnknown, policy, OriginDecision::Unasked);
        return ControlFlow::Break(refused);
    }
    let Some((path, values)) = app.router.find(head.path) else {
        return not_found(request);
    };
    if head.is_preflight() {
        return ControlFlow::Continue(Matched::Preflight(path));
    }
    // Extended CONNECT takes the place of GET with `Upgrade` (RFC 8441 5).
    let method = if head.is_extended_websocket() { &Method::GET } else { head.method };
    let served = path.served(method);
    if path.redirects(head.path) {
        return ControlFlow::Break(redirect(request, served.or_else(|| path.shared())));
    }
    match served.and_then(|served| Some((served, app.route(served.route)?))) {
        #[cfg(feature = "gateway")]
        Some((_, route)) if ends_here(request, route) => {
            ControlFlow::Break(not_served(request, path))
        }
        Some((served, route)) => {
            if request.path == Ok(true) && !takes_slashes(request, served, &values) {
                let policy = &route.rules;
                let grant = request.grant_at(route);
                return ControlFlow::Break(request.refuse(
                    Refusal::PathEncodedSlash,
                    policy,
                    grant,
                ));
            }
            target(route, values)
        }
        None => ControlFlow::Break(not_served(request, path)),
    }
}

/// Whether a request that a proxy would forward goes no further than this server (RFC 9110 7.6.2).
#[cfg(feature = "gateway")]
fn ends_here(request: &RequestHead<'_>, route: &CompiledRoute) -> bool {
    matches!(route.target, Target::Proxy(_)) && is_last_hop(request.head.method, request.headers)
}

/// Whether each parameter with an encoded slash says that it takes them, and none of them hides the
/// path of another route from what decodes them.
fn takes_slashes(request: &RequestHead<'_>, served: &Served, values: &Values) -> bool {
    let RequestHead { app, head, .. } = *request;
    let is_taken = values.iter(head.path).enumerate().all(|(index, value)| {
        served.takes_slashes(index) || !(value.contains("%2F") || value.contains("%5C"))
    });
    is_taken && !(served.has_rest && app.router.hides_other(head.path, served))
}

fn target(route: &Arc<CompiledRoute>, values: Values) -> Gate<Matched<'_>> {
    ControlFlow::Continue(Matched::Route(Found { route, values }))
}

/// A path without a route: the fallback, or 404 with the app's default policy. A fallback does not
/// list its methods, so preflights for it are not granted.
fn not_found<'a>(request: &RequestHead<'a>) -> Gate<Matched<'a>> {
    let RequestHead { app, head, .. } = *request;
    let policy = &app.not_found_policy;
    let grant = request.grant(policy);
    if request.path == Ok(true) && !head.is_preflight() {
        return ControlFlow::Break(request.refuse(Refusal::PathEncodedSlash, policy, grant));
    }
    if let Some(fallback) = app.fallback.as_ref().filter(|_| !head.is_preflight()) {
        return target(fallback, Values::default());
    }
    if head.is_preflight()
        && app.fallback.is_none()
        && let Some(response) = cors::unserved(request, policy, None)
    {
        return ControlFlow::Break(response);
    }
    let refusal = if head.is_preflight() && grant == OriginDecision::Refused {
        Refusal::PreflightOrigin
    } else if is_method_known(request) {
        Refusal::RouteNotFound
    } else {
        Refusal::MethodUnknown
    };
    ControlFlow::Break(request.refuse(refusal, policy, grant))
}

/// A path that differs from its routes in the trailing slash: a redirect for safe methods, and 404
/// for others. Both carry the policy of the path.
fn redirect(request: &RequestHead<'_>, served: Option<&Served>) -> Response {
    let RequestHead { app, head, .. } = *request;
    let policy = served.map_or(&app.no_route_policy, |served| &served.rules);
    let route = served.and_then(|served| app.route(served.route));
    let grant = route.map_or_else(|| request.grant(policy), |route| request.grant_at(route));
    let target = HeaderValue::try_from(TrailingSlash::target(head.path, head.uri.query()));
    match target {
        Ok(target) if method::is_safe(head.method.as_str()) => {
            let mut response = StatusCode::PERMANENT_REDIRECT.into_response();
            response.headers_mut().insert(LOCATION, target);
            request.respond(response, ResponseFacts::default(), policy, grant)
        }
        _ => request.refuse(Refusal::RouteNotFound, policy, grant),
    }
}

/// A path without a route for the method: the automatic response to OPTIONS, 405 for a known
/// method, 501 for an unknown one (RFC 9110 9.1, 9.3.7, 15.5.6, 15.6.2).
fn not_served(request: &RequestHead<'_>, path: &Path) -> Response {
    let RequestHead { app, head, .. } = *request;
    let shared = path.shared().and_then(|served| app.route(served.route));
    let policy = shared.map_or(&app.no_route_policy, |route| &route.rules);
    let grant = shared.map_or_else(|| request.grant(policy), |route| request.grant_at(route));
    let mut response = if head.method == Method::OPTIONS {
        let mut response = StatusCode::NO_CONTENT.into_response();
        state_queries(response.headers_mut(), app, path);
        response
    } else if is_method_known(request) {
        request.problem(Refusal::MethodNotAllowed)
    } else {
        return request.refuse(Refusal::MethodUnknown, policy, grant);
    };
    let allow = path.allow.clone().unwrap_or(HeaderValue::from_static("OPTIONS"));
    response.headers_mut().insert(ALLOW, allow);
    request.respond(response, ResponseFacts::default(), policy, grant)
}

/// Names the media type of the queries that the path serves (RFC 10008 3).
fn state_queries(headers: &mut HeaderMap, app: &CompiledApp, path: &Path) {
    let served = path.served(&Method::QUERY);
    let route = served.and_then(|served| app.route(served.route));
    if let Some(media_type) = route.and_then(|route| route.reads) {
        headers.insert(ACCEPT_QUERY, HeaderValue::from_static(media_type));
    }
}

/// Whether a standard defines the method, or any route of the app serves it.
fn is_method_known(request: &RequestHead<'_>) -> bool {
    let method = request.head.method;
    method::is_known(method.as_str()) || request.app.router.serves(method)
}

/// The response to TRACE: the request itself, neither shared nor stored.
#[cfg(feature = "gateway")]
fn trace(request: &RequestHead<'_>) -> Response {
    let RequestHead { app, head, headers, has_content, .. } = *request;
    match trace::answer(head, headers, has_content) {
        Ok(response) => {
            let echoed = ResponseFacts { refused: true, ..ResponseFacts::default() };
            request.respond(response, echoed, &app.no_route_policy, OriginDecision::Unasked)
        }
        Err(refusal) => request.reject_malformed(refusal),
    }
}

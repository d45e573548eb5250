//! Gate 3: routing by path and method.

use std::ops::ControlFlow;

use http::Method;

use super::{
    EndOf, EndResponse, Gate, GatedApp, GatedRoute, PolicyOf, RequestEnd, RequestView, cors, tunnel,
};
use crate::{
    catalogue::Refusal,
    cors::{OriginDecision, Preflight},
    method,
    reverse_proxy::is_last_hop,
    router::{Path, PathMethod, Router, Values},
};

/// The route of a request and the values of its path parameters.
pub(super) struct RouteMatch<R> {
    pub(super) route: R,
    pub(super) values: Values,
}

/// The result of matching a path and a method.
pub(super) enum RouteLookup<'a, R> {
    Route(RouteMatch<R>),
    /// A preflight for one of the methods of this path.
    Preflight(&'a Path),
    /// A preflight for a route without a path.
    SolePreflight(R, Option<&'a Preflight>),
}

/// The method by which a route is found: extended CONNECT takes the place of GET with `Upgrade` (RFC 8441
/// 5).
pub fn lookup_method<'a>(head: &crate::head::Head<'a>) -> &'a Method {
    if head.is_extended_websocket() { &Method::GET } else { head.method }
}

#[inline(always)]
pub(super) fn find<'a, A: GatedApp<'a>>(
    app: &A,
    request: &RequestView<'a>,
) -> ControlFlow<EndOf<'a, A>, RouteLookup<'a, A::Route>> {
    let head = request.head;
    if let Some(route) = tunnel(app, head) {
        return ControlFlow::Continue(target(route, Values::default()));
    }
    let Some(router) = app.router() else { return sole(app, request) };
    if head.is_asterisk() {
        return ControlFlow::Break(RequestEnd::without_route(Gate::Route, EndResponse::Asterisk));
    }
    if app.serves_trace() && *head.method == Method::TRACE {
        return ControlFlow::Break(RequestEnd::without_route(Gate::Route, EndResponse::Trace));
    }
    if head.protocol.is_some() && !head.is_extended_websocket() {
        let refused = EndResponse::Refused(Refusal::ProtocolUnknown);
        return ControlFlow::Break(RequestEnd::without_route(Gate::Route, refused));
    }
    let Some((path, values)) = router.find(head.path) else {
        return not_found(app, request, router);
    };
    if head.is_preflight() {
        return ControlFlow::Continue(RouteLookup::Preflight(path));
    }
    let served = path.route_for(lookup_method(head));
    if path.redirects(head.path) {
        return ControlFlow::Break(redirect(app, request, served.or_else(|| path.shared())));
    }
    match served.and_then(|served| Some((served, app.route(served.route)?))) {
        Some((_, route)) if route.is_proxy() && is_last_hop(head.method, request.headers) => {
            ControlFlow::Break(not_served(app, request, router, path))
        }
        Some((served, route)) => {
            let takes_slashes = || router.takes_slashes(head.path, (path, values), served);
            if request.path == Ok(true) && !takes_slashes() {
                let grant = request.grant(&route);
                return ControlFlow::Break(RequestEnd::from_refusal(
                    Gate::Route,
                    Refusal::PathEncodedSlash,
                    route,
                    grant,
                ));
            }
            ControlFlow::Continue(target(route, values))
        }
        None => ControlFlow::Break(not_served(app, request, router, path)),
    }
}

#[inline(always)]
fn target<'a, R>(route: R, values: Values) -> RouteLookup<'a, R> {
    RouteLookup::Route(RouteMatch { route, values })
}

/// The route of an app without paths.
fn sole<'a, A: GatedApp<'a>>(
    app: &A,
    request: &RequestView<'a>,
) -> ControlFlow<EndOf<'a, A>, RouteLookup<'a, A::Route>> {
    match app.sole_route() {
        Some((route, preflight)) if request.head.is_preflight() && route.judges_preflights() => {
            ControlFlow::Continue(RouteLookup::SolePreflight(route, preflight))
        }
        Some((route, _)) => ControlFlow::Continue(target(route, Values::default())),
        None => {
            let refused = EndResponse::Refused(Refusal::RouteNotFound);
            ControlFlow::Break(RequestEnd::without_route(Gate::Route, refused))
        }
    }
}

/// A path without a route: the fallback, or 404 with the app's default policy. A fallback does not
/// list its methods, so preflights for it are not granted.
fn not_found<'a, A: GatedApp<'a>>(
    app: &A,
    request: &RequestView<'a>,
    router: &Router,
) -> ControlFlow<EndOf<'a, A>, RouteLookup<'a, A::Route>> {
    let head = request.head;
    let cors = app.not_found_cors();
    let grant = cors.map_or(OriginDecision::Unasked, |cors| cors.decide_origin(head.origin));
    let end =
        |gate, response, grant| RequestEnd { gate, response, policy: PolicyOf::NotFound, grant };
    let refused =
        |gate, refusal, grant| ControlFlow::Break(end(gate, EndResponse::Refused(refusal), grant));
    if !head.is_preflight() {
        if request.path == Ok(true) {
            return refused(Gate::Route, Refusal::PathEncodedSlash, grant);
        }
        if let Some(fallback) = app.fallback() {
            return ControlFlow::Continue(target(fallback, Values::default()));
        }
    } else if app.fallback().is_none()
        && let Some(cors) = cors
        && let Some(preflight) = cors.unserved_preflight(head.request_method)
    {
        return ControlFlow::Break(cors::answer(head, None, cors, &preflight, PolicyOf::NotFound));
    } else if grant == OriginDecision::Refused {
        return refused(Gate::Cors, Refusal::PreflightOrigin, grant);
    }
    let refusal = match is_method_known(head.method, router) {
        true => Refusal::RouteNotFound,
        false => Refusal::MethodUnknown,
    };
    refused(Gate::Route, refusal, grant)
}

/// A path that differs from its routes in the trailing slash: a redirect for safe methods, and 404
/// for the others, whose bodies clients would send again.
fn redirect<'a, A: GatedApp<'a>>(
    app: &A,
    request: &RequestView<'a>,
    served: Option<&PathMethod>,
) -> EndOf<'a, A> {
    let response = match method::is_safe(request.head.method.as_str()) {
        true => EndResponse::Redirect,
        false => EndResponse::Refused(Refusal::RouteNotFound),
    };
    carried(app, request, served, response)
}

/// A path without a route for the method: the automatic response to OPTIONS, 405 for a known
/// method, 501 for an unknown one (RFC 9110 9.1, 9.3.7, 15.5.6, 15.6.2).
fn not_served<'a, A: GatedApp<'a>>(
    app: &A,
    request: &RequestView<'a>,
    router: &Router,
    path: &'a Path,
) -> EndOf<'a, A> {
    let method = request.head.method;
    let response = if *method == Method::OPTIONS {
        EndResponse::Options(path)
    } else if is_method_known(method, router) {
        EndResponse::MethodNotAllowed(path)
    } else {
        EndResponse::Refused(Refusal::MethodUnknown)
    };
    carried(app, request, path.shared(), response)
}

/// A response that carries the policy of one of the routes of its path.
fn carried<'a, A: GatedApp<'a>>(
    app: &A,
    request: &RequestView<'a>,
    served: Option<&PathMethod>,
    response: EndResponse<'a, A::Rate>,
) -> EndOf<'a, A> {
    match served.and_then(|served| app.route(served.route)) {
        None => RequestEnd::without_route(Gate::Route, response),
        Some(route) => {
            let (policy, grant) = (PolicyOf::Route(route), request.grant(&route));
            RequestEnd { gate: Gate::Route, response, policy, grant }
        }
    }
}

/// Whether a standard defines the method, or any route of the app serves it.
fn is_method_known(method: &Method, router: &Router) -> bool {
    method::is_known(method.as_str()) || router.serves(method)
}

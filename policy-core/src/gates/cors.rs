//! Gate 4: the origin of the page that sent a request. Preflights end here.

use std::ops::ControlFlow;

use super::{
    EndOf, EndResponse, Gate, GatedApp, GatedRoute, PolicyOf, RequestEnd, RequestView,
    csrf::has_ambient_credential,
    route::{RouteLookup, RouteMatch},
    tunnel,
};
use crate::{
    catalogue::Refusal,
    cors::{Cors, OriginDecision, Preflight},
    head::{Head, OwnOrigin, Single},
    router::Path,
};

/// The route of a request, unless it is a preflight, which ends here.
#[inline(always)]
pub(super) fn end_preflight<'a, A: GatedApp<'a>>(
    app: &A,
    request: &RequestView<'a>,
    matched: RouteLookup<'a, A::Route>,
) -> ControlFlow<EndOf<'a, A>, RouteMatch<A::Route>> {
    match matched {
        RouteLookup::Route(found) => ControlFlow::Continue(found),
        RouteLookup::Preflight(path) => ControlFlow::Break(preflight(app, request, path)),
        RouteLookup::SolePreflight(route, preflight) => {
            ControlFlow::Break(route_preflight(request, route, preflight, false))
        }
    }
}

/// Judges the page that sent a request other than a preflight.
#[inline(always)]
pub(super) fn admit_page<'a, A: GatedApp<'a>>(
    app: &A,
    request: &RequestView<'a>,
    route: A::Route,
) -> ControlFlow<EndOf<'a, A>, OriginDecision> {
    let head = request.head;
    let is_tunnel = tunnel(app, head).is_some();
    // Pages cannot send CONNECT (Fetch 2.2.1), so one with an `Origin` is forged.
    if is_tunnel && head.origin != Single::Absent {
        return ControlFlow::Break(RequestEnd::malformed(Gate::Cors, Refusal::TunnelOrigin));
    }
    let grant = request.grant(&route);
    if head.is_upgrade()
        && !is_tunnel
        && route.judges_upgrades()
        && !may_upgrade(request, app.own_origin(), &route, &grant)
    {
        return ControlFlow::Break(RequestEnd::from_refusal(
            Gate::Cors,
            Refusal::WebSocketOrigin,
            route,
            grant,
        ));
    }
    ControlFlow::Continue(grant)
}

/// Responds to a preflight; no handler or extractor runs, and no body is read.
#[inline(always)]
fn preflight<'a, A: GatedApp<'a>>(app: &A, request: &RequestView<'a>, path: &Path) -> EndOf<'a, A> {
    let own_route = match request.head.request_method {
        Single::One(method) => path.route_for_name(method.as_bytes()),
        Single::Absent | Single::Repeated => None,
    };
    let shared = own_route
        .or_else(|| path.shared())
        .and_then(|served| Some((app.route(served.route)?, served.preflight.as_ref()?)));
    match shared {
        Some((route, preflight)) => {
            route_preflight(request, route, Some(preflight), own_route.is_none())
        }
        None => unshared_preflight(),
    }
}

/// Refuses a preflight where no CORS policy shares anything.
fn unshared_preflight<'a, R, Rate>() -> RequestEnd<'a, R, Rate> {
    RequestEnd::without_route(Gate::Cors, EndResponse::Refused(Refusal::PreflightOrigin))
}

/// Responds to a preflight by the policy of a route. A preflight for a method that no route serves
/// is granted, too, so that the page can send the request and read the 405.
#[inline(always)]
fn route_preflight<'a, R: GatedRoute + Copy, Rate>(
    request: &RequestView<'a>,
    route: R,
    preflight: Option<&Preflight>,
    is_unserved: bool,
) -> RequestEnd<'a, R, Rate> {
    let policy = PolicyOf::Route(route);
    let (Some(cors), Some(preflight)) = (route.cors(), preflight) else {
        return unshared_preflight();
    };
    let (head, key) = (request.head, request.key(cors, &route));
    if is_unserved && let Some(unserved) = cors.unserved_preflight(head.request_method) {
        return answer(head, key, cors, &unserved, policy);
    }
    answer(head, key, cors, preflight, policy)
}

#[inline(always)]
pub(super) fn answer<'a, R, Rate>(
    head: &Head<'_>,
    key: Option<&str>,
    cors: &Cors,
    preflight: &Preflight,
    policy: PolicyOf<R>,
) -> RequestEnd<'a, R, Rate> {
    let (response, grant) = match preflight.answer_of(cors, key, head.origin, head.request_method) {
        Ok((status, headers)) => {
            (EndResponse::PreflightGranted(status, headers), OriginDecision::Unasked)
        }
        Err(refusal) => (EndResponse::Refused(refusal), OriginDecision::Refused),
    };
    RequestEnd { gate: Gate::Cors, response, policy, grant }
}

/// Browsers let every page open a WebSocket, so the server checks the origin (RFC 6455 10.2): it
/// accepts the origins that may read the route, and its own.
fn may_upgrade(
    request: &RequestView<'_>,
    own: &OwnOrigin,
    route: &impl GatedRoute,
    grant: &OriginDecision,
) -> bool {
    let head = request.head;
    match head.origin {
        Single::Absent => true,
        Single::Repeated => false,
        Single::One(origin) => {
            own.is_own(head, origin.as_bytes())
                || (grant.grants(head.origin, route.cors()) && is_grant_enough(request, route))
        }
    }
}

/// Whether a grant admits a page that opens a WebSocket, to which browsers add the credentials of its
/// visitor. A service may know them, so it needs a grant with credentials; gate 8 protects the
/// session of a handler.
fn is_grant_enough(request: &RequestView<'_>, route: &impl GatedRoute) -> bool {
    route.is_handler()
        || route.cors().is_some_and(Cors::allows_credentials)
        || !has_ambient_credential(request.headers)
}

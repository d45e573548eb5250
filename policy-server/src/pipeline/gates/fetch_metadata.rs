//! Gate 5: how a page loads the response (W3C Fetch Metadata), and whether the request may be a
//! replay. Records the origin verdict that gate 8 enforces.

use std::{ops::ControlFlow, sync::Arc};

use http::HeaderMap;
use policy_core::{
    Refusal,
    cors::OriginDecision,
    gate::{Head, OwnOrigin, Single},
    isolation::{FetchMetadata, StatedOrigin},
    method,
};

use super::Gate;
use crate::{
    pipeline::{compiled_app::CompiledRoute, request_head::RequestHead},
    route::compiled_policy::CompiledRoutePolicy,
};

#[inline]
pub(crate) fn check(
    request: &RequestHead<'_>,
    route: &Arc<CompiledRoute>,
    grant: &OriginDecision,
) -> Gate<()> {
    let checked = if request.head.is_early && !may_be_early(request, route) {
        Err(Refusal::TooEarly)
    } else {
        let RequestHead { app, head, headers, .. } = *request;
        isolated(head, headers, &app.own_origin, &route.rules, grant)
    };
    match checked {
        Ok(()) => ControlFlow::Continue(()),
        Err(refusal) => ControlFlow::Break(request.refuse(refusal, &route.rules, grant.clone())),
    }
}

/// Whether the request may be served from TLS early data, which an attacker can replay (RFC 8470
/// 4): only safe methods on routes without a caller.
fn may_be_early(request: &RequestHead<'_>, route: &CompiledRoute) -> bool {
    method::is_safe(request.head.method.as_str()) && !route.asks_caller
}

/// Checks how a page requests the resource against the isolation policy of the route.
pub(crate) fn isolated(
    head: &Head<'_>,
    headers: &HeaderMap,
    own: &OwnOrigin,
    policy: &CompiledRoutePolicy,
    grant: &OriginDecision,
) -> Result<(), Refusal> {
    let Some(isolation) = policy.isolation else { return Ok(()) };
    let is_granted = grant.grants(head.origin, policy.cors.as_deref()) || policy.jsonp.is_some();
    let is_own = || match head.origin {
        Single::One(origin) => own.is_own(head, origin.as_bytes()),
        Single::Absent | Single::Repeated => false,
    };
    let origin = match is_granted {
        true => StatedOrigin::Granted,
        false if is_own() => StatedOrigin::Own,
        false => StatedOrigin::Other,
    };
    isolation.admit(&FetchMetadata::read(headers), head.method, origin)
}

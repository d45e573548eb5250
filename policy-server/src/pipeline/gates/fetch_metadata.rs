//! Gate 5: how a page loads the response (W3C Fetch Metadata), and whether the request may be a
//! replay. The origin verdict that gate 8 enforces is recorded with the caller.

use std::{ops::ControlFlow, sync::Arc};

use policy_core::{Refusal, cors::Grant, gate::Single, isolation::FetchMetadata, method};

use super::Gate;
use crate::{
    pipeline::{compiled_app::CompiledRoute, request_head::RequestHead},
    route::compiled_policy::CompiledRoutePolicy,
};

#[inline]
pub(crate) fn check(
    request: &RequestHead<'_>,
    route: &Arc<CompiledRoute>,
    grant: &Grant,
) -> Gate<()> {
    let checked = if request.head.is_early && !may_be_early(request, route) {
        Err(Refusal::TooEarly)
    } else {
        isolated(request, &route.rules, grant)
    };
    match checked {
        Ok(()) => ControlFlow::Continue(()),
        Err(refusal) => ControlFlow::Break(request.refuse(refusal, &route.rules, grant.clone())),
    }
}

/// Whether this may be answered before it is sure that nobody sends it a second time (RFC 8470
/// 4): what is safe, and does not act for whoever sent it first.
fn may_be_early(request: &RequestHead<'_>, route: &CompiledRoute) -> bool {
    method::is_safe(request.head.method.as_str()) && !route.asks_caller
}

fn isolated(
    request: &RequestHead<'_>,
    policy: &CompiledRoutePolicy,
    grant: &Grant,
) -> Result<(), Refusal> {
    let Some(isolation) = policy.isolation else { return Ok(()) };
    let shares_with_all = policy.cors.as_ref().is_some_and(|cors| cors.is_any_origin());
    let is_granted = matches!(grant, Grant::Origin(_))
        || (shares_with_all && request.head.origin != Single::Absent)
        || policy.jsonp.is_some();
    isolation.admit(&FetchMetadata::read(request.headers), request.head.method, is_granted)
}

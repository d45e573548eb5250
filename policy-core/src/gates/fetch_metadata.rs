//! Gate 5: how a page loads the response (W3C Fetch Metadata), and whether the request may be a
//! replay.

use super::{GatedApp, GatedRoute, RequestView};
use crate::{
    catalogue::Refusal,
    cors::OriginDecision,
    head::{Head, OwnOrigin, Single},
    isolation::{FetchMetadata, Isolation, StatedOrigin},
    method,
};

#[inline(always)]
pub(super) fn check<'a, A: GatedApp<'a>>(
    app: &A,
    request: &RequestView<'a>,
    route: &A::Route,
    grant: &OriginDecision,
) -> Result<(), Refusal> {
    if request.head.is_early && !may_be_early(request.head, route) {
        return Err(Refusal::TooEarly);
    }
    match route.facets().isolation {
        None => Ok(()),
        Some(isolation) => admit(*isolation, app.own_origin(), request, route, grant),
    }
}

/// Whether the request may be served from TLS early data. An attacker can replay it (RFC 8470 4), and
/// over QUIC forge its address (RFC 9000 8.1). So only safe methods are served, on routes without a
/// caller and without a rate, which would be counted for the forged address.
fn may_be_early(head: &Head<'_>, route: &impl GatedRoute) -> bool {
    method::is_safe(head.method.as_str()) && !route.needs_caller() && !route.has_rate()
}

/// Checks how a page requests the resource against the isolation policy of the route.
fn admit(
    isolation: Isolation,
    own: &OwnOrigin,
    request: &RequestView<'_>,
    route: &impl GatedRoute,
    grant: &OriginDecision,
) -> Result<(), Refusal> {
    let head = request.head;
    let is_own = || match head.origin {
        Single::One(origin) => own.is_own(head, origin.as_bytes()),
        Single::Absent | Single::Repeated => false,
    };
    let origin = match grant.grants(head.origin, route.cors()) || route.has_jsonp() {
        true => StatedOrigin::Granted,
        false if is_own() => StatedOrigin::Own,
        false => StatedOrigin::Other,
    };
    isolation.admit(&FetchMetadata::read(request.headers), head.method, origin)
}

//! Gate 11: the body as its head declares it.

use http::{Method, header::CONTENT_RANGE};

use super::{GatedRoute, RequestView};
use crate::{
    catalogue::Refusal,
    head::{Head, Single},
};

/// Refuses a body whose declared length exceeds the limit, and a partial body that a handler would
/// store as the whole.
#[inline(always)]
pub(super) fn check(request: &RequestView<'_>, route: &impl GatedRoute) -> Result<(), Refusal> {
    if is_too_long(request, route) {
        return Err(Refusal::BodyTooLarge);
    }
    if is_partial(request, route) { Err(Refusal::ContentRange) } else { Ok(()) }
}

#[inline(always)]
fn is_too_long(request: &RequestView<'_>, route: &impl GatedRoute) -> bool {
    match (declared_length(request.head), route.body_limit()) {
        (Some(length), Some(limit)) => length > limit,
        _ => false,
    }
}

/// Whether a handler gets a partial PUT (RFC 9110 14.5). Mounted services and upstreams may accept
/// these, and are responsible for them.
#[inline(always)]
fn is_partial(request: &RequestView<'_>, route: &impl GatedRoute) -> bool {
    *request.head.method == Method::PUT
        && route.is_handler()
        && request.headers.contains_key(CONTENT_RANGE)
}

/// The length that a request declares.
fn declared_length(head: &Head<'_>) -> Option<u64> {
    match head.content_length {
        Single::One(length) => length.to_str().ok()?.parse().ok(),
        Single::Absent | Single::Repeated => None,
    }
}

//! Gate 4: the origin of the page that sent a request. Preflights end here.

use std::{ops::ControlFlow, sync::Arc};

use axum_core::response::Response;
use policy_core::{
    Refusal,
    cors::{Cors, OriginDecision, Preflight},
    gate::{Head, OwnOrigin, Single},
};

use super::{
    Gate,
    route::{Found, Matched},
};
use crate::{
    pipeline::{request_head::RequestHead, respond::head::without_content},
    route::{compiled_policy::CompiledRoutePolicy, router::Path},
};

pub(crate) fn check<'a>(
    request: &RequestHead<'a>,
    matched: Matched<'a>,
) -> Gate<(Found<'a>, OriginDecision)> {
    let found = match matched {
        Matched::Preflight(path) => return ControlFlow::Break(preflight(request, path)),
        Matched::Route(found) => found,
    };
    let head = request.head;
    // Pages cannot send CONNECT (Fetch 2.2.1), so one with an `Origin` is forged.
    if request.tunnel().is_some() && head.origin != Single::Absent {
        return ControlFlow::Break(request.reject_malformed(Refusal::TunnelOrigin));
    }
    let policy = &found.route.rules;
    let grant = request.grant_at(found.route);
    if head.is_upgrade() && !may_upgrade(head, &request.app.own_origin, policy, &grant) {
        return ControlFlow::Break(request.refuse(Refusal::WebSocketOrigin, policy, grant));
    }
    ControlFlow::Continue((found, grant))
}

/// The response to a preflight; no handler or extractor runs, and no body is read.
fn preflight(request: &RequestHead<'_>, path: &Path) -> Response {
    let RequestHead { app, head, .. } = *request;
    let served = match head.request_method {
        Single::One(method) => path.asked(method.as_bytes()),
        Single::Absent | Single::Repeated => None,
    };
    let shared = served.or_else(|| path.shared()).and_then(|served| {
        let cors = served.rules.cors.as_ref()?;
        Some((&served.rules, cors, served.preflight.as_ref()?, app.route(served.route)?))
    });
    let Some((policy, cors, preflight, route)) = shared else {
        return request.refuse(
            Refusal::PreflightOrigin,
            &app.no_route_policy,
            OriginDecision::Unasked,
        );
    };
    let key = request.key(cors, route);
    let unserved = match served {
        Some(_) => None,
        None => unserved(request, policy, key),
    };
    unserved.unwrap_or_else(|| answer(request, policy, key, cors, preflight))
}

/// The response to a preflight for a request that no route serves: the page may send it, to read
/// the 404 or 405. `None` if there is no CORS policy, if it names its methods, or for a
/// non-standard method.
pub(super) fn unserved(
    request: &RequestHead<'_>,
    policy: &Arc<CompiledRoutePolicy>,
    key: Option<&str>,
) -> Option<Response> {
    let cors = policy.cors.as_deref()?;
    let preflight = cors.unserved_preflight(request.head.request_method)?;
    Some(answer(request, policy, key, cors, &preflight))
}

fn answer(
    request: &RequestHead<'_>,
    policy: &Arc<CompiledRoutePolicy>,
    key: Option<&str>,
    cors: &Cors,
    preflight: &Preflight,
) -> Response {
    let head = request.head;
    match preflight.answer_of(cors, key, head.origin, head.request_method) {
        Ok((status, headers)) => without_content(status, headers),
        Err(refusal) => request.refuse(refusal, policy, OriginDecision::Refused),
    }
}

/// Browsers let every page open a WebSocket, so the server checks the origin (RFC 6455 10.2): it
/// accepts the origins that may read the route, and its own.
pub(crate) fn may_upgrade(
    head: &Head<'_>,
    own: &OwnOrigin,
    policy: &CompiledRoutePolicy,
    grant: &OriginDecision,
) -> bool {
    match head.origin {
        Single::Absent => true,
        Single::Repeated => false,
        Single::One(origin) => {
            grant.grants(head.origin, policy.cors.as_deref()) || own.is_own(head, origin.as_bytes())
        }
    }
}

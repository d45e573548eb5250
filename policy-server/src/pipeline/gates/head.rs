//! Gates 1 to 6, and 11 for a declared length: an app as policy-core's gates see it, and the responses
//! to requests that end there.

use std::sync::Arc;

use axum_core::response::{IntoResponse, Response};
use http::{
    HeaderMap, HeaderValue, Method, StatusCode,
    header::{ALLOW, LOCATION},
};
use policy_core::{
    Refusal,
    cache::ResponseFacts,
    cors::{Cors, OriginDecision},
    gates::{EndOf, EndResponse, GatedApp, GatedRoute, PolicyOf},
    head::OwnOrigin,
    limits::{RateGrant, RateRefusal},
    path::TrailingSlash,
    route::CompiledFacets,
    router::{Path, Router},
};

#[cfg(feature = "gateway")]
use crate::gateway::trace;
use crate::pipeline::{
    compiled_app::{CompiledApp, CompiledRoute, Target},
    request_head::RequestHead,
    respond::{ACCEPT_QUERY, head::without_content},
};

/// A route that the tasks of its requests share.
#[derive(Clone, Copy)]
pub(crate) struct SharedRoute<'a>(pub(super) &'a Arc<CompiledRoute>);

impl<'a> GatedApp<'a> for RequestHead<'a> {
    type Route = SharedRoute<'a>;
    type Rate = Option<Result<RateGrant, RateRefusal>>;

    #[inline(always)]
    fn own_origin(&self) -> &'a OwnOrigin {
        &self.app.own_origin
    }

    #[inline(always)]
    fn admit_client(&self) -> Result<(), Refusal> {
        self.client.admit(&self.app.own_origin, self.app.has_credentials)
    }

    #[inline(always)]
    fn tunnel(&self) -> Option<SharedRoute<'a>> {
        self.app.tunnel.as_ref().map(SharedRoute)
    }

    #[inline(always)]
    fn router(&self) -> Option<&'a Router> {
        Some(&self.app.router)
    }

    #[inline(always)]
    fn route(&self, index: usize) -> Option<SharedRoute<'a>> {
        self.app.route(index).map(SharedRoute)
    }

    #[inline(always)]
    fn fallback(&self) -> Option<SharedRoute<'a>> {
        self.app.fallback.as_ref().map(SharedRoute)
    }

    fn not_found_cors(&self) -> Option<&'a Cors> {
        self.app.not_found_policy.cors.as_deref()
    }

    #[cfg(feature = "gateway")]
    fn serves_trace(&self) -> bool {
        self.app.traces
    }

    /// A rate that instances share is asked for later, since it may have to wait.
    #[inline(always)]
    fn take_rate(&self, route: SharedRoute<'a>) -> Result<Self::Rate, Self::Rate> {
        let rate = route.0.rules.rate.as_ref();
        let Some(limit) = rate.filter(|limit| limit.is_by_address() && !limit.is_shared()) else {
            return Ok(None);
        };
        let taken = limit.take_address(self.client.address());
        taken.map(|granted| Some(Ok(granted))).map_err(|refused| Some(Err(refused)))
    }
}

impl GatedRoute for SharedRoute<'_> {
    #[inline(always)]
    fn template(&self) -> &str {
        self.0.path()
    }

    #[inline(always)]
    fn cors(&self) -> Option<&Cors> {
        self.0.rules.cors.as_deref()
    }

    #[inline(always)]
    fn facets(&self) -> CompiledFacets<'_> {
        self.0.rules.facets()
    }

    #[inline(always)]
    fn has_jsonp(&self) -> bool {
        self.0.rules.jsonp.is_some()
    }

    fn has_rate(&self) -> bool {
        self.0.rules.rate.is_some()
    }

    #[inline(always)]
    fn body_limit(&self) -> Option<u64> {
        Some(self.0.rules.body)
    }

    #[inline(always)]
    fn needs_caller(&self) -> bool {
        self.0.asks_caller
    }

    #[inline(always)]
    fn is_handler(&self) -> bool {
        matches!(self.0.target, Target::Handler(_))
    }

    #[inline(always)]
    fn is_proxy(&self) -> bool {
        self.0.target.is_proxy()
    }

    fn is_probe(&self) -> bool {
        self.0.is_probe
    }
}

/// The response to a request that ends at a gate of its head.
pub(super) fn respond<'a>(request: &RequestHead<'a>, end: EndOf<'a, RequestHead<'a>>) -> Response {
    let RequestHead { app, head, .. } = *request;
    let policy = match end.policy {
        PolicyOf::NoRoute => &app.no_route_policy,
        PolicyOf::NotFound => &app.not_found_policy,
        PolicyOf::Route(SharedRoute(route)) => &route.rules,
    };
    let facts = ResponseFacts::default();
    let response = match end.response {
        EndResponse::Malformed(refusal) => return request.reject_malformed(refusal),
        EndResponse::PreflightGranted(status, headers) => return without_content(status, headers),
        EndResponse::Asterisk => return StatusCode::NO_CONTENT.into_response(),
        EndResponse::Trace => return trace(request),
        EndResponse::RateExceeded(rate) => {
            let mut policy = request.response_policy(policy, end.grant);
            policy.note_rate(rate);
            return policy.apply(request.problem(Refusal::RateExceeded), facts);
        }
        EndResponse::Refused(refusal) => request.problem(refusal),
        EndResponse::Redirect => {
            let target = TrailingSlash::target(head.path, head.uri.query());
            match HeaderValue::try_from(target) {
                Ok(target) => {
                    let mut response = StatusCode::PERMANENT_REDIRECT.into_response();
                    response.headers_mut().insert(LOCATION, target);
                    response
                }
                Err(_invalid) => request.problem(Refusal::RouteNotFound),
            }
        }
        EndResponse::Options(path) => {
            let mut response = StatusCode::NO_CONTENT.into_response();
            state_queries(response.headers_mut(), app, path);
            response.headers_mut().insert(ALLOW, path.allow());
            response
        }
        EndResponse::MethodNotAllowed(path) => {
            let mut response = request.problem(Refusal::MethodNotAllowed);
            response.headers_mut().insert(ALLOW, path.allow());
            response
        }
    };
    request.respond(response, facts, policy, end.grant)
}

/// Names the media type of the queries that the path serves (RFC 10008 3).
fn state_queries(headers: &mut HeaderMap, app: &CompiledApp, path: &Path) {
    let served = path.route_for(&Method::QUERY);
    let route = served.and_then(|served| app.route(served.route));
    if let Some(media_type) = route.and_then(|route| route.reads) {
        headers.insert(ACCEPT_QUERY, HeaderValue::from_static(media_type));
    }
}

/// The response to TRACE: the request itself, neither shared nor stored.
fn trace(request: &RequestHead<'_>) -> Response {
    #[cfg(feature = "gateway")]
    let answer = trace::answer(request.head, request.headers, request.has_content);
    #[cfg(not(feature = "gateway"))]
    let answer: Result<Response, Refusal> = Err(Refusal::MethodNotAllowed);
    match answer {
        Ok(response) => {
            let echoed = ResponseFacts { refused: true, ..ResponseFacts::default() };
            let policy = &request.app.no_route_policy;
            request.respond(response, echoed, policy, OriginDecision::Unasked)
        }
        Err(refusal) => request.reject_malformed(refusal),
    }
}

//! The request head as the gates see it.

use std::sync::Arc;

use axum_core::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Version, header::CONNECTION};
use policy_core::{
    Refusal,
    cache::ResponseFacts,
    cors::{Cors, OriginDecision},
    gate::Head,
    path::value_of,
};

use super::{
    compiled_app::{CompiledApp, CompiledRoute},
    respond::ResponsePolicy,
};
use crate::{
    base::{log::Why, problem::Problem},
    client::Client,
    route::compiled_policy::CompiledRoutePolicy,
};

/// The input of the gates that need only the head of a request.
#[derive(Clone, Copy)]
pub(crate) struct RequestHead<'a> {
    pub(crate) app: &'a CompiledApp,
    pub(crate) head: &'a Head<'a>,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) client: &'a Client,
    /// Whether the path has encoded slashes, or why it has no normal form.
    pub(crate) path: Result<bool, Refusal>,
    /// Whether a TRACE has content, which RFC 9110 9.3.8 forbids.
    #[cfg(feature = "gateway")]
    pub(crate) has_content: bool,
}

impl<'a> RequestHead<'a> {
    /// The tunnel of the app, if the request is for it.
    pub(crate) fn tunnel(&self) -> Option<&'a Arc<CompiledRoute>> {
        self.app.tunnel.as_ref().filter(|_| self.head.is_tunnel())
    }

    /// Whether the policy shares its responses with the origin of this request.
    pub(crate) fn grant(&self, policy: &CompiledRoutePolicy) -> OriginDecision {
        policy
            .cors
            .as_ref()
            .map_or(OriginDecision::Unasked, |cors| cors.decide_origin(self.head.origin))
    }

    /// The same for a route, whose path may select the list of origins.
    pub(crate) fn grant_at(&self, route: &CompiledRoute) -> OriginDecision {
        let cors = route.rules.cors.as_ref();
        cors.map_or(OriginDecision::Unasked, |cors| {
            cors.decide_origin_of(self.key(cors, route), self.head.origin)
        })
    }

    /// The value of the path parameter that selects the origins of a route.
    pub(crate) fn key(&self, cors: &Cors, route: &CompiledRoute) -> Option<&'a str> {
        value_of(route.path(), cors.key()?, self.head.path)
    }

    /// Refuses a request that other parsers may read differently, and closes an HTTP/1.1 connection
    /// so that nothing after it is read (RFC 9112 9.6, 11.2).
    pub(crate) fn reject_malformed(&self, refusal: Refusal) -> Response {
        let mut response = self.problem(refusal);
        if self.head.version < Version::HTTP_2 {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let policy = &self.app.no_route_policy;
        self.respond(response, ResponseFacts::default(), policy, OriginDecision::Unasked)
    }

    pub(crate) fn refuse(
        &self,
        refusal: Refusal,
        policy: &Arc<CompiledRoutePolicy>,
        grant: OriginDecision,
    ) -> Response {
        self.respond(self.problem(refusal), ResponseFacts::default(), policy, grant)
    }

    /// The response of a refusal, which is logged.
    pub(crate) fn problem(&self, refusal: Refusal) -> Response {
        let Self { app, head, .. } = *self;
        app.auth.refusals.refused(refusal, Why::default(), head.method, head.path, head.origin);
        Problem::from(refusal).into_response()
    }

    pub(crate) fn response_policy(
        &self,
        policy: &Arc<CompiledRoutePolicy>,
        grant: OriginDecision,
    ) -> ResponsePolicy {
        ResponsePolicy::new(self.head, self.headers, policy, grant)
    }

    /// Writes the policy onto a response.
    pub(crate) fn respond(
        &self,
        response: Response,
        facts: ResponseFacts,
        policy: &Arc<CompiledRoutePolicy>,
        grant: OriginDecision,
    ) -> Response {
        self.response_policy(policy, grant).apply(response, facts)
    }
}

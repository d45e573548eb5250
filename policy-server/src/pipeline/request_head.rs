//! The request head as the gates see it.

use std::sync::Arc;

use axum_core::response::{IntoResponse, Response};
use http::HeaderMap;
use policy_core::{Refusal, cache::ResponseFacts, cors::OriginDecision, head::Head};

use super::{compiled_app::CompiledApp, respond::ResponsePolicy};
use crate::{
    base::{
        log::{RefusalEntry, RefusalReason},
        problem::{Problem, end_connection},
    },
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

impl RequestHead<'_> {
    /// Refuses a request that other parsers may read differently, and ends its connection.
    pub(crate) fn reject_malformed(&self, refusal: Refusal) -> Response {
        let mut response = self.problem(refusal);
        end_connection(&mut response, self.head.version);
        let policy = &self.app.no_route_policy;
        self.respond(response, ResponseFacts::default(), policy, OriginDecision::Unasked)
    }

    /// The response of a refusal, which is logged.
    pub(crate) fn problem(&self, refusal: Refusal) -> Response {
        let Self { app, head, client, .. } = *self;
        let refusals = &app.auth.refusals;
        let detail = (refusal == Refusal::PlainHttp).then(|| client.plain_detail());
        let reason = RefusalReason { cause: None, detail };
        let refused = refusals.log(refusal, reason, head.method, head.path, head.origin);
        RefusalEntry::note(refused, Problem::from(refusal).into_response())
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

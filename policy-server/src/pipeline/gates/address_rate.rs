//! Gate 6: the request rate of an address.

use std::{ops::ControlFlow, sync::Arc};

use policy_core::{Refusal, cache::ResponseFacts, cors::OriginDecision, limits::Granted};

use super::Gate;
use crate::{pipeline::request_head::RequestHead, route::compiled_policy::CompiledRoutePolicy};

pub(crate) fn check(
    request: &RequestHead<'_>,
    policy: &Arc<CompiledRoutePolicy>,
    grant: &OriginDecision,
) -> Gate<Option<Granted>> {
    let Some(limit) = policy.rate.as_ref().filter(|limit| limit.is_by_address()) else {
        return ControlFlow::Continue(None);
    };
    match limit.take_address(request.client.address()) {
        Ok(granted) => ControlFlow::Continue(Some(granted)),
        Err(refused) => {
            let response = request.problem(Refusal::RateExceeded);
            let mut policy = request.response_policy(policy, grant.clone());
            policy.note_rate(Some(Err(refused)));
            ControlFlow::Break(policy.apply(response, ResponseFacts::default()))
        }
    }
}

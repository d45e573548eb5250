//! Gate 6: the request rate of an address. One that instances share is asked for later, since it may
//! have to wait.

use std::{ops::ControlFlow, sync::Arc};

use policy_core::{Refusal, cache::ResponseFacts, cors::OriginDecision, limits::Granted};

use super::{Gate, limits::Taken};
use crate::{
    client::Client,
    pipeline::request_head::RequestHead,
    route::{compiled_policy::CompiledRoutePolicy, limits::RateLimit},
};

pub(crate) fn check(
    request: &RequestHead<'_>,
    policy: &Arc<CompiledRoutePolicy>,
    grant: &OriginDecision,
) -> Gate<Option<Granted>> {
    let Some(limit) = policy.rate.as_ref().filter(|limit| limit.is_by_address()) else {
        return ControlFlow::Continue(None);
    };
    if limit.is_shared() {
        return ControlFlow::Continue(None);
    }
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

/// The rate of addresses that instances count together, if the route has one.
pub(crate) fn shared(policy: &CompiledRoutePolicy) -> Option<&Arc<RateLimit>> {
    policy.rate.as_ref().filter(|limit| limit.is_by_address() && limit.is_shared())
}

/// Asks for the rate that instances share.
pub(crate) async fn check_later(
    limit: &RateLimit,
    client: &Client,
    taken: &mut Taken,
) -> Result<(), Refusal> {
    taken.take(limit.take_shared(None, client.address()).await)
}

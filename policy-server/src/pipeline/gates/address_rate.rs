//! Gate 6 for a rate of addresses that instances share: it is asked for later, since it may have to
//! wait.

use std::sync::Arc;

use policy_core::Refusal;

use super::limits::TakenLimits;
use crate::{
    client::Client,
    route::{compiled_policy::CompiledRoutePolicy, limits::RateLimit},
};

/// The rate of addresses that instances count together, if the route has one.
pub(crate) fn shared(policy: &CompiledRoutePolicy) -> Option<&Arc<RateLimit>> {
    policy.rate.as_ref().filter(|limit| limit.is_by_address() && limit.is_shared())
}

/// Asks for the rate that instances share.
pub(crate) async fn check_later(
    limit: &RateLimit,
    client: &Client,
    taken: &mut TakenLimits,
) -> Result<(), Refusal> {
    taken.take(limit.take_shared(None, client.address()).await)
}

//! Gate 10: the request rate of a principal, and the number of requests in flight.

use policy_core::{
    Refusal,
    limits::{RateGrant, RateRefusal},
};

use crate::{
    auth::principal::Principal,
    client::Client,
    route::{compiled_policy::CompiledRoutePolicy, limits::Permit},
};

/// The rate and permit that a request took: the response states the rate, and its end releases the
/// permit.
#[derive(Debug, Default)]
pub(crate) struct TakenLimits {
    pub(crate) rate: Option<Result<RateGrant, RateRefusal>>,
    pub(crate) permit: Option<Permit>,
}

impl TakenLimits {
    /// Notes the decision of a rate.
    pub(crate) fn take(&mut self, rate: Result<RateGrant, RateRefusal>) -> Result<(), Refusal> {
        let is_refused = rate.is_err();
        self.rate = Some(rate);
        if is_refused { Err(Refusal::RateExceeded) } else { Ok(()) }
    }
}

/// Records what the request took in `taken`, even if it is refused. On a route without
/// authentication the rate counts by address. `None` if other instances have to be asked.
#[inline(always)]
pub(crate) fn check(
    policy: &CompiledRoutePolicy,
    principal: Option<&Principal>,
    client: &Client,
    taken: &mut TakenLimits,
) -> Option<Result<(), Refusal>> {
    if let Some(limit) = policy.rate.as_ref().filter(|limit| !limit.is_by_address()) {
        if limit.is_shared() {
            return None;
        }
        let rate = limit.take_principal(principal, client.address());
        if let Err(refusal) = taken.take(rate) {
            return Some(Err(refusal));
        }
    }
    if let Some(concurrency) = &policy.concurrency {
        taken.permit = concurrency.enter();
        if taken.permit.is_none() {
            return if concurrency.is_shared() {
                None
            } else {
                Some(Err(Refusal::ConcurrencyExceeded))
            };
        }
    }
    Some(Ok(()))
}

/// The same, where other instances may have to be asked.
pub(crate) async fn check_later(
    policy: &CompiledRoutePolicy,
    principal: Option<&Principal>,
    client: &Client,
    taken: &mut TakenLimits,
) -> Result<(), Refusal> {
    if let Some(limit) = policy.rate.as_ref().filter(|limit| !limit.is_by_address()) {
        taken.take(limit.take_shared(principal, client.address()).await)?;
    }
    if let Some(concurrency) = &policy.concurrency {
        taken.permit = Some(concurrency.wait().await.ok_or(Refusal::ConcurrencyExceeded)?);
    }
    Ok(())
}

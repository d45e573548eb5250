//! Gate 10: how often a principal may ask, and how many requests may be in flight.

use policy_core::{
    Refusal,
    limits::{Granted, Refused},
};

use crate::{
    auth::principal::Principal,
    client::Client,
    route::{compiled_policy::CompiledRoutePolicy, limits::Permit},
};

/// What a request took of the limits of its route, which the response states and gives back.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) rate: Option<Result<Granted, Refused>>,
    pub(crate) permit: Option<Permit>,
}

/// Notes in `taken` what the request took, also where it is refused. Where nobody is asked who they
/// are, a client is its address.
#[inline]
pub(crate) fn check(
    policy: &CompiledRoutePolicy,
    principal: Option<&Principal>,
    client: &Client,
    taken: &mut Taken,
) -> Result<(), Refusal> {
    if let Some(limit) = policy.rate.as_ref().filter(|limit| !limit.is_by_address()) {
        let rate = limit.take_principal(principal, client.address());
        let is_refused = rate.is_err();
        taken.rate = Some(rate);
        if is_refused {
            return Err(Refusal::RateExceeded);
        }
    }
    if let Some(concurrency) = &policy.concurrency {
        taken.permit = Some(concurrency.enter().ok_or(Refusal::ConcurrencyExceeded)?);
    }
    Ok(())
}

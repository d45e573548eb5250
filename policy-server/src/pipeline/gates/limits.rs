//! Gate 10: the request rate of a principal, and the number of requests in flight.

use policy_core::{
    Refusal,
    limits::{Granted, Refused},
};

use crate::{
    auth::principal::Principal,
    client::Client,
    route::{compiled_policy::CompiledRoutePolicy, limits::Permit},
};

/// The rate and permit that a request took: the response states the rate, and its end releases the
/// permit.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) rate: Option<Result<Granted, Refused>>,
    pub(crate) permit: Option<Permit>,
}

/// Records what the request took in `taken`, also where it is refused. On a route without
/// authentication the rate counts by address.
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

//! Limits how often a caller may ask for objects that they get 404 for.

use std::{fmt::Debug, net::IpAddr, sync::Arc};

use policy_core::{Refusal, limits::RateRefusal};

use crate::{
    auth::principal::Principal, base::problem::Problem, client::Client, handler::RouteInfo,
};

/// The rate of misses of a route, counted per principal, or else per client address.
pub(crate) trait MissRate: Debug + Send + Sync {
    /// Whether another miss of this caller would be within the rate.
    fn peek(&self, caller: Option<&Principal>, client: Option<IpAddr>) -> Result<(), RateRefusal>;

    /// Counts a miss of this caller.
    fn take(&self, caller: Option<&Principal>, client: Option<IpAddr>) -> Result<(), RateRefusal>;
}

/// The misses of a client on a route that limits them.
#[derive(Debug)]
pub(super) struct Misses {
    rate: Arc<dyn MissRate>,
    client: Option<IpAddr>,
}

impl Misses {
    pub(super) fn for_route(route: &RouteInfo, client: &Client) -> Option<Self> {
        Some(Self { rate: route.misses.clone()?, client: client.address() })
    }

    /// Loads an object, unless the caller has had too many misses. The rate is checked again after the
    /// load, since concurrent requests may have exceeded it.
    pub(super) async fn limit<O>(
        &self,
        caller: Option<&Principal>,
        load: impl Future<Output = Result<O, Problem>>,
    ) -> Result<O, Problem> {
        self.rate.peek(caller, self.client).map_err(exceeded)?;
        let loaded = load.await;
        let is_miss = loaded.as_ref().is_err_and(|problem| problem.is(Refusal::ObjectNotFound));
        let counted = match is_miss {
            true => self.rate.take(caller, self.client),
            false => self.rate.peek(caller, self.client),
        };
        counted.map_err(exceeded)?;
        loaded
    }
}

fn exceeded(refused: RateRefusal) -> Problem {
    Problem::from(Refusal::ObjectMissesExceeded).retry_after(refused.retry_after)
}

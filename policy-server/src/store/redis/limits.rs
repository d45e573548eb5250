//! The calls of rates and permits.

use std::time::Duration;

use super::{
    RedisStore,
    connection::Call,
    reply::{Items, as_number},
};
use crate::store::{
    Answer, LeasePermits, LimitStore, StoreError, TakeRate, TakenRate, limit_store::micros,
};

impl LimitStore for RedisStore {
    fn open(&self) -> Answer<'_, ()> {
        Answer::later(self.open_once())
    }

    fn take_rate(&self, request: TakeRate) -> Answer<'_, TakenRate> {
        Answer::later(async move {
            let TakeRate { key, rate, wanted } = request;
            let call = Call::of_limits("take_rate")
                .arg(&key.0[..])
                .arg(rate.count)
                .arg(micros(rate.per))
                .arg(wanted);
            let mut reply = Items::of(self.call(call).await?)?;
            let (granted, remaining) = (count(reply.number()?)?, count(reply.number()?)?);
            let (wait, at) = (reply.number()?, reply.number()?);
            let (wait, at) = (Duration::from_micros(wait), Duration::from_micros(at));
            Ok(TakenRate::new(granted, remaining, wait, at))
        })
    }

    fn lease_permits(&self, request: LeasePermits) -> Answer<'_, u32> {
        Answer::later(async move {
            let LeasePermits { limit, most, instance, wish, lifetime } = request;
            let call = Call::of_limits("lease_permits")
                .arg(&limit.0[..])
                .arg(most)
                .arg(&instance[..])
                .arg(wish)
                .arg(micros(lifetime));
            count(as_number(&self.call(call).await?)?)
        })
    }

    /// The server removes its keys by itself.
    fn purge(&self, _limit: usize) -> Answer<'_, usize> {
        Answer::ready(Ok(0))
    }
}

fn count(number: u64) -> Result<u32, StoreError> {
    u32::try_from(number).map_err(StoreError::new)
}

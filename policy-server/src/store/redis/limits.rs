//! The calls of rates and permits.

use std::time::Duration;

use super::{
    RedisStore,
    connection::Call,
    reply::{Items, as_number},
};
use crate::store::{
    LeasePermits, LimitStore, StoreError, StoreFuture, TakeRate, TakenRate, limit_store::micros,
};

impl LimitStore for RedisStore {
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::new(self.open_once())
    }

    fn take_rate(&self, request: TakeRate) -> StoreFuture<'_, TakenRate> {
        StoreFuture::new(async move {
            let TakeRate { key, rate, wanted } = request;
            let call = Call::limits("take_rate")
                .arg(&key.0[..])
                .arg(rate.count)
                .arg(micros(rate.per))
                .arg(wanted);
            let mut reply = Items::new(self.call(call).await?)?;
            let (granted, remaining) = (count(reply.number()?)?, count(reply.number()?)?);
            let (wait, at) = (reply.number()?, reply.number()?);
            let (wait, at) = (Duration::from_micros(wait), Duration::from_micros(at));
            Ok(TakenRate::new(granted, remaining, wait, at))
        })
    }

    fn lease_permits(&self, request: LeasePermits) -> StoreFuture<'_, u32> {
        StoreFuture::new(async move {
            let LeasePermits { limit, most, instance, wish, lifetime } = request;
            let call = Call::limits("lease_permits")
                .arg(&limit.0[..])
                .arg(most)
                .arg(&instance[..])
                .arg(wish)
                .arg(micros(lifetime));
            count(as_number(&self.call(call).await?)?)
        })
    }

    /// The keys expire.
    fn purge(&self, _limit: usize) -> StoreFuture<'_, usize> {
        StoreFuture::ready(Ok(0))
    }
}

fn count(number: u64) -> Result<u32, StoreError> {
    u32::try_from(number).map_err(StoreError::new)
}

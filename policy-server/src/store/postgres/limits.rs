//! The calls of rates and permits.

use std::time::Duration;

use tokio_postgres::types::ToSql;

use super::{PostgresStore, rows::number};
use crate::store::{
    LeasePermits, LimitStore, StoreError, StoreFuture, TakeRate, TakenRate, limit_store::micros,
};

const TAKE_RATE: &str = "SELECT * FROM policy.take_rate($1, $2, $3, $4)";
const LEASE_PERMITS: &str = "SELECT policy.lease_permits($1, $2, $3, $4, $5)";
const PURGE: &str = "SELECT policy.purge_limits($1)";

impl LimitStore for PostgresStore {
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::new(self.open_once())
    }

    fn take_rate(&self, request: TakeRate) -> StoreFuture<'_, TakenRate> {
        StoreFuture::new(async move {
            let TakeRate { key, rate, wanted } = request;
            let parameters: [&(dyn ToSql + Sync); 4] = [
                &&key.0[..],
                &i64::from(rate.count),
                &number(micros(rate.per)),
                &i64::from(wanted),
            ];
            let row = self.row(TAKE_RATE, &parameters).await?;
            let micros = |name| row.number(name).map(Duration::from_micros);
            let (granted, remaining) = (row.number("granted")?, row.number("remaining")?);
            Ok(TakenRate::new(count(granted)?, count(remaining)?, micros("wait")?, micros("at")?))
        })
    }

    fn lease_permits(&self, request: LeasePermits) -> StoreFuture<'_, u32> {
        StoreFuture::new(async move {
            let LeasePermits { limit, most, instance, wish, lifetime } = request;
            let parameters: [&(dyn ToSql + Sync); 5] = [
                &&limit.0[..],
                &i64::from(most),
                &&instance[..],
                &i64::from(wish),
                &number(micros(lifetime)),
            ];
            count(self.row(LEASE_PERMITS, &parameters).await?.number("lease_permits")?)
        })
    }

    fn purge(&self, limit: usize) -> StoreFuture<'_, usize> {
        StoreFuture::new(async move {
            let row = self.row(PURGE, &[&number(limit as u64)]).await?;
            Ok(usize::try_from(row.number("purge_limits")?).unwrap_or(usize::MAX))
        })
    }
}

fn count(number: u64) -> Result<u32, StoreError> {
    u32::try_from(number).map_err(StoreError::new)
}

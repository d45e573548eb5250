//! Rates and permits of the instances in this process.

use std::{collections::HashMap, time::Duration};

use policy_core::limits::Account;

use super::MemoryStore;
use crate::{
    base::{clock::Clock, locks::lock},
    store::{LeasePermits, LimitKey, LimitStore, StoreError, StoreFuture, TakeRate, TakenRate},
};

/// Maximum clients that are counted separately: 90 MB.
const CLIENTS: usize = 1 << 20;

/// What is counted.
#[derive(Default)]
pub(super) struct Limits {
    accounts: HashMap<LimitKey, Account>,
    /// What each instance holds of each limit, and until when.
    permits: HashMap<LimitKey, HashMap<[u8; 16], (u32, Duration)>>,
}

impl Limits {
    /// Removes up to `limit` empty accounts.
    fn purge(&mut self, now: Duration, limit: usize) -> usize {
        let mut purged = 0;
        self.accounts.retain(|_, account| {
            let goes = purged < limit && account.is_empty_at(now);
            purged += usize::from(goes);
            !goes
        });
        purged
    }
}

impl LimitStore for MemoryStore {
    fn take_rate(&self, request: TakeRate) -> StoreFuture<'_, TakenRate> {
        let TakeRate { key, rate, wanted } = request;
        let mut limits = lock(&self.0.limits);
        let at = Clock::system().monotonic();
        let is_full = limits.accounts.len() >= CLIENTS && !limits.accounts.contains_key(&key);
        if is_full && limits.purge(at, CLIENTS) == 0 {
            return StoreFuture::ready(Err(StoreError::new("there are too many clients")));
        }
        let account = limits.accounts.entry(key).or_insert(Account::EMPTY);
        let taken = match account.take_up_to(&rate, at, wanted) {
            Ok((granted, left)) => TakenRate::new(granted, left.remaining, left.reset, at),
            Err(refused) => TakenRate::new(0, 0, refused.retry_after, at),
        };
        StoreFuture::ready(Ok(taken))
    }

    fn lease_permits(&self, request: LeasePermits) -> StoreFuture<'_, u32> {
        let LeasePermits { limit, most, instance, wish, lifetime } = request;
        let mut limits = lock(&self.0.limits);
        let now = Clock::system().monotonic();
        let holders = limits.permits.entry(limit).or_default();
        holders.retain(|holder, (_, until)| *holder != instance && *until > now);
        let taken = holders.values().fold(0, |sum: u32, (held, _)| sum.saturating_add(*held));
        let held = wish.min(most.saturating_sub(taken));
        if held > 0 {
            holders.insert(instance, (held, now + lifetime));
        }
        StoreFuture::ready(Ok(held))
    }

    fn purge(&self, limit: usize) -> StoreFuture<'_, usize> {
        let purged = lock(&self.0.limits).purge(Clock::system().monotonic(), limit);
        StoreFuture::ready(Ok(purged))
    }
}

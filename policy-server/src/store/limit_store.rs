//! The interface of stores for rates and permits that instances share.

use std::{fmt, time::Duration};

use policy_core::limits::Rate;

use super::StoreFuture;

/// A store that counts requests for all instances of an app. Each call is atomic.
///
/// Times are of the clock of the store, since instances share none. Nothing has to be durable: after a loss,
/// counting continues from the older state.
pub trait LimitStore: fmt::Debug + Send + Sync + 'static {
    /// Opens the store before the first request. Called once, when the app starts.
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::ready(Ok(()))
    }

    /// Takes up to `wanted` requests of a client, as
    /// [`Account::take_up_to`](policy_core::limits::Account::take_up_to) decides.
    fn take_rate(&self, request: TakeRate) -> StoreFuture<'_, TakenRate>;

    /// Sets how many permits an instance holds: as many as it wishes, or as many as the others
    /// leave. Returns this number. The permits end with the lifetime, unless the instance asks
    /// again.
    fn lease_permits(&self, request: LeasePermits) -> StoreFuture<'_, u32>;

    /// Removes up to `limit` rows that are no longer needed, and returns how many.
    fn purge(&self, limit: usize) -> StoreFuture<'_, usize>;
}

/// The name of a counter: a digest, whose length does not depend on what clients send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LimitKey(pub [u8; 16]);

/// The request of [`LimitStore::take_rate`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TakeRate {
    /// The client, and the limit that counts it.
    pub key: LimitKey,
    /// The rate, the same one in all requests of this key.
    pub rate: Rate,
    /// How many requests to take at once; not zero.
    pub wanted: u32,
}

/// The result of [`LimitStore::take_rate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TakenRate {
    /// How many requests were granted; 0 is a refusal.
    pub granted: u32,
    /// How many more would be granted at once.
    pub remaining: u32,
    /// How long to wait for the next one after those.
    pub wait: Duration,
    /// When the store decided, since a point in the past that is the same for all calls.
    pub at: Duration,
}

/// The request of [`LimitStore::lease_permits`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LeasePermits {
    /// The limit.
    pub limit: LimitKey,
    /// Maximum permits of all instances together.
    pub most: u32,
    /// The instance that asks.
    pub instance: [u8; 16],
    /// How many it wishes to hold; zero gives all back.
    pub wish: u32,
    /// How long it holds them.
    pub lifetime: Duration,
}

impl TakeRate {
    /// Up to `wanted` requests of a client.
    pub const fn new(key: LimitKey, rate: Rate, wanted: u32) -> Self {
        Self { key, rate, wanted }
    }
}

impl TakenRate {
    /// `granted` requests at this time of the store, after which `remaining` are left at once, and
    /// more after `wait`. 0 granted is a refusal.
    pub const fn new(granted: u32, remaining: u32, wait: Duration, at: Duration) -> Self {
        Self { granted, remaining, wait, at }
    }
}

impl LeasePermits {
    /// `wish` permits of at most `most` for this instance.
    pub const fn new(
        limit: LimitKey,
        most: u32,
        instance: [u8; 16],
        wish: u32,
        lifetime: Duration,
    ) -> Self {
        Self { limit, most, instance, wish, lifetime }
    }
}

/// A time for a store that counts microseconds, at most 71 years.
#[cfg(any(feature = "postgres", feature = "redis"))]
pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX).min(1 << 51)
}

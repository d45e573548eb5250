//! How often a client may call.

use core::time::Duration;

/// A rate: at most `count` requests within any `per`.
///
/// ```
/// use std::time::Duration;
/// use policy_core::limits::{Rate, RateKey};
///
/// const SEARCHES: Rate = Rate::per_minute(100).by_principal();
/// assert_eq!(SEARCHES.per, Duration::from_secs(60));
/// assert_eq!(SEARCHES.by, RateKey::Principal);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Rate {
    /// The maximum number of requests in one period, which is also the largest burst.
    pub count: u32,
    /// The period.
    pub per: Duration,
    /// The property by which clients are distinguished.
    pub by: RateKey,
}

/// Which requests are counted together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize, serde::Serialize),
    serde(rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum RateKey {
    /// The address of the client; for IPv6 its first 64 bits, the smallest allocation.
    #[default]
    Address,
    /// The principal; for an anonymous client its address.
    Principal,
}

impl Rate {
    /// A rate of `count` requests per address in each period.
    pub const fn new(count: u32, per: Duration) -> Self {
        Self { count, per, by: RateKey::Address }
    }

    /// A rate of this many requests per address and second.
    pub const fn per_second(count: u32) -> Self {
        Self::new(count, Duration::from_secs(1))
    }

    /// A rate of this many requests per address and minute.
    pub const fn per_minute(count: u32) -> Self {
        Self::new(count, Duration::from_secs(60))
    }

    /// A rate of this many requests per address and hour.
    pub const fn per_hour(count: u32) -> Self {
        Self::new(count, Duration::from_secs(3_600))
    }

    /// A rate of this many requests per address and 24 hours.
    pub const fn per_day(count: u32) -> Self {
        Self::new(count, Duration::from_secs(86_400))
    }

    /// The same rate per principal, regardless of the addresses of its requests.
    #[must_use]
    pub const fn by_principal(self) -> Self {
        self.counted_by(RateKey::Principal)
    }

    /// The same rate, counted by `by`.
    #[must_use]
    pub const fn counted_by(mut self, by: RateKey) -> Self {
        self.by = by;
        self
    }
}

//! How often somebody may ask.

use core::time::Duration;

/// How often somebody may ask: never more than `count` times within any `per`.
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
    /// The most requests in one period, which is also the largest burst.
    pub count: u32,
    /// The period.
    pub per: Duration,
    /// Who is counted.
    pub by: RateKey,
}

/// Whose requests are counted together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RateKey {
    /// The address of a client; of IPv6 the first 64 bits, which is what one client is given.
    #[default]
    Address,
    /// The principal; the address of a client that has none.
    Principal,
}

impl Rate {
    /// So many requests of one address in each period.
    pub const fn new(count: u32, per: Duration) -> Self {
        Self { count, per, by: RateKey::Address }
    }

    /// So many requests of one address per second.
    pub const fn per_second(count: u32) -> Self {
        Self::new(count, Duration::from_secs(1))
    }

    /// So many requests of one address per minute.
    pub const fn per_minute(count: u32) -> Self {
        Self::new(count, Duration::from_secs(60))
    }

    /// So many requests of one address per hour.
    pub const fn per_hour(count: u32) -> Self {
        Self::new(count, Duration::from_secs(3_600))
    }

    /// So many requests of one address per 24 hours.
    pub const fn per_day(count: u32) -> Self {
        Self::new(count, Duration::from_secs(86_400))
    }

    /// The same for each principal, whatever addresses they come from.
    #[must_use]
    pub const fn by_principal(self) -> Self {
        self.counted_by(RateKey::Principal)
    }

    /// The same, where these are counted.
    #[must_use]
    pub const fn counted_by(mut self, by: RateKey) -> Self {
        self.by = by;
        self
    }
}

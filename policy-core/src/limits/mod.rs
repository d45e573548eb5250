//! Limits: how large, how long, how often, and how many at once.

use core::time::Duration;

/// The limits of a route. Each is a facet of its own: the nearest level that states it decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of a request's body.
    pub body: Option<u64>,
    /// The longest time until an answer is ready.
    pub timeout: Option<Duration>,
    /// How often somebody may ask.
    pub rate: Option<Rate>,
    /// The most requests at work at once.
    pub concurrency: Option<u32>,
}

/// How often somebody may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
pub enum RateKey {
    /// The address of a client; of IPv6 the first 64 bits, which is what one client is given.
    #[default]
    Address,
    /// The principal; the address of a client that has none.
    Principal,
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self { body: None, timeout: None, rate: None, concurrency: None };
}

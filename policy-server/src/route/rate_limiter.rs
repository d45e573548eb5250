//! Rates that handlers count by their own keys.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use policy_core::{
    Refusal,
    limits::{Rate, RateCapacity, RateGrant, RateRefusal, RateTable},
};

use super::{
    limits::words,
    shared_limits::{LimitBook, SharedRate},
};
use crate::base::{
    clock::{Clock, Random, RandomError},
    problem::Problem,
};

/// A rate for each value of a key that only a handler knows: the account that a login names, a
/// tenant, a telephone number. [`#[limit(rate = ..)]`](macro@crate::limit) counts addresses and
/// principals, before the handler runs.
///
/// It is as strict: no key is granted more than the count of the [`Rate`] within any of its periods.
/// Memory is bounded, whatever keys clients invent: 58 bytes for each key up to the
/// [`capacity`](Self::capacity); beyond it, a few keys share an account. It counts for one process,
/// and starts anew at a restart; [`SharedLimits::limiter`](crate::SharedLimits::limiter) makes it
/// count for all instances. [`Rate::by`](Rate) is ignored.
///
/// ```
/// use std::sync::Arc;
/// use policy_server::{RateLimiter, prelude::*};
///
/// #[post("/codes/{number}")]
/// #[auth(public)]
/// async fn send_code(number: String, State(sent): State<Arc<RateLimiter>>) -> Result<(), Problem> {
///     // 429 with `Retry-After`, code `limit.rate`.
///     sent.take(&number)?;
///     Ok(())
/// }
///
/// let sent = Arc::new(RateLimiter::new(Rate::per_hour(2))?);
/// let client = App::new(sent).routes(routes![send_code]).test();
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let send = async |number| client.post(&format!("/codes/{number}")).send().await;
/// assert_eq!(send("5550100").await.status(), 200);
/// assert_eq!(send("5550100").await.status(), 200);
/// assert_eq!(send("5550100").await.header("retry-after"), Some("3600"));
/// assert_eq!(send("5550199").await.status(), 200);
/// # });
/// # Ok::<(), policy_server::RandomError>(())
/// ```
///
/// A key of several parts has to be written so that no two lists of parts make the same key. A client
/// that can exhaust a key locks others out: for an account that any client may name, count its known
/// devices separately from others, as the example `cargo run -p accounts` does.
pub struct RateLimiter {
    rate: Rate,
    seed: [u64; 2],
    capacity: RateCapacity,
    table: RateTable,
    clock: Clock,
    /// The accounts that all instances share, once an app that shares them is open.
    shared: OnceLock<SharedRate>,
}

impl RateLimiter {
    /// Counts by this rate, with the default [`RateCapacity`]. Clients cannot choose keys that
    /// collide, since a random key is drawn for their hash.
    ///
    /// # Errors
    ///
    /// The system has no random source.
    pub fn new(rate: Rate) -> Result<Self, RandomError> {
        let seed = Random::system().draw().map(words)?;
        let capacity = RateCapacity::DEFAULT;
        let table = RateTable::new(rate, capacity, seed);
        let clock = Clock::system();
        Ok(Self { rate, seed, capacity, table, clock, shared: OnceLock::new() })
    }

    /// Sets the number of keys that it distinguishes. Earlier counts are lost.
    #[must_use]
    pub fn capacity(self, capacity: RateCapacity) -> Self {
        Self { capacity, table: RateTable::new(self.rate, capacity, self.seed), ..self }
    }

    /// Reads another clock, in a test (feature `testing`).
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Counts an attempt at this key. One that is refused is not counted.
    ///
    /// # Errors
    ///
    /// [`RateRefusal`], with the time to wait. `?` converts it into a [`Problem`]: 429, `limit.rate`, with
    /// `Retry-After`.
    pub fn take(&self, key: impl AsRef<[u8]>) -> Result<RateGrant, RateRefusal> {
        self.table.take(key.as_ref(), self.clock.monotonic())
    }

    /// Counts an attempt for all instances of the app together, if
    /// [`SharedLimits::limiter`](crate::SharedLimits::limiter) names this limiter; otherwise, and while
    /// the store is unavailable, for this process.
    ///
    /// # Errors
    ///
    /// Like [`take`](Self::take). An unavailable store is not an error.
    pub async fn take_shared(&self, key: impl AsRef<[u8]>) -> Result<RateGrant, RateRefusal> {
        let key = key.as_ref();
        let Some(shared) = self.shared.get() else { return self.take(key) };
        let count = || {
            let _ = self.take(key);
        };
        shared.take(key, || Ok(()), count, || self.take(key)).await
    }

    /// Counts with the other instances from now on.
    pub(super) fn share(&self, book: &Arc<LimitBook>, name: &str) {
        let location = format!("limiter {name}");
        self.shared.get_or_init(|| SharedRate::new(book, &location, self.rate, self.capacity));
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimiter").field("rate", &self.rate).finish_non_exhaustive()
    }
}

impl From<RateRefusal> for Problem {
    fn from(refused: RateRefusal) -> Self {
        Self::from(Refusal::RateExceeded).retry_after(refused.retry_after)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::header::RETRY_AFTER;

    use super::*;
    use crate::IntoResponse;

    #[test]
    fn keys_are_counted_apart_by_a_clock_of_tests() {
        let clock = Clock::at(7);
        let limiter = RateLimiter::new(Rate::per_minute(2)).unwrap().clock(clock.clone());
        assert_eq!(limiter.take("ada").map(|granted| granted.remaining), Ok(1));
        assert!(limiter.take("ada").is_ok());
        assert_eq!(limiter.take("ada").map_err(|it| it.retry_after), Err(Duration::from_secs(60)));
        assert!(limiter.take("eve").is_ok());
        clock.advance(Duration::from_secs(60));
        assert!(limiter.take("ada").is_ok());
    }

    #[test]
    fn keys_beyond_the_capacity_share_and_get_no_more_than_the_rate() {
        let few = RateCapacity::DEFAULT.clients(8);
        let limiter = RateLimiter::new(Rate::per_day(1)).unwrap().capacity(few).clock(Clock::at(7));
        let granted = (0..100_u8).filter(|key| limiter.take([*key]).is_ok()).count();
        assert!((8..=12).contains(&granted), "{granted}");
    }

    #[test]
    fn a_refused_key_is_a_problem_of_the_catalogue() {
        let limiter = RateLimiter::new(Rate::per_hour(1)).unwrap().clock(Clock::at(7));
        assert!(limiter.take("ada").is_ok());
        let problem = Problem::from(limiter.take("ada").unwrap_err());
        assert_eq!(problem.to_string(), "429 There were too many requests (limit.rate)");
        assert_eq!(problem.into_response().headers()[RETRY_AFTER], "3600");
    }
}

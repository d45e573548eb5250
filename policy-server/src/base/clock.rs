//! The clock and the random source of an app.

use std::{
    fmt,
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use policy_core::time::Timestamp;
use tokio::sync::watch;

use crate::base::{locks::lock, timers};

/// The clock of an app: the system's, or one that a test advances.
///
/// ```
/// use std::time::Duration;
/// use policy_server::Clock;
///
/// let clock = Clock::at(1_800_000_000);
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(clock.now().seconds(), 1_800_000_060);
/// ```
#[derive(Clone, Default)]
pub struct Clock {
    /// The time of a test clock.
    test_time: Option<Arc<watch::Sender<Time>>>,
    /// For a clock that follows another one: the number of milliseconds by which the other clock is
    /// ahead of the monotonic time; `UNKNOWN` at first.
    ahead: Option<Arc<AtomicI64>>,
}

/// Less than any difference of clocks.
const UNKNOWN: i64 = i64::MIN;

/// The time of a test clock.
#[derive(Clone, Copy)]
struct Time {
    now: Timestamp,
    /// The time that it would show if it had never been set back.
    steady: Timestamp,
    /// The time since a fixed point in the past, which never goes back.
    monotonic: Duration,
}

impl Clock {
    /// The clock of the system.
    pub const fn system() -> Self {
        Self { test_time: None, ahead: None }
    }

    /// A clock that shows this many seconds since 1970 until it is advanced. Copies show the same
    /// time.
    pub fn at(seconds: u64) -> Self {
        let now = Timestamp::from_seconds(seconds);
        let time = Time { now, steady: now, monotonic: Duration::from_secs(seconds) };
        Self { test_time: Some(Arc::new(watch::Sender::new(time))), ahead: None }
    }

    /// A copy that, with its own copies, can [`follow`](Self::follow) another clock.
    pub(crate) fn following(&self) -> Self {
        Self { ahead: Some(Arc::new(AtomicI64::new(UNKNOWN))), ..self.clone() }
    }

    /// Follows a clock that showed this time a moment ago. It never goes back: of several clocks, it
    /// follows the one that is furthest ahead.
    pub(crate) fn follow(&self, time: Timestamp) {
        if let Some(ahead) = &self.ahead {
            let difference =
                time.millis().cast_signed().saturating_sub(self.monotonic_millis().cast_signed());
            ahead.fetch_max(difference, Ordering::AcqRel);
        }
    }

    /// The monotonic time in milliseconds.
    fn monotonic_millis(&self) -> u64 {
        u64::try_from(self.monotonic().as_millis()).unwrap_or(u64::MAX)
    }

    /// The time of the clock that this one follows.
    fn followed(&self) -> Option<Timestamp> {
        let ahead = self.ahead.as_ref()?.load(Ordering::Acquire);
        (ahead != UNKNOWN)
            .then(|| Timestamp::from_millis(self.monotonic_millis().saturating_add_signed(ahead)))
    }

    /// Advances a test clock and wakes all tasks that wait for a time that is reached. It does not
    /// change the system's clock.
    pub fn advance(&self, duration: Duration) {
        if let Some(time) = &self.test_time {
            time.send_modify(|time| {
                time.now = time.now.after(duration);
                time.steady = time.steady.after(duration);
                time.monotonic += duration;
            });
        }
    }

    /// Sets a test clock back, as an administrator or a time server does with the system's clock.
    /// Waits for a duration are not affected.
    pub fn turn_back(&self, duration: Duration) {
        if let Some(time) = &self.test_time {
            let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
            time.send_modify(|time| {
                time.now = Timestamp::from_millis(time.now.millis().saturating_sub(millis));
            });
        }
    }

    /// The current time. A system clock before 1970 shows 1970.
    pub fn now(&self) -> Timestamp {
        if let Some(time) = self.followed() {
            return time;
        }
        match &self.test_time {
            Some(time) => time.borrow().now,
            None => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Timestamp::default().after(since)
            }
        }
    }

    /// The time of day by which sessions end: if the clock was set back since the process began, the
    /// time that it would otherwise show.
    pub(crate) fn steady(&self) -> Timestamp {
        /// The maximum number of milliseconds by which the time of day was ahead of the monotonic time.
        static AHEAD: AtomicU64 = AtomicU64::new(0);
        if let Some(time) = self.followed() {
            return time;
        }
        match &self.test_time {
            Some(time) => time.borrow().steady,
            None => {
                let now = self.now().millis();
                let since = self.monotonic_millis();
                let ahead = now.saturating_sub(since);
                let most = AHEAD.load(Ordering::Relaxed);
                if ahead > most {
                    AHEAD.fetch_max(ahead, Ordering::Relaxed);
                }
                Timestamp::from_millis(since.saturating_add(ahead.max(most)))
            }
        }
    }

    /// The time since a fixed point in the past. It never goes back, unlike the system's clock.
    pub(crate) fn monotonic(&self) -> Duration {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        match &self.test_time {
            Some(time) => time.borrow().monotonic,
            None => START.elapsed(),
        }
    }

    /// Waits for a duration, whatever happens to the time of day.
    pub(crate) async fn sleep(&self, duration: Duration) {
        match &self.test_time {
            Some(time) => {
                let end = time.borrow().monotonic + duration;
                // The sender is alive here, so waiting cannot fail.
                let _ = time.subscribe().wait_for(|time| time.monotonic >= end).await;
            }
            None => timers::sleep(duration).await,
        }
    }

    /// Waits until a time is reached.
    pub(crate) async fn wait_until(&self, time: Timestamp) {
        match &self.test_time {
            Some(sender) => {
                let mut changes = sender.subscribe();
                while self.now() < time {
                    // The sender is alive here, so waiting cannot fail.
                    let _ = changes.changed().await;
                }
            }
            None => loop {
                let now = self.now();
                if now >= time {
                    return;
                }
                // In steps, since the system's clock may be set meanwhile.
                timers::sleep(time.since(now).min(Duration::from_secs(60))).await;
            },
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.test_time.is_some() { "standing" } else { "system" };
        f.debug_tuple("Clock").field(&kind).finish()
    }
}

/// Fills a buffer with random bytes.
type Fill = dyn FnMut(&mut [u8]) + Send;

/// The random source of an app: the system's, or one of a test.
#[derive(Clone, Default)]
pub struct Random(Option<Arc<Mutex<Box<Fill>>>>);

impl Random {
    /// The random source of the system.
    pub const fn system() -> Self {
        Self(None)
    }

    /// A source that a test can predict.
    pub fn from_fn(fill: impl FnMut(&mut [u8]) + Send + 'static) -> Self {
        Self(Some(Arc::new(Mutex::new(Box::new(fill)))))
    }

    /// Draws random bytes.
    ///
    /// # Errors
    ///
    /// The system has no random source.
    pub fn draw<const N: usize>(&self) -> Result<[u8; N], RandomError> {
        let mut bytes = [0; N];
        match &self.0 {
            Some(fill) => lock(fill)(&mut bytes),
            None => getrandom::fill(&mut bytes).map_err(|error| RandomError(error.to_string()))?,
        }
        Ok(bytes)
    }
}

/// The system returned no random bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomError(String);

impl fmt::Display for RandomError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no random bytes: {}", self.0)
    }
}

impl std::error::Error for RandomError {}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Random")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_ignore_a_clock_that_is_set_back() {
        let clock = Clock::at(1000);
        clock.advance(Duration::from_secs(10));
        clock.turn_back(Duration::from_secs(300));
        assert_eq!((clock.now().seconds(), clock.steady().seconds()), (710, 1010));
        clock.advance(Duration::from_secs(5));
        assert_eq!((clock.now().seconds(), clock.steady().seconds()), (715, 1015));
        assert_eq!(clock.monotonic(), Duration::from_secs(1015));
    }

    #[test]
    fn a_following_clock_continues_from_the_latest_time() {
        let own = Clock::at(1000);
        let clock = own.following();
        let times = || (clock.now().seconds(), clock.steady().seconds());
        assert_eq!(times(), (1000, 1000));
        clock.follow(Timestamp::from_seconds(5000));
        own.advance(Duration::from_secs(10));
        assert_eq!(times(), (5010, 5010));
        // Neither its machine's time of day nor a clock that is behind has an effect.
        own.turn_back(Duration::from_secs(300));
        clock.follow(Timestamp::from_seconds(4000));
        assert_eq!(times(), (5010, 5010));
        clock.follow(Timestamp::from_seconds(6000));
        assert_eq!(times(), (6000, 6000));
        assert_eq!(own.now().seconds(), 710);
        // One that is ahead follows as well.
        let clock = own.following();
        clock.follow(Timestamp::from_seconds(600));
        assert_eq!(clock.now().seconds(), 600);
    }

    #[test]
    fn the_steady_time_of_the_system_is_its_time() {
        let clock = Clock::system();
        let before = clock.now();
        let steady = clock.steady();
        // Rounded down twice.
        assert!(steady.millis() + 2 >= before.millis(), "{steady:?} {before:?}");
        assert!(steady.since(clock.now()) < Duration::from_secs(1), "{steady:?}");
    }
}

//! Points in time, as the caller passes them in.

use std::time::Duration;

/// A point in time: milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
///
/// The engine reads no clock; the caller of a decision passes in the time.
///
/// ```
/// use std::time::Duration;
/// use policy_core::time::Timestamp;
///
/// let now = Timestamp::from_seconds(1_800_000_000);
/// assert_eq!(now.after(Duration::from_secs(60)).seconds(), 1_800_000_060);
/// assert_eq!(now.after(Duration::MAX), Timestamp::MAX);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The latest point in time.
    pub const MAX: Self = Self(u64::MAX);

    /// From milliseconds since 1970.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// From seconds since 1970.
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Milliseconds since 1970.
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// Whole seconds since 1970, rounded down.
    pub const fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// This much later, or [`MAX`](Self::MAX).
    #[must_use]
    pub const fn after(self, duration: Duration) -> Self {
        let millis = duration.as_millis();
        if millis > (u64::MAX - self.0) as u128 { Self::MAX } else { Self(self.0 + millis as u64) }
    }

    /// The time since `earlier`; zero if it is in the future.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

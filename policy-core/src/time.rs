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

    /// In the form of RFC 3339, with milliseconds and `Z`.
    ///
    /// ```
    /// use policy_core::time::Timestamp;
    ///
    /// let written = Timestamp::from_millis(1_800_000_000_042).rfc3339();
    /// assert_eq!(written, "2027-01-15T08:00:00.042Z");
    /// ```
    pub fn rfc3339(self) -> String {
        let (days, of_day) = (self.seconds() / 86_400, self.seconds() % 86_400);
        // The civil calendar, in eras of 400 years, each of which begins on 1 March.
        let days = days + 719_468;
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        let millis = self.0 % 1000;
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
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

#[cfg(all(test, feature = "engine"))]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    /// The oracle writes the same point in time in another form: `Fri, 15 Jan 2027 08:00:00 GMT`.
    #[test]
    fn dates_are_those_of_the_civil_calendar() {
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let day = 24 * 60 * 60;
        // Over all years that the oracle knows.
        for seconds in (0..9999 * 365 * day - 1970 * 366 * day).step_by(400_009) {
            let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds));
            let (month, time) = (date.get(8..11).unwrap(), date.get(17..25).unwrap());
            let month = MONTHS.iter().position(|name| *name == month).unwrap() + 1;
            let expected = format!(
                "{}-{month:02}-{}T{time}.007Z",
                date.get(12..16).unwrap(),
                date.get(5..7).unwrap()
            );
            assert_eq!(Timestamp::from_millis(seconds * 1000 + 7).rfc3339(), expected);
        }
    }
}

//! HTTP dates (RFC 9110 5.6.7).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderValue;
use httpdate::HttpDate;

use crate::time::Timestamp;

/// When something last changed: a `Last-Modified`, or the date of a condition.
///
/// Its resolution is one second: a resource that may change twice within a second also needs an
/// [`EntityTag`](super::EntityTag). It must not be in the future when it is sent (RFC 9110 8.8.2.1).
///
/// ```
/// use policy_core::{conditional::ModificationDate, time::Timestamp};
///
/// let then = ModificationDate::at(Timestamp::from_seconds(784_111_777));
/// assert_eq!(then.value(), "Sun, 06 Nov 1994 08:49:37 GMT");
/// assert_eq!(ModificationDate::parse(b"Sunday, 06-Nov-94 08:49:37 GMT"), Some(then));
/// assert_eq!(ModificationDate::parse(b"1994-11-06"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModificationDate {
    /// Since 1970.
    seconds: u64,
}

/// The last second of the year 9999, after which no date can be written.
const LATEST: u64 = 253_402_300_799;

impl ModificationDate {
    /// The time of a change, truncated to the second.
    pub const fn at(time: Timestamp) -> Self {
        let seconds = time.seconds();
        Self { seconds: if seconds < LATEST { seconds } else { LATEST } }
    }

    /// Reads any of the three date formats; `None` if the value is not a date or before 1970.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let date: HttpDate = std::str::from_utf8(value).ok()?.parse().ok()?;
        Some(Self::from(SystemTime::from(date)))
    }

    /// The field value.
    #[expect(clippy::expect_used, reason = "a date has letters, digits and blanks only")]
    pub fn value(self) -> HeaderValue {
        let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(self.seconds));
        HeaderValue::try_from(date).expect("a field value")
    }
}

/// For modification times of files. A time before 1970 counts as 1970.
impl From<SystemTime> for ModificationDate {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::at(Timestamp::from_seconds(since.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_date_has_three_forms() {
        let then = Some(ModificationDate { seconds: 784_111_777 });
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(ModificationDate::parse(text.as_bytes()), then, "{text}");
        }
        for text in [
            "",
            "0",
            "-1",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "sun, 06 nov 1994 08:49:37 gmt",
            "Sun, 06 Nov 1960 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 é",
        ] {
            assert_eq!(ModificationDate::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(ModificationDate::parse(&[0xff; 29]), None);
    }

    #[test]
    fn no_time_is_too_early_or_too_late_to_be_written() {
        let latest = "Fri, 31 Dec 9999 23:59:59 GMT";
        assert_eq!(ModificationDate::at(Timestamp::MAX).value(), latest);
        assert_eq!(ModificationDate::at(Timestamp::from_seconds(LATEST)).value(), latest);
        let early = ModificationDate::from(UNIX_EPOCH - Duration::from_secs(1));
        assert_eq!(early.value(), "Thu, 01 Jan 1970 00:00:00 GMT");
    }

    proptest! {
        #[test]
        fn written_dates_are_read_unchanged(seconds in 0..=LATEST) {
            let date = ModificationDate { seconds };
            prop_assert_eq!(ModificationDate::parse(date.value().as_bytes()), Some(date));
        }

        /// Any bytes that a client may send.
        #[test]
        fn reading_never_panics(
            text in "(Sun|Monday|Wednesday)?[, ]{0,2}[0-9 :-]{0,9}(Nov|Feb)?[0-9 :-]{0,12}(GMT)?",
        ) {
            let _ = ModificationDate::parse(text.as_bytes());
        }
    }
}

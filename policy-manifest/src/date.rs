//! Days of the calendar.

use std::{error::Error, fmt, str::FromStr, time::SystemTime};

use serde::{Deserialize, Serialize};

use policy_core::time::Timestamp;

/// A day, in UTC: when a suppression ends.
///
/// ```
/// use policy_core::time::Timestamp;
/// use policy_manifest::Date;
///
/// let today = Date::from_timestamp(Timestamp::from_seconds(1_800_000_000));
/// assert_eq!(today.to_string(), "2027-01-15");
/// assert!(today < "2027-02-01".parse()?);
/// assert!("2027-02-29".parse::<Date>().is_err());
/// # Ok::<_, policy_manifest::ParseDateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Date {
    /// Days since 1970-01-01.
    days: u32,
}

/// The error for a text that is not a date of the form `2027-01-31`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseDateError(String);

impl fmt::Display for ParseDateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a date since 1970 in the form `2027-01-31`", self.0)
    }
}

impl Error for ParseDateError {}

impl Date {
    /// The present day, by the clock of this machine.
    pub fn today() -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self::from_timestamp(Timestamp::from_seconds(now.as_secs()))
    }

    /// The day of a point in time. After the year 9999 it is the last day of that year.
    pub fn from_timestamp(time: Timestamp) -> Self {
        let days = u32::try_from(time.seconds() / 86_400).unwrap_or(Self::LAST);
        Self { days: days.min(Self::LAST) }
    }

    /// The number of days from another day to this one; `None` if this one is earlier.
    pub(crate) fn days_since(self, earlier: Self) -> Option<u32> {
        self.days.checked_sub(earlier.days)
    }

    /// 9999-12-31
    const LAST: u32 = 2_932_896;
    /// The days from 0000-03-01 to 1970-01-01.
    const BEFORE_1970: u32 = 719_468;

    /// Years begin in March here, so that the day of a leap year is the last one.
    fn from_parts(year: u32, month: u32, day: u32) -> Option<Self> {
        if year > 9999 || !(1..=12).contains(&month) || day > 31 {
            return None;
        }
        let year = if month < 3 { year.checked_sub(1)? } else { year };
        let days = year * 365 + year / 4 - year / 100 + year / 400;
        let of_year = ((month + 9) % 12 * 153 + 2) / 5 + day.checked_sub(1)?;
        Some(Self { days: (days + of_year).checked_sub(Self::BEFORE_1970)? })
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let begin = Timestamp::from_seconds(u64::from(self.days) * 86_400).rfc3339();
        f.write_str(begin.get(..10).unwrap_or_default())
    }
}

impl FromStr for Date {
    type Err = ParseDateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |digits: &str| digits.parse::<u32>().ok();
        let date = || match &*text.split('-').collect::<Vec<_>>() {
            [year, month, day] if year.len() == 4 => {
                Self::from_parts(number(year)?, number(month)?, number(day)?)
            }
            _ => None,
        };
        // A day that the month does not have changes when the date is written again.
        date()
            .filter(|date| date.to_string() == text)
            .ok_or_else(|| ParseDateError(text.to_owned()))
    }
}

impl TryFrom<String> for Date {
    type Error = ParseDateError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Date> for String {
    fn from(date: Date) -> Self {
        date.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_is_read_as_it_is_written_and_follows_the_one_before() {
        let mut before = String::new();
        for days in 0..=Date::LAST {
            let date = Date { days };
            // Each day of two eras, and one of each month after them.
            if days > 300_000 && days % 30 != 0 && days != Date::LAST {
                continue;
            }
            let text = date.to_string();
            assert_eq!(text.parse(), Ok(date));
            assert!(before < text, "{before} {text}");
            before = text;
        }
        assert_eq!(before, "9999-12-31");
    }

    #[test]
    fn known_days() {
        for (text, days) in [
            ("1970-01-01", 0),
            ("1999-12-31", 10_956),
            ("2000-02-29", 11_016),
            ("2000-03-01", 11_017),
            ("2026-11-24", 20_781),
        ] {
            assert_eq!(text.parse(), Ok(Date { days }), "{text}");
        }
        assert_eq!(Date::from_timestamp(Timestamp::MAX).to_string(), "9999-12-31");
        assert_eq!(Date::from_timestamp(Timestamp::from_seconds(86_399)).to_string(), "1970-01-01");
    }

    #[test]
    fn rejects_malformed_dates() {
        for text in [
            "",
            "2027",
            "2027-1-31",
            "2027-02-29",
            "2100-02-29",
            "2027-00-10",
            "2027-13-01",
            "2027-01-00",
            "2027-01-32",
            "1969-12-31",
            "02027-01-01",
            "+027-01-01",
            "2027-01-31T00",
            "2027-01-4294967295",
            "9999-4294967295-01",
            "0000-01-01",
        ] {
            let error = text.parse::<Date>().unwrap_err().to_string();
            assert!(error.contains("2027-01-31"), "{error}");
        }
    }
}

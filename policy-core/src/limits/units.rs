//! Parses sizes, times and rates.

use core::time::Duration;

use super::{Rate, RateKey, spec::LONGEST_TIMEOUT};
use crate::catalogue::Rule;

/// Parses a size such as `512 B`, `64 KiB`, `1 MiB` or `10 MB` into bytes: `k`, `M` and `G` are
/// powers of 1000, with `i` powers of 1024 (IEC 80000-13).
///
/// # Errors
///
/// [`Rule::LimitBodyMalformed`], and [`Rule::LimitBodyOutOfBounds`] for zero and for more than
/// `u64::MAX`.
///
/// ```
/// use policy_core::{Rule, limits::body_of};
///
/// assert_eq!(body_of("1 MiB"), Ok(1 << 20));
/// assert_eq!(body_of("1 MB"), Ok(1_000_000));
/// assert_eq!(body_of("1 mb"), Err(Rule::LimitBodyMalformed));
/// ```
pub fn body_of(text: &str) -> Result<u64, Rule> {
    let (number, unit) = number_of(text).ok_or(Rule::LimitBodyMalformed)?;
    let unit = match unit.strip_prefix(' ').unwrap_or(unit) {
        "B" => 1,
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(Rule::LimitBodyMalformed),
    };
    let bytes = number.and_then(|number| number.checked_mul(unit));
    bytes.filter(|bytes| *bytes != 0).ok_or(Rule::LimitBodyOutOfBounds)
}

/// Parses a time such as `500ms`, `5s` or `2m`.
///
/// # Errors
///
/// [`Rule::LimitTimeoutMalformed`], and [`Rule::LimitTimeoutOutOfBounds`] for zero and for more
/// than a day.
///
/// ```
/// use std::time::Duration;
/// use policy_core::{Rule, limits::timeout_of};
///
/// assert_eq!(timeout_of("2m"), Ok(Duration::from_secs(120)));
/// assert_eq!(timeout_of("5"), Err(Rule::LimitTimeoutMalformed));
/// ```
pub fn timeout_of(text: &str) -> Result<Duration, Rule> {
    let (number, unit) = number_of(text).ok_or(Rule::LimitTimeoutMalformed)?;
    let unit = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        _ => return Err(Rule::LimitTimeoutMalformed),
    };
    let millis = number.and_then(|number| number.checked_mul(unit));
    let timeout = millis.map(Duration::from_millis);
    timeout
        .filter(|timeout| !timeout.is_zero() && *timeout <= LONGEST_TIMEOUT)
        .ok_or(Rule::LimitTimeoutOutOfBounds)
}

/// Parses the maximum size of a WebSocket message, written as a [size](body_of).
///
/// # Errors
///
/// [`Rule::LimitMessageMalformed`], and [`Rule::LimitMessageOutOfBounds`] for zero and for more than
/// `u64::MAX`.
///
/// ```
/// use policy_core::{Rule, limits::message_of};
///
/// assert_eq!(message_of("64 KiB"), Ok(64 << 10));
/// assert_eq!(message_of("64"), Err(Rule::LimitMessageMalformed));
/// ```
pub fn message_of(text: &str) -> Result<u64, Rule> {
    body_of(text).map_err(|rule| match rule {
        Rule::LimitBodyMalformed => Rule::LimitMessageMalformed,
        _ => Rule::LimitMessageOutOfBounds,
    })
}

/// Parses the maximum silence of a WebSocket client, written as a [time-out](timeout_of).
///
/// # Errors
///
/// [`Rule::LimitSilenceMalformed`], and [`Rule::LimitSilenceOutOfBounds`] for zero and for more
/// than a day.
///
/// ```
/// use std::time::Duration;
/// use policy_core::{Rule, limits::silence_of};
///
/// assert_eq!(silence_of("5m"), Ok(Duration::from_secs(300)));
/// assert_eq!(silence_of("5 minutes"), Err(Rule::LimitSilenceMalformed));
/// ```
pub fn silence_of(text: &str) -> Result<Duration, Rule> {
    timeout_of(text).map_err(|rule| match rule {
        Rule::LimitTimeoutMalformed => Rule::LimitSilenceMalformed,
        _ => Rule::LimitSilenceOutOfBounds,
    })
}

/// Parses a rate such as `100/min` or `5/s per principal`, with the units `s`, `min`, `h` and `d`.
/// Without `per principal` it is a rate `per address`.
///
/// # Errors
///
/// [`Rule::LimitRateMalformed`], and [`Rule::LimitRateOutOfBounds`] for zero and for more than
/// `u32::MAX`.
///
/// ```
/// use policy_core::{Rule, limits::{Rate, rate_of}};
///
/// assert_eq!(rate_of("100/min"), Ok(Rate::per_minute(100)));
/// assert_eq!(rate_of("5/s per principal"), Ok(Rate::per_second(5).by_principal()));
/// assert_eq!(rate_of("100 a minute"), Err(Rule::LimitRateMalformed));
/// ```
pub fn rate_of(text: &str) -> Result<Rate, Rule> {
    let (number, rest) = number_of(text).ok_or(Rule::LimitRateMalformed)?;
    let (unit, by) = match rest.split_once(' ') {
        None => (rest, RateKey::Address),
        Some((unit, "per address")) => (unit, RateKey::Address),
        Some((unit, "per principal")) => (unit, RateKey::Principal),
        Some(_) => return Err(Rule::LimitRateMalformed),
    };
    let per = match unit {
        "/s" => Rate::per_second,
        "/min" => Rate::per_minute,
        "/h" => Rate::per_hour,
        "/d" => Rate::per_day,
        _ => return Err(Rule::LimitRateMalformed),
    };
    let count = number.and_then(|number| u32::try_from(number).ok()).filter(|count| *count != 0);
    Ok(Rate { by, ..per(count.ok_or(Rule::LimitRateOutOfBounds)?) })
}

/// Parses a rate of misses such as `20/min`: a [rate](rate_of) without `per ..`.
///
/// # Errors
///
/// [`Rule::LimitMissesMalformed`], and [`Rule::LimitMissesOutOfBounds`] for zero and for more than
/// `u32::MAX`.
///
/// ```
/// use policy_core::{Rule, limits::{Rate, misses_of}};
///
/// assert_eq!(misses_of("20/min"), Ok(Rate::per_minute(20).by_principal()));
/// assert_eq!(misses_of("20/min per address"), Err(Rule::LimitMissesMalformed));
/// ```
pub fn misses_of(text: &str) -> Result<Rate, Rule> {
    if text.contains(' ') {
        return Err(Rule::LimitMissesMalformed);
    }
    rate_of(text).map(Rate::by_principal).map_err(|rule| match rule {
        Rule::LimitRateMalformed => Rule::LimitMissesMalformed,
        _ => Rule::LimitMissesOutOfBounds,
    })
}

/// The leading digits and the rest. The number is `None` if it overflows.
fn number_of(text: &str) -> Option<(Option<u64>, &str)> {
    let rest = text.trim_start_matches(|char: char| char.is_ascii_digit());
    let digits = text.strip_suffix(rest).filter(|digits| !digits.is_empty())?;
    Some((digits.parse().ok(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_a_number_and_a_unit_of_the_standard() {
        for (text, bytes) in [
            ("1 B", 1),
            ("007B", 7),
            ("3 kB", 3_000),
            ("10 MB", 10_000_000),
            ("2 GB", 2_000_000_000),
            ("1 KiB", 1_024),
            ("1 MiB", 1_048_576),
            ("4GiB", 4_294_967_296),
            ("18446744073709551615 B", u64::MAX),
        ] {
            assert_eq!(body_of(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "B",
            "1",
            "1 ",
            "1  B",
            " 1 B",
            "1 B ",
            "-1 B",
            "+1 B",
            "1.5 MiB",
            "1 KB",
            "1 kb",
            "1 Mb",
            "1 MIB",
            "1 mib",
            "1 M",
            "1 TB",
            "1_000 B",
            "\u{661} B",
            "1\u{a0}B",
            "0x1 B",
        ] {
            assert_eq!(body_of(text), Err(Rule::LimitBodyMalformed), "{text:?}");
        }
        for text in ["0 B", "00 GiB", "18446744073709551616 B", "17179869184 GiB"] {
            assert_eq!(body_of(text), Err(Rule::LimitBodyOutOfBounds), "{text}");
        }
    }

    #[test]
    fn a_timeout_has_a_number_and_a_unit_and_is_at_most_a_day() {
        for (text, millis) in
            [("1ms", 1), ("500ms", 500), ("5s", 5_000), ("02m", 120_000), ("1440m", 86_400_000)]
        {
            assert_eq!(timeout_of(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "5", "5 s", "5S", "5sec", "5min", "1h", "-1s", "1.5s", " 5s", "5s "] {
            assert_eq!(timeout_of(text), Err(Rule::LimitTimeoutMalformed), "{text:?}");
        }
        for text in
            ["0ms", "0m", "86401s", "1441m", "18446744073709551615s", "99999999999999999999ms"]
        {
            assert_eq!(timeout_of(text), Err(Rule::LimitTimeoutOutOfBounds), "{text}");
        }
    }

    #[test]
    fn a_rate_has_a_number_a_period_and_a_key() {
        for (text, rate) in [
            ("1/s", Rate::per_second(1)),
            ("100/min", Rate::per_minute(100)),
            ("100/min per address", Rate::per_minute(100)),
            ("10/h per principal", Rate::per_hour(10).by_principal()),
            ("4294967295/d", Rate::per_day(u32::MAX)),
        ] {
            assert_eq!(rate_of(text), Ok(rate), "{text}");
        }
        for text in [
            "",
            "/min",
            "100",
            "100 / min",
            "100/ min",
            "100/m",
            "100/sec",
            "100/hour",
            "100/min ",
            "100/min  per address",
            "100/min per address ",
            "100/minper address",
            "100/min per user",
            "100/min per",
            "100/min address",
            "100 /min",
            "-1/min",
            "1.5/s",
            "100/10s",
        ] {
            assert_eq!(rate_of(text), Err(Rule::LimitRateMalformed), "{text:?}");
        }
        for text in ["0/min", "4294967296/s per principal", "99999999999999999999/d"] {
            assert_eq!(rate_of(text), Err(Rule::LimitRateOutOfBounds), "{text}");
        }
    }

    #[test]
    fn a_rate_of_misses_does_not_say_who_is_counted() {
        assert_eq!(misses_of("7/h"), Ok(Rate::per_hour(7).by_principal()));
        for text in ["7/h per principal", "7/h per address", "7/h ", "7", "7/hour"] {
            assert_eq!(misses_of(text), Err(Rule::LimitMissesMalformed), "{text:?}");
        }
        for text in ["0/h", "4294967296/s"] {
            assert_eq!(misses_of(text), Err(Rule::LimitMissesOutOfBounds), "{text}");
        }
    }
}

//! Sizes, times and rates as they are written.

use core::time::Duration;

use super::{Rate, RateKey, spec::LONGEST_TIMEOUT};
use crate::catalogue::Rule;

/// The bytes that a size such as `512 B`, `64 KiB`, `1 MiB` or `10 MB` is: `k`, `M` and `G` are
/// thousands, with `i` they are of 1024 each (IEC 80000-13).
///
/// # Errors
///
/// [`Rule::LimitBodyMalformed`], and [`Rule::LimitBodyOutOfBounds`] for zero and for more than
/// `u64` counts.
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

/// The time that a text such as `500ms`, `5s` or `2m` is.
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

/// The rate that a text such as `100/min` or `5/s per principal` is, with the units `s`, `min`,
/// `h` and `d`. Without `per principal` it is one `per address`.
///
/// # Errors
///
/// [`Rule::LimitRateMalformed`], and [`Rule::LimitRateOutOfBounds`] for zero and for more than
/// `u32` counts.
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
        None | Some((_, "per address")) => (rest, RateKey::Address),
        Some((_, "per principal")) => (rest, RateKey::Principal),
        Some(_) => return Err(Rule::LimitRateMalformed),
    };
    let per = match unit.split(' ').next() {
        Some("/s") => Rate::per_second,
        Some("/min") => Rate::per_minute,
        Some("/h") => Rate::per_hour,
        Some("/d") => Rate::per_day,
        _ => return Err(Rule::LimitRateMalformed),
    };
    let count = number.and_then(|number| u32::try_from(number).ok()).filter(|count| *count != 0);
    Ok(Rate { by, ..per(count.ok_or(Rule::LimitRateOutOfBounds)?) })
}

/// The digits in front, and the rest. The number is `None` where it does not fit.
fn number_of(text: &str) -> Option<(Option<u64>, &str)> {
    let rest = text.trim_start_matches(|char: char| char.is_ascii_digit());
    let digits = text.strip_suffix(rest).filter(|digits| !digits.is_empty())?;
    Some((digits.parse().ok(), rest))
}

//! Dates of cookies, which have their own syntax (RFC 6265bis, 5.1.1).

use std::time::Duration;

/// Parses a date as the time since 1970; an earlier one becomes 1970. `None` if it is invalid.
pub(crate) fn parse(text: &[u8]) -> Option<Duration> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(|byte| is_delimiter(*byte)).filter(|token| !token.is_empty()) {
        if time.is_none()
            && let Some(found) = time_of(token)
        {
            time = Some(found);
        } else if day.is_none()
            && let Some(found) = number(token, 1, 2)
        {
            day = Some(found);
        } else if month.is_none()
            && let Some(found) = month_of(token)
        {
            month = Some(found);
        } else if year.is_none()
            && let Some(found) = number(token, 2, 4)
        {
            year = Some(found);
        }
    }
    let year = match year? {
        year @ 70..=99 => 1900 + year,
        year @ 0..=69 => 2000 + year,
        year => year,
    };
    let ((hour, minute, second), day, month) = (time?, day?, month?);
    let is_date = year >= 1601 && (1..=days_of(month, year)).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days_since_1970(i64::from(year), i64::from(month), i64::from(day));
    let seconds = days * 86_400 + i64::from(hour * 3600 + minute * 60 + second);
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// `%x09 / %x20-2F / %x3B-40 / %x5B-60 / %x7B-7E`
const fn is_delimiter(byte: u8) -> bool {
    matches!(byte, 0x09 | 0x20..=0x2f | 0x3b..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e)
}

/// `hms-time`: three numbers of one or two digits, not followed by a digit.
fn time_of(token: &[u8]) -> Option<(u32, u32, u32)> {
    let mut fields = token.splitn(3, |byte| *byte == b':');
    let exact =
        |field: &[u8]| field.iter().all(u8::is_ascii_digit).then(|| number(field, 1, 2)).flatten();
    Some((exact(fields.next()?)?, exact(fields.next()?)?, number(fields.next()?, 1, 2)?))
}

/// Its first three letters.
fn month_of(token: &[u8]) -> Option<u32> {
    let start = token.get(..3)?.to_ascii_lowercase();
    let names: [&[u8]; 12] = [
        b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov",
        b"dec",
    ];
    (1..).zip(names).find_map(|(number, name)| (start == name).then_some(number))
}

/// A number of `least` to `most` digits at the start, not followed by a digit.
fn number(token: &[u8], least: usize, most: usize) -> Option<u32> {
    let digits = token.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = token.get(..digits).filter(|_| (least..=most).contains(&digits))?;
    str::from_utf8(text).ok()?.parse().ok()
}

const fn days_of(month: u32, year: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && !year.is_multiple_of(100)
            || month == 2 && year.is_multiple_of(400) =>
        {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days of the Gregorian calendar; years begin in March, so that the leap day is the last day of a
/// year.
const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let years = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    years * 365 + years / 4 - years / 100 + years / 400 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Option<u64> {
        parse(text.as_bytes()).map(|date| date.as_secs())
    }

    #[test]
    fn every_form_of_a_date_is_read() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "6 November 1994 8:49:37",
            "1994 Nov 06 08:49:37 +0200",
            "08:49:37 06x novice 94th",
            "06th~Nov!94~08:49:37.123",
        ] {
            assert_eq!(seconds(text), Some(784_111_777), "{text}");
        }
    }

    #[test]
    fn two_digits_of_a_year_are_of_this_or_the_last_century() {
        assert_eq!(seconds("1 Jan 70 00:00:00"), Some(0));
        assert_eq!(seconds("1 Jan 69 00:00:00"), Some(3_124_224_000));
        assert_eq!(seconds("1 Jan 99 00:00:00"), Some(915_148_800));
    }

    #[test]
    fn rejects_malformed_dates() {
        for text in [
            "",
            "tomorrow",
            "6 Nov 1994",
            "Nov 1994 08:49:37",
            "6 1994 08:49:37",
            "31 Nov 1994 08:49:37",
            "29 Feb 1900 00:00:00",
            "0 Nov 1994 08:49:37",
            "6 Nov 1600 08:49:37",
            "6 Nov 1994 24:00:00",
            "6 Nov 1994 08:60:00",
            "6 Nov 1994 08:49:60",
            "6 Nov 19945 08:49:37",
            "6 Nov 1994 8:49",
            "6 Nov 1994 008:49:37",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn dates_before_1970_are_1970() {
        assert_eq!(seconds("1 Jan 1601 00:00:00"), Some(0));
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut expected = 0;
        for year in 1970..=2400_u32 {
            for month in 1..=12 {
                for day in 1..=days_of(month, year) {
                    let text = days_since_1970(year.into(), month.into(), day.into());
                    assert_eq!(text, expected, "{year}-{month}-{day}");
                    expected += 1;
                }
            }
        }
    }
}

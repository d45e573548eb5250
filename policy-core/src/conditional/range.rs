//! Partial responses (RFC 9110 14).

use http::{HeaderMap, HeaderValue, header::RANGE};

use super::single;

/// The part of the content that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Range {
    /// 200: all of it.
    Whole,
    /// 206: the bytes from `first` to `last`, both included.
    Part {
        /// The first byte.
        first: u64,
        /// The last byte.
        last: u64,
    },
    /// 416: no existing byte is requested.
    NotSatisfiable,
}

impl Range {
    /// The `Content-Range` of the response, for content of this many bytes (RFC 9110 14.4).
    ///
    /// ```
    /// use policy_core::conditional::Range;
    ///
    /// let part = Range::Part { first: 0, last: 99 };
    /// assert_eq!(part.content_range(1234).unwrap(), "bytes 0-99/1234");
    /// assert_eq!(Range::NotSatisfiable.content_range(1234).unwrap(), "bytes */1234");
    /// assert_eq!(Range::Whole.content_range(1234), None);
    /// ```
    pub fn content_range(self, length: u64) -> Option<HeaderValue> {
        let text = match self {
            Self::Whole => return None,
            Self::Part { first, last } => format!("bytes {first}-{last}/{length}"),
            Self::NotSatisfiable => format!("bytes */{length}"),
        };
        HeaderValue::try_from(text).ok()
    }
}

/// The byte range that a request asks for, in a form that every server understands. Several ranges
/// are one if they join, whatever the length of the content is.
///
/// ```
/// use http::{HeaderMap, HeaderValue, header::RANGE};
/// use policy_core::conditional::one_range;
///
/// let one = |value| one_range(&HeaderMap::from_iter([(RANGE, HeaderValue::from_static(value))]));
/// assert_eq!(one("bytes=0-99").unwrap(), "bytes=0-99");
/// assert_eq!(one("bytes=50-, 0-99").unwrap(), "bytes=0-");
/// assert_eq!(one("bytes=0-0,-1"), None);
/// assert_eq!(one("lines=0-9"), None);
/// ```
pub fn one_range(headers: &HeaderMap) -> Option<HeaderValue> {
    let (mut parts, mut counts) = (Vec::new(), Vec::new());
    for spec in read(single(headers, &RANGE)?)? {
        match spec {
            Spec::From(first, last) => parts.push((first, last)),
            Spec::Last(count) => counts.push(count),
        }
    }
    let text = match counts.into_iter().max() {
        Some(count) if parts.is_empty() => format!("bytes=-{count}"),
        Some(_) => return None,
        None => match join(parts)? {
            (first, u64::MAX) => format!("bytes={first}-"),
            (first, last) => format!("bytes={first}-{last}"),
        },
    };
    HeaderValue::try_from(text).ok()
}

/// The maximum number of ranges that are read. No client needs more, and responses made of many
/// small ranges are an attack (RFC 9110 17.15).
const MOST: usize = 16;

/// Reads the value of a `Range` for content of this many bytes.
///
/// A malformed value, another unit or too many ranges select the whole content, and so do ranges
/// that do not join into one part: multipart responses are rare, and larger than what they save.
pub(super) fn select(value: &[u8], length: u64) -> Range {
    parse(value, length).unwrap_or(Range::Whole)
}

fn parse(value: &[u8], length: u64) -> Option<Range> {
    let mut parts = Vec::new();
    for spec in read(value)? {
        match spec {
            Spec::Last(0) => (),
            // Empty content has no last bytes.
            Spec::Last(_) if length == 0 => return None,
            Spec::Last(count) => parts.push((length.saturating_sub(count), length - 1)),
            Spec::From(first, last) if first < length => parts.push((first, last.min(length - 1))),
            Spec::From(..) => (),
        }
    }
    if parts.is_empty() {
        return Some(Range::NotSatisfiable);
    }
    let (first, last) = join(parts)?;
    Some(Range::Part { first, last })
}

/// Joins parts that overlap or follow each other.
fn join(mut parts: Vec<(u64, u64)>) -> Option<(u64, u64)> {
    parts.sort_unstable();
    let mut parts = parts.into_iter();
    let (first, mut last) = parts.next()?;
    for (next_first, next_last) in parts {
        if next_first > last.saturating_add(1) {
            return None;
        }
        last = last.max(next_last);
    }
    Some((first, last))
}

/// Reads the ranges of a field: at least one, and at most [`MOST`].
fn read(value: &[u8]) -> Option<Vec<Spec>> {
    let equals = value.iter().position(|byte| *byte == b'=')?;
    let (unit, set) = value.split_at_checked(equals)?;
    if !unit.eq_ignore_ascii_case(b"bytes") {
        return None;
    }
    let specs = set.strip_prefix(b"=")?.split(|byte| *byte == b',');
    let specs = specs.map(<[u8]>::trim_ascii).filter(|spec| !spec.is_empty());
    let mut found = Vec::new();
    for spec in specs {
        if found.len() == MOST {
            return None;
        }
        found.push(Spec::read(spec)?);
    }
    (!found.is_empty()).then_some(found)
}

/// One range of the field, before it is resolved.
enum Spec {
    /// `first-last` or `first-`
    From(u64, u64),
    /// `-count`
    Last(u64),
}

impl Spec {
    fn read(text: &[u8]) -> Option<Self> {
        let dash = text.iter().position(|byte| *byte == b'-')?;
        let (first, last) = text.split_at_checked(dash)?;
        let last = last.strip_prefix(b"-")?;
        if first.is_empty() {
            return number(last).map(Self::Last);
        }
        let first = number(first)?;
        let last = if last.is_empty() { u64::MAX } else { number(last)? };
        (first <= last).then_some(Self::From(first, last))
    }
}

/// Reads a number; one that is too large becomes the largest, which is past every end.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        let value = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        Some(number.saturating_mul(10).saturating_add(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(first: u64, last: u64) -> Range {
        Range::Part { first, last }
    }

    #[test]
    fn a_malformed_range_selects_the_whole() {
        for value in [
            "",
            "=",
            "bytes",
            "bytes=",
            "bytes=,",
            "bytes=-",
            "bytes=a-b",
            "bytes=1-0",
            "bytes=1",
            "bytes=--1",
            "bytes=0-1-2",
            "bytes =0-1",
            "bytes=0 -1",
            "bytes=+0-1",
            "lines=0-1",
            "bytes=0-1;2-3",
            "bytes=0-1, x",
            "bytes:0-1",
        ] {
            assert_eq!(select(value.as_bytes(), 10), Range::Whole, "{value}");
        }
        assert_eq!(select(b"bytes=\xff-", 10), Range::Whole);
    }

    #[test]
    fn numbers_may_be_larger_than_any_file() {
        let huge = "9".repeat(40);
        assert_eq!(select(format!("bytes=0-{huge}").as_bytes(), 10), part(0, 9));
        assert_eq!(select(format!("bytes=-{huge}").as_bytes(), 10), part(0, 9));
        assert_eq!(select(format!("bytes={huge}-").as_bytes(), u64::MAX), Range::NotSatisfiable);
        assert_eq!(select(b"bytes=-1", u64::MAX), part(u64::MAX - 1, u64::MAX - 1));
        assert_eq!(select(b"bytes=0-,1-", u64::MAX), part(0, u64::MAX - 1));
    }

    #[test]
    fn one_range_selects_what_the_ranges_select() {
        for (value, one) in [
            ("bytes=2-4", Some("bytes=2-4")),
            ("bytes=-3", Some("bytes=-3")),
            ("Bytes= 2-", Some("bytes=2-")),
            // An example of RFC 9110 14.1.2 has this space.
            ("bytes= 0-999", Some("bytes=0-999")),
            ("bytes=-1,-1", Some("bytes=-1")),
            ("bytes=-0,-5", Some("bytes=-5")),
            ("bytes=5-9,,0-4", Some("bytes=0-9")),
            ("bytes=1-,0-2", Some("bytes=0-")),
            ("bytes=0-1,3-4", None),
            ("bytes=0-,-1", None),
            ("bytes=x", None),
        ] {
            let headers = HeaderMap::from_iter([(RANGE, HeaderValue::from_static(value))]);
            let found = one_range(&headers);
            assert_eq!(found.as_ref().map(HeaderValue::as_bytes), one.map(str::as_bytes));
            for length in 0..20 {
                let wanted = select(value.as_bytes(), length);
                if let Some(one) = one {
                    assert_eq!(select(one.as_bytes(), length), wanted, "{value} of {length}");
                }
            }
        }
    }

    #[test]
    fn many_ranges_are_not_looked_at() {
        let set = |count: usize| format!("bytes={}", vec!["0-1"; count].join(","));
        assert_eq!(select(set(MOST).as_bytes(), 10), part(0, 1));
        assert_eq!(select(set(MOST + 1).as_bytes(), 10), Range::Whole);
    }
}

//! The protocol of the server, RESP 2.

use std::io;

use redis::{RedisResult, Value, parse_redis_value};

/// One value, or the beginning of a list, whose values follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Item<'a> {
    Nil,
    Number(i64),
    Status(&'a [u8]),
    Text(&'a [u8]),
    /// A line that begins with its code.
    Error(&'a [u8]),
    List(usize),
}

impl<'a> Item<'a> {
    /// Takes the first item. `None` if it is incomplete.
    #[inline]
    pub(in super::super) fn take(bytes: &mut &'a [u8]) -> io::Result<Option<Self>> {
        match short_text(bytes) {
            Some(text) => Ok(Some(Self::Text(text))),
            None => Self::take_any(bytes),
        }
    }

    fn take_any(bytes: &mut &'a [u8]) -> io::Result<Option<Self>> {
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
        let (line, mut rest) = bytes.split_at(end + 1);
        let [kind, line @ .., b'\r', b'\n'] = line else { return Err(strange()) };
        let item = match kind {
            b'$' => match length(line)? {
                None => Self::Nil,
                Some(length) => match rest.split_at_checked(length) {
                    Some((text, [b'\r', b'\n', next @ ..])) => {
                        rest = next;
                        Self::Text(text)
                    }
                    Some((_, [] | [b'\r'])) | None => return Ok(None),
                    Some(_) => return Err(strange()),
                },
            },
            b'*' => length(line)?.map_or(Self::Nil, Self::List),
            b':' => Self::Number(signed(line)?),
            b'+' => Self::Status(line),
            b'-' => Self::Error(line),
            _ => return Err(strange()),
        };
        *bytes = rest;
        Ok(Some(item))
    }
}

/// Takes a text of less than 100 bytes, if it is complete. Nearly all items are such texts.
#[inline]
fn short_text<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = match *bytes {
        [b'$', ones @ b'0'..=b'9', b'\r', b'\n', rest @ ..] => (ones - b'0', rest),
        [b'$', tens @ b'0'..=b'9', ones @ b'0'..=b'9', b'\r', b'\n', rest @ ..] => {
            ((tens - b'0') * 10 + (ones - b'0'), rest)
        }
        _ => return None,
    };
    let (text, rest) = rest.split_at_checked(length.into())?;
    *bytes = rest.strip_prefix(b"\r\n")?;
    Some(text)
}

/// Unparsed replies.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct Replies {
    pub(in super::super) bytes: Vec<u8>,
    /// Whether one of them is an error.
    pub(in super::super) has_error: bool,
}

impl Replies {
    /// Takes `count` replies. `None` if they are incomplete.
    pub(super) fn take(count: usize, bytes: &mut &[u8]) -> io::Result<Option<Self>> {
        let (mut rest, mut left, mut has_error) = (*bytes, count, false);
        while left > 0 {
            let Some(item) = Item::take(&mut rest)? else { return Ok(None) };
            left -= 1;
            match item {
                Item::List(length) => left = left.saturating_add(length),
                Item::Error(_) => has_error = true,
                _ => (),
            }
        }
        let (taken, _) = bytes.split_at(bytes.len() - rest.len());
        *bytes = rest;
        Ok(Some(Self { bytes: taken.to_vec(), has_error }))
    }

    /// Each reply, as the library reads it.
    pub(super) fn values(&self) -> RedisResult<Vec<Value>> {
        let (mut rest, mut values) = (&*self.bytes, Vec::new());
        while !rest.is_empty() {
            let reply = Self::take(1, &mut rest)?.ok_or_else(strange)?;
            values.push(parse_redis_value(&reply.bytes)?);
        }
        Ok(values)
    }
}

/// The length of a text or a list; `None` is nil.
fn length(digits: &[u8]) -> io::Result<Option<usize>> {
    if digits == b"-1" {
        return Ok(None);
    }
    let length = number(digits).and_then(|length| usize::try_from(length).ok());
    length.map(Some).ok_or_else(strange)
}

fn signed(digits: &[u8]) -> io::Result<i64> {
    let number = match digits {
        [b'-', digits @ ..] => number(digits).and_then(|number| 0_i64.checked_sub_unsigned(number)),
        digits => number(digits).and_then(|number| i64::try_from(number).ok()),
    };
    number.ok_or_else(strange)
}

/// A number without a sign.
pub(in super::super) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 { None } else { number.checked_mul(10)?.checked_add(digit.into()) }
    })
}

pub(super) fn strange() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "what responded does not speak the protocol of Redis",
    )
}

#[cfg(test)]
mod tests {
    use redis::ErrorKind;

    use super::*;

    const MIXED: &[u8] =
        b"*5\r\n$2\r\n\r\n\r\n:-7\r\n$-1\r\n*1\r\n+OK\r\n$0\r\n\r\n-MOVED 1 host:2\r\n";

    #[test]
    fn replies_are_read_once_complete() {
        for end in 0..MIXED.len() {
            let mut part = &MIXED[..end];
            assert_eq!(Replies::take(2, &mut part).unwrap(), None, "{end}");
            assert_eq!(part.len(), end);
        }
        let all = [MIXED, b"+next"].concat();
        let mut rest = &*all;
        let replies = Replies::take(2, &mut rest).unwrap().unwrap();
        assert_eq!((&*replies.bytes, replies.has_error, rest), (MIXED, true, &b"+next"[..]));
    }

    #[test]
    fn values_match_the_client_library() {
        let mut rest = MIXED;
        let values = Replies::take(2, &mut rest).unwrap().unwrap().values().unwrap();
        let by_library: Vec<_> = [&MIXED[..MIXED.len() - 17], &MIXED[MIXED.len() - 17..]]
            .iter()
            .map(|bytes| parse_redis_value(bytes).unwrap())
            .collect();
        assert_eq!(values, by_library);
    }

    #[test]
    fn texts_of_all_lengths_are_taken() {
        let powers = (0..=16).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) + 1]);
        // Two digits are read in another way than three.
        for length in powers.chain([9, 10, 11, 98, 99, 100, 101, 999, 1000, 12_345]) {
            let text = "x".repeat(length);
            let bytes = format!("${length}\r\n{text}\r\n:1\r\n");
            let mut rest = bytes.as_bytes();
            assert_eq!(Item::take(&mut rest).unwrap(), Some(Item::Text(text.as_bytes())));
            assert_eq!(rest, b":1\r\n");
        }
    }

    #[test]
    fn numbers_are_parsed_exactly() {
        let all = [0, 7, 10, u64::from(u32::MAX), u64::MAX - 1, u64::MAX];
        assert_eq!(all.map(|one| number(one.to_string().as_bytes())), all.map(Some));
        for power in 0..64 {
            for one in [(1_u64 << power) - 1, 1 << power, (1 << power) + 1] {
                let text = one.to_string();
                assert_eq!(number(text.as_bytes()), Some(one));
                assert_eq!(signed(text.as_bytes()).ok(), i64::try_from(one).ok());
                let negative = signed(format!("-{text}").as_bytes()).ok();
                assert_eq!(negative, 0_i64.checked_sub_unsigned(one));
            }
        }
        for other in
            ["", "-1", "+1", " 1", "1 ", "x", "18446744073709551616", "99999999999999999999"]
        {
            assert_eq!(number(other.as_bytes()), None, "{other}");
        }
        let all = [i64::MIN, -1, 0, i64::MAX];
        assert_eq!(all.map(|one| signed(one.to_string().as_bytes()).unwrap()), all);
        assert!(signed(b"9223372036854775808").is_err() && signed(b"--1").is_err());
    }

    #[test]
    fn another_protocol_is_an_error() {
        let others =
            ["HTTP/1.1 400 Bad Request\r\n", "$x\r\n", "$-2\r\n", "$1\r\nabc\r\n", "\n", "%1\r\n"];
        for other in others {
            assert!(Replies::take(1, &mut other.as_bytes()).is_err(), "{other}");
        }
        let deep = "*1\r\n".repeat(100) + ":1\r\n";
        let replies = Replies::take(1, &mut deep.as_bytes()).unwrap().unwrap();
        assert_eq!(replies.values().unwrap_err().kind(), ErrorKind::Parse);
    }
}

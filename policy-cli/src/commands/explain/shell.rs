//! The words of a line, as a shell splits it.

use std::{iter::Peekable, str::Bytes};

use crate::failure::Failure;

/// The words of a line (POSIX.1-2024 2.2), with the `$'..'` of bash (manual 3.1.2.4), which browsers
/// write. Nothing is expanded.
pub(super) fn words(line: &str) -> Result<Vec<String>, Failure> {
    let unclosed =
        || Failure::new("a quote of the curl line is not closed").help("copy the whole line");
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut rest = line.bytes().peekable();
    while let Some(byte) = rest.next() {
        match byte {
            b'\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next().ok_or_else(unclosed)? {
                        b'\'' => break,
                        other => word.push(other),
                    }
                }
            }
            b'$' if rest.peek() == Some(&b'\'') => {
                rest.next();
                let word = word.get_or_insert_default();
                loop {
                    match rest.next().ok_or_else(unclosed)? {
                        b'\'' => break,
                        b'\\' => escape(&mut rest, word).ok_or_else(unclosed)?,
                        other => word.push(other),
                    }
                }
            }
            b'"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next().ok_or_else(unclosed)? {
                        b'"' => break,
                        b'\\' => match rest.next().ok_or_else(unclosed)? {
                            b'\n' => (),
                            other @ (b'"' | b'\\' | b'$' | b'`') => word.push(other),
                            other => word.extend([b'\\', other]),
                        },
                        other => word.push(other),
                    }
                }
            }
            // A backslash at the end of a line joins it with the next one.
            b'\\' => match rest.next() {
                Some(b'\n') | None => (),
                Some(other) => word.get_or_insert_default().push(other),
            },
            // A line of a file from Windows ends with `\r\n`.
            b' ' | b'\t' | b'\n' | b'\r' => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    let texts = words.into_iter().map(String::from_utf8);
    texts.collect::<Result<_, _>>().map_err(|_bytes| {
        Failure::new("the curl line has bytes that are not UTF-8")
            .help("copy the line from a browser, or write the request with options")
    })
}

/// Adds what is behind a backslash in `$'..'`; `None` at the end of the line. Control characters as
/// `\cX`, which no browser writes, are left alone.
fn escape(rest: &mut Peekable<Bytes<'_>>, word: &mut Vec<u8>) -> Option<()> {
    let letter = rest.next()?;
    match letter {
        b'a' => word.push(7),
        b'b' => word.push(8),
        b'e' | b'E' => word.push(0x1b),
        b'f' => word.push(0xc),
        b'n' => word.push(b'\n'),
        b'r' => word.push(b'\r'),
        b't' => word.push(b'\t'),
        b'v' => word.push(0xb),
        b'\'' | b'"' | b'?' | b'\\' => word.push(letter),
        b'0'..=b'7' => {
            let first = u32::from(letter - b'0');
            let value =
                number(rest, 8, 2).map_or(first, |(more, count)| first * 8_u32.pow(count) + more);
            word.extend(value.to_le_bytes().first());
        }
        b'x' => match number(rest, 16, 2) {
            Some((value, _)) => word.extend(value.to_le_bytes().first()),
            None => word.extend([b'\\', letter]),
        },
        b'u' | b'U' => match number(rest, 16, if letter == b'u' { 4 } else { 8 }) {
            // A lone surrogate, which some browsers write, is no character.
            Some((code, _)) => {
                let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                word.extend(character.encode_utf8(&mut [0; 4]).bytes());
            }
            None => word.extend([b'\\', letter]),
        },
        other => word.extend([b'\\', other]),
    }
    Some(())
}

/// A number of at most `most` digits, and the number of digits; `None` if there is no digit.
fn number(rest: &mut Peekable<Bytes<'_>>, radix: u32, most: u32) -> Option<(u32, u32)> {
    let (mut value, mut count) = (0, 0);
    while count < most
        && let Some(digit) = rest.peek().and_then(|byte| char::from(*byte).to_digit(radix))
    {
        rest.next();
        (value, count) = (value * radix + digit, count + 1);
    }
    (count > 0).then_some((value, count))
}

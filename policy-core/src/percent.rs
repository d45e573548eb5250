//! Percent codes (RFC 3986 2.1).

/// A part of a text that may have percent codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A byte that is not part of a code.
    Raw(u8),
    /// The byte that a code encodes.
    Code(u8),
    /// A `%` that begins no code.
    Stray,
}

/// The parts of a text, in order.
pub(crate) fn parts(text: &[u8]) -> impl Iterator<Item = Part> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (byte, behind) = rest.split_first()?;
        rest = behind;
        if *byte != b'%' {
            return Some(Part::Raw(*byte));
        }
        Some(match code(behind) {
            Some(byte) => {
                rest = behind.get(2..).unwrap_or_default();
                Part::Code(byte)
            }
            None => Part::Stray,
        })
    })
}

/// The byte that two hexadecimal digits at the beginning of a text encode.
pub(crate) fn code(text: &[u8]) -> Option<u8> {
    let [high, low, ..] = text else { return None };
    Some(hex(*high)? * 16 + hex(*low)?)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_code_by_code() {
        let found: Vec<_> = parts(b"a%2f%2F%+1%%41%4").collect();
        let want = [
            Part::Raw(b'a'),
            Part::Code(b'/'),
            Part::Code(b'/'),
            Part::Stray,
            Part::Raw(b'+'),
            Part::Raw(b'1'),
            Part::Stray,
            Part::Code(b'A'),
            Part::Stray,
            Part::Raw(b'4'),
        ];
        assert_eq!(found, want);
    }

    /// Every pair of bytes after `%`, compared with the numbers of the standard library.
    #[test]
    fn a_code_is_two_hexadecimal_digits_and_nothing_else() {
        let mut codes = 0;
        for a in 0..=u8::MAX {
            for b in 0..=u8::MAX {
                let text = [a, b];
                let digits = str::from_utf8(&text).ok().filter(|text| !text.starts_with('+'));
                let want = digits.and_then(|text| u8::from_str_radix(text, 16).ok());
                codes += usize::from(want.is_some());
                let found: Vec<_> = parts(&[b'%', a, b]).take(1).collect();
                assert_eq!(found, [want.map_or(Part::Stray, Part::Code)], "{a} {b}");
            }
        }
        assert_eq!(codes, 22 * 22);
        for truncated in [&b"%"[..], b"%4", b"%%", b"%%4"] {
            let strays = truncated.iter().filter(|byte| **byte == b'%').count();
            let found = parts(truncated).filter(|part| *part == Part::Stray).count();
            assert_eq!(found, strays, "{truncated:?}");
        }
        assert_eq!(parts(b"").next(), None);
    }
}

//! Percent codes (RFC 3986 2.1).

/// A part of a text that may have percent codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A byte that stands for itself.
    Raw(u8),
    /// The byte that a code stands for.
    Code(u8),
    /// A `%` that begins no code.
    Stray,
}

/// The parts of a text, one after the other.
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

/// The byte that two hexadecimal digits at the beginning of a text stand for.
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
}

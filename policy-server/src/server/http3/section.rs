//! Checks which pseudo-header fields an encoded field section has, how often and where (RFC 9114
//! 4.3), which the decoded form does not show.
//!
//! This endpoint has no dynamic table, so a field line names its field by an index of the static
//! table or literally (RFC 9204 4.5), and no value has to be decoded to know which fields there
//! are.

/// The pseudo-header fields that a section may begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    /// The fields of a request: `:method`, `:scheme`, `:authority` and `:path`.
    Head,
    /// None (RFC 9114 4.3).
    Trailers,
}

/// Why a section is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectionFault {
    /// The request is malformed (RFC 9114 4.1.2).
    Malformed,
    /// It needs a dynamic table, or cannot be decoded at all (RFC 9204 2.2.1 and 6).
    Undecodable,
}

/// A pseudo-header field name (RFC 9114 4.3) in both literal forms. A text has exactly one Huffman
/// encoding (RFC 7541 5.2).
struct PseudoHeader {
    name: &'static [u8],
    huffman: &'static [u8],
}

const fn header(name: &'static [u8], huffman: &'static [u8]) -> PseudoHeader {
    PseudoHeader { name, huffman }
}

const AUTHORITY: usize = 0;
const METHOD: usize = 1;
const PATH: usize = 2;
const SCHEME: usize = 3;
/// The one of responses.
const STATUS: usize = 4;

/// Without `:protocol` (RFC 9220), which was not offered, so that clients must not send it.
const PSEUDO_HEADERS: [PseudoHeader; 5] = [
    header(b":authority", b"\xb8\x3b\x53\x39\xec\x32\x7d\x7f"),
    header(b":method", b"\xb9\x49\x53\x39\xe4"),
    header(b":path", b"\xb9\x58\xd3\x3f"),
    header(b":scheme", b"\xb8\x82\x4e\x5a\x4b"),
    header(b":status", b"\xb8\x84\x8d\x36\xa3"),
];

/// The first seven bits of a Huffman-encoded name that begins with `:`.
const HUFFMAN_COLON: u8 = 0b101_1100;

/// The field of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// One of [`PSEUDO_HEADERS`].
    Pseudo(usize),
    /// It begins with `:` but is none of them.
    UnknownPseudo,
    Regular,
}

/// Checks an encoded section.
pub(super) fn check(block: &[u8], section: Section) -> Result<(), SectionFault> {
    let mut lines = Lines::new(block).ok_or(SectionFault::Undecodable)?;
    let mut seen = [false; PSEUDO_HEADERS.len()];
    let mut is_past_pseudo = section == Section::Trailers;
    let mut outcome = Ok(());
    while !lines.0.is_empty() {
        // A decoding error takes precedence over a malformed request, and may come after it.
        match lines.next().ok_or(SectionFault::Undecodable)? {
            Field::Regular => is_past_pseudo = true,
            Field::UnknownPseudo => outcome = Err(SectionFault::Malformed),
            Field::Pseudo(index) => {
                let is_new = seen.get_mut(index).is_some_and(|seen| !std::mem::replace(seen, true));
                if is_past_pseudo || !is_new || index == STATUS {
                    outcome = Err(SectionFault::Malformed);
                }
            }
        }
    }
    outcome
}

/// The unread lines of a section.
struct Lines<'a>(&'a [u8]);

impl<'a> Lines<'a> {
    /// After the prefix (RFC 9204 4.5.1), which must not require a dynamic table.
    fn new(block: &'a [u8]) -> Option<Self> {
        let mut lines = Self(block);
        let required_insert_count = lines.integer(8)?;
        let _base = lines.integer(7)?;
        (required_insert_count == 0).then_some(lines)
    }

    fn next(&mut self) -> Option<Field> {
        let first = *self.0.first()?;
        if first & 0b1100_0000 == 0b1100_0000 {
            return static_field(self.integer(6)?);
        }
        if first & 0b1101_0000 == 0b0101_0000 {
            let field = static_field(self.integer(4)?)?;
            self.string(7)?;
            return Some(field);
        }
        if first & 0b1110_0000 == 0b0010_0000 {
            let (name, is_huffman) = self.string(3)?;
            self.string(7)?;
            return Some(if is_huffman { field_from_huffman(name) } else { field_from_name(name) });
        }
        // All other forms refer to a dynamic table.
        None
    }

    /// An integer that begins in the last `bits` of the next byte (RFC 7541 5.1).
    fn integer(&mut self, bits: u32) -> Option<usize> {
        let mask = u8::MAX >> (8 - bits);
        let begin = self.byte()? & mask;
        let mut value = usize::from(begin);
        if begin < mask {
            return Some(value);
        }
        // Four more bytes hold every valid length and index.
        for shift in [0, 7, 14, 21] {
            let byte = self.byte()?;
            value += usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A string with a length prefix of `bits` bits, and whether it is Huffman-encoded.
    fn string(&mut self, bits: u32) -> Option<(&'a [u8], bool)> {
        let is_huffman = *self.0.first()? & (1 << bits) != 0;
        let length = self.integer(bits)?;
        let (string, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some((string, is_huffman))
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }
}

/// The part of the static table (RFC 9204, appendix A) whose names begin with `:`.
fn static_field(index: usize) -> Option<Field> {
    Some(match index {
        0 => Field::Pseudo(AUTHORITY),
        1 => Field::Pseudo(PATH),
        15..=21 => Field::Pseudo(METHOD),
        22 | 23 => Field::Pseudo(SCHEME),
        24..=28 | 63..=71 => Field::Pseudo(STATUS),
        2..=14 | 29..=62 | 72..=98 => Field::Regular,
        _ => return None,
    })
}

fn field_from_name(name: &[u8]) -> Field {
    if name.first() == Some(&b':') { pseudo(|of| of.name == name) } else { Field::Regular }
}

fn field_from_huffman(name: &[u8]) -> Field {
    if name.first().is_some_and(|first| first >> 1 == HUFFMAN_COLON) {
        pseudo(|of| of.huffman == name)
    } else {
        Field::Regular
    }
}

fn pseudo(is_it: impl Fn(&PseudoHeader) -> bool) -> Field {
    PSEUDO_HEADERS.iter().position(is_it).map_or(Field::UnknownPseudo, Field::Pseudo)
}

#[cfg(test)]
mod tests;

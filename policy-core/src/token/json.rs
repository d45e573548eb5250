//! A scanner of JSON objects (RFC 8259) that borrows: strings stay in place in the text, and only
//! those with escapes are read by `serde_json`.
//!
//! It is stricter than JSON: no name twice in an object, spelled with escapes or not (RFC 7519 4),
//! at most [`DEPTH`] levels and [`MEMBERS`] names per object.

use std::borrow::Cow;

use super::TokenError;

/// Text that is not valid JSON for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl From<Malformed> for TokenError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

/// The maximum nesting of objects and arrays.
pub(super) const DEPTH: u8 = 8;

/// The maximum number of members of an object.
pub(super) const MEMBERS: usize = 64;

/// A range of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u16,
    pub(super) end: u16,
}

impl Span {
    pub(super) fn slice(self, text: &str) -> &str {
        text.get(usize::from(self.start)..usize::from(self.end)).unwrap_or_default()
    }
}

/// A string, between its quotes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Literal<'t> {
    raw: &'t [u8],
    pub(super) span: Span,
    pub(super) has_escapes: bool,
}

impl<'t> Literal<'t> {
    /// The unescaped text. Refuses unknown escapes and lone surrogates.
    #[inline]
    pub(super) fn text(&self) -> Result<Cow<'t, [u8]>, Malformed> {
        if self.has_escapes {
            unescaped(self.raw).map(Cow::Owned)
        } else {
            Ok(Cow::Borrowed(self.raw))
        }
    }
}

/// The unescaped text of a string with escapes.
#[cold]
fn unescaped(raw: &[u8]) -> Result<Vec<u8>, Malformed> {
    let quoted = [b"\"", raw, b"\""].concat();
    serde_json::from_slice(&quoted).map(String::into_bytes).map_err(|_escape| Malformed)
}

/// A number as it is written.
pub(super) struct Number<'t> {
    pub(super) raw: &'t [u8],
    /// Its value, if it is a non-negative integer that fits.
    pub(super) integer: Option<u64>,
}

/// Reads a text from its beginning to its end.
pub(super) struct Scanner<'t> {
    bytes: &'t [u8],
    at: usize,
    depth: u8,
}

impl<'t> Scanner<'t> {
    /// A scanner of a text that spans can point into: below 64 KiB.
    pub(super) fn new(text: &'t str) -> Self {
        Self { bytes: text.as_bytes(), at: 0, depth: 0 }
    }

    /// Reads the whole text as one object; `member` reads the value of each name.
    #[inline]
    pub(super) fn document(
        &mut self,
        member: impl FnMut(&mut Self, &[u8]) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        if self.bytes.len() > usize::from(u16::MAX) {
            return Err(Malformed);
        }
        self.space();
        self.object(member)?;
        self.space();
        if self.at == self.bytes.len() { Ok(()) } else { Err(Malformed) }
    }

    /// Reads an object.
    #[inline]
    fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &[u8]) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        self.expect(b'{')?;
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Malformed);
        }
        self.space();
        if !self.take(b'}') {
            let mut names = MemberNames::default();
            loop {
                let name = self.literal()?;
                let text = name.text()?;
                names.add(self.bytes, name.span, &text)?;
                if self.sign() != Some(b':') {
                    return Err(Malformed);
                }
                self.space();
                member(self, &text)?;
                match self.sign() {
                    Some(b',') => self.space(),
                    Some(b'}') => break,
                    _ => return Err(Malformed),
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Reads an array; `element` reads each value.
    pub(super) fn array(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        self.expect(b'[')?;
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Malformed);
        }
        self.space();
        if !self.take(b']') {
            loop {
                element(self)?;
                match self.sign() {
                    Some(b',') => self.space(),
                    Some(b']') => break,
                    _ => return Err(Malformed),
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Whether the next value begins with this byte, which identifies its kind.
    #[inline]
    pub(super) fn is_next(&self, byte: u8) -> bool {
        self.peek() == Some(byte)
    }

    /// Whether a number begins here.
    #[inline]
    pub(super) fn is_number_next(&self) -> bool {
        matches!(self.peek(), Some(b'-' | b'0'..=b'9'))
    }

    /// The position of the next byte.
    pub(super) fn position(&self) -> u16 {
        u16::try_from(self.at).unwrap_or(u16::MAX)
    }

    /// The length of the whole text.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Reads any value.
    pub(super) fn skip(&mut self) -> Result<(), Malformed> {
        match self.peek() {
            Some(b'"') => self.literal()?.text().map(drop),
            Some(b'-' | b'0'..=b'9') => self.number().map(drop),
            Some(b'{') => self.object(|scanner, _name| scanner.skip()),
            Some(b'[') => self.array(Self::skip),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            _ => Err(Malformed),
        }
    }

    /// Reads any value; returns its text if it is a string.
    pub(super) fn optional_string(&mut self) -> Result<Option<String>, Malformed> {
        if self.is_next(b'"') {
            let text = self.literal()?.text()?.into_owned();
            String::from_utf8(text).map(Some).map_err(|_utf8| Malformed)
        } else {
            self.skip()?;
            Ok(None)
        }
    }

    /// Reads a string.
    #[inline]
    pub(super) fn literal(&mut self) -> Result<Literal<'t>, Malformed> {
        self.expect(b'"')?;
        let start = self.at;
        let mut at = start;
        let mut has_escapes = false;
        loop {
            at = special(self.bytes, at);
            match self.bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    has_escapes = true;
                    // Whether it is a valid escape is checked when it is unescaped.
                    at += 2;
                }
                _ => return Err(Malformed),
            }
        }
        self.at = at + 1;
        let raw = self.bytes.get(start..at).ok_or(Malformed)?;
        let offset = |at: usize| u16::try_from(at).map_err(|_long| Malformed);
        Ok(Literal { raw, span: Span { start: offset(start)?, end: offset(at)? }, has_escapes })
    }

    /// Reads a number.
    #[inline]
    pub(super) fn number(&mut self) -> Result<Number<'t>, Malformed> {
        let start = self.at;
        let is_negative = self.take(b'-');
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let (mut value, mut count) = (0_u64, 0);
        for byte in rest {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            count += 1;
        }
        self.at += count;
        let has_leading_zero = rest.first() == Some(&b'0') && count > 1;
        if count == 0 || has_leading_zero {
            return Err(Malformed);
        }
        // 19 digits fit; no claim uses a longer integer.
        let mut integer = (count <= 19).then_some(value);
        if is_negative && integer != Some(0) {
            integer = None;
        }
        if self.take(b'.') {
            self.digits()?;
            integer = None;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
            integer = None;
        }
        let raw = self.bytes.get(start..self.at).ok_or(Malformed)?;
        Ok(Number { raw, integer })
    }

    fn digits(&mut self) -> Result<(), Malformed> {
        let first = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == first { Err(Malformed) } else { Ok(()) }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Malformed> {
        let is_word = self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word));
        self.at += word.len();
        if is_word { Ok(()) } else { Err(Malformed) }
    }

    /// Takes the next byte after white space.
    #[inline]
    fn sign(&mut self) -> Option<u8> {
        self.space();
        let sign = self.peek()?;
        self.at += 1;
        Some(sign)
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.take(byte) { Ok(()) } else { Err(Malformed) }
    }

    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }
}

/// The position, from `at` on, of the next byte that needs attention in a string: quote, backslash
/// or control character; or the end.
#[inline]
fn special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        match first_special(u64::from_le_bytes(*chunk)) {
            Some(offset) => return at + offset,
            None => at += 8,
        }
    }
    let is_plain = |byte: &u8| *byte >= b' ' && !matches!(byte, b'"' | b'\\');
    while bytes.get(at).is_some_and(is_plain) {
        at += 1;
    }
    at
}

/// The index, in the order of memory, of the first of eight bytes that is a quote, a backslash or a
/// control character.
#[inline]
fn first_special(bytes: u64) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    // The lowest marked byte is exact: borrows of a subtraction only run upwards.
    let zeros = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes;
    let quote = zeros(bytes ^ (ONES * u64::from(b'"')));
    let backslash = zeros(bytes ^ (ONES * u64::from(b'\\')));
    let control = bytes.wrapping_sub(ONES * u64::from(b' ')) & !bytes;
    let marks = (quote | backslash | control) & HIGH;
    (marks != 0).then(|| marks.trailing_zeros() as usize / 8)
}

/// The names of an object so far.
struct MemberNames {
    /// One bit for each hash of a name: if it is not set, the name is new.
    marks: u64,
    spans: [Span; MEMBERS],
    count: usize,
}

impl Default for MemberNames {
    fn default() -> Self {
        Self { marks: 0, spans: [Span::default(); MEMBERS], count: 0 }
    }
}

impl MemberNames {
    /// Adds a name, unless the object already has it.
    #[inline]
    fn add(&mut self, all: &[u8], span: Span, name: &[u8]) -> Result<(), Malformed> {
        let first = name.first().copied().unwrap_or_default();
        let last = name.last().copied().unwrap_or_default();
        let ends = u32::from(first) << 8 | u32::from(last);
        let mark = 1 << ((ends + name.len() as u32).wrapping_mul(0x85eb_ca6b) >> 26);
        if self.marks & mark != 0 && self.contains(all, name) {
            return Err(Malformed);
        }
        self.marks |= mark;
        *self.spans.get_mut(self.count).ok_or(Malformed)? = span;
        self.count += 1;
        Ok(())
    }

    #[cold]
    fn contains(&self, all: &[u8], name: &[u8]) -> bool {
        self.spans.iter().take(self.count).any(|span| {
            let raw = all.get(usize::from(span.start)..usize::from(span.end)).unwrap_or_default();
            raw == name || raw.contains(&b'\\') && unescaped(raw).as_deref() == Ok(name)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, collections::HashSet};

    use proptest::prelude::*;
    use proptest::strategy::ValueTree;
    use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

    use super::*;

    fn is_read(text: &str) -> bool {
        Scanner::new(text).document(|scanner, _name| scanner.skip()).is_ok()
    }

    thread_local! {
        static LEVEL: Cell<u8> = const { Cell::new(0) };
    }

    /// Any value whose objects have unique names, not too many of them, and limited nesting: the
    /// language that the scanner accepts, written with `serde_json`.
    struct Strict;

    impl<'de> Deserialize<'de> for Strict {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            from.deserialize_any(StrictVisitor)
        }
    }

    struct StrictVisitor;

    fn deeper<T, E: Error>(read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        LEVEL.set(LEVEL.get() + 1);
        let read = if LEVEL.get() > DEPTH { Err(E::custom("too deep")) } else { read() };
        LEVEL.set(LEVEL.get() - 1);
        read
    }

    impl<'de> Visitor<'de> for StrictVisitor {
        type Value = Strict;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a value")
        }
        fn visit_unit<E>(self) -> Result<Strict, E> {
            Ok(Strict)
        }
        fn visit_bool<E>(self, _: bool) -> Result<Strict, E> {
            Ok(Strict)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Strict, E> {
            Ok(Strict)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Strict, E> {
            Ok(Strict)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Strict, E> {
            Ok(Strict)
        }
        fn visit_str<E>(self, _: &str) -> Result<Strict, E> {
            Ok(Strict)
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Strict, A::Error> {
            deeper(|| {
                while seq.next_element::<Strict>()?.is_some() {}
                Ok(Strict)
            })
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Strict, A::Error> {
            deeper(|| {
                let mut names = HashSet::new();
                while let Some(name) = map.next_key::<String>()? {
                    map.next_value::<Strict>()?;
                    if !names.insert(name) || names.len() > MEMBERS {
                        return Err(A::Error::custom("too many names"));
                    }
                }
                Ok(Strict)
            })
        }
    }

    /// The verdict of `serde_json` on a text that is an object; `None` if it only rejects a number
    /// that is too large, which JSON does not forbid.
    fn expected(text: &str) -> Option<bool> {
        LEVEL.set(0);
        match serde_json::from_str::<Strict>(text) {
            Ok(Strict) => Some(text.trim_start_matches([' ', '\t', '\n', '\r']).starts_with('{')),
            Err(error) if error.to_string().contains("out of range") => None,
            Err(_) => Some(false),
        }
    }

    /// Values, written with white space, escapes, and repeated names.
    fn value() -> impl Strategy<Value = String> {
        let string = r#""([a-c"]|\\[nt"\\/u]|\\u00[46][1-3]|\\ud83d\\ude00|é|.){0,9}""#;
        let leaf = prop_oneof![
            string,
            "-?(0|[1-9][0-9]{0,20}|0[0-9])(\\.[0-9]{0,3})?([eE][+-]?[0-9]{0,3})?",
            "true|false|null|nul|tru",
        ];
        leaf.prop_recursive(10, 60, 6, |inner| {
            let name = r#""(a|b|\\u0061|[a-f]{1,9})""#;
            let gap = "[ \t\n\r]{0,2}";
            let member = (name, gap, inner.clone(), gap)
                .prop_map(|(name, gap, value, end)| format!("{name}{gap}:{gap}{value}{end}"));
            prop_oneof![
                1 => prop::collection::vec(inner, 0..4).prop_map(|all| format!("[{}]", all.join(","))),
                3 => prop::collection::vec(member, 0..5).prop_map(|all| format!("{{{}}}", all.join(","))),
            ]
        })
    }

    /// Except for the rules above, the scanner accepts the objects that `serde_json` accepts, also
    /// after one byte was changed. Both verdicts must occur, or the test would prove nothing.
    #[test]
    fn the_scanner_agrees_with_serde_json() {
        let (mut taken, mut refused) = (0, 0);
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let tree = (value(), any::<prop::sample::Index>(), any::<char>(), any::<bool>());
        for _ in 0..2_000 {
            let (value, at, other, is_changed) =
                tree.new_tree(&mut runner).expect("a value").current();
            let mut text = format!("{{\"x\":{value}}}");
            if is_changed {
                let mut all: Vec<char> = text.chars().collect();
                let at = at.index(all.len());
                all[at] = other;
                text = all.into_iter().collect();
            }
            if let Some(expected) = expected(&text) {
                assert_eq!(is_read(&text), expected, "{text}");
                if expected { taken += 1 } else { refused += 1 }
            }
        }
        assert!(taken > 200 && refused > 200, "{taken} taken, {refused} refused");
    }

    /// Every byte at every position of a string of two eight-byte words.
    #[test]
    fn special_bytes_are_found_at_every_position() {
        for at in 0..19 {
            for byte in 0..=0x7f_u8 {
                let mut string = *b"abcdefghijklmnopqrs";
                string[at] = byte;
                let text = format!("{{\"x\":\"{}\"}}", str::from_utf8(&string).unwrap());
                assert_eq!(is_read(&text), expected(&text).unwrap(), "{text:?}");
            }
        }
    }

    #[test]
    fn objects_nest_to_eight_levels_and_have_64_members() {
        let nested = |levels| format!("{{\"x\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert!(is_read(&nested(7)) && !is_read(&nested(8)));
        let members = |count| {
            let all: Vec<String> = (0..count).map(|n| format!("\"{n}\":1")).collect();
            format!("{{{}}}", all.join(","))
        };
        assert!(is_read(&members(64)) && !is_read(&members(65)));
    }
}

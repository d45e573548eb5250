//! Byte comparisons and the token grammar, as `const fn`.

/// Whether this holds for every element of a slice, as `Iterator::all` outside of constants.
macro_rules! every {
    ($slice:expr, $element:pat => $holds:expr) => {{
        let mut rest: &[_] = $slice;
        loop {
            match rest {
                [] => break true,
                [$element, tail @ ..] if $holds => rest = tail,
                _ => break false,
            }
        }
    }};
}

/// Whether this holds for any element of a slice, as `Iterator::any` outside of constants.
macro_rules! any {
    ($slice:expr, $element:pat => $holds:expr) => {{
        let mut rest: &[_] = $slice;
        loop {
            match rest {
                [] => break false,
                [$element, ..] if $holds => break true,
                [_, tail @ ..] => rest = tail,
            }
        }
    }};
}

pub(crate) use {any, every};

/// Whether `text` is a `token` (RFC 9110 5.6.2).
pub const fn is_token(text: &[u8]) -> bool {
    let is_of_token = every!(
        text,
        byte => byte.is_ascii_alphanumeric() || contains(b"!#$%&'*+-.^_`|~", *byte)
    );
    is_of_token && !text.is_empty()
}

/// Whether `value` is a `Content-Length` (RFC 9110 8.6) that fits a `u64`.
#[cfg(feature = "engine")]
pub(crate) fn is_length(value: &[u8]) -> bool {
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    is_number && str::from_utf8(value).is_ok_and(|text| text.parse::<u64>().is_ok())
}

/// Values of `Content-Length` that are one number, and values that are not, for the tests of each
/// message that has one.
#[cfg(all(test, feature = "engine"))]
pub(crate) const LENGTHS: [&str; 3] = ["0", "5", "18446744073709551615"];
#[cfg(all(test, feature = "engine"))]
pub(crate) const MALFORMED_LENGTHS: [&str; 9] =
    ["", "-1", "+5", "5 ", "5, 5", "5,6", "0x5", "5.0", "18446744073709551616"];

pub(crate) const fn contains(set: &[u8], byte: u8) -> bool {
    any!(set, one => *one == byte)
}

pub(crate) const fn eq(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && strip_prefix(a, b).is_some()
}

pub(crate) const fn eq_ignore_case(a: &[u8], b: &[u8]) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// The rest of `text` after `prefix`, if it begins with it.
pub(crate) const fn strip_prefix<'a>(text: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    let (mut text, mut prefix) = (text, prefix);
    while let [want, prefix_tail @ ..] = prefix {
        match text {
            [have, text_tail @ ..] if *have == *want => text = text_tail,
            _ => return None,
        }
        prefix = prefix_tail;
    }
    Some(text)
}

/// The rest of `text` before `suffix`, if it ends with it.
pub(crate) const fn strip_suffix<'a>(text: &'a [u8], suffix: &[u8]) -> Option<&'a [u8]> {
    let (mut text, mut suffix) = (text, suffix);
    while let [suffix_head @ .., want] = suffix {
        match text {
            [text_head @ .., have] if *have == *want => text = text_head,
            _ => return None,
        }
        suffix = suffix_head;
    }
    Some(text)
}

/// The number of bytes before the first of `ends`, or all.
pub(crate) const fn len_until(text: &[u8], ends: &[u8]) -> usize {
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        if contains(ends, *byte) {
            break;
        }
        rest = tail;
    }
    text.len() - rest.len()
}

/// Whether one of `names` equals `name`, ignoring case.
pub(crate) const fn names_contain(names: &[&str], name: &[u8]) -> bool {
    any!(names, one => eq_ignore_case(one.as_bytes(), name))
}

/// An entry of a list; empty if the index is out of range.
pub(crate) const fn entry<'a>(list: &[&'a str], index: usize) -> &'a str {
    match list.split_at_checked(index) {
        Some((_, [text, ..])) => text,
        _ => "",
    }
}

/// Splits at each `separator` that is not in a quoted string (RFC 9110 5.6.4).
#[cfg(feature = "engine")]
pub(crate) fn outside_quotes(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |byte| {
        let was_escaped = is_escaped;
        is_escaped = is_quoted && !was_escaped && *byte == b'\\';
        is_quoted ^= *byte == b'"' && !was_escaped;
        *byte == separator && !is_quoted
    })
}

#[cfg(all(test, feature = "engine"))]
mod tests {
    use super::*;

    /// The parts, split by the grammar of quoted strings; an unclosed one extends to the end.
    fn by_grammar(mut text: &[u8]) -> Vec<Vec<u8>> {
        let mut parts = vec![Vec::new()];
        while let [first, rest @ ..] = text {
            let taken = match first {
                b',' => {
                    parts.push(Vec::new());
                    text = rest;
                    continue;
                }
                b'"' => {
                    let mut end = 1;
                    while text.get(end).is_some_and(|byte| *byte != b'"') {
                        end += if text.get(end) == Some(&b'\\') { 2 } else { 1 };
                    }
                    (end + 1).min(text.len())
                }
                _ => 1,
            };
            let (taken, rest) = text.split_at(taken);
            if let Some(part) = parts.last_mut() {
                part.extend_from_slice(taken);
            }
            text = rest;
        }
        parts
    }

    /// Every text of up to seven of the relevant characters.
    #[test]
    fn a_separator_in_a_quoted_string_separates_nothing() {
        let (mut texts, mut quoted) = (vec![Vec::new()], 0);
        for _ in 0..7 {
            let longer = texts
                .iter()
                .flat_map(|text| b"a,\"\\".iter().map(move |byte| [&text[..], &[*byte]].concat()));
            texts = longer.collect();
            for text in &texts {
                let found: Vec<_> = outside_quotes(text, b',').map(<[u8]>::to_vec).collect();
                assert_eq!(found, by_grammar(text), "{}", text.escape_ascii());
                quoted += usize::from(found.iter().any(|part| part.contains(&b',')));
            }
        }
        assert!(quoted > 1000, "only {quoted} texts have a quoted separator");
    }
}

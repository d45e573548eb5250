//! Byte comparisons and the token grammar, as `const fn`.

/// Whether `text` is a `token` (RFC 9110 5.6.2).
pub const fn is_token(text: &[u8]) -> bool {
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        if !(byte.is_ascii_alphanumeric() || contains(b"!#$%&'*+-.^_`|~", *byte)) {
            return false;
        }
        rest = tail;
    }
    !text.is_empty()
}

pub(crate) const fn contains(set: &[u8], byte: u8) -> bool {
    let mut rest = set;
    while let [first, tail @ ..] = rest {
        if *first == byte {
            return true;
        }
        rest = tail;
    }
    false
}

pub(crate) const fn eq(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && strip_prefix(a, b).is_some()
}

pub(crate) const fn eq_ignore_case(a: &[u8], b: &[u8]) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// What follows `prefix`, if `text` begins with it.
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

/// What precedes `suffix`, if `text` ends with it.
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

/// Whether one of `names` equals `name`, whatever the case.
pub(crate) const fn names_contain(names: &[&str], name: &[u8]) -> bool {
    let mut rest = names;
    while let [first, tail @ ..] = rest {
        if eq_ignore_case(first.as_bytes(), name) {
            return true;
        }
        rest = tail;
    }
    false
}

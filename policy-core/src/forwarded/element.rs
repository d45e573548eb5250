//! The elements of a Forwarded field (RFC 7239 4).

use crate::grammar::is_token;

/// The parameters that one proxy adds about the request it received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Element<'a> {
    pub(super) r#for: Option<&'a str>,
    pub(super) host: Option<&'a str>,
    pub(super) proto: Option<&'a str>,
}

/// The elements of a line of the field, the last first, without empty ones (RFC 9110 5.6.1).
///
/// A line is split from its end. A proxy appends its element to what the client sent, so text of
/// the client, such as an unclosed quote, cannot change where the element begins.
pub(super) fn elements_from_right(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest?;
        let (before, last) = match last_comma(text) {
            Some(at) => (text.get(..at), text.get(at + 1..)),
            None => (None, Some(text)),
        };
        rest = before;
        last
    })
    .map(<[u8]>::trim_ascii)
    .filter(|element| !element.is_empty())
}

/// The index of the last comma that is not in a quoted-string (RFC 9110 5.6.4).
fn last_comma(text: &[u8]) -> Option<usize> {
    let mut is_quoted = false;
    for (at, byte) in text.iter().enumerate().rev() {
        match byte {
            b'"' if is_quoted => {
                let before = text.get(..at).unwrap_or_default();
                let escapes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
                is_quoted = escapes % 2 == 1;
            }
            b'"' => is_quoted = true,
            b',' if !is_quoted => return Some(at),
            _ => (),
        }
    }
    None
}

impl<'a> Element<'a> {
    /// Reads one element; `None` if it breaks the grammar.
    ///
    /// Blanks around `;` are accepted, since many proxies write them. A quoted value is given without
    /// its quotes and with its backslashes: no value used here contains a character to escape.
    pub(super) fn read(text: &'a [u8]) -> Option<Self> {
        let mut element = Self::default();
        let mut rest = str::from_utf8(text).ok()?;
        loop {
            rest = rest.trim_start_matches([' ', '\t']);
            if !rest.is_empty() && !rest.starts_with(';') {
                rest = element.pair(rest)?.trim_start_matches([' ', '\t']);
            }
            match rest.strip_prefix(';') {
                Some(behind) => rest = behind,
                None => return rest.is_empty().then_some(element),
            }
        }
    }

    /// Reads one `token "=" value` and returns the rest.
    fn pair(&mut self, text: &'a str) -> Option<&'a str> {
        let (name, behind) = text.split_once('=')?;
        if !is_token(name.as_bytes()) {
            return None;
        }
        let (value, rest) = match behind.strip_prefix('"') {
            Some(quoted) => quoted.split_at_checked(closing(quoted)?)?,
            None => {
                let end = behind.find([';', ',', ' ', '\t']).unwrap_or(behind.len());
                let (value, rest) = behind.split_at_checked(end)?;
                if !is_token(value.as_bytes()) {
                    return None;
                }
                (value, rest)
            }
        };
        let rest = if behind.starts_with('"') { rest.strip_prefix('"')? } else { rest };
        let slot = match name.to_ascii_lowercase().as_str() {
            "for" => &mut self.r#for,
            "host" => &mut self.host,
            "proto" => &mut self.proto,
            // `by` and extensions are ignored.
            _ => return Some(rest),
        };
        // RFC 7239 4: a parameter occurs at most once in an element.
        if slot.replace(value).is_some() { None } else { Some(rest) }
    }
}

/// The position of the quote that ends a quoted-string (RFC 9110 5.6.4).
fn closing(quoted: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, byte) in quoted.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return Some(at),
            _ => (),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element<'a>(r#for: &'a str, host: &'a str, proto: &'a str) -> Element<'a> {
        let value = |text: &'a str| (!text.is_empty()).then_some(text);
        Element { r#for: value(r#for), host: value(host), proto: value(proto) }
    }

    /// The elements of a line, the last first; `None` if one breaks the grammar.
    fn elements(line: &str) -> Option<Vec<Element<'_>>> {
        elements_from_right(line.as_bytes()).map(Element::read).collect()
    }

    /// RFC 7239 4 and 7.1, and common deviations.
    #[test]
    fn lines_of_the_grammar() {
        for (line, want) in [
            ("", vec![]),
            ("for=192.0.2.43", vec![element("192.0.2.43", "", "")]),
            ("For=\"[2001:db8:cafe::17]:4711\"", vec![element("[2001:db8:cafe::17]:4711", "", "")]),
            ("for=192.0.2.60;proto=http;by=203.0.113.43", vec![element("192.0.2.60", "", "http")]),
            (
                "for=192.0.2.43, for=198.51.100.17",
                vec![element("198.51.100.17", "", ""), element("192.0.2.43", "", "")],
            ),
            (
                "for=_hidden;ext=\"a, b; c=\\\"d\\\"\",proto=https; host=\"a.example:8443\"",
                vec![element("", "a.example:8443", "https"), element("_hidden", "", "")],
            ),
            (",, for=unknown ,", vec![element("unknown", "", "")]),
            (";for=a;;", vec![element("a", "", "")]),
        ] {
            assert_eq!(elements(line), Some(want), "{line}");
        }
    }

    #[test]
    fn elements_that_break_the_grammar_say_nothing() {
        for line in [
            "for",
            "=a",
            "for=",
            "for =a",
            "for= a",
            "for=a b",
            "for=a=b",
            "for=2001:db8::1",
            "for=\"a",
            "for=\"a\\",
            "for=\"a\"b",
            "for=a;for=b",
            "for=a;FOR=b",
        ] {
            assert_eq!(elements(line), None, "{line}");
        }
    }

    #[test]
    fn earlier_elements_do_not_change_the_last_one() {
        for client in ["for=\"x", "\"", "x=\"\\", "\\", "\\\"", "for=x;host=\"", "\u{e9}", ",\",\""]
        {
            for own in ["for=192.0.2.1", "for=\"[2001:db8::1]:443\";proto=http"] {
                let line = format!("{client}, {own}");
                let last = elements_from_right(line.as_bytes()).next();
                assert_eq!(last, Some(own.as_bytes()), "{line}");
            }
        }
    }
}

//! The elements of a Forwarded field (RFC 7239 4).

use crate::grammar::is_token;

/// The parameters that one proxy adds about the request it received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Element<'a> {
    pub(super) r#for: Option<&'a str>,
    pub(super) host: Option<&'a str>,
    pub(super) proto: Option<&'a str>,
}

/// The elements of one line of the header, in order. `None` if the line breaks the grammar: then
/// none of it can be trusted, because text from the client could have swallowed what its proxy
/// appended.
///
/// Blanks around `;` are accepted, because many proxies write them. A quoted value is returned
/// without quotes but with its backslashes: no value that is used here contains an escaped
/// character.
pub(super) fn elements(line: &str) -> Option<Vec<Element<'_>>> {
    let mut elements = Vec::new();
    let mut rest = line;
    loop {
        let mut element = Element::default();
        let mut is_empty = true;
        loop {
            rest = rest.trim_start_matches([' ', '\t']);
            if !rest.is_empty() && !rest.starts_with([';', ',']) {
                rest = element.pair(rest)?.trim_start_matches([' ', '\t']);
                is_empty = false;
            }
            match rest.strip_prefix(';') {
                Some(behind) => rest = behind,
                None => break,
            }
        }
        // RFC 9110 5.6.1: empty elements of a list are ignored.
        if !is_empty {
            elements.push(element);
        }
        match rest.strip_prefix(',') {
            Some(behind) => rest = behind,
            None => return rest.is_empty().then_some(elements),
        }
    }
}

impl<'a> Element<'a> {
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
        let place = match name.to_ascii_lowercase().as_str() {
            "for" => &mut self.r#for,
            "host" => &mut self.host,
            "proto" => &mut self.proto,
            // `by` and extensions are ignored.
            _ => return Some(rest),
        };
        // RFC 7239 4: a parameter occurs at most once in an element.
        if place.replace(value).is_some() { None } else { Some(rest) }
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
        let said = |text: &'a str| (!text.is_empty()).then_some(text);
        Element { r#for: said(r#for), host: said(host), proto: said(proto) }
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
                vec![element("192.0.2.43", "", ""), element("198.51.100.17", "", "")],
            ),
            (
                "for=_hidden;ext=\"a, b; c=\\\"d\\\"\",proto=https; host=\"a.example:8443\"",
                vec![element("_hidden", "", ""), element("", "a.example:8443", "https")],
            ),
            (",, for=unknown ,", vec![element("unknown", "", "")]),
            (";for=a;;", vec![element("a", "", "")]),
        ] {
            assert_eq!(elements(line), Some(want), "{line}");
        }
    }

    #[test]
    fn one_break_of_the_grammar_makes_a_line_say_nothing() {
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
            "for=\"x, for=192.0.2.1",
            "for=x;host=\", for=\"[2001:db8::1]\"",
        ] {
            assert_eq!(elements(line), None, "{line}");
        }
    }
}

//! Parses one `Set-Cookie` line as a browser does (RFC 6265bis, 5.6).

use std::time::Duration;

use crate::{Profile, cookie_date, profile::Nameless};

/// The maximum length of name and value together (5.6, step 5).
const LONGEST_PAIR: usize = 4096;
/// The maximum length of an attribute value; a longer one is ignored (5.6, step 6 of the
/// attributes).
const LONGEST_ATTRIBUTE: usize = 1024;

/// A parsed line, before the browser decides whether to store the cookie.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ParsedCookie<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) value: &'a [u8],
    pub(crate) max_age: Option<MaxAge>,
    /// As time since 1970.
    pub(crate) expires: Option<Duration>,
    /// In lower case and without a leading dot; if it is missing or empty, the cookie is host-only.
    pub(crate) domain: Vec<u8>,
    pub(crate) path: Option<Path<'a>>,
    pub(crate) is_secure: bool,
    pub(crate) is_http_only: bool,
    pub(crate) same_site: Option<SameSite>,
    pub(crate) is_partitioned: bool,
}

/// The attribute `Path`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path<'a> {
    /// No value that begins with `/`: the default path of the request.
    Default,
    /// This path.
    Given(&'a [u8]),
}

/// The attribute `Max-Age`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MaxAge {
    /// Zero or less: the cookie has expired.
    Over,
    /// The cookie lasts this long.
    Lasts(Duration),
}

/// The attribute `SameSite`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SameSite {
    /// Sent with all requests.
    None,
    /// Sent with cross-site requests only if they are navigations of the window with a safe method.
    Lax,
    /// Sent with same-site requests only.
    Strict,
}

/// Parses a line; `None` if a browser ignores the whole line.
pub(crate) fn parse<'a>(profile: &Profile, line: &'a [u8]) -> Option<ParsedCookie<'a>> {
    let is_refused = |byte: &u8| match byte {
        b'\t' => profile.refuses_tabs,
        _ => byte.is_ascii_control(),
    };
    if trim(line).iter().any(is_refused) {
        return None;
    }
    let mut parts = line.split(|byte| *byte == b';');
    let pair = trim(parts.next().unwrap_or_default());
    let (name, value) = match (split(pair), profile.nameless) {
        (Some((name, value)), _) => (name, value),
        (None, Nameless::Value) => (&[][..], pair),
        (None, Nameless::Name) => (pair, &[][..]),
    };
    let says_nothing = name.is_empty() && (value.is_empty() || profile.nameless == Nameless::Name);
    if says_nothing || name.len() + value.len() > LONGEST_PAIR {
        return None;
    }
    let mut parsed = ParsedCookie { name, value, ..ParsedCookie::default() };
    for part in parts {
        let (name, value) = split(part).unwrap_or((trim(part), &[]));
        if value.len() <= LONGEST_ATTRIBUTE {
            parsed.read(profile, name, value);
        }
    }
    Some(parsed)
}

impl<'a> ParsedCookie<'a> {
    /// Parses an attribute; if a name is repeated, the last one counts.
    fn read(&mut self, profile: &Profile, name: &[u8], value: &'a [u8]) {
        let counts = profile.bad_expiry_counts;
        match name.to_ascii_lowercase().as_slice() {
            b"expires" => {
                self.expires = cookie_date::parse(value).or(self.expires.filter(|_| !counts));
            }
            b"max-age" => {
                self.max_age = max_age(value).or(self.max_age.filter(|_| !counts));
            }
            b"domain" => {
                self.domain = value.strip_prefix(b".").unwrap_or(value).to_ascii_lowercase();
            }
            b"path" if value.starts_with(b"/") => self.path = Some(Path::Given(value)),
            b"path" => self.path = Some(Path::Default),
            b"secure" => self.is_secure = true,
            b"httponly" => self.is_http_only = true,
            b"samesite" => self.same_site = same_site(value),
            b"partitioned" => self.is_partitioned = true,
            _ => {}
        }
    }
}

fn max_age(value: &[u8]) -> Option<MaxAge> {
    let digits = value.strip_prefix(b"-").unwrap_or(value);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let seconds = digits.iter().fold(0_u64, |seconds, digit| {
        seconds.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
    });
    let is_over = seconds == 0 || digits.len() < value.len();
    Some(if is_over { MaxAge::Over } else { MaxAge::Lasts(Duration::from_secs(seconds)) })
}

/// An unknown value is treated as a missing one.
fn same_site(value: &[u8]) -> Option<SameSite> {
    [("none", SameSite::None), ("lax", SameSite::Lax), ("strict", SameSite::Strict)]
        .into_iter()
        .find_map(|(name, kind)| value.eq_ignore_ascii_case(name.as_bytes()).then_some(kind))
}

/// The text before and after the first `=`.
fn split(pair: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = pair.iter().position(|byte| *byte == b'=')?;
    let (name, value) = pair.split_at_checked(at)?;
    Some((trim(name), trim(value.get(1..)?)))
}

/// Removes leading and trailing spaces and tabs.
fn trim(text: &[u8]) -> &[u8] {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = text.iter().position(|byte| !is_space(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !is_space(byte)).map_or(start, |last| last + 1);
    text.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> ParsedCookie<'_> {
        parse(&Profile::STANDARD, line.as_bytes()).unwrap()
    }

    fn pair(line: &str) -> Option<(String, String)> {
        let parsed = parse(&Profile::STANDARD, line.as_bytes())?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Some((text(parsed.name), text(parsed.value)))
    }

    #[test]
    fn the_first_equals_sign_parts_name_and_value() {
        for (line, name, value) in [
            ("a=b", "a", "b"),
            (" \ta \t=\t b ; Path=/", "a", "b"),
            ("a=b=c", "a", "b=c"),
            ("a=\"b; c\"", "a", "\"b"),
            ("a=", "a", ""),
            ("a b=c d", "a b", "c d"),
            ("a", "", "a"),
            ("=a", "", "a"),
            ("==a", "", "=a"),
        ] {
            assert_eq!(pair(line), Some((name.into(), value.into())), "{line}");
        }
    }

    #[test]
    fn a_line_that_says_nothing_is_ignored() {
        for line in ["", "=", " = ", ";", "; Path=/", "=; Secure"] {
            assert_eq!(pair(line), None, "{line}");
        }
    }

    #[test]
    fn a_line_with_control_characters_is_ignored() {
        for line in ["a=b\0", "a\n=b", "a=b; Path=/\r", "a=\x7f", "\x08a=b"] {
            assert_eq!(pair(line), None, "{line:?}");
        }
        assert_eq!(pair("a=b\tc"), Some(("a".into(), "b\tc".into())));
    }

    #[test]
    fn a_text_without_name_is_a_name_or_a_value() {
        let named = |line: &'static str| {
            parse(&Profile::FIREFOX, line.as_bytes()).map(|parsed| (parsed.name, parsed.value))
        };
        assert_eq!(named("foo"), Some((&b"foo"[..], &b""[..])));
        assert_eq!(named("=v"), None);
    }

    #[test]
    fn name_and_value_are_4096_bytes_at_the_most() {
        assert!(pair(&format!("a={}", "b".repeat(4095))).is_some());
        assert!(pair(&format!("a={}", "b".repeat(4096))).is_none());
        assert!(pair(&"b".repeat(4097)).is_none());
    }

    #[test]
    fn an_attribute_of_more_than_1024_bytes_is_ignored() {
        let path = |length| format!("/{}", "a".repeat(length));
        let long = path(1024);
        assert_eq!(read(&format!("a=b; Path=/x; Path={long}")).path, Some(Path::Given(b"/x")));
        let fitting = path(1023);
        assert_eq!(
            read(&format!("a=b; Path=/x; Path={fitting}")).path,
            Some(Path::Given(fitting.as_bytes())),
        );
    }

    #[test]
    fn attributes_are_read_in_any_case_and_the_last_counts() {
        let parsed =
            read("a=b; DOMAIN=.Shop.Example; path=/x; PATH=/y; secure=no;HttpOnly ;samesite=LAX");
        assert_eq!(parsed.domain, b"shop.example");
        assert_eq!(parsed.path, Some(Path::Given(b"/y")));
        assert!(parsed.is_secure && parsed.is_http_only && !parsed.is_partitioned);
        assert_eq!(parsed.same_site, Some(SameSite::Lax));
    }

    #[test]
    fn an_empty_attribute_resets_an_earlier_one() {
        let parsed =
            read("a=b; Domain=shop.example; Domain; Path=/x; Path=y; SameSite=Strict; SameSite=?");
        assert_eq!(parsed.domain, b"");
        assert_eq!(parsed.path, Some(Path::Default));
        assert_eq!(parsed.same_site, None);
    }

    #[test]
    fn max_age_is_a_number_of_seconds() {
        for (value, expected) in [
            ("60", Some(MaxAge::Lasts(Duration::from_secs(60)))),
            ("0", Some(MaxAge::Over)),
            ("-5", Some(MaxAge::Over)),
            ("99999999999999999999999", Some(MaxAge::Lasts(Duration::from_secs(u64::MAX)))),
            ("", None),
            ("-", None),
            ("+60", None),
            ("60s", None),
            ("1e3", None),
        ] {
            assert_eq!(read(&format!("a=b; Max-Age={value}")).max_age, expected, "{value}");
        }
    }

    #[test]
    fn an_invalid_date_or_age_leaves_an_earlier_one() {
        let parsed =
            read("a=b; Max-Age=60; Max-Age=x; Expires=Thu, 01 Jan 1970 00:01:00 GMT; Expires=x");
        assert_eq!(parsed.max_age, Some(MaxAge::Lasts(Duration::from_secs(60))));
        assert_eq!(parsed.expires, Some(Duration::from_secs(60)));
    }

    #[test]
    fn in_engines_an_invalid_date_or_age_resets_an_earlier_one() {
        for line in [
            "a=b; Max-Age=60; Max-Age=x",
            "a=b; Max-Age=60; Max-Age",
            "a=b; Expires=Thu, 01 Jan 1970 00:01:00 GMT; Expires=x",
        ] {
            for profile in [Profile::CHROMIUM, Profile::FIREFOX] {
                let parsed = parse(&profile, line.as_bytes()).unwrap();
                assert_eq!((parsed.max_age, parsed.expires), (None, None), "{line}");
            }
        }
    }
}

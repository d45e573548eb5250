//! The classes of header fields (Fetch, 2.2.2), and how field values are parsed.

use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::{
    Profile,
    grammar::{is_token_byte, trim},
    mime::Mime,
};

/// The fields of a request as its script wrote them: with every byte that Fetch allows in a value,
/// which is more than [`HeaderValue`] accepts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(Vec<(HeaderName, Vec<u8>)>);

/// Response fields that a page of another origin sees without `Access-Control-Expose-Headers`.
const SAFELISTED_RESPONSE: [&str; 7] = [
    "cache-control",
    "content-language",
    "content-length",
    "content-type",
    "expires",
    "last-modified",
    "pragma",
];

/// Request fields that only the browser sets.
const FORBIDDEN: [&str; 21] = [
    "accept-charset",
    "accept-encoding",
    "access-control-request-headers",
    "access-control-request-method",
    "connection",
    "content-length",
    "cookie",
    "cookie2",
    "date",
    "dnt",
    "expect",
    "host",
    "keep-alive",
    "origin",
    "referer",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// Fields that describe the content, and are dropped together with it.
const OF_CONTENT: [HeaderName; 4] = [
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LOCATION,
    header::CONTENT_TYPE,
];

/// Fields that make a request conditional (RFC 9110, 13.1).
pub(crate) const CONDITIONS: [HeaderName; 5] = [
    header::IF_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::IF_RANGE,
    header::IF_UNMODIFIED_SINCE,
];

impl Fields {
    /// Fills a list as `new Request(url, { headers })` does: forbidden fields are dropped, and in
    /// mode `no-cors` all that are not no-CORS-safelisted. The error is the invalid name or value.
    pub(crate) fn fill(
        profile: &Profile,
        written: &[(String, String)],
        no_cors: bool,
        joins: bool,
    ) -> Result<Self, String> {
        let mut fields = Self::default();
        for (name, value) in written {
            let field = || format!("{name}: {value}");
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_no_token| field())?;
            let value = bytes(value).ok_or_else(field)?;
            let is_kept_back = name == header::USER_AGENT && !profile.lets_set_user_agent;
            if is_kept_back || is_forbidden(&name, &value) {
                continue;
            }
            let is_kept =
                || is_no_cors_safelisted(profile, &name, &fields.combined_with(&name, &value));
            if no_cors && !is_kept() {
                continue;
            }
            fields.add(name, value, joins);
        }
        Ok(fields)
    }

    fn add(&mut self, name: HeaderName, value: Vec<u8>, joins: bool) {
        match self.0.iter_mut().find(|(one, _)| joins && *one == name) {
            Some((_, earlier)) => *earlier = [&**earlier, b", ", &value].concat(),
            None => self.0.push((name, value)),
        }
    }

    pub(crate) fn contains(&self, name: &HeaderName) -> bool {
        self.0.iter().any(|(one, _)| one == name)
    }

    pub(crate) fn remove(&mut self, name: &HeaderName) {
        self.0.retain(|(one, _)| one != name);
    }

    /// Drops the fields that describe the content.
    pub(crate) fn remove_content(&mut self) {
        self.0.retain(|(name, _)| !OF_CONTENT.contains(name));
    }

    /// Restores the fields that describe the content, as they are in `written`.
    pub(crate) fn restore_content(&mut self, written: &Self) {
        self.remove_content();
        self.0.extend(written.0.iter().filter(|(name, _)| OF_CONTENT.contains(name)).cloned());
    }

    /// Drops the client hints of the script, valid or not.
    pub(crate) fn remove_client_hints(&mut self) {
        self.0.retain(|(name, _)| !CLIENT_HINTS.contains(&name.as_str()));
    }

    /// The CORS-unsafe request-header names: lower case, sorted, and without repetition if the
    /// engine removes repeated names.
    pub(crate) fn unsafe_names(&self, profile: &Profile) -> Vec<String> {
        let (safe, mut names): (Vec<_>, Vec<_>) =
            self.0.iter().partition(|(name, value)| is_safelisted(profile, name.as_str(), value));
        if safe.iter().map(|(_, value)| value.len()).sum::<usize>() > 1024 {
            names.extend(safe);
        }
        let mut names: Vec<String> = names.iter().map(|(name, _)| name.to_string()).collect();
        names.sort_unstable();
        if !profile.repeats_names {
            names.dedup();
        }
        names
    }

    /// The fields as they are sent. A byte that is not allowed in a value is sent as a space (RFC
    /// 9110 5.5).
    pub(crate) fn to_map(&self, profile: &Profile) -> HeaderMap {
        let mut map = HeaderMap::with_capacity(self.0.len() + 8);
        for (name, value) in &self.0 {
            let sendable = HeaderValue::from_bytes(value).or_else(|_| {
                let is_control = |byte: u8| (byte < 0x20 && byte != b'\t') || byte == 0x7f;
                let value = value.iter().map(|&byte| if is_control(byte) { b' ' } else { byte });
                HeaderValue::from_bytes(&value.collect::<Vec<u8>>())
            });
            let Ok(value) = sendable else { continue };
            let is_alone = value.is_empty() || map.get(name).is_some_and(HeaderValue::is_empty);
            if is_alone && profile.drops_empty_lines {
                map.insert(name, value);
            } else {
                map.append(name, value);
            }
        }
        map
    }

    fn combined_with(&self, name: &HeaderName, value: &[u8]) -> Vec<u8> {
        let earlier = self.0.iter().filter(|(one, _)| one == name).map(|(_, value)| &**value);
        earlier.chain([value]).collect::<Vec<_>>().join(&b", "[..])
    }
}

/// Whether a page of another origin sees a response field, if the server exposes `exposed`.
pub(crate) fn is_shown(name: &HeaderName, exposed: &[String], all: bool) -> bool {
    let listed = || exposed.iter().any(|one| one.eq_ignore_ascii_case(name.as_str()));
    SAFELISTED_RESPONSE.contains(&name.as_str())
        || ((all || listed()) && !is_forbidden_response(name))
}

/// Response fields that no script can read.
pub(crate) fn is_forbidden_response(name: &HeaderName) -> bool {
    matches!(name.as_str(), "set-cookie" | "set-cookie2")
}

/// The values of a field, joined as one (Fetch, get).
pub(crate) fn combined(headers: &HeaderMap, name: &str) -> Option<Vec<u8>> {
    let mut lines = headers.get_all(name).iter().map(|line| trim(line.as_bytes()));
    let mut value = lines.next()?.to_vec();
    for line in lines {
        value.extend_from_slice(b", ");
        value.extend_from_slice(line);
    }
    Some(value)
}

/// [`combined`], as text for comparison and display.
pub(crate) fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    combined(headers, name).map(|value| value.iter().map(|&byte| char::from(byte)).collect())
}

/// Parses a list of tokens (Fetch, extract header list values): nothing if the field is missing, an
/// error if it breaks the grammar.
pub(crate) fn tokens(
    headers: &HeaderMap,
    name: &'static str,
) -> Result<Option<Vec<String>>, &'static str> {
    let mut lines = headers.get_all(name).iter().peekable();
    if lines.peek().is_none() {
        return Ok(None);
    }
    let mut list = Vec::new();
    for line in lines {
        for element in line.as_bytes().split(|byte| *byte == b',') {
            let element = trim(element);
            if element.is_empty() {
                continue;
            }
            if !element.iter().copied().all(is_token_byte) {
                return Err(name);
            }
            list.push(element.iter().map(|&byte| char::from(byte)).collect());
        }
    }
    Ok(Some(list))
}

/// Whether a list has the element `*` before any element that is not a token.
pub(crate) fn has_star(headers: &HeaderMap, name: &str) -> bool {
    let lines = headers.get_all(name).iter();
    let elements = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b',')).map(trim);
    let mut tokens = elements.take_while(|element| element.iter().copied().all(is_token_byte));
    tokens.any(|element| element == b"*")
}

/// A value that a script sets: a byte string, normalised.
fn bytes(value: &str) -> Option<Vec<u8>> {
    let bytes: Option<Vec<u8>> = value.chars().map(|sign| u8::try_from(sign).ok()).collect();
    let value = trim(&bytes?).to_vec();
    (!value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n'))).then_some(value)
}

/// Forbidden request-header.
fn is_forbidden(name: &HeaderName, value: &[u8]) -> bool {
    let name = name.as_str();
    if FORBIDDEN.contains(&name) || name.starts_with("proxy-") || name.starts_with("sec-") {
        return true;
    }
    matches!(name, "x-http-method" | "x-http-method-override" | "x-method-override")
        && value.split(|byte| *byte == b',').any(|method| is_forbidden_method(trim(method)))
}

/// Forbidden method.
pub(crate) fn is_forbidden_method(method: &[u8]) -> bool {
    [&b"CONNECT"[..], b"TRACE", b"TRACK"].iter().any(|one| method.eq_ignore_ascii_case(one))
}

fn is_no_cors_safelisted(profile: &Profile, name: &HeaderName, value: &[u8]) -> bool {
    let name = name.as_str();
    matches!(name, "accept" | "accept-language" | "content-language" | "content-type")
        && is_safelisted(profile, name, value)
}

/// CORS-safelisted request-header.
fn is_safelisted(profile: &Profile, name: &str, value: &[u8]) -> bool {
    let in_language = |byte: &u8| byte.is_ascii_alphanumeric() || b" *,-.;=".contains(byte);
    let is_clean = || !value.iter().copied().any(is_unsafe_byte);
    value.len() <= 128
        && match name {
            "accept" => is_clean(),
            "accept-language" | "content-language" => value.iter().all(in_language),
            "content-type" => is_clean() && Mime::parse(value).is_some_and(|mime| mime.is_form()),
            "range" if profile.range_ignores_case => is_simple_range(&value.to_ascii_lowercase()),
            "range" => is_simple_range(value),
            _ => profile.client_hints_are_safelisted && is_client_hint(name, value),
        }
}

/// The client hints that a redirect drops in Chromium; it keeps `Save-Data`.
const CLIENT_HINTS: &[&str] =
    &["device-memory", "downlink", "dpr", "ect", "rtt", "viewport-width", "width"];

/// Whether a field is a client hint that was a CORS-safelisted request-header once, with a value that
/// Chromium takes for one (`IsCorsSafelistedHeader`).
fn is_client_hint(name: &str, value: &[u8]) -> bool {
    let is_whole = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    match name {
        "save-data" => value.eq_ignore_ascii_case(b"on"),
        "device-memory" | "downlink" | "dpr" => value.splitn(2, |byte| *byte == b'.').all(is_whole),
        "ect" => matches!(value, b"slow-2g" | b"2g" | b"3g" | b"4g"),
        "rtt" | "viewport-width" | "width" => is_whole(value),
        _ => false,
    }
}

/// CORS-unsafe request-header byte.
fn is_unsafe_byte(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\t') || byte == 0x7f || b"\"():<>?@[\\]{}".contains(&byte)
}

/// Parse a single range header value, which must have a start.
fn is_simple_range(value: &[u8]) -> bool {
    let Some(range) = value.strip_prefix(b"bytes=") else { return false };
    let mut ends = range.splitn(2, |byte| *byte == b'-');
    let (Some(start), Some(end)) = (ends.next(), ends.next()) else { return false };
    let is_number = |digits: &[u8]| digits.iter().all(u8::is_ascii_digit);
    // Numbers of any length: without leading zeros, the longer one is the greater.
    let size = |digits: &[u8]| {
        let first = digits.iter().position(|digit| *digit != b'0').unwrap_or(digits.len());
        (digits.len() - first, digits.get(first..).unwrap_or_default().to_vec())
    };
    !start.is_empty()
        && is_number(start)
        && is_number(end)
        && (end.is_empty() || size(start) <= size(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(fields: &[(&str, &str)]) -> Fields {
        try_fill(fields, false).unwrap()
    }

    fn try_fill(fields: &[(&str, &str)], no_cors: bool) -> Result<Fields, String> {
        let fields: Vec<_> =
            fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Fields::fill(&Profile::STANDARD, &fields, no_cors, false)
    }

    #[test]
    fn forbidden_fields_are_dropped() {
        let fields = fill(&[("Cookie", "a=1"), ("Sec-X", "1"), ("proxy-a", "1"), ("X-A", "1")]);
        assert_eq!(fields.unsafe_names(&Profile::STANDARD), ["x-a"]);
    }

    #[test]
    fn a_field_that_overrides_the_method_is_dropped_if_it_names_a_forbidden_one() {
        assert!(fill(&[("X-HTTP-Method-Override", "get, trace")]).0.is_empty());
        assert!(!fill(&[("X-HTTP-Method-Override", "DELETE")]).0.is_empty());
    }

    #[test]
    fn chromium_sends_no_preflight_for_client_hints() {
        let fields = fill(&[("Save-Data", "on"), ("Viewport-Width", "320"), ("RTT", "50")]);
        assert!(fields.unsafe_names(&Profile::CHROMIUM).is_empty());
        assert_eq!(fields.unsafe_names(&Profile::STANDARD), ["rtt", "save-data", "viewport-width"]);
        for (name, value) in [
            ("dpr", "1."),
            ("dpr", ".5"),
            ("dpr", "1.5.5"),
            ("downlink", "fast"),
            ("ect", "5g"),
            ("rtt", "1.5"),
            ("viewport-width", "-1"),
            ("width", ""),
        ] {
            assert_eq!(fill(&[(name, value)]).unsafe_names(&Profile::CHROMIUM), [name]);
        }
        let fields = fill(&[("DPR", "1.5"), ("Device-Memory", "8"), ("ECT", "slow-2g")]);
        assert!(fields.unsafe_names(&Profile::CHROMIUM).is_empty());
        let fields = fill(&[("Save-Data", "off"), ("X-Width", "320")]);
        assert_eq!(fields.unsafe_names(&Profile::CHROMIUM), ["save-data", "x-width"]);
    }

    #[test]
    fn webkit_takes_the_unit_of_a_range_in_any_case() {
        let fields = fill(&[("Range", "Bytes=0-5")]);
        assert!(fields.unsafe_names(&Profile::WEBKIT).is_empty());
        assert_eq!(fields.unsafe_names(&Profile::STANDARD), ["range"]);
        let fields = fill(&[("Range", "Lines=0-5")]);
        assert_eq!(fields.unsafe_names(&Profile::WEBKIT), ["range"]);
    }

    #[test]
    fn rejects_malformed_header_fields() {
        for (name, value) in [("a b", "1"), ("a", "1\r\nb: 2"), ("a", "\u{100}"), ("", "1")] {
            assert!(try_fill(&[(name, value)], false).is_err(), "{name}: {value}");
        }
    }

    #[test]
    fn without_cors_only_safelisted_values_are_kept() {
        let written = [("accept", "a"), ("range", "bytes=0-"), ("content-type", "text/json")];
        assert_eq!(try_fill(&written, true).unwrap().to_map(&Profile::STANDARD).len(), 1);
    }

    #[test]
    fn values_of_1024_bytes_are_safe_and_of_1025_are_not() {
        let value = "a".repeat(128);
        let mut fields = vec![("accept", &*value); 8];
        assert!(fill(&fields).unsafe_names(&Profile::STANDARD).is_empty());
        fields.push(("accept-language", "a"));
        let names = fill(&fields).unsafe_names(&Profile::STANDARD);
        assert_eq!(names, ["accept", "accept-language"]);
    }

    #[test]
    fn ranges_are_compared_as_numbers() {
        for (value, simple) in [
            ("bytes=9-10", true),
            ("bytes=09-9", true),
            ("bytes=10-9", false),
            ("bytes=0-99999999999999999999999", true),
            ("bytes=-5", false),
            ("bytes=a-", false),
        ] {
            assert_eq!(is_simple_range(value.as_bytes()), simple, "{value}");
        }
    }

    #[test]
    fn a_control_byte_is_sent_as_a_space() {
        let fields = fill(&[("content-language", "a\u{1}b")]);
        assert_eq!(fields.unsafe_names(&Profile::STANDARD), ["content-language"]);
        assert_eq!(fields.to_map(&Profile::STANDARD)["content-language"], "a b");
    }

    #[test]
    fn in_firefox_an_empty_field_replaces_those_before_it() {
        for (values, expected) in [(["", ""], ""), (["1", ""], ""), (["", "1"], "1")] {
            let written = values.map(|value| ("x-a".to_owned(), value.to_owned()));
            let lines = |profile: &Profile| {
                let map = Fields::fill(profile, &written, false, false).unwrap().to_map(profile);
                map.get_all("x-a").iter().cloned().collect::<Vec<HeaderValue>>()
            };
            assert_eq!(lines(&Profile::FIREFOX), [expected]);
            assert_eq!(lines(&Profile::STANDARD), values);
        }
    }
}

//! Content negotiation (RFC 9110 12.5.1).

use http::{HeaderMap, header::ACCEPT};

use crate::grammar::{is_token, outside_quotes};

/// The index in `offers` of the media type that `Accept` prefers; `None` if none is acceptable.
/// Among equally good offers the first one wins, as it does if the header is absent or unreadable.
///
/// An offer is a media type, perhaps with parameters, such as `text/html`; a range with parameters
/// matches only offers that have them. The work is proportional to the size of the field.
///
/// ```
/// use http::{HeaderMap, header::ACCEPT};
/// use policy_core::negotiate::accept;
///
/// let mut headers = HeaderMap::new();
/// let offers = ["application/problem+json", "text/html"];
/// assert_eq!(accept(&headers, &offers), Some(0));
///
/// headers.insert(ACCEPT, "text/html, */*;q=0.8".parse().unwrap());
/// assert_eq!(accept(&headers, &offers), Some(1));
///
/// headers.insert(ACCEPT, "image/*".parse().unwrap());
/// assert_eq!(accept(&headers, &offers), None);
/// ```
pub fn accept(headers: &HeaderMap, offers: &[&str]) -> Option<usize> {
    let lines = || headers.get_all(ACCEPT).iter();
    let ranges = || {
        let members = lines().flat_map(|line| outside_quotes(line.as_bytes(), b','));
        members.filter_map(|member| MediaRange::read(member.trim_ascii()))
    };
    if ranges().next().is_none() {
        return (!offers.is_empty()).then_some(0);
    }
    let mut best = None;
    let mut best_weight = 0;
    for (index, offer) in offers.iter().enumerate() {
        let Some(offer) = MediaRange::read(offer.as_bytes()) else { continue };
        let judgements =
            ranges().filter_map(|range| Some((range.precision(&offer)?, range.weight)));
        let weight = judgements.max().map_or(0, |(_, weight)| weight);
        if weight > best_weight {
            (best, best_weight) = (Some(index), weight);
        }
    }
    best
}

/// One member of the field: `type/subtype`, `type/*` or `*/*`, with parameters and a weight.
struct MediaRange<'a> {
    kind: &'a [u8],
    subtype: &'a [u8],
    /// Everything from the first `;`.
    parameters: &'a [u8],
    /// In thousandths.
    weight: u16,
}

impl<'a> MediaRange<'a> {
    /// `None` if it is malformed.
    fn read(text: &'a [u8]) -> Option<Self> {
        let end = text.iter().position(|byte| *byte == b';').unwrap_or(text.len());
        let (name, parameters) = text.split_at_checked(end)?;
        let name = name.trim_ascii_end();
        let slash = name.iter().position(|byte| *byte == b'/')?;
        let (kind, subtype) = name.split_at_checked(slash)?;
        let subtype = subtype.strip_prefix(b"/")?;
        if !is_token(kind) || !is_token(subtype) || (kind == b"*" && subtype != b"*") {
            return None;
        }
        let mut range = Self { kind, subtype, parameters, weight: 1000 };
        let mut is_weighed = false;
        for parameter in segments(parameters) {
            let (name, value) = Value::parse_parameter(parameter)?;
            if name.eq_ignore_ascii_case(b"q") {
                if std::mem::replace(&mut is_weighed, true) {
                    return None;
                }
                range.weight = weight_of(value)?;
            }
        }
        Some(range)
    }

    /// Names and values without the weight.
    fn parameters(&self) -> impl Iterator<Item = (&'a [u8], Value<'a>)> + use<'a> {
        let parameters = segments(self.parameters).filter_map(Value::parse_parameter);
        parameters.filter(|(name, _)| !name.eq_ignore_ascii_case(b"q"))
    }

    /// How precisely this range matches an offer; `None` if it does not. A type counts more than
    /// any number of parameters, and more parameters count more than fewer.
    fn precision(&self, offer: &Self) -> Option<(u8, usize)> {
        let names = |range: &[u8], offer: &[u8]| range == b"*" || range.eq_ignore_ascii_case(offer);
        let is_offered = |(name, value): (&[u8], Value<'_>)| {
            let is_same = |(other, offered): (&[u8], Value<'_>)| {
                name.eq_ignore_ascii_case(other) && value.is(offered)
            };
            offer.parameters().any(is_same)
        };
        let covers = names(self.kind, offer.kind)
            && names(self.subtype, offer.subtype)
            && self.parameters().all(is_offered);
        let stars = u8::from(self.kind == b"*") + u8::from(self.subtype == b"*");
        covers.then(|| (2 - stars, self.parameters().count()))
    }
}

/// The value of a parameter, a token or a quoted string.
#[derive(Clone, Copy)]
struct Value<'a>(&'a [u8]);

impl<'a> Value<'a> {
    /// Splits `name=value`; `None` if it is malformed.
    fn parse_parameter(parameter: &'a [u8]) -> Option<(&'a [u8], Self)> {
        let equals = parameter.iter().position(|byte| *byte == b'=')?;
        let (name, value) = parameter.split_at_checked(equals)?;
        let value = value.strip_prefix(b"=")?;
        (is_token(name) && (is_token(value) || is_quoted(value))).then_some((name, Self(value)))
    }

    /// Whether both have the same text, ignoring case: the values in use, such as the names of
    /// charsets, are case-insensitive.
    fn is(self, other: Self) -> bool {
        self.text().eq(other.text())
    }

    /// Without quotes, in lower case.
    fn text(self) -> impl Iterator<Item = u8> {
        let inner = self.0.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
        let mut is_escaped = false;
        inner.unwrap_or(self.0).iter().filter_map(move |byte| {
            is_escaped = inner.is_some() && *byte == b'\\' && !is_escaped;
            (!is_escaped).then_some(byte.to_ascii_lowercase())
        })
    }
}

/// The parameters of `;name=value;..`, of which any may be empty.
fn segments(parameters: &[u8]) -> impl Iterator<Item = &[u8]> {
    outside_quotes(parameters, b';').map(<[u8]>::trim_ascii).filter(|segment| !segment.is_empty())
}

/// RFC 9110 5.6.4: the first quote without a backslash before it ends the string.
fn is_quoted(text: &[u8]) -> bool {
    let Some(mut rest) = text.strip_prefix(b"\"") else { return false };
    loop {
        rest = match rest {
            [b'"'] => return true,
            [b'"', ..] | [] => return false,
            [b'\\', _, tail @ ..] => tail,
            [_, tail @ ..] => tail,
        };
    }
}

/// RFC 9110 12.4.2: `0` to `1` with at most three decimals, in thousandths.
fn weight_of(Value(text): Value<'_>) -> Option<u16> {
    let (whole, decimals) = match text {
        [whole @ (b'0' | b'1')] => (whole, &[][..]),
        [whole @ (b'0' | b'1'), b'.', decimals @ ..] if decimals.len() <= 3 => (whole, decimals),
        _ => return None,
    };
    let mut weight = u16::from(whole - b'0') * 1000;
    for (digit, unit) in decimals.iter().zip([100, 10, 1]) {
        weight += digit.is_ascii_digit().then(|| u16::from(digit - b'0'))? * unit;
    }
    (weight <= 1000).then_some(weight)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn chosen(lines: &[&str], offers: &[&str]) -> Option<usize> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(ACCEPT, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        accept(&headers, offers)
    }

    #[test]
    fn browsers_get_pages_and_programs_get_the_first_offer() {
        let offers = ["application/json", "text/html"];
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,\
             image/webp,*/*;q=0.8";
        assert_eq!(chosen(&[browser], &offers), Some(1));
        for lines in [&["*/*"][..], &[], &[""], &["application/*", "text/*"]] {
            assert_eq!(chosen(lines, &offers), Some(0), "{lines:?}");
        }
        assert_eq!(chosen(&[browser], &[]), None);
        assert_eq!(chosen(&[], &[]), None);
    }

    #[test]
    fn malformed_members_of_accept_are_ignored() {
        let offers = ["application/json", "text/html"];
        for member in [
            "text",
            "text/",
            "/html",
            "*/html",
            "*",
            "text/html/x",
            "te xt/html",
            "text/html;q=",
            "text/html;q=1.001",
            "text/html;q=2",
            "text/html;q=.5",
            "text/html;q=0.1234",
            "text/html;q=-1",
            "text/html;q=\"1\"",
            "text/html;q=1;q=1",
            "text/html;level",
            "text/html;level = 1",
            "text/html;a=\"",
            "text/html;a=\"b\"c\"",
            "text/html;a=\"\\\"",
            "é/html",
        ] {
            assert_eq!(chosen(&[member], &offers), Some(0), "{member}");
            assert_eq!(chosen(&["*/*;q=0.1", member], &offers), Some(0), "{member}");
        }
        for member in ["text/html;q=1.000", "TEXT/Html", "text/html ; Q=1 ;;", ", text/html,,"] {
            assert_eq!(chosen(&["*/*;q=0.1", member], &offers), Some(1), "{member}");
        }
    }

    #[test]
    fn parameters_are_the_same_with_quotes_and_without() {
        let offers = ["application/json", "text/plain;charset=utf-8;v=\"a,;\\\"\""];
        for range in [
            "text/plain",
            "text/plain;charset=UTF-8",
            "text/plain; CHARSET=\"utf-8\"",
            "text/plain;v=\"a,;\\\"\";charset=\"\\utf-8\"",
        ] {
            assert_eq!(chosen(&[range], &offers), Some(1), "{range}");
        }
        for range in ["text/plain;charset=utf-16", "text/plain;x=y", "text/plain;v=a"] {
            assert_eq!(chosen(&[range], &offers), None, "{range}");
        }
    }
}

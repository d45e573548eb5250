//! Laws of conditional requests, ranges and negotiation. Each oracle is written from RFC 9110 and
//! parses nothing: it knows the values from which a field was generated.

mod conditions;
mod negotiation;
mod ranges;

use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{
        ACCEPT, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, RANGE,
    },
};
use policy_core::{
    conditional::{Conditions, EntityTag, ModificationDate, Range, Validators},
    negotiate::accept,
    time::Timestamp,
};
use proptest::{collection::vec, prelude::*};

use policy_core_tests::law::{Precondition, holds};

fn append(headers: &mut HeaderMap, name: &HeaderName, line: &str) {
    headers.append(name, HeaderValue::from_bytes(line.as_bytes()).expect("a field value"));
}

/// For any bytes that a client sends there is a response, and every part lies within the content.
#[test]
fn any_bytes_are_judged() {
    let byte = prop_oneof![
        9 => proptest::sample::select(b"\"W/*,=-;q. \t\\0123abytes".to_vec()),
        1 => (0x20..=0xff_u8).prop_filter("no control character", |byte| *byte != 0x7f),
    ];
    let prefix = prop_oneof![Just(""), Just("bytes="), Just("text/html;")];
    let value = (prefix, vec(byte, 0..20))
        .prop_map(|(prefix, bytes)| [prefix.as_bytes(), bytes.as_slice()].concat());
    let names = vec![
        ACCEPT,
        IF_MATCH,
        IF_MODIFIED_SINCE,
        IF_NONE_MATCH,
        IF_RANGE,
        IF_UNMODIFIED_SINCE,
        RANGE,
        RANGE,
    ];
    let lines = vec((proptest::sample::select(names), value), 0..4);
    holds("any bytes", 70, (lines, 0..20_u64), |(lines, length)| {
        let mut headers = HeaderMap::new();
        for (name, value) in &lines {
            headers.append(name, HeaderValue::from_bytes(value).expect("a field value"));
        }
        let now = Validators {
            etag: EntityTag::strong("a"),
            last_modified: Some(ModificationDate::at(Timestamp::from_seconds(1))),
        };
        prop_assert!(accept(&headers, &["text/html", "a/b"]).is_none_or(|place| place < 2));
        let Some(conditions) = Conditions::read(&Method::GET, &headers) else {
            return Ok(Precondition::Unmet);
        };
        let _verdict = conditions.evaluate(Some(&now));
        if let Range::Part { first, last } = conditions.range(&now, length) {
            prop_assert!(first <= last && last < length);
        }
        Ok(Precondition::Met)
    });
}

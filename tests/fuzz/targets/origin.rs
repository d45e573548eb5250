//! A pattern of a policy and the origin of a request, one per line; further lines are more patterns
//! of the same set.

use policy_core::origin::{Origin, OriginPattern, OriginSet, Port};
use policy_tests::oracle::{is_pattern, is_serialized_origin, matches};

use crate::engine::{Seen, Target, bounded, magnitude};

fn check(input: &[u8]) -> Seen {
    let mut lines = input.split(|byte| *byte == b'\n');
    let origin = lines.next().unwrap_or_default();
    let parsed = bounded(input.len(), || Origin::parse(origin));
    if let Some(origin_parts) = &parsed {
        let port = match origin_parts.port() {
            Port::Number(port) => format!(":{port}").into_bytes(),
            _ => Vec::new(),
        };
        let written = [origin_parts.scheme(), b"://", origin_parts.host(), &port].concat();
        assert_eq!(written.escape_ascii().to_string(), origin.escape_ascii().to_string());
    }
    // The engine is laxer about addresses in brackets, which then match no pattern.
    if !origin.contains(&b'[') {
        let is_origin =
            origin.len() <= 326 && str::from_utf8(origin).is_ok_and(is_serialized_origin);
        assert_eq!(parsed.is_some(), is_origin, "{}", origin.escape_ascii());
    }

    let mut patterns = Vec::new();
    let mut kinds = 0;
    for text in lines {
        let Ok(text) = str::from_utf8(text) else { continue };
        let pattern = bounded(input.len(), || OriginPattern::parse(text));
        assert_eq!(pattern.is_ok(), is_pattern(text), "{text:?}: {pattern:?}");
        if let Ok(pattern) = pattern {
            assert_eq!(pattern.to_string(), text);
            kinds |= 1 << (u8::from(pattern.is_wildcard()) * 2 + u8::from(pattern.is_single()));
            patterns.push(text);
        }
    }
    let set = OriginSet::new(patterns.iter().copied()).expect("each is a pattern");
    let is_in = bounded(input.len(), || set.matches(origin));
    let expected = patterns.iter().any(|pattern| matches(pattern, origin));
    assert_eq!(is_in, expected, "{} in {patterns:?}", origin.escape_ascii());
    let host = parsed.map(|parts| (magnitude(parts.scheme().len()), magnitude(parts.host().len())));
    Seen::new(
        !patterns.is_empty() && parsed.is_some(),
        (host, kinds, is_in, patterns.len().min(12)),
    )
}

#[test]
fn origins_and_patterns_match_a_second_parser() {
    Target {
        name: "origin",
        corpus: include_str!("../corpus/origin.txt"),
        dictionary: &[
            b"https://",
            b"http://",
            b"://",
            b":",
            b"/",
            b".",
            b"*.",
            b"*-",
            b"-*-a.",
            b":*",
            b"\n",
            b"null",
            b"localhost",
            b"127.0.0.1",
            b"[::1]",
            b"[",
            b"]",
            b"::",
            b"xn--",
            b"-",
            b"_",
            b"@",
            b":443",
            b":80",
            b":8080",
            b"example",
            b"A",
            b"\x00",
            b" ",
            b"%2e",
            b"\xc3\xa9",
            b"tauri://localhost",
            b"file://",
            b"a.",
            b"0",
            b"1e",
            b"ffff:",
        ],
        max_len: 1_000,
        check,
    }
    .run();
}

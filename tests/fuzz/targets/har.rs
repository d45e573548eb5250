//! HAR files, as browsers save them: read by a second walk through the JSON value.

use policy_cli::fuzzed;
use serde_json::Value;

use crate::engine::{Seen, Target, bounded, magnitude};

/// The field of an object. Lists are read as the fields of an object in their order, as serde does.
fn field<'v>(value: &'v Value, name: &str, index: usize) -> Option<&'v Value> {
    match value {
        Value::Object(fields) => fields.get(name),
        Value::Array(list) => list.get(index),
        _ => None,
    }
}

type Request = (String, String, Vec<(String, String)>);

/// A request of HAR 1.2.
fn request(entry: &Value) -> Option<Request> {
    let request = field(entry, "request", 0)?;
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let mut headers = Vec::new();
    for header in field(request, "headers", 2)?.as_array()? {
        headers.push((text(field(header, "name", 0))?, text(field(header, "value", 1))?));
    }
    let (method, url) = (text(field(request, "method", 0))?, text(field(request, "url", 1))?);
    Some((method, url, headers))
}

fn requests(value: &Value) -> Option<Vec<Request>> {
    let entries = field(field(value, "log", 0)?, "entries", 0)?.as_array()?;
    entries.iter().map(request).collect()
}

fn check(input: &[u8]) -> Seen {
    let text = String::from_utf8_lossy(input);
    let read = bounded(text.len(), || fuzzed::har(&text, 1));
    let value = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}'));
    let Some(expected) = value.ok().and_then(|value| requests(&value)) else {
        let message = read.expect_err("not a HAR file");
        assert!(message.contains("this is not a HAR file"), "{message}: {text}");
        return Seen::new(false, magnitude(input.len()));
    };
    // A JSON value keeps the last of two equal fields, and a list may have more elements than an
    // object has fields.
    if let Err(message) = &read
        && ["duplicate field", "invalid length", "trailing"].iter().any(|why| message.contains(why))
    {
        return Seen::new(false, "twice");
    }
    for number in 0..expected.len() + 2 {
        let wanted = number.checked_sub(1).and_then(|index| expected.get(index));
        match (fuzzed::har(&text, number), wanted) {
            (Ok(read), Some((method, url, headers))) => {
                assert_eq!((&read.method, &read.url), (method, url), "{text}");
                let headers: Vec<_> =
                    headers.iter().filter(|(name, _)| !name.starts_with(':')).cloned().collect();
                assert_eq!(read.headers, headers, "{text}");
            }
            (Err(message), None) => assert!(message.contains("no entry"), "{message}: {text}"),
            (read, wanted) => panic!("{read:?}, not {wanted:?}: {text}"),
        }
    }
    let headers: Vec<_> = expected.iter().map(|(_, _, headers)| headers.len().min(4)).collect();
    Seen::new(true, (expected.len(), headers))
}

#[test]
fn a_har_file_has_the_requests_that_it_says() {
    Target {
        name: "har",
        corpus: include_str!("../corpus/har.txt"),
        dictionary: &[
            b"{\"log\":{\"entries\":[",
            b"]}}",
            b"{\"request\":{\"method\":\"GET\",\"url\":\"/\",\"headers\":[]}}",
            b",{\"request\":{\"method\":\"GET\",\"url\":\"/\",\"headers\":[]}}",
            b"{\"name\":\"a\",\"value\":\"b\"}",
            b",{\"name\":\":path\",\"value\":\"/\"}",
            b"\"startedDateTime\":\"2026-01-01T00:00:00Z\",",
            b"\"comment\":null,",
            b"\"request\":",
            b"\"headers\":[]",
            b"\"method\":",
            b"[",
            b"]",
            b"{",
            b"}",
            b",",
            b":",
            b"\"\"",
            b"\\u0000",
            b"\xef\xbb\xbf",
        ],
        max_len: 2_000,
        check,
    }
    .run();
}

//! A decision record of an app's log: `App::decision_records`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::request::ParsedRequest;
use crate::failure::Failure;

/// The headers that a record keeps, by the names of its fields.
const HEADERS: [(&str, &str); 5] = [
    ("origin", "origin"),
    ("site", "sec-fetch-site"),
    ("mode", "sec-fetch-mode"),
    ("dest", "sec-fetch-dest"),
    ("asks", "access-control-request-method"),
];

#[derive(Debug)]
pub(super) struct Record {
    pub(super) request: ParsedRequest,
    /// The digest of the policy that decided.
    pub(super) policy: Option<String>,
}

/// Reads a line: JSON, or fields as `name=value`.
pub(super) fn parse(line: &str) -> Result<Record, Failure> {
    let fields = match serde_json::from_str::<Value>(line.trim()) {
        Ok(value) => json_fields(&value),
        Err(_text) => text_fields(line),
    };
    let missing = |name: &str| {
        Failure::new(format!("the line has no field `{name}`, so it is not a decision record"))
            .help("name a line of target `policy::decision`, see `App::decision_records`")
    };
    let field = |name: &str| fields.get(name).cloned();
    let mut request = ParsedRequest {
        method: field("method").ok_or_else(|| missing("method"))?,
        url: field("path").ok_or_else(|| missing("path"))?,
        ..ParsedRequest::default()
    };
    for (name, header) in HEADERS {
        request.headers.extend(field(name).map(|value| (header.to_owned(), value)));
    }
    Ok(Record { request, policy: field("policy") })
}

/// The fields of an object, or of the object `fields` in it, as `tracing-subscriber` writes them.
fn json_fields(value: &Value) -> BTreeMap<String, String> {
    let objects = [Some(value), value.get("fields")];
    let objects = objects.into_iter().flatten().filter_map(Value::as_object);
    let fields = objects.flat_map(|object| object.iter());
    let texts = fields.filter_map(|(name, value)| match value {
        Value::String(text) => Some((name.clone(), text.clone())),
        Value::Number(number) => Some((name.clone(), number.to_string())),
        Value::Bool(is) => Some((name.clone(), is.to_string())),
        _ => None,
    });
    texts.collect()
}

/// The fields `name=value` and `name="value"` of a line, among any other text.
fn text_fields(line: &str) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once('=') {
        let name = before.rsplit(char::is_whitespace).next().unwrap_or(before);
        let (value, next) = match behind.strip_prefix('"') {
            Some(quoted) => unquote(quoted),
            None => {
                let (value, next) = behind.split_once(char::is_whitespace).unwrap_or((behind, ""));
                (value.to_owned(), next)
            }
        };
        fields.insert(name.to_owned(), value);
        rest = next;
    }
    fields
}

/// The text up to its closing quote, without the escapes that `Debug` adds to quotes and backslashes,
/// and the rest of the line.
fn unquote(quoted: &str) -> (String, &str) {
    let (mut text, mut rest) = (String::new(), quoted.chars());
    while let Some(character) = rest.next() {
        match character {
            '"' => break,
            '\\' if rest.as_str().starts_with(['"', '\\']) => text.extend(rest.next()),
            _ => text.push(character),
        }
    }
    (text, rest.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_in_both_forms() {
        let text = "2026-01-01T00:00:00Z  INFO policy::decision: policy=\"ab\" method=OPTIONS \
                    path=/orders/7 route=\"/orders/{id}\" origin=\"https://evil.example\" \
                    asks=\"PUT\" cookie=false authorization=false status=403 \
                    code=\"cors.origin-not-granted\"";
        let json = r#"{"target":"policy::decision","fields":{"policy":"ab","method":"OPTIONS",
            "path":"/orders/7","origin":"https://evil.example","asks":"PUT","cookie":false}}"#;
        for line in [text, json] {
            let Record { request, policy } = parse(line).unwrap();
            assert_eq!((&*request.method, &*request.url), ("OPTIONS", "/orders/7"));
            assert_eq!(policy.as_deref(), Some("ab"));
            let headers: Vec<_> =
                request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            assert_eq!(
                headers,
                ["origin: https://evil.example", "access-control-request-method: PUT"]
            );
        }
    }

    /// A client chooses the text, and no other field by it.
    #[test]
    fn a_quote_in_a_value_does_not_end_it() {
        let line = r#"method=PUT path=/a origin="x\" path=/b \\" dest="method=GET \u{7f}""#;
        let Record { request, .. } = parse(line).unwrap();
        assert_eq!((&*request.method, &*request.url), ("PUT", "/a"));
        let values: Vec<_> = request.headers.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, [r#"x" path=/b \"#, r"method=GET \u{7f}"]);
    }

    #[test]
    fn reports_lines_without_a_decision_record() {
        for line in ["", "GET / 200", "{\"method\":\"GET\"}", "path=/x method"] {
            assert!(parse(line).unwrap_err().message.contains("not a decision record"), "{line}");
        }
    }
}

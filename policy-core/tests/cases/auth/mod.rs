//! The sections of `tests/cases/auth.json` that need no store and no token: `Authorization`,
//! challenges, cookies, CSRF, JSONP and caching.

mod caching;
mod cookies;
mod credentials;
mod csrf;
mod jsonp;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

/// The cases of one section. `count` is their number, so that no case is skipped unnoticed.
fn section(name: &str, count: usize) -> Vec<Value> {
    let sections = member("sections");
    let cases = sections.get(name).and_then(Value::as_array).cloned().expect("a section");
    assert_eq!(cases.len(), count, "{name}");
    cases
}

fn member(name: &str) -> Value {
    file().get(name).cloned().expect("a member")
}

pub(crate) fn file() -> Value {
    serde_json::from_str(include_str!("../../../../tests/cases/auth.json"))
        .expect("the file of cases")
}

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().unwrap_or_else(|| panic!("{key} of {case}"))
}

/// A request with these lines of one field.
fn lines(name: &HeaderName, lines: &Value) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines.as_array().expect("lines") {
        let line = line.as_str().expect("a line");
        headers.append(name, HeaderValue::from_bytes(line.as_bytes()).expect("a header value"));
    }
    headers
}

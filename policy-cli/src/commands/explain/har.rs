//! An entry of a HAR file, as browsers save it (HTTP Archive 1.2).

use serde::Deserialize;
use serde_json::Value;

use super::request::ParsedRequest;
use crate::failure::Failure;

#[derive(Deserialize)]
struct Har {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    request: HarRequest,
}

#[derive(Deserialize)]
struct HarRequest {
    method: String,
    url: String,
    headers: Vec<Field>,
    /// Only its text is read, and only if there is one.
    #[serde(default, rename = "postData")]
    post_data: Value,
}

#[derive(Deserialize)]
struct Field {
    name: String,
    value: String,
}

/// Reads an entry, counted from 1.
pub(crate) fn parse(text: &str, number: usize) -> Result<ParsedRequest, Failure> {
    // Some browsers begin the file with a byte order mark.
    let text = text.trim_start_matches('\u{feff}');
    let har: Har = serde_json::from_str(text).map_err(|error| {
        Failure::new(format!("this is not a HAR file: {error}"))
            .help("save one from the network panel of a browser")
    })?;
    let entries = har.log.entries;
    let count = entries.len();
    let entry = number.checked_sub(1).and_then(|index| entries.into_iter().nth(index));
    let Some(Entry { request: HarRequest { method, url, headers, post_data } }) = entry else {
        return Err(Failure::new(format!(
            "the HAR file has {count} entries, but no entry {number}"
        ))
        .help("name another one with `--entry`, from 1"));
    };
    // The pseudo-header fields of HTTP/2, which begin with a colon, are no headers.
    let is_kept =
        |field: &Field| !field.name.starts_with(':') && !is_of_cache(&method, &field.name);
    let headers = headers.into_iter().filter(is_kept);
    let headers = headers.map(|field| (field.name, field.value)).collect();
    let body = post_data.get("text").and_then(Value::as_str).map(str::to_owned);
    Ok(ParsedRequest { method, url, headers, body })
}

/// Whether the cache of the browser adds this header to a request that it sends to revalidate a response. It
/// does so behind the decision about a preflight, which a script's own header needs (Fetch,
/// HTTP-network-or-cache fetch).
fn is_of_cache(method: &str, name: &str) -> bool {
    matches!(method, "GET" | "HEAD")
        && ["if-none-match", "if-modified-since"].iter().any(|own| own.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HAR: &str = r#"{"log": {"version": "1.2", "entries": [
        {"request": {"method": "GET", "url": "https://a.example/", "headers": []}},
        {"request": {"method": "POST", "url": "https://a.example/b", "headers": [
            {"name": ":method", "value": "POST"}, {"name": "origin", "value": "https://c.example"}
        ], "postData": {"mimeType": "application/json", "text": "{}"}}}
    ]}}"#;

    #[test]
    fn an_entry_is_read_by_its_number() {
        let written = parse(HAR, 2).unwrap();
        assert_eq!((&*written.method, &*written.url), ("POST", "https://a.example/b"));
        let origin = ("origin".to_owned(), "https://c.example".to_owned());
        assert_eq!(written.headers, [origin]);
        assert_eq!(written.body.as_deref(), Some("{}"));
        assert_eq!(parse(HAR, 1).unwrap().body, None);
    }

    #[test]
    fn conditions_of_the_browser_s_cache_are_left_out() {
        for (method, kept) in [("GET", &["If-Match"][..]), ("PUT", &["If-None-Match", "If-Match"])]
        {
            let fields = ["If-None-Match", "If-Match"]
                .map(|name| serde_json::json!({ "name": name, "value": "\"1\"" }));
            let request = serde_json::json!({
                "method": method, "url": "https://a.example/", "headers": fields
            });
            let har = serde_json::json!({ "log": { "entries": [{ "request": request }] } });
            let found = parse(&har.to_string(), 1).unwrap().headers;
            let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, kept, "{method}");
        }
    }

    #[test]
    fn reports_missing_har_entries() {
        for number in [0, 3] {
            let message = parse(HAR, number).unwrap_err().message;
            assert_eq!(message, format!("the HAR file has 2 entries, but no entry {number}"));
        }
        assert!(parse("{}", 1).unwrap_err().message.contains("missing field `log`"));
    }
}

//! A strict parser of HTTP/1.1 responses (RFC 9110, RFC 9112): stricter than any client, since the
//! server is responsible for every byte.

#[derive(Debug)]
pub(crate) struct ParsedResponse {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Why bytes are not a response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The end is missing.
    Unfinished,
    Wrong(String),
}

use Fault::{Unfinished, Wrong};

fn wrong<T>(what: impl Into<String>) -> Result<T, Fault> {
    Err(Wrong(what.into()))
}

/// Fields that may occur once at most.
const SINGLE: [&str; 28] = [
    "access-control-allow-credentials",
    "access-control-allow-origin",
    "access-control-max-age",
    "age",
    "content-disposition",
    "content-encoding",
    "content-length",
    "content-location",
    "content-range",
    "content-type",
    "cross-origin-embedder-policy",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "date",
    "etag",
    "expires",
    "last-modified",
    "location",
    "permissions-policy",
    "ratelimit",
    "ratelimit-policy",
    "referrer-policy",
    "retry-after",
    "server",
    "strict-transport-security",
    "transfer-encoding",
    "x-content-type-options",
    "x-frame-options",
];

impl ParsedResponse {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|field| field.0 == name).map(|field| &*field.1)
    }

    /// The response at the beginning of `bytes`, and the bytes after it. `bytes` are everything on
    /// a connection after the previous response.
    pub(crate) fn read(bytes: &[u8], is_of_head: bool) -> Result<(Self, &[u8]), Fault> {
        let Some(end) = find(bytes, b"\r\n\r\n") else { return Err(Unfinished) };
        let (head, rest) = (&bytes[..end], &bytes[end + 4..]);
        let mut lines = split(head);
        let (is_old, status) = status(lines.next().unwrap_or_default())?;
        let fields = lines.map(field).collect::<Result<Vec<_>, _>>()?;
        for (name, _) in &fields {
            let count = fields.iter().filter(|field| field.0 == *name).count();
            if count > 1 && SINGLE.contains(&&**name) {
                return wrong(format!("`{name}` {count} times"));
            }
        }
        let mut response = Self { status, fields, body: Vec::new() };
        let rest = response.read_body(rest, is_old, is_of_head)?;
        Ok((response, rest))
    }

    /// RFC 9112 6.3.
    fn read_body<'a>(
        &mut self,
        rest: &'a [u8],
        is_old: bool,
        is_of_head: bool,
    ) -> Result<&'a [u8], Fault> {
        let length = self.field("content-length").map(decimal).transpose()?;
        let coding = self.field("transfer-encoding");
        match (coding, length) {
            (Some(_), Some(_)) => return wrong("two lengths"),
            (Some(coding), _) if coding != "chunked" => return wrong("another coding"),
            _ => (),
        }
        let has_none = matches!(self.status, 100..200 | 204);
        if has_none && (coding.is_some() || length.is_some()) {
            return wrong("a length of nothing");
        }
        if has_none || is_of_head || self.status == 304 {
            return Ok(rest);
        }
        if coding.is_some() {
            return self.read_chunks(rest);
        }
        match length {
            Some(length) if rest.len() < length => Err(Unfinished),
            Some(length) => {
                self.body = rest[..length].to_vec();
                Ok(&rest[length..])
            }
            // The end of the connection ends an HTTP/1.0 response.
            None if !is_old => wrong("no length"),
            None => {
                self.body = rest.to_vec();
                Ok(&[])
            }
        }
    }

    /// RFC 9112 7.1, without extensions and trailers.
    fn read_chunks<'a>(&mut self, mut rest: &'a [u8]) -> Result<&'a [u8], Fault> {
        loop {
            let Some(end) = find(rest, b"\r\n") else { return Err(Unfinished) };
            let size = str::from_utf8(&rest[..end]).ok();
            let size = size.filter(|size| size.bytes().all(|byte| byte.is_ascii_hexdigit()));
            let Some(size) = size.and_then(|size| usize::from_str_radix(size, 16).ok()) else {
                return wrong("a chunk without a size");
            };
            rest = &rest[end + 2..];
            if rest.len() < size + 2 {
                return Err(Unfinished);
            }
            self.body.extend_from_slice(&rest[..size]);
            if &rest[size..size + 2] != b"\r\n" {
                return wrong("a chunk that does not end");
            }
            rest = &rest[size + 2..];
            if size == 0 {
                return Ok(rest);
            }
        }
    }
}

/// Whether it is HTTP/1.0, and the status.
fn status(line: &[u8]) -> Result<(bool, u16), Fault> {
    let line = str::from_utf8(line).unwrap_or_default();
    let rest = line.strip_prefix("HTTP/1.1 ").or_else(|| line.strip_prefix("HTTP/1.0 "));
    let Some((code, reason)) = rest.and_then(|rest| rest.split_once(' ')) else {
        return wrong(format!("the line `{line}`"));
    };
    let is_text = reason.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    match code.parse() {
        Ok(status @ 100..600) if code.len() == 3 && is_text => {
            Ok((line.starts_with("HTTP/1.0"), status))
        }
        _ => wrong(format!("the line `{line}`")),
    }
}

fn field(line: &[u8]) -> Result<(String, String), Fault> {
    let escaped = line.escape_ascii();
    let Some(colon) = line.iter().position(|byte| *byte == b':') else {
        return wrong(format!("the field `{escaped}`"));
    };
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    // RFC 9110 5.6.2, in lower case.
    let is_name =
        |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9') || b"!#$%&'*+-.^_`|~".contains(byte);
    let Some(value) = value.strip_prefix(b" ") else {
        return wrong(format!("the field `{escaped}`"));
    };
    let is_trimmed = value == value.trim_ascii();
    let is_value = |byte: &u8| matches!(byte, b' '..=b'~' | 0x80..);
    if name.is_empty() || !name.iter().all(is_name) || !is_trimmed || !value.iter().all(is_value) {
        return wrong(format!("the field `{escaped}`"));
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((text(name), text(value)))
}

fn decimal(text: &str) -> Result<usize, Fault> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number).ok_or_else(|| Wrong(format!("the length `{text}`")))
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn split(mut head: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        if head.is_empty() {
            return None;
        }
        let end = find(head, b"\r\n");
        let line = &head[..end.unwrap_or(head.len())];
        head = end.map_or(&[], |end| &head[end + 2..]);
        Some(line)
    })
}

#[test]
fn the_parser_rejects_malformed_responses() {
    let read = |bytes: &[u8]| ParsedResponse::read(bytes, false).map(|(response, _)| response.body);
    let good = b"HTTP/1.1 200 OK\r\na: b\r\ncontent-length: 2\r\n\r\nok";
    assert_eq!(read(good), Ok(b"ok".to_vec()));
    let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    assert_eq!(read(chunked), Ok(b"ok".to_vec()));
    assert_eq!(read(&good[..good.len() - 1]), Err(Unfinished));
    for head in [
        "HTTP/1.1 99 OK",
        "HTTP/1.1 200 O\tK",
        "HTTP/2 200 OK",
        "HTTP/1.1 200 OK\r\nA: b",
        "HTTP/1.1 200 OK\r\na : b",
        "HTTP/1.1 200 OK\r\na:b",
        "HTTP/1.1 200 OK\r\na: b ",
        "HTTP/1.1 200 OK\r\na: b\u{1}",
        "HTTP/1.1 200 OK\r\na: b\nc: d",
        "HTTP/1.1 200 OK\r\netag: \"1\"\r\netag: \"1\"",
        "HTTP/1.1 200 OK\r\ncontent-length: 0",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked",
        "HTTP/1.1 204 OK",
    ] {
        let response = format!("{head}\r\ncontent-length: 0\r\n\r\n");
        assert!(matches!(read(response.as_bytes()), Err(Wrong(_))), "{head}");
    }
}

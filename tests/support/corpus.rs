//! HTTP/1.1 requests that two parsers could read differently, with the outcome that each must have.
//! Each is followed by a second request, which must not be reached where the end of the first is
//! ambiguous.

/// What the server must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Refuse with one of 400, 417, 421, 431, 501 and 505, and close.
    Refused,
    /// Respond with this status, and close.
    Last(u16),
    /// Respond with this status, then to the second request.
    Served(u16),
}

use Want::{Last, Refused, Served};

pub struct Raw {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    pub want: Want,
}

/// The second request, after which the connection closes.
pub const BEHIND: &[u8] =
    b"GET /names/behind HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

const CHUNKS: &str = "5\r\nhello\r\n0\r\n\r\n";

fn raw(name: &'static str, want: Want, bytes: impl Into<Vec<u8>>) -> Raw {
    Raw { name, bytes: bytes.into(), want }
}

/// A POST with these header lines and this body.
fn post(name: &'static str, want: Want, lines: &str, body: &str) -> Raw {
    raw(name, want, format!("POST /upload HTTP/1.1\r\nhost: localhost\r\n{lines}\r\n{body}"))
}

/// A POST with this body and `Transfer-Encoding: chunked`.
fn chunks(name: &'static str, want: Want, body: &str) -> Raw {
    post(name, want, "transfer-encoding: chunked\r\n", body)
}

/// A GET with these header lines.
fn get(name: &'static str, want: Want, lines: &str) -> Raw {
    raw(name, want, format!("GET /hello HTTP/1.1\r\n{lines}\r\n"))
}

/// The whole corpus. Accepted requests are for `/hello`, or for `/upload`, which echoes the body.
pub fn all() -> Vec<Raw> {
    let mut all = lengths();
    all.extend(codings());
    all.extend(chunked());
    all.extend(heads());
    all.extend(targets());
    all
}

fn lengths() -> Vec<Raw> {
    let cl = "content-length: ";
    vec![
        post("a length", Served(200), "content-length: 5\r\n", "hello"),
        post("a length with zeros", Served(200), "content-length: 0005\r\n", "hello"),
        post("one length twice", Served(200), &format!("{cl}5\r\n{cl}5\r\n"), "hello"),
        post("two lengths", Refused, &format!("{cl}5\r\n{cl}6\r\n"), "hello!"),
        post("two lengths, one of them 0", Refused, &format!("{cl}0\r\n{cl}5\r\n"), "hello"),
        post("a list of lengths", Refused, "content-length: 5, 6\r\n", "hello!"),
        post("a list of one length", Refused, "content-length: 5, 5\r\n", "hello"),
        post("a length with a blank", Refused, "content-length: 5 5\r\n", "hello"),
        post("a length with a sign", Refused, "content-length: +5\r\n", "hello"),
        post("a negative length", Refused, "content-length: -5\r\n", "hello"),
        post("a length in hexadecimal", Refused, "content-length: 0x5\r\n", "hello"),
        post("a length in quotes", Refused, "content-length: \"5\"\r\n", "hello"),
        post("a length with a fraction", Refused, "content-length: 5.0\r\n", "hello"),
        post("a length of nothing", Refused, "content-length:\r\n", "hello"),
        post("a length over 64 bits", Refused, "content-length: 18446744073709551621\r\n", "hello"),
        post("a blank before the colon", Refused, "content-length : 5\r\n", "hello"),
        post("a length that is folded", Refused, "content-length:\r\n 5\r\n", "hello"),
    ]
}

fn codings() -> Vec<Raw> {
    let (cl, te) = ("content-length: 4\r\n", "transfer-encoding: chunked\r\n");
    let coded = |name, want, value: &str| {
        post(name, want, &format!("transfer-encoding: {value}\r\n"), CHUNKS)
    };
    vec![
        // RFC 9112 6.1: chunked takes precedence, and nothing after it is read.
        post("a length and chunks", Last(200), &format!("{cl}{te}"), CHUNKS),
        post("chunks and a length", Last(200), &format!("{te}{cl}"), CHUNKS),
        post("two lengths and chunks", Last(200), &format!("{cl}{te}{cl}"), CHUNKS),
        coded("chunks in capitals", Served(200), "CHUNKED"),
        coded("chunks behind a tab", Served(200), "\tchunked\t"),
        post("chunked twice", Refused, &format!("{te}{te}"), CHUNKS),
        coded("chunks in chunks", Refused, "chunked, chunked"),
        coded("another coding inside", Refused, "gzip, chunked"),
        coded("another coding outside", Refused, "chunked, gzip"),
        coded("a coding that is none", Refused, "xchunked"),
        coded("identity", Refused, "identity"),
        coded("chunked, then identity", Refused, "chunked, identity"),
        coded("no coding", Refused, ""),
        coded("a coding with a parameter", Refused, "chunked;a=b"),
        coded("a coding in quotes", Refused, "\"chunked\""),
        coded("a coding behind a vertical tab", Refused, "\u{b}chunked"),
        coded("a coding in a list", Refused, ",chunked"),
        post("a blank before its colon", Refused, "transfer-encoding : chunked\r\n", CHUNKS),
        post("a coding that is folded", Refused, "transfer-encoding:\r\n chunked\r\n", CHUNKS),
        post("a coding behind a fold", Refused, "x: y\r\n transfer-encoding: chunked\r\n", CHUNKS),
        raw(
            "chunks in HTTP/1.0",
            Refused,
            format!("POST /upload HTTP/1.0\r\nhost: localhost\r\n{te}\r\n{CHUNKS}"),
        ),
        raw(
            "chunks and a length in HTTP/1.0",
            Refused,
            format!("POST /upload HTTP/1.0\r\nhost: localhost\r\n{cl}{te}\r\n{CHUNKS}"),
        ),
    ]
}

fn chunked() -> Vec<Raw> {
    vec![
        chunks("chunks", Served(200), CHUNKS),
        chunks("a size with zeros", Served(200), "005\r\nhello\r\n000\r\n\r\n"),
        chunks("a size with an extension", Served(200), "5;a=\"b\"\r\nhello\r\n0\r\n\r\n"),
        chunks("trailers", Served(200), "5\r\nhello\r\n0\r\nx-sum: 1\r\n\r\n"),
        chunks(
            "a trailer that is a length",
            Served(200),
            "5\r\nhello\r\n0\r\ncontent-length: 9\r\n\r\n",
        ),
        chunks("a size that is none", Last(400), "g\r\nhello\r\n0\r\n\r\n"),
        chunks("no size", Last(400), "\r\nhello\r\n0\r\n\r\n"),
        chunks("a size with a sign", Last(400), "+5\r\nhello\r\n0\r\n\r\n"),
        chunks("a negative size", Last(400), "-5\r\nhello\r\n0\r\n\r\n"),
        chunks("a size with 0x", Last(400), "0x5\r\nhello\r\n0\r\n\r\n"),
        chunks("two sizes", Last(400), "5 5\r\nhello\r\n0\r\n\r\n"),
        chunks("a size over 64 bits", Last(400), "10000000000000005\r\nhello\r\n0\r\n\r\n"),
        chunks("a size behind a blank", Last(400), " 5\r\nhello\r\n0\r\n\r\n"),
        chunks("a bare line feed behind a size", Last(400), "5\nhello\r\n0\r\n\r\n"),
        chunks("a bare line feed in an extension", Last(400), "5;a\nb\r\nhello\r\n0\r\n\r\n"),
        chunks("a bare carriage return", Last(400), "5\rhello\r\n0\r\n\r\n"),
        chunks("more than its size", Last(400), "5\r\nhello!\r\n0\r\n\r\n"),
        chunks("less than its size", Last(400), "6\r\nhello\r\n0\r\n\r\n"),
        chunks("no end of a chunk", Last(400), "5\r\nhello0\r\n\r\n"),
        chunks("a trailer with a blank", Last(400), "5\r\nhello\r\n0\r\nx y: 1\r\n\r\n"),
    ]
}

fn heads() -> Vec<Raw> {
    let host = "host: localhost\r\n";
    let hosted = |name, want, lines: &str| get(name, want, &format!("{host}{lines}"));
    let mut all = vec![
        hosted("a request", Served(200), ""),
        raw("an empty line before", Served(200), format!("\r\nGET /hello HTTP/1.1\r\n{host}\r\n")),
        // RFC 9112 2.2 allows a bare line feed as the end of a line.
        raw("bare line feeds", Served(200), "GET /hello HTTP/1.1\nhost: localhost\n\n"),
        hosted("a fold", Refused, "x: a\r\n b\r\n"),
        hosted("a fold by a tab", Refused, "x: a\r\n\tb\r\n"),
        raw("a fold in front", Refused, format!("GET /hello HTTP/1.1\r\n x: a\r\n{host}\r\n")),
        hosted("a blank in a name", Refused, "x y: a\r\n"),
        hosted("a blank behind a name", Refused, "x : a\r\n"),
        hosted("no name", Refused, ": a\r\n"),
        hosted("no colon", Refused, "xy\r\n"),
        hosted("NUL in a value", Refused, "x: a\0b\r\n"),
        hosted("NUL in a name", Refused, "x\0: a\r\n"),
        hosted("a control in a value", Refused, "x: a\u{1}b\r\n"),
        hosted("a control in a name", Refused, "x\u{1}: a\r\n"),
        hosted("DEL in a value", Refused, "x: a\u{7f}b\r\n"),
        hosted("a carriage return in a value", Refused, "x: a\rb\r\n"),
        hosted("a name in brackets", Refused, "(x): a\r\n"),
        hosted("an expectation that nobody knows", Refused, "expect: miracles\r\n"),
        get("no host", Refused, ""),
        get("two hosts", Refused, &host.repeat(2)),
        get("two hosts that differ", Refused, "host: localhost\r\nhost: a.example\r\n"),
        get("an empty host", Refused, "host:\r\n"),
        get("a host with a blank", Refused, "host: local host\r\n"),
        get("a host with a user", Refused, "host: a@localhost\r\n"),
        get("a host with a path", Refused, "host: localhost/x\r\n"),
        get("a list of hosts", Refused, "host: localhost, a.example\r\n"),
        get("a host behind a blank", Refused, "host : localhost\r\n"),
    ];
    // Without Host, an HTTP/1.0 request does not say which of several services it is for.
    all.push(raw("HTTP/1.0 without a host", Refused, "GET /hello HTTP/1.0\r\n\r\n"));
    all
}

fn targets() -> Vec<Raw> {
    let line =
        |name, want, line: &str| raw(name, want, format!("{line}\r\nhost: localhost\r\n\r\n"));
    vec![
        line("an absolute target", Served(200), "GET http://localhost/hello HTTP/1.1"),
        line("an absolute target elsewhere", Refused, "GET http://a.example/hello HTTP/1.1"),
        line("an absolute target with a user", Refused, "GET http://a@localhost/hello HTTP/1.1"),
        line("an asterisk for GET", Refused, "GET * HTTP/1.1"),
        line("an authority for GET", Refused, "GET localhost:80 HTTP/1.1"),
        line("no slash", Refused, "GET hello HTTP/1.1"),
        line("a blank in a target", Refused, "GET /hello x HTTP/1.1"),
        line("two blanks", Refused, "GET  /hello HTTP/1.1"),
        line("a tab", Refused, "GET\t/hello HTTP/1.1"),
        line("no version", Refused, "GET /hello"),
        line("a version in lower case", Refused, "GET /hello http/1.1"),
        line("a version that is none", Refused, "GET /hello HTTP/1.9"),
        line("HTTP/2 on one line", Refused, "GET /hello HTTP/2.0"),
        line("a method in lower case", Served(501), "get /hello HTTP/1.1"),
        line("a method with a control", Refused, "G\u{1}ET /hello HTTP/1.1"),
        line("half a preface", Served(501), "PRI /hello HTTP/1.1"),
        line("a control in a target", Refused, "GET /he\u{1}llo HTTP/1.1"),
        line("dot segments", Refused, "GET /a/../hello HTTP/1.1"),
    ]
}

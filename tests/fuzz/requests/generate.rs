//! Random requests: most of them valid and for existing resources, some of them not HTTP at all.

use policy_tests::{every_policy::BODY, random::Random};

/// Bytes to send, and which responses to expect for them.
pub(super) struct Sent {
    pub(super) bytes: Vec<u8>,
    pub(super) is_head: bool,
    /// The status with which the request tells the handler to fail, if it does.
    pub(super) asked_status: Option<u16>,
    /// Whether it has a body, which the server may refuse to read: it then closes the connection.
    pub(super) has_content: bool,
    /// Whether it is well-formed, so that it has exactly one response.
    pub(super) is_sound: bool,
}

/// The credentials of a logged-in user.
pub(super) struct Credentials {
    pub(super) cookie: String,
    pub(super) bearer: String,
    pub(super) csrf: String,
}

const METHODS: &[&str] = &[
    "GET",
    "GET",
    "GET",
    "GET",
    "GET",
    "HEAD",
    "HEAD",
    "POST",
    "POST",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "OPTIONS",
    "TRACE",
    "CONNECT",
    "QUERY",
    "get",
    "M-SEARCH",
    "!#$%&'*+-.^_`|~",
];

const PATHS: &[&str] = &[
    "/lamps",
    "/lamps/1",
    "/lamps/7",
    "/lamps/1000",
    "/lamps/x",
    "/lamps/%31",
    "/forms",
    "/search",
    "/search?page=1",
    "/search?page=x&of=%00",
    "/search?of=%F0%9F%92%A1&&=&page",
    "/picture",
    "/picture",
    "/stream",
    "/page",
    "/partners",
    "/partners?callback=f",
    "/partners?callback=a.b",
    "/partners?callback=%3Cscript%3E",
    "/echo",
    "/mine",
    "/scoped",
    "/statuses/200",
    "/statuses/204",
    "/statuses/304",
    "/statuses/418",
    "/statuses/500",
    "/statuses/503",
    "/statuses/599",
    "/statuses/205",
    "/statuses/206",
    "/statuses/301",
    "/statuses/407",
    "/statuses/999",
    "/panics",
    "/csrf",
    "/files",
    "/files/a/../b",
    "/files/a%2fb",
    "/",
    "/unknown",
    "//",
    "/%",
    "/%zz",
    "/lamps/",
    "/lamps//",
    "/lamps?",
    "*",
    "http://localhost/lamps",
    "http://localhost:1/lamps",
    "http://evil.example/lamps",
    "localhost:80",
    "/lamps/18446744073709551616",
];

/// What the app serves.
const SERVED: &[(&str, &str)] = &[
    ("GET", "/lamps"),
    ("GET", "/lamps/5"),
    ("HEAD", "/lamps/6"),
    ("POST", "/lamps"),
    ("POST", "/lamps"),
    ("PUT", "/lamps/3"),
    ("PATCH", "/lamps/1"),
    ("DELETE", "/lamps/0"),
    ("DELETE", "/lamps/1"),
    ("POST", "/forms"),
    ("GET", "/search?page=2"),
    ("GET", "/picture"),
    ("GET", "/picture"),
    ("HEAD", "/picture"),
    ("GET", "/stream"),
    ("HEAD", "/stream"),
    ("GET", "/page"),
    ("GET", "/partners?callback=f"),
    ("POST", "/echo"),
    ("GET", "/mine"),
    ("POST", "/mine"),
    ("GET", "/scoped"),
    ("GET", "/csrf"),
    ("GET", "/files/a"),
    ("OPTIONS", "/lamps/1"),
    ("OPTIONS", "*"),
];

/// Fields with values that some part of the app reads.
const FIELDS: &[(&str, &[&str])] = &[
    (
        "origin",
        &[
            "https://app.shop.example",
            "https://a.partner.example",
            "https://evil.example",
            "null",
            "http://localhost",
            "",
            "https://app.shop.example, https://app.shop.example",
        ],
    ),
    ("access-control-request-method", &["PUT", "DELETE", "GET", "get", "", "P T"]),
    ("access-control-request-headers", &["x-lamp", "content-type,authorization", ",,,", "*"]),
    (
        "accept",
        &[
            "*/*",
            "application/json",
            "text/html",
            "text/plain",
            "image/png",
            "text/html;q=0.5, */*;q=0",
            ";;,=/",
            "application/json;q=1.0001",
        ],
    ),
    ("accept-encoding", &["gzip, br", "identity;q=0"]),
    ("accept-language", &["de", "en, *;q=0.1"]),
    ("if-none-match", &["\"1\"", "*", "W/\"1\", \"2\"", "\"", "1"]),
    ("if-match", &["\"1\"", "\"2\"", "*", "W/\"1\"", ""]),
    (
        "if-modified-since",
        &["Sun, 06 Nov 1994 08:49:37 GMT", "yesterday", "Sun Nov  6 08:49:37 1994"],
    ),
    ("if-unmodified-since", &["Sun, 06 Nov 1994 08:49:37 GMT", "Thu, 01 Jan 1970 00:00:00 GMT"]),
    ("if-range", &["\"1\"", "W/\"1\"", "Sun, 06 Nov 1994 08:49:37 GMT"]),
    (
        "range",
        &[
            "bytes=0-9",
            "bytes=-1",
            "bytes=5000-",
            "bytes=0-,0-,0-,0-",
            "bytes=4999-",
            "lines=1-2",
            "bytes=18446744073709551615-18446744073709551616",
            "bytes=-0",
            "bytes=0-1,3-4",
        ],
    ),
    ("sec-fetch-site", &["same-origin", "same-site", "cross-site", "none", "Cross-Site"]),
    ("sec-fetch-mode", &["navigate", "cors", "no-cors", "websocket"]),
    ("sec-fetch-dest", &["document", "image", "empty"]),
    (
        "content-type",
        &[
            "application/json",
            "application/x-www-form-urlencoded",
            "text/plain",
            "application/json; charset=latin1",
            "multipart/form-data; boundary=b",
            ";",
        ],
    ),
    ("expect", &["100-continue", "200-ok"]),
    ("upgrade", &["websocket", "h2c"]),
    ("connection", &["upgrade", "keep-alive", "te, x-lamp"]),
    ("te", &["trailers"]),
    ("x-lamp", &["1"]),
    ("x-forwarded-for", &["203.0.113.1"]),
    ("forwarded", &["for=203.0.113.1;host=evil.example"]),
    ("x-http-method-override", &["DELETE"]),
    ("referer", &["https://app.shop.example/", "nonsense"]),
    ("user-agent", &["Mozilla/5.0"]),
    ("max-forwards", &["0"]),
    (
        "cookie",
        &["a=1; b=2", "sid=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", ";;=;", "sid=; sid="],
    ),
    ("authorization", &["Bearer x", "bearer", "Basic YTpi", "Bearer a.b.c", ""]),
    ("x-csrf-token", &["x"]),
];

/// A random request, which closes the connection if `is_last`.
pub(super) fn request(random: &mut Random, own: &Credentials, is_last: bool) -> Sent {
    let (method, target) = match random.below(5) {
        0 | 1 => (*random.choose(METHODS), target(random)),
        _ => {
            let (method, target) = *random.choose(SERVED);
            (method, target.to_owned())
        }
    };
    let version = if is_last && random.below(8) == 0 { "HTTP/1.0" } else { "HTTP/1.1" };
    let mut head = format!("{method} {target} {version}\r\n").into_bytes();
    let mut field = |name: &str, value: &[u8]| {
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value);
        head.extend_from_slice(b"\r\n");
    };
    match random.below(40) {
        0 => field("Host", b"evil.example"),
        1 => field("host", b"LOCALHOST:80"),
        2 => field("host", b"[::1]:8080"),
        _ => field("host", b"localhost"),
    }
    for _ in 0..random.below(6) {
        let (name, values) = *random.choose(FIELDS);
        // Requests through a proxy would all be refused with 421.
        if !name.contains("forwarded") || random.below(10) == 0 {
            field(name, random.choose(values).as_bytes());
        }
    }
    match random.below(8) {
        0 => field("authorization", own.bearer.as_bytes()),
        1 | 2 => {
            field("cookie", own.cookie.as_bytes());
            if random.below(2) == 0 {
                field("x-csrf-token", own.csrf.as_bytes());
            }
        }
        3 => {
            let len = 1 << random.below(12);
            let value: Vec<u8> = (0..random.below(len)).map(|_| value_byte(random)).collect();
            field("x-lamp", &value);
        }
        4 => {
            let (name, _) = *random.choose(FIELDS);
            let value: Vec<u8> = (0..random.below(20)).map(|_| value_byte(random)).collect();
            // Fields that frame the message stay as they are.
            if !matches!(name, "expect" | "connection" | "upgrade") {
                field(name, value.trim_ascii());
            }
        }
        _ => (),
    }
    if is_last && version == "HTTP/1.1" {
        field("Connection", b"close");
    }
    // A request for a tunnel has no body.
    let odds = match method {
        "CONNECT" => 0,
        "POST" | "PUT" | "PATCH" | "QUERY" => 70,
        _ => 5,
    };
    let body = (random.below(100) < odds).then(|| content(random));
    let has_content = body.is_some();
    let mut rest = Vec::new();
    match body {
        None => (),
        Some((media_type, body)) => {
            field("content-type", media_type.as_bytes());
            if version == "HTTP/1.1" && random.below(2) == 0 {
                field("transfer-encoding", b"chunked");
                let mut left = &body[..];
                while !left.is_empty() {
                    let (chunk, behind) = left.split_at(1 + random.below(left.len()));
                    rest.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
                    rest.extend_from_slice(chunk);
                    rest.extend_from_slice(b"\r\n");
                    left = behind;
                }
                rest.extend_from_slice(b"0\r\n\r\n");
            } else {
                field("content-length", body.len().to_string().as_bytes());
                rest = body;
            }
        }
    }
    head.extend_from_slice(b"\r\n");
    head.append(&mut rest);
    Sent {
        bytes: head,
        is_head: method == "HEAD",
        asked_status: asked_status(target.as_bytes()),
        has_content,
        is_sound: true,
    }
}

/// A corrupted request, whose response cannot be predicted.
pub(super) fn spoilt(random: &mut Random, own: &Credentials) -> Sent {
    let is_last = random.below(2) == 0;
    let Sent { mut bytes, is_head, .. } = request(random, own, is_last);
    // HEAD stays HEAD, since the framing of the response depends on it.
    let first = if is_head { 5 } else { 0 };
    for _ in 0..=random.below(3) {
        let at = first + random.below((bytes.len() - first).min(400));
        match random.below(7) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.draw() as u8,
            // The server waits for more of what could be the HTTP/2 preface.
            2 => bytes.truncate(at.max(first + 5)),
            3 => drop(bytes.splice(at..at, [b'\r', b'\n'])),
            4 => drop(bytes.splice(at..at, *b"\0")),
            5 => {
                let pieces: &[&[u8]] = &[
                    b"transfer-encoding: chunked\r\n",
                    b"content-length: 5\r\n",
                    b"content-length: -1\r\n",
                    b"transfer-encoding: gzip, chunked\r\n",
                    b"host: evil.example\r\n",
                    b" folded\r\n",
                    b": nameless\r\n",
                    b"x y: z\r\n",
                ];
                let piece = *random.choose(pieces);
                // The beginning of a line.
                let begin =
                    bytes.windows(2).position(|two| two == b"\r\n").map_or(at, |end| end + 2);
                drop(bytes.splice(begin..begin, piece.iter().copied()));
            }
            _ => {
                let line: Vec<u8> =
                    (0..400).flat_map(|n| format!("x-{n}: 1\r\n").into_bytes()).collect();
                let begin =
                    bytes.windows(2).position(|two| two == b"\r\n").map_or(at, |end| end + 2);
                drop(bytes.splice(begin..begin, line));
            }
        }
        if bytes.len() <= first + 1 {
            break;
        }
    }
    let asked_status = asked_status(&bytes);
    Sent { bytes, is_head, asked_status, has_content: true, is_sound: false }
}

fn target(random: &mut Random) -> String {
    let mut target = (*random.choose(PATHS)).to_owned();
    if random.below(12) == 0 {
        for _ in 0..1 << random.below(8) {
            // Characters of paths and queries in RFC 3986.
            target.push(char::from(*random.choose(b"abcXYZ019/?%&=+-._~!$'()*,;:@")));
        }
    }
    target
}

fn asked_status(request: &[u8]) -> Option<u16> {
    let behind = |what: &[u8]| {
        let at = request.windows(what.len()).position(|window| window == what)?;
        request.get(at + what.len()..)
    };
    if behind(b"/panics").is_some() {
        return Some(500);
    }
    str::from_utf8(behind(b"/statuses/")?.get(..3)?).ok()?.parse().ok()
}

fn value_byte(random: &mut Random) -> u8 {
    match random.draw() as u8 {
        byte @ (b' '..=b'~' | 0x80..) => byte,
        byte => b'a' + byte % 26,
    }
}

fn content(random: &mut Random) -> (&'static str, Vec<u8>) {
    let size = match random.below(10) {
        0 => BODY - 1 + random.below(3),
        1 => BODY * (1 + random.below(12)),
        2 => random.below(BODY),
        _ => 0,
    };
    let kinds: &[(&str, &str)] = &[
        ("application/json", r#"{"name":"red","price":5}"#),
        ("application/json", r#"{"name":"","price":0}"#),
        ("application/json", r#"{"name":[[[[[[[["#),
        ("application/json", "\"\\ud83d\""),
        ("text/plain", r#"{"name":"red","price":5}"#),
        ("application/x-www-form-urlencoded", "name=red&price=5"),
        ("application/x-www-form-urlencoded", "name=%FF&price=5&csrf_token=x"),
        ("application/x-www-form-urlencoded", "name=a&name=b&price=-1"),
        ("application/octet-stream", ""),
    ];
    let (media_type, text) = *random.choose(kinds);
    let mut body = text.as_bytes().to_vec();
    if random.below(10) == 0 && !body.is_empty() {
        let at = random.below(body.len());
        body[at] = random.draw() as u8;
    }
    // No line of the body is a request.
    body.resize(body.len() + size, b' ');
    (media_type, body)
}

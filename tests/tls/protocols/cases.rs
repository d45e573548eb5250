//! The requests, the same over every version.

use std::future::pending;

use policy_server::{Route, prelude::*};

use crate::protocols::TestResponse;

/// A request and its status.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) fields: Vec<(&'static str, String)>,
    pub(crate) payload: Payload,
    pub(crate) status: u16,
    /// The name of a value that the server draws, and how to find it in the response.
    pub(crate) draws: Option<(&'static str, Find)>,
}

type Find = fn(&TestResponse) -> String;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    Nothing,
    Text(&'static str),
    /// This many bytes in pieces, without a stated length.
    Streamed(usize),
    /// A part of the announced body, and then nothing.
    Stalled,
}

impl Case {
    /// The case with its names replaced by the values that the server drew.
    pub(crate) fn with(mut self, drawn: &[(&str, String)]) -> Self {
        for (_, value) in &mut self.fields {
            for (name, found) in drawn {
                *value = value.replace(name, found);
            }
        }
        self
    }

    fn field(mut self, name: &'static str, value: &str) -> Self {
        self.fields.push((name, value.to_owned()));
        self
    }

    fn from(self, origin: &str) -> Self {
        self.field("origin", origin)
    }

    fn sends(mut self, media_type: &str, text: &'static str) -> Self {
        self.payload = Payload::Text(text);
        self.field("content-type", media_type)
    }

    fn pays(mut self, payload: Payload) -> Self {
        self.payload = payload;
        self
    }

    fn draws(mut self, name: &'static str, find: Find) -> Self {
        self.draws = Some((name, find));
        self
    }
}

fn case(name: &'static str, line: &'static str, status: u16) -> Case {
    let (method, path) = line.split_once(' ').expect("a method and a path");
    let (fields, payload) = (Vec::new(), Payload::Nothing);
    Case { name, method, path, fields, payload, status, draws: None }
}

#[get("/rare")]
#[auth(public)]
#[limit(rate = "1/h")]
async fn rare() -> &'static str {
    "once"
}

#[query("/queries")]
#[auth(public)]
async fn find(Json(filter): Json<serde_json::Value>) -> Json<serde_json::Value> {
    Json(filter)
}

/// The Cookie lines that a handler sees.
#[get("/cookies")]
#[auth(public)]
async fn cookies(headers: policy_server::http::HeaderMap) -> String {
    let lines = headers.get_all("cookie").iter();
    lines.map(|line| line.to_str().expect("a text")).collect::<Vec<_>>().join("|")
}

#[get("/moved")]
#[auth(public)]
async fn moved() -> (StatusCode, [(&'static str, &'static str); 1]) {
    (StatusCode::SEE_OTHER, [("location", "/lamps")])
}

#[get("/hangs")]
#[auth(public)]
#[limit(timeout = "50ms")]
async fn hangs() -> &'static str {
    pending().await
}

/// Routes that the app of the fuzzer lacks.
pub(crate) fn routes() -> Vec<Route<()>> {
    routes![rare, cookies, moved, find, hangs]
}

const SHOP: &str = "https://app.shop.example";
const EVIL: &str = "https://evil.example";
const JSON: &str = "application/json";

fn cookie_of(response: &TestResponse) -> String {
    let line = response.fields.iter().find_map(|line| line.strip_prefix("set-cookie: "));
    line.and_then(|line| line.split(';').next()).expect("a cookie").to_owned()
}

fn member(response: &TestResponse, name: &str) -> String {
    let json: serde_json::Value = serde_json::from_str(&response.body).expect("JSON");
    json.get(name).and_then(serde_json::Value::as_str).expect("a text").to_owned()
}

fn nonce_of(response: &TestResponse) -> String {
    let behind = response.body.split("nonce=").nth(1).expect("a nonce");
    behind.split('>').next().expect("a nonce").to_owned()
}

/// Everything, in this order.
pub(crate) fn all() -> Vec<Case> {
    [routing(), sharing(), callers(), content(), limits()].into_iter().flatten().collect()
}

fn routing() -> Vec<Case> {
    vec![
        case("a route", "GET /lamps", 200),
        case("a parameter", "GET /lamps/7", 200),
        case("a parameter that is none", "GET /lamps/x", 400).from(SHOP),
        case("an error of the handler", "GET /lamps/1000", 404),
        case("no route", "GET /nowhere", 404),
        case("no such method here", "PUT /lamps", 405).from(SHOP),
        case("no such method", "LOCK /lamps", 501),
        case("OPTIONS", "OPTIONS /lamps", 204),
        case("HEAD", "HEAD /lamps/7", 200),
        case("HEAD of a stream", "HEAD /stream", 200),
        case("a mounted service", "GET /files", 200),
        case("a query", "GET /search?page=1&of=lamps", 200),
        case("a query that is none", "GET /search?page=x", 400),
        case("a path that is not decoded", "GET /lamps/%zz", 400),
        case("dot segments", "GET /lamps/%2e%2e/lamps", 400),
        case("a redirect", "GET /moved", 303),
        case("an expectation", "GET /lamps", 417).field("expect", "miracles"),
        case("a problem as a page", "GET /nowhere", 404).field("accept", "text/html"),
        case("a panic", "GET /panics", 500),
        case("a status of the handler", "GET /statuses/418", 418),
        case("no content", "GET /statuses/204", 204),
    ]
}

fn sharing() -> Vec<Case> {
    let preflight = |name, status, origin, method| {
        let request = case(name, "OPTIONS /lamps/7", status).from(origin);
        request.field("access-control-request-method", method)
    };
    vec![
        case("a page that may read", "GET /lamps", 200).from(SHOP),
        case("a partner that may read", "GET /lamps", 200).from("https://a.partner.example"),
        case("a page that may not", "GET /lamps", 403).from(EVIL),
        case("an error that a page may read", "GET /nowhere", 404).from(SHOP),
        case("a panic that a page may read", "GET /panics", 500).from(SHOP),
        preflight("a preflight", 204, SHOP, "PUT"),
        preflight("a preflight with a header", 204, SHOP, "DELETE")
            .field("access-control-request-headers", "x-lamp"),
        preflight("a preflight of a stranger", 403, EVIL, "PUT"),
        preflight("a preflight for what nobody serves", 204, SHOP, "LOCK"),
        case("everybody", "GET /picture", 200).from(EVIL),
        case("a page of another site", "GET /lamps", 403)
            .field("sec-fetch-site", "cross-site")
            .field("sec-fetch-mode", "no-cors")
            .field("sec-fetch-dest", "image"),
        case("a script", "GET /partners?callback=show", 200),
        case("a script that is none", "GET /partners?callback=alert(1)", 400),
        case("a page with a nonce", "GET /page", 200).draws("{nonce}", nonce_of),
    ]
}

fn callers() -> Vec<Case> {
    let logged_in = |name, line, status| case(name, line, status).field("cookie", "{cookie}");
    vec![
        case("nobody", "GET /mine", 401),
        case("a login from elsewhere", "POST /login", 403).from(EVIL),
        case("a login", "POST /login", 200)
            .from(crate::protocols::ORIGIN)
            .draws("{cookie}", cookie_of),
        logged_in("a session", "GET /mine", 200),
        logged_in("a change that could be forged", "POST /mine", 403).sends("text/plain", "a lamp"),
        logged_in("a token against forgery", "GET /csrf", 200)
            .draws("{csrf}", |response| member(response, "token")),
        logged_in("a change", "POST /mine", 200)
            .from(crate::protocols::ORIGIN)
            .field("x-csrf-token", "{csrf}")
            .sends("text/plain", "a lamp"),
        case("a session that is none", "GET /mine", 401).field("cookie", "__Host-sid=x"),
        case("no token", "GET /scoped", 401),
        case("a token that is none", "GET /scoped", 401).field("authorization", "Bearer x"),
        case("a token for somebody", "POST /tokens", 200)
            .draws("{bearer}", |response| member(response, "access_token")),
        case("a token", "GET /scoped", 200).field("authorization", "Bearer {bearer}"),
        case("cookies", "GET /cookies", 200).field("cookie", "a=1; b=2; c=3"),
        case("either", "DELETE /lamps/7", 204).field("authorization", "Bearer {bearer}"),
        case("neither", "DELETE /lamps/7", 409),
    ]
}

/// Cookies in three lines.
pub(crate) fn cut_cookies() -> Case {
    let cut = case("cookies in pieces", "GET /cookies", 200).field("cookie", "a=1");
    cut.field("cookie", "b=2; c=3").field("cookie", "d=4")
}

fn content() -> Vec<Case> {
    const LAMP: &str = r#"{"name":"desk","price":30}"#;
    let picture = |name, status| case(name, "GET /picture", status);
    vec![
        case("JSON", "POST /lamps", 201).sends(JSON, LAMP),
        case("JSON that is none", "POST /lamps", 400).sends(JSON, "{"),
        case("JSON of another shape", "POST /lamps", 422).sends(JSON, "[]"),
        case("JSON that breaks a rule", "POST /lamps", 422).sends(JSON, r#"{"name":"","price":0}"#),
        case("another media type", "POST /lamps", 415).sends("text/plain", LAMP),
        case("a form", "POST /forms", 200)
            .sends("application/x-www-form-urlencoded", "name=desk&price=30"),
        case("a query in the content", "QUERY /queries", 200).sends(JSON, LAMP),
        case("a query of another type", "QUERY /queries", 415).sends("text/plain", LAMP),
        case("a query of no type", "QUERY /queries", 415).pays(Payload::Text(LAMP)),
        case("nothing acceptable", "GET /lamps", 406).field("accept", "image/png"),
        case("a choice", "GET /lamps", 200).field("accept", "text/csv, text/html;q=0.5"),
        case("what is known", "GET /lamps/7", 304).from(SHOP).field("if-none-match", "*"),
        case("what has changed", "GET /lamps/7", 200).field("if-none-match", "\"x\""),
        case("a change of what changed", "PUT /lamps/7", 412).field("if-match", "\"x\""),
        case("a change of whatever", "PUT /lamps/7", 428),
        picture("a part", 206).field("range", "bytes=10-19"),
        picture("the end", 206).field("range", "bytes=-5"),
        picture("a part that is not there", 416).field("range", "bytes=9999-"),
        picture("a part of something else", 200)
            .field("range", "bytes=0-1")
            .field("if-range", "\"x\""),
        case("a stream", "GET /stream", 200).from(SHOP),
        case("a stream there and back", "POST /echo", 200).pays(Payload::Streamed(10_000)),
    ]
}

fn limits() -> Vec<Case> {
    vec![
        case("the last that is granted", "GET /rare", 200),
        case("one too many", "GET /rare", 429),
        case("what takes too long", "GET /hangs", 503).from(SHOP),
        case("too much that is announced", "POST /forms", 413)
            .from(SHOP)
            .field("content-length", "100000")
            .pays(Payload::Stalled),
        case("too much that is streamed", "POST /echo", 413)
            .from(SHOP)
            .pays(Payload::Streamed(30_000)),
        case("what does not come", "POST /echo", 408).pays(Payload::Stalled),
        case("still there", "GET /lamps", 200),
    ]
}

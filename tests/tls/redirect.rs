//! The listener that redirects to HTTPS.

use proptest::{collection::vec, prelude::*, sample::select};
use tokio::io::AsyncWriteExt;

use super::{
    law::{Precondition, holds},
    *,
};

const PUBLIC: &str = "https://api.example";

async fn public(test: &str, settings: ServerSettings) -> Secure {
    let (authority, folder) = (Authority::new(), folder(test));
    let (certificate, key) = authority.issue(&["api.example"]).write(&folder);
    let tls = Tls::files(certificate, key).redirect_http("127.0.0.1:0");
    Secure::start(app().public_origin(PUBLIC).settings(settings).tls(tls)).await
}

async fn response(address: SocketAddr, bytes: &str) -> http::RawResponse {
    let mut connection = Connection::open(address).await;
    connection.send(bytes).await;
    connection.response().await
}

fn raw_request(what: &str, host: &str, fields: &[&str]) -> String {
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    format!("{what} HTTP/1.1\r\nhost: {host}\r\n{fields}\r\n")
}

#[tokio::test]
async fn the_redirect_keeps_method_path_and_query() {
    let server = public("redirect", ServerSettings::default()).await;
    let mut connection = Connection::open(server.redirect()).await;
    for (what, host, target) in [
        ("GET /a/b?c=d%20e&f", "api.example", "/a/b?c=d%20e&f"),
        ("HEAD /a/b?c=d%20e&f", "evil.example", "/a/b?c=d%20e&f"),
        ("OPTIONS /%61?c", "api.example:80", "/%61?c"),
        ("DELETE http://evil.example/a/b?c", "evil.example", "/a/b?c"),
        ("GET http://evil.example", "evil.example", "/"),
        ("GET /@evil.example", "192.0.2.1", "/@evil.example"),
    ] {
        connection.send(raw_request(what, host, &[])).await;
        let response = connection.head().await;
        assert_eq!(response.status, 308, "{response:?}");
        let location = format!("https://api.example{target}");
        assert_eq!(response.header("location"), Some(&*location), "{what}");
        for name in ["cache-control", "strict-transport-security"] {
            assert_eq!(response.header(name), None, "{what}");
        }
    }
    let body = raw_request("POST /a", "api.example", &["content-length: 4"]) + "body";
    assert_eq!(response(server.redirect(), &body).await.status, 308);
}

/// Requests that a redirect would break, or that would send secrets in plain text again.
#[tokio::test]
async fn the_redirect_does_not_lead_preflights_and_upgrades_anywhere() {
    let server = public("redirect-refuses", ServerSettings::default()).await;
    let preflight = ["origin: https://a.example", "access-control-request-method: PUT"];
    let socket = ["connection: upgrade", "upgrade: websocket", "origin: https://a.example"];
    for bytes in [
        raw_request("OPTIONS /hello", "api.example", &preflight),
        raw_request("GET /hello", "api.example", &socket),
        raw_request("OPTIONS *", "api.example", &[]),
    ] {
        let response = response(server.redirect(), &bytes).await;
        assert_eq!(response.problem(), (421, "origin.plain-http".to_owned()), "{bytes}");
        assert_eq!((response.header("location"), response.sharing()), (None, vec![]), "{bytes}");
    }
}

#[tokio::test]
async fn the_redirect_in_development_leads_to_this_machine_alone() {
    let (tls, _authority) = identity("redirect-development");
    let server = Secure::start(app().tls(tls.redirect_http("127.0.0.1:0"))).await;
    let found = response(server.redirect(), &raw_request("GET /hello", "127.0.0.1:1", &[])).await;
    let target = format!("https://localhost:{}/hello", server.address.port());
    assert_eq!((found.status, found.header("location")), (308, Some(&*target)));
    assert_eq!(found.header("cache-control"), Some("no-store"));
    for (host, fields) in [
        ("localhost", &["x-forwarded-host: evil.example"][..]),
        ("localhost", &["forwarded: for=x"]),
        ("evil.example", &[]),
    ] {
        let refused = response(server.redirect(), &raw_request("GET /hello", host, fields)).await;
        assert_eq!((refused.status, refused.header("location")), (421, None));
    }
}

#[tokio::test]
async fn the_redirect_has_the_limits_of_connections() {
    let time = StoppedTime::begin();
    let settings = ServerSettings::default().header_timeout(Duration::from_millis(200));
    let settings = settings.idle_timeout(Duration::from_millis(400)).max_connections(1);
    let server = public("redirect-limits", settings).await;
    let mut silent = Connection::open(server.redirect()).await;
    time.until(silent.wait_for_close()).await;
    let mut slow = Connection::open(server.redirect()).await;
    slow.send("GET / HTTP/1.1\r\nhost: a").await;
    time.until(slow.wait_for_close()).await;
    let mut idle = Connection::open(server.redirect()).await;
    idle.send(raw_request("GET /", "api.example", &[])).await;
    assert_eq!(idle.head().await.status, 308);
    // One connection at a time: this one waits until the idle one is closed.
    let mut next = Connection::open(server.redirect()).await;
    next.send(raw_request("GET /", "api.example", &[])).await;
    time.until(idle.wait_for_close()).await;
    assert_eq!(next.head().await.status, 308);
    let long = format!("x-long: {}", "x".repeat(256 * 1024));
    let mut large = Connection::open(server.redirect()).await;
    large.try_send(raw_request("GET /", "api.example", &[&long])).await;
    let response = time.until(large.rest()).await;
    assert!(response.starts_with(b"HTTP/1.1 431 ") || response.is_empty(), "{response:?}");
}

/// Fragments of targets that could redirect a browser elsewhere.
fn target() -> impl Strategy<Value = String> {
    let pieces = [
        "/",
        "//",
        "/\\",
        "\\",
        "evil.example",
        "@",
        ":",
        "%0d%0a",
        "%2f%2f",
        "\r\n",
        "\n",
        "?",
        "#",
        "http://",
        "https://",
        "https:",
        "*",
        ".",
        "..",
        "%2e%2e",
        " ",
        "\t",
        "é",
        "a",
        "/a",
        "/b/c",
        "\r\nlocation: https://evil.example/",
        "api.example",
        "[::1]",
        ";",
        "&",
        "=",
        "%00",
    ];
    let begun = select(vec!["/", "//", "/", "", "http://evil.example/", "/\\"]);
    (begun, vec(select(pieces.to_vec()), 0..7))
        .prop_map(|(begun, rest)| begun.to_owned() + &rest.concat())
}

/// The WHATWG URL parser, which browsers use, decides where a response leads.
#[test]
fn the_redirect_always_leads_to_the_public_origin() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let server = runtime.block_on(public("redirect-law", ServerSettings::default()));
    let methods = select(vec!["GET", "POST", "HEAD", "OPTIONS", "CONNECT", "PUT"]);
    let hosts = select(vec![
        "api.example",
        "x.example",
        "evil.example",
        "evil.example:80",
        "a@evil.example",
    ]);
    let law = "a redirect leads to the public origin";
    holds(law, 12, (methods, target(), hosts), |(method, target, host)| {
        let bytes = format!("{method} {target} HTTP/1.1\r\nhost: {host}\r\n\r\n");
        let responses = runtime.block_on(async {
            let mut connection = Connection::open(server.redirect()).await;
            connection.send(&bytes).await;
            // The server may close after its response.
            soon(connection.stream.shutdown()).await.expect("a socket");
            String::from_utf8_lossy(&connection.rest().await).into_owned()
        });
        let mut led = 0;
        for line in responses.split("\r\n") {
            let Some((name, value)) = line.split_once(": ") else { continue };
            if name != "location" {
                let known = ["content-length", "content-type", "date", "connection", "vary"];
                prop_assert!(known.contains(&name) || line.starts_with('{'), "{line}");
                continue;
            }
            led += 1;
            let leads = url::Url::parse(value);
            let origin = leads.as_ref().map(|url| url.origin().ascii_serialization());
            prop_assert_eq!(origin.as_deref(), Ok(PUBLIC), "{}", value);
            let leads = leads.expect("an address");
            prop_assert!(leads.username().is_empty() && leads.password().is_none(), "{value}");
        }
        Ok(Precondition::met_if(led > 0))
    });
}

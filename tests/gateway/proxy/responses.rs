//! The responses that come back from an upstream.

use policy_server::{ReverseProxy, Sessions, prelude::*};

use super::{Running, Upstream, begin_request, http::request, send, stripping};

#[tokio::test]
async fn a_response_comes_back_without_connection_fields() {
    let upstream = Upstream::start().await;
    let server = stripping(&upstream).await;
    let _arrived = upstream.answering(
        "HTTP/1.1 203 Whatever\r\nx-a: 1\r\nx-a: 2\r\nconnection: keep-alive, x-mine\r\n\
         keep-alive: timeout=5\r\nx-mine: 1\r\nproxy-authenticate: Basic\r\n\
         alt-svc: h3=\":443\"\r\ncontent-length: 2\r\ncontent-type: text/x\r\n\
         date: Sat, 01 Jan 2000 00:00:00 GMT\r\nserver: theirs\r\n\r\nok",
    );
    let response = server.response(request("GET /api", &[])).await;
    assert_eq!((response.status, response.text()), (203, "ok"));
    let want = [
        "content-length: 2",
        "content-type: text/x",
        "server: theirs",
        "x-a: 1",
        "x-a: 2",
        "x-content-type-options: nosniff",
    ];
    let mut lines = response.lines();
    // The default headers of an app without a public origin.
    lines.retain(|line| {
        !line.starts_with("content-security-policy") && !line.starts_with("referrer")
    });
    assert_eq!(lines, want);
    assert_eq!(response.header("date"), Some("Sat, 01 Jan 2000 00:00:00 GMT"));
}

#[tokio::test]
async fn locations_and_cookies_of_the_upstream_are_rewritten() {
    let upstream = Upstream::start().await;
    let origin = upstream.origin();
    let proxy = ReverseProxy::new("/api", &origin).public().strip_prefix();
    let app = App::new(()).sessions(Sessions::memory()).public_origin("https://shop.example");
    let server = Running::start(app.proxy(proxy)).await;
    for (location, own) in [
        (format!("{origin}/x?y"), "/api/x?y"),
        ("/x".to_owned(), "/api/x"),
        ("//evil.example/x".to_owned(), "//evil.example/x"),
        ("x".to_owned(), "x"),
    ] {
        let sent = "GET /api/a HTTP/1.1\r\nhost: shop.example\r\n\r\n";
        let (mut connection, mut line, _) = send(&server, &upstream, sent).await;
        line.send(format!(
            "HTTP/1.1 302 Found\r\nlocation: {location}\r\nconnection: close\r\n\
             content-length: 0\r\nset-cookie: a=1; Path=/; Domain=127.0.0.1\r\n\
             set-cookie: __Host-sid=planted; Path=/; Secure\r\nset-cookie: b=2; HttpOnly\r\n\r\n"
        ))
        .await;
        let response = connection.response().await;
        assert_eq!(response.header("location"), Some(own));
        let cookies: Vec<_> =
            response.headers.iter().filter(|header| header.0 == "set-cookie").collect();
        let values: Vec<_> = cookies.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["a=1; Path=/api", "b=2; HttpOnly"]);
    }
}

#[tokio::test]
async fn cors_headers_of_upstreams_are_replaced() {
    for (shared, sharing) in
        [(true, vec!["access-control-allow-origin: https://app.example"]), (false, vec![])]
    {
        let upstream = Upstream::start().await;
        let proxy = ReverseProxy::new("/api", upstream.origin()).public();
        let policy = CorsPolicy::origins(&["https://app.example"]).build();
        let proxy = if shared { proxy.policies(Policies::new().cors(policy)) } else { proxy };
        let server = Running::start(App::new(()).proxy(proxy)).await;
        let _arrived = upstream.answering(
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\naccess-control-allow-origin: *\r\n\
             access-control-allow-credentials: true\r\naccess-control-expose-headers: *\r\n\r\n",
        );
        let response = server.response(request("GET /api", &["origin: https://app.example"])).await;
        assert_eq!(response.sharing(), sharing);
        let other = server.response(request("GET /api", &["origin: https://evil.example"])).await;
        assert_eq!(other.sharing(), [""; 0]);
    }
}

#[tokio::test]
async fn policies_are_applied_before_the_upstream() {
    let upstream = Upstream::start().await;
    let proxy = ReverseProxy::new("/api", upstream.origin())
        .public()
        .policies(
            Policies::new()
                .headers(HeadersPolicy::API)
                .cache(CachePolicy::private().max_age(60).build()),
        )
        .methods([policy_server::http::Method::GET]);
    let server = Running::start(App::new(()).proxy(proxy)).await;
    let _arrived = upstream.answering(
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx-frame-options: SAMEORIGIN\r\n\
         cache-control: public, max-age=600\r\n\r\n",
    );
    let response = server.response(request("GET /api", &[])).await;
    assert_eq!(response.header("cache-control"), Some("private, max-age=60"));
    // An upstream's own field is kept, like a handler's.
    assert_eq!(response.header("x-frame-options"), Some("SAMEORIGIN"));
    assert_eq!(response.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(server.response(request("POST /api", &["content-length: 0"])).await.status, 405);
}

#[tokio::test]
async fn security_fields_of_an_upstream_stay() {
    let upstream = Upstream::start().await;
    let proxy = ReverseProxy::new("/api", upstream.origin())
        .public()
        .policies(Policies::new().no_headers());
    let server = Running::start(App::new(()).proxy(proxy)).await;
    let _arrived = upstream.answering(
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx-frame-options: SAMEORIGIN\r\n\
         content-security-policy: default-src 'self'\r\n\r\n",
    );
    let response = server.response(request("GET /api", &[])).await;
    let want = [
        "content-length: 0",
        "content-security-policy: default-src 'self'",
        "x-frame-options: SAMEORIGIN",
    ];
    assert_eq!(response.lines(), want);
}

/// RFC 9110 9.3.2: the fields are those of GET.
#[tokio::test]
async fn the_response_to_head_has_the_length_that_the_upstream_says() {
    for (field, length) in [("content-length: 1000\r\n", Some("1000")), ("", None)] {
        let upstream = Upstream::start().await;
        let server = stripping(&upstream).await;
        let head = request("HEAD /api", &[]);
        let (mut connection, mut line, _) = send(&server, &upstream, head).await;
        line.send(format!("HTTP/1.1 200 OK\r\n{field}\r\n")).await;
        assert_eq!(connection.head().await.header("content-length"), length);
    }
}

/// RFC 9112 6.3: the transfer coding says where the response ends.
#[tokio::test]
async fn a_length_beside_a_transfer_coding_is_not_passed_on() {
    for length in ["5", "30", "5, 6"] {
        let upstream = Upstream::start().await;
        let server = stripping(&upstream).await;
        let (mut connection, mut line) = begin_request(&server, &upstream).await;
        line.send(format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\ntransfer-encoding: chunked\r\n\r\n\
             a\r\n0123456789\r\n0\r\n\r\n"
        ))
        .await;
        let response = connection.response().await;
        assert_eq!(response.header("content-length"), None, "{length}");
        assert_eq!((response.status, response.text()), (200, "0123456789"), "{length}");
    }
}

#[tokio::test]
async fn conditions_and_ranges_are_the_upstreams_to_answer() {
    let upstream = Upstream::start().await;
    let server = stripping(&upstream).await;
    let mut arrived = upstream.answering(
        "HTTP/1.1 206 Partial Content\r\ncontent-length: 1\r\ncontent-range: bytes 1-1/3\r\n\
         etag: \"1\"\r\n\r\nb",
    );
    let fields = ["range: bytes=1-1", "if-range: \"1\"", "if-none-match: \"2\""];
    let response = server.response(request("GET /api", &fields)).await;
    assert_eq!((response.status, response.text()), (206, "b"));
    assert_eq!(response.header("content-range"), Some("bytes 1-1/3"));
    let got = arrived.recv().await.expect("a request");
    assert_eq!(got.header("range"), Some("bytes=1-1"));
    assert_eq!(got.header("if-range"), Some("\"1\""));
    assert_eq!(got.header("if-none-match"), Some("\"2\""));
}

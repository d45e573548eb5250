//! The requests that an upstream receives.

use ::http::HeaderValue;
use policy_server::{Request, ReverseProxy, Sessions, TrustedProxies, prelude::*};
use tower::util::MapRequestLayer;

use super::{Running, Upstream, http::request, send, start, stripping};

const NOTHING: &str = "HTTP/1.1 204 No Content\r\n\r\n";

#[tokio::test]
async fn an_upstream_gets_the_request_and_its_client() {
    let upstream = Upstream::start().await;
    let host = upstream.address.to_string();
    let server = stripping(&upstream).await;
    let mut arrived = upstream.answering(NOTHING);
    let port = server.address.port();
    let sent = format!(
        "GET /api/orders?page=2 HTTP/1.1\r\nhost: localhost:{port}\r\naccept: text/*\r\n\
         authorization: Bearer theirs\r\ncookie: a=1\r\nconnection: x-mine\r\nx-mine: 1\r\n\
         keep-alive: timeout=5\r\nproxy-authorization: Basic eDp5\r\nte: gzip\r\n\
         upgrade: h2c\r\nx-other: 2\r\n\r\n"
    );
    assert_eq!(server.response(sent).await.status, 204);
    let got = arrived.recv().await.expect("a request");
    assert_eq!(got.line, "GET /orders?page=2 HTTP/1.1");
    let want = [
        "accept: text/*".to_owned(),
        "authorization: Bearer theirs".to_owned(),
        "cookie: a=1".to_owned(),
        format!("forwarded: for=127.0.0.1;host=\"localhost:{port}\";proto=http"),
        format!("host: {host}"),
        "via: 1.1 policy".to_owned(),
        "x-forwarded-for: 127.0.0.1".to_owned(),
        format!("x-forwarded-host: localhost:{port}"),
        "x-forwarded-proto: http".to_owned(),
        "x-other: 2".to_owned(),
    ];
    let lines = got.headers.iter().map(|(name, value)| format!("{name}: {value}"));
    let mut lines: Vec<_> = lines.collect();
    lines.sort_unstable();
    assert_eq!(lines, want);
}

/// RFC 9110 7.6.1: otherwise a client could hide from the upstream who it is.
#[tokio::test]
async fn a_client_does_not_remove_what_this_server_adds() {
    let upstream = Upstream::start().await;
    let adds = |name: &'static str| {
        MapRequestLayer::new(move |mut request: Request| {
            request.headers_mut().insert(name, HeaderValue::from_static("ours"));
            request
        })
    };
    let origin = upstream.origin();
    let mut arrived = upstream.answering(NOTHING);
    let app = || {
        let proxy = ReverseProxy::new("/x", &origin).public();
        App::new(()).request_ids().group("/api", Group::new().layer(adds("x-user")).proxy(proxy))
    };
    for (app, tenant) in [(app(), None), (app().layer(adds("x-tenant")), Some("ours"))] {
        let server = Running::start(app).await;
        let fields =
            ["connection: x-user, x-tenant, x-request-id, x-own", "x-user: theirs", "x-own: 1"];
        assert_eq!(server.response(request("GET /api/x", &fields)).await.status, 204);
        let got = arrived.recv().await.expect("a request");
        assert_eq!((got.header("x-user"), got.header("x-tenant")), (Some("ours"), tenant));
        assert!(got.header("x-request-id").is_some() && got.header("x-own").is_none(), "{got:?}");
    }
}

#[tokio::test]
async fn forwarding_fields_state_the_client_that_this_server_saw() {
    let upstream = Upstream::start().await;
    let proxy = ReverseProxy::new("/api", upstream.origin()).public();
    let app = App::new(()).public_origin("https://shop.example").proxy(proxy);
    let server = Running::start(app).await;
    let mut arrived = upstream.answering(NOTHING);
    let sent = "GET /api/x HTTP/1.1\r\nhost: shop.example\r\nx-forwarded-for: 6.6.6.6\r\n\
                x-forwarded-proto: gopher\r\nx-forwarded-host: evil.example\r\n\
                forwarded: for=6.6.6.6\r\nx-real-ip: 6.6.6.6\r\nx-forwarded-prefix: /x\r\n\
                connection: x-forwarded-for, forwarded, via, host\r\nvia: 1.0 other\r\n\r\n";
    assert_eq!(server.response(sent).await.status, 204);
    let got = arrived.recv().await.expect("a request");
    assert_eq!(got.path(), "/api/x");
    assert_eq!(got.header("forwarded"), Some("for=127.0.0.1;host=shop.example;proto=http"));
    assert_eq!(got.header("x-forwarded-for"), Some("127.0.0.1"));
    assert_eq!(got.header("x-forwarded-host"), Some("shop.example"));
    assert_eq!(got.header("x-forwarded-proto"), Some("http"));
    assert_eq!(got.headers.len(), 6, "{got:?}");
}

/// In development, the upstream learns the host that gate 2 checks, which the proxy in front states.
#[tokio::test]
async fn the_host_is_the_one_that_was_checked() {
    let upstream = Upstream::start().await;
    let proxy = ReverseProxy::new("/api", upstream.origin()).public();
    let in_front = TrustedProxies::new(["127.0.0.1"]).x_forwarded_with_host();
    let server = Running::start(App::new(()).behind(in_front).proxy(proxy)).await;
    let mut arrived = upstream.answering(NOTHING);
    let fields = ["x-forwarded-for: 192.0.2.1", "x-forwarded-host: localhost:3000"];
    let sent = request("GET /api", &fields).replacen("localhost", "a;for=6.6.6.6", 1);
    assert_eq!(server.response(sent).await.status, 204);
    let got = arrived.recv().await.expect("a request");
    let forwarded = "for=192.0.2.1;host=\"localhost:3000\";proto=http";
    assert_eq!(got.header("forwarded"), Some(forwarded));
    assert_eq!(got.header("x-forwarded-host"), Some("localhost:3000"));
}

#[tokio::test]
async fn the_session_cookie_is_not_passed_on_by_default() {
    for (forwards, cookie) in [(false, Some("a=1; b=2")), (true, Some("a=1; __Host-sid=x; b=2"))] {
        let upstream = Upstream::start().await;
        let proxy = ReverseProxy::new("/api", upstream.origin()).public();
        let proxy = if forwards { proxy.forward_session() } else { proxy };
        let app = App::new(()).sessions(Sessions::memory()).public_origin("https://shop.example");
        let server = Running::start(app.proxy(proxy)).await;
        let mut arrived = upstream.answering(NOTHING);
        for cookies in ["a=1; __Host-sid=x; b=2", "__Host-sid=x"] {
            let sent =
                format!("GET /api HTTP/1.1\r\nhost: shop.example\r\ncookie: {cookies}\r\n\r\n");
            assert_eq!(server.response(sent).await.status, 204);
        }
        let first = arrived.recv().await.expect("a request");
        assert_eq!(first.header("cookie"), cookie);
        let second = arrived.recv().await.expect("a request");
        assert_eq!(second.header("cookie"), forwards.then_some("__Host-sid=x"));
    }
}

#[tokio::test]
async fn all_methods_except_preflights_and_those_of_the_server_are_passed_on() {
    let upstream = Upstream::start().await;
    let app = App::new(()).proxy(
        ReverseProxy::new("/api", upstream.origin())
            .public()
            .policies(Policies::new().cors(CorsPolicy::origins(&["https://app.example"]).build())),
    );
    let server = Running::start(app).await;
    let mut arrived = upstream.answering(NOTHING);
    for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "QUERY", "OPTIONS"] {
        let mut connection = server.connect().await;
        connection.send(request(&format!("{method} /api/x"), &[])).await;
        assert_eq!(connection.head().await.status, 204, "{method}");
        assert_eq!(
            arrived.recv().await.expect("a request").line,
            format!("{method} /api/x HTTP/1.1")
        );
    }
    for (method, status) in [("TRACE", 405), ("LOCK", 501)] {
        let refused = server.response(request(&format!("{method} /api/x"), &[])).await;
        assert_eq!(refused.status, status, "{method}");
    }
    let preflight = ["origin: https://app.example", "access-control-request-method: PUT"];
    let response = server.response(request("OPTIONS /api/x", &preflight)).await;
    assert_eq!(response.header("access-control-allow-origin"), Some("https://app.example"));
    let cross = ["origin: https://evil.example", "access-control-request-method: PUT"];
    assert_eq!(server.response(request("OPTIONS /api/x", &cross)).await.status, 403);
    assert!(arrived.try_recv().is_err());
}

/// RFC 9110 7.6.2.
#[tokio::test]
async fn the_hops_of_options_are_counted() {
    let upstream = Upstream::start().await;
    let server = stripping(&upstream).await;
    let mut arrived = upstream.answering(NOTHING);
    let last = server.response(request("OPTIONS /api", &["max-forwards: 0"])).await;
    assert_eq!(last.status, 204);
    assert!(last.header("allow").expect("methods").contains("GET"), "{last:?}");
    assert!(arrived.try_recv().is_err());
    for (what, hops, left) in [
        ("OPTIONS /api", "2", Some("1")),
        ("OPTIONS /api", "x", None),
        // `Max-Forwards` does not stop any other method.
        ("GET /api", "0", Some("0")),
    ] {
        let sent = request(what, &[&*format!("max-forwards: {hops}")]);
        assert_eq!(server.response(sent).await.status, 204, "{what} {hops}");
        assert_eq!(arrived.recv().await.expect("a request").header("max-forwards"), left);
    }
}

#[tokio::test]
async fn content_length_comes_only_from_the_body() {
    let upstream = Upstream::start().await;
    let server = stripping(&upstream).await;
    let sent = request("POST /api", &["content-length: 5"]) + "hello";
    let (mut connection, mut line, got) = send(&server, &upstream, sent).await;
    assert_eq!(got.header("content-length"), Some("5"));
    assert_eq!(line.exactly(5).await, b"hello");
    line.send(NOTHING).await;
    assert_eq!(connection.response().await.status, 204);

    for method in ["POST", "GET"] {
        let chunked = request(&format!("{method} /api"), &["transfer-encoding: chunked"]);
        connection.send(chunked + "5\r\nhello\r\n0\r\n\r\n").await;
        let got = line.request().await;
        assert_eq!(got.header("transfer-encoding"), Some("chunked"), "{method}");
        assert_eq!(got.header("content-length"), None);
        assert_eq!(line.exactly(15).await, b"5\r\nhello\r\n0\r\n\r\n");
        line.send(NOTHING).await;
        assert_eq!(connection.response().await.status, 204);
    }

    connection.send(request("POST /api", &["content-length: 0"])).await;
    assert_eq!(line.request().await.header("content-length"), Some("0"));
    line.send(NOTHING).await;
    assert_eq!(connection.response().await.status, 204);
}

/// RFC 9110 10.1.1: this server sends 100 itself, once the body is needed.
#[tokio::test]
async fn a_client_that_waits_for_100_gets_it() {
    let upstream = Upstream::start().await;
    let server = stripping(&upstream).await;
    let mut connection = server.connect().await;
    let fields = ["content-length: 5", "expect: 100-continue"];
    connection.send(request("PUT /api", &fields)).await;
    assert_eq!(connection.head().await.status, 100);
    let (mut line, got) = upstream.accept_request().await;
    assert_eq!(got.header("expect"), None);
    connection.send("hello").await;
    assert_eq!(line.exactly(5).await, b"hello");
    line.send(NOTHING).await;
    assert_eq!(connection.response().await.status, 204);
}

#[tokio::test]
async fn trailers_go_both_ways() {
    let upstream = Upstream::start().await;
    let server = stripping(&upstream).await;
    let sent = "POST /api HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\
                te: trailers\r\nconnection: te\r\ntrailer: x-sum, x-forwarded-for\r\n\r\n\
                1\r\na\r\n0\r\nx-sum: 1\r\nx-forwarded-for: 6.6.6.6\r\n\r\n";
    let (mut connection, mut line, got) = send(&server, &upstream, sent).await;
    assert_eq!((got.header("te"), got.header("connection")), (Some("trailers"), Some("te")));
    let body = line.exactly(b"1\r\na\r\n0\r\nx-sum: 1\r\n\r\n".len()).await;
    assert_eq!(body.escape_ascii().to_string(), "1\\r\\na\\r\\n0\\r\\nx-sum: 1\\r\\n\\r\\n");
    line.send(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum, set-cookie\r\n\r\n\
         1\r\nb\r\n0\r\nx-sum: 2\r\nset-cookie: a=1\r\n\r\n",
    )
    .await;
    let head = connection.head().await;
    assert_eq!(head.header("trailer"), Some("x-sum, set-cookie"));
    let body = connection.exactly(b"1\r\nb\r\n0\r\nx-sum: 2\r\n\r\n".len()).await;
    assert_eq!(body, b"1\r\nb\r\n0\r\nx-sum: 2\r\n\r\n");
}

/// RFC 9110 6.5.1: the upstream may merge trailers into the headers.
#[tokio::test]
async fn no_trailer_has_the_name_of_a_header() {
    let upstream = Upstream::start().await;
    let adds = MapRequestLayer::new(|mut request: Request| {
        request.headers_mut().insert("x-user", HeaderValue::from_static("ours"));
        request
    });
    let proxy = ReverseProxy::new("/x", upstream.origin()).public();
    let app = App::new(()).group("/api", Group::new().layer(adds).proxy(proxy));
    let server = Running::start(app).await;
    let fields = ["transfer-encoding: chunked", "trailer: x-user, x-sum"];
    let body = "1\r\na\r\n0\r\nX-User: theirs\r\nx-sum: 1\r\n\r\n";
    let sent = request("POST /api/x", &fields) + body;
    let (_connection, mut line, got) = send(&server, &upstream, sent).await;
    assert_eq!(got.header("x-user"), Some("ours"));
    let body = line.exactly(b"1\r\na\r\n0\r\nx-sum: 1\r\n\r\n".len()).await;
    assert_eq!(body.escape_ascii().to_string(), "1\\r\\na\\r\\n0\\r\\nx-sum: 1\\r\\n\\r\\n");
}

#[tokio::test]
async fn connections_are_kept_for_the_next_request() {
    let upstream = Upstream::start().await;
    let server = start(ReverseProxy::new("/api", upstream.origin()).public()).await;
    let mut line = None;
    for _ in 0..3 {
        let mut connection = server.connect().await;
        connection.send(request("GET /api", &[])).await;
        if line.is_none() {
            line = Some(upstream.accept().await);
        }
        let line = line.as_mut().expect("a connection");
        line.request().await;
        line.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
        assert_eq!(connection.response().await.text(), "ok");
    }
}

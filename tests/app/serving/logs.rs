//! What the server logs by `tracing`.

use policy_tests::log::Log;

use super::*;

#[tokio::test]
async fn logs_name_refused_requests_escaped() {
    let (log, _guard) = Log::start("policy_server");
    let server = Running::start(app()).await;
    let request =
        b"OPTIONS /hello HTTP/1.1\r\nhost: localhost\r\naccess-control-request-method: PUT\r\n\
        origin: https://evil.example\xff\t\"\r\n\r\n";
    assert_eq!(server.response(request).await.status, 403);
    let lines = log.with("request refused");
    assert_eq!(lines.len(), 1, "{lines:?}");
    for part in [
        "INFO ",
        "policy.code=\"cors.origin-not-granted\"",
        "http.response.status_code=403",
        "http.request.method=\"OPTIONS\"",
        "url.path=/hello",
        "policy.origin=https://evil.example\\xff\\t\\\"",
    ] {
        assert!(lines[0].contains(part), "{part} {lines:?}");
    }
}

#[tokio::test]
async fn logs_of_refused_requests_are_no_flood() {
    let (log, _guard) = Log::start("policy_server");
    let server = Running::start(app()).await;
    let mut connection = server.connect().await;
    for _ in 0..200 {
        connection.send(get("/nowhere")).await;
        assert_eq!(connection.response().await.status, 404);
    }
    let lines = log.with("request refused").len();
    assert!((1..200).contains(&lines), "{lines} lines");
}

#[tokio::test]
async fn logs_name_panics_and_timeouts() {
    let (log, _guard) = Log::start("policy_server");
    let server = Running::start(
        app().policies(Policies::new().limits(Limits::NONE.timeout(Duration::from_millis(50)))),
    )
    .await;
    assert_eq!(server.response(get("/panic")).await.status, 500);
    assert_eq!(server.response(get("/never")).await.status, 503);
    let panics = log.with_code("handler.panicked");
    assert_eq!(panics.len(), 1, "{:?}", log.with(""));
    assert!(panics[0].starts_with("ERROR ") && panics[0].contains("a panic on purpose"));
    let timeouts = log.with("The response was not ready in time");
    assert_eq!(timeouts.len(), 1, "{:?}", log.with(""));
    assert!(timeouts[0].starts_with("WARN ") && timeouts[0].contains("handler.timed-out"));
}

#[tokio::test]
async fn logs_have_a_span_for_every_request_with_its_outcome() {
    let (log, _guard) = Log::start("policy_server");
    let server = Running::start(
        app().policies(Policies::new().limits(Limits::NONE.timeout(Duration::from_millis(50)))),
    )
    .await;
    let preflight = |origin: &str| {
        let fields = [&format!("origin: {origin}"), "access-control-request-method: GET"];
        request("OPTIONS /hello", &fields)
    };
    for (bytes, parts) in [
        (
            get("/hello?secret=1"),
            &[
                "otel.name=\"GET /hello\"",
                "otel.kind=\"server\"",
                "http.request.method=\"GET\"",
                "url.scheme=\"http\"",
                "url.path=/hello",
                "http.route=\"/hello\"",
                "network.protocol.version=\"1.1\"",
                "client.address=127.0.0.1",
                "http.response.status_code=200",
            ][..],
        ),
        (
            get("/panic"),
            &[
                "http.route=\"/panic\"",
                "http.response.status_code=500",
                "error.type=\"handler.failed\"",
                "otel.status_code=\"ERROR\"",
            ],
        ),
        (
            get("/never"),
            &[
                "http.response.status_code=503",
                "policy.code=\"handler.timed-out\"",
                "error.type=\"handler.timed-out\"",
            ],
        ),
        (
            get("/nowhere"),
            &[
                "otel.name=\"GET\"",
                "url.path=/nowhere",
                "http.response.status_code=404",
                "policy.code=\"route.not-found\"",
            ],
        ),
        (
            request("BREW /hello", &[]),
            &[
                "otel.name=\"HTTP\"",
                "http.request.method=\"_OTHER\"",
                "http.request.method_original=\"BREW\"",
                "error.type=\"route.method-unknown\"",
            ],
        ),
        (
            preflight("https://shop.example"),
            &["otel.name=\"OPTIONS /hello\"", "http.response.status_code=204"],
        ),
        (
            preflight("https://evil.example"),
            &[
                "http.route=\"/hello\"",
                "http.response.status_code=403",
                "policy.code=\"cors.origin-not-granted\"",
            ],
        ),
    ] {
        server.response(&bytes).await;
        let spans = log.with("request otel.name=");
        let span = spans.last().expect("a span");
        for part in parts {
            let is_there = format!("{span} ").contains(&format!(" {part} "));
            assert!(is_there, "no `{part}` for {bytes}: {span}");
        }
        let is_failed = span.contains("status_code=5");
        for part in ["otel.status_code=", "error.type="] {
            assert_eq!(span.contains(part), is_failed, "{part} in {span}");
        }
        assert!(!span.contains("secret") && !span.contains("url.query"), "{span}");
    }
}

#[tokio::test]
async fn logs_name_the_beginning_and_the_end_of_a_server() {
    let (log, _guard) = Log::start("policy_server");
    let millis = Duration::from_millis;
    let settings = ServerSettings::default().drain(millis(10)).shutdown_timeout(millis(50));
    let server = Running::start(app().settings(settings)).await;
    let mut streaming = server.connect().await;
    streaming.send(get("/events")).await;
    streaming.head().await;
    soon(server.stop()).await.unwrap();
    for (level, code) in [
        ("INFO", "server.listening"),
        ("INFO", "server.draining"),
        ("INFO", "server.shutting-down"),
        ("WARN", "server.requests-cut-off"),
    ] {
        let lines = log.with_code(code);
        assert!(lines.len() == 1 && lines[0].starts_with(level), "{code}: {lines:?}");
    }
}

#[test]
fn logs_name_the_mistakes_of_handlers() {
    let (log, _guard) = Log::start("policy_server");
    let no_json = std::collections::BTreeMap::from([((1, 2), 3)]);
    let _ = Problem::internal(io::Error::other("a\nforged line"));
    let _ = Problem::conflict().with("title", "a").with("pairs", no_json);
    for (level, code) in [
        ("ERROR", "handler.error"),
        ("WARN", "handler.problem-member-reserved"),
        ("WARN", "handler.problem-member-unwritable"),
    ] {
        let lines = log.with_code(code);
        assert!(lines.len() == 1 && lines[0].starts_with(level), "{code}: {lines:?}");
        assert!(!lines[0].contains('\n'), "{lines:?}");
    }
}

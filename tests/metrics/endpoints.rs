//! Where the metrics are read, and the notice where anybody can read them.

use std::net::SocketAddr;

use policy_server::{AuthRequirement, Metrics, TrustedProxies, prelude::*, tokens::SecretKey};
use policy_tests::{
    handlers::hello,
    http::{Connection, Running, exchange, request},
    log::Log,
};

use crate::Exposition;

#[post("/token")]
#[auth(public)]
async fn token(tokens: Tokens) -> Result<String, Problem> {
    let scraper = Identity::new("prometheus").scopes(["metrics"]);
    Ok(tokens.issue(&scraper)?.access_token.clone())
}

const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[tokio::test]
async fn a_listener_of_its_own_serves_the_metrics_and_nothing_else() {
    let metrics = Metrics::new().listen("127.0.0.1:0");
    let app = App::new(()).metrics(&metrics).routes(routes![hello]);
    // Its host is not that of the metrics: Prometheus calls an instance by its address.
    let app = app.public_origin("https://api.shop.example");
    // Nor is the app's load balancer in front of it, which would begin with a PROXY header.
    let app = app.behind(TrustedProxies::new(["127.0.0.1"]).proxy_protocol());
    let server = app.bind("127.0.0.1:0").await.unwrap();
    let address = server.metrics_addr().expect("a second address");
    let running = tokio::spawn(server.run_until(std::future::pending()));
    let ask = async |what: &str| {
        let mut connection = Connection::open(address).await;
        connection.send(request(what, &[])).await;
        connection.head().await
    };
    let mut connection = Connection::open(address).await;
    connection.send(request("GET /metrics", &[])).await;
    let response = connection.response().await;
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), Some(MEDIA_TYPE));
    assert_eq!(response.header("cache-control"), Some("no-store"));
    Exposition::parse(response.text());
    assert_eq!(ask("HEAD /metrics").await.status, 200);
    assert_eq!(ask("GET /metrics?x=y").await.status, 200);
    for path in ["GET /hello", "GET /", "GET /metrics/"] {
        assert_eq!(ask(path).await.status, 404, "{path}");
    }
    let refused = ask("POST /metrics").await;
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD")));
    for (head, status) in [
        (&format!("host: {address}\r\nx-forwarded-for: 192.0.2.1")[..], 200),
        ("host: localhost", 200),
        ("host: api.shop.example", 421),
        // DNS rebinding.
        ("host: evil.example:9464", 421),
        ("host: localhost\r\nhost: localhost", 400),
        ("host: localhost\r\nexpect: x", 417),
        ("accept: */*", 400),
    ] {
        let mut connection = Connection::open(address).await;
        let behind = request("GET /metrics", &["connection: close"]);
        connection.send(format!("GET /metrics HTTP/1.1\r\n{head}\r\n\r\n{behind}")).await;
        let response = connection.response().await;
        assert_eq!(response.status, status, "{head}");
        // As in the app, nothing behind a request that is refused is read.
        let is_closed = response.header("connection") == Some("close");
        assert_eq!((is_closed, connection.rest().await.is_empty()), (status != 200, status != 200));
    }
    let malformed = exchange(address, b"nonsense\r\n\r\n").await;
    assert!(String::from_utf8_lossy(&malformed.bytes).starts_with("HTTP/1.1 400"));
    let name = "http_server_request_duration_seconds_count";
    assert_eq!(crate::read(&metrics).sum(name, &[]), 0.0, "reading them is no request of the app");
    running.abort();
}

#[tokio::test]
async fn a_mount_serves_them_to_its_callers_only() {
    let metrics = Metrics::new();
    let scraped = Mount::metrics(&metrics).auth(AuthRequirement::token().scopes(&["metrics"]));
    let client = App::new(())
        .metrics(&metrics)
        .tokens(Tokens::hs256([("k", SecretKey::from_bytes([7; 32]))]).unwrap())
        .mount("/metrics", scraped)
        .routes(routes![token])
        .test();
    assert_eq!(client.get("/metrics").send().await.status(), 401);
    let bearer = format!("Bearer {}", client.post("/token").send().await.text());
    let response = client.get("/metrics").header("authorization", bearer).send().await;
    assert_eq!(response.header("content-type"), Some(MEDIA_TYPE));
    let read = Exposition::parse(&response.text());
    let refused = [("policy_code", "auth.credentials-missing"), ("http_route", "/metrics/{*path}")];
    assert_eq!(read.sum("policy_refusals_total", &refused), 1.0);
}

/// Whether the start has the notice.
async fn has_notice(app: App<()>) -> bool {
    let (log, _guard) = Log::start("");
    let _running = Running::start(app).await;
    tokio::task::yield_now().await;
    log.until(|log| (!log.with_code("server.listening").is_empty()).then_some(())).await;
    !log.with_code("app.metrics-public").is_empty()
}

#[tokio::test]
async fn the_start_says_that_anybody_can_read_the_metrics() {
    let metrics = || Metrics::new().listen("127.0.0.1:0");
    let app = |metrics: Metrics| App::new(()).metrics(metrics);
    let public = Mount::metrics(&Metrics::new()).public();
    let closed = Mount::metrics(&Metrics::new()).auth(AuthRequirement::token());
    let tokens = || Tokens::hs256([("k", SecretKey::from_bytes([7; 32]))]).unwrap();
    assert!(!has_notice(app(metrics())).await);
    assert!(has_notice(app(metrics().listen("0.0.0.0:0"))).await);
    assert!(has_notice(app(metrics()).mount("/metrics", public.clone())).await);
    assert!(!has_notice(app(metrics()).tokens(tokens()).mount("/metrics", closed)).await);
    let group = Group::new().mount("/metrics", public);
    assert!(has_notice(app(metrics()).group("/ops", group)).await);
}

/// Browsers reach it as 127.0.0.1.
#[tokio::test]
async fn an_ipv4_mapped_loopback_address_is_loopback() {
    let (log, _guard) = Log::start("");
    let app = App::new(()).metrics(Metrics::new().listen("[::ffff:127.0.0.1]:0"));
    // Fails where there is no IPv6.
    let Ok(server) = app.bind("127.0.0.1:0").await else { return };
    let address = server.metrics_addr().expect("a second address");
    let running = tokio::spawn(server.run_until(std::future::pending()));
    let mut connection = Connection::open(address).await;
    connection.send("GET /metrics HTTP/1.1\r\nhost: evil.example\r\n\r\n").await;
    assert_eq!(connection.head().await.status, 421);
    assert!(log.with_code("app.metrics-public").is_empty());
    running.abort();
}

#[tokio::test]
async fn an_address_in_use_stops_the_start() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address: SocketAddr = taken.local_addr().unwrap();
    let app = App::new(()).metrics(Metrics::new().listen(address.to_string()));
    let error = app.bind("127.0.0.1:0").await.unwrap_err().to_string();
    assert!(error.contains("app.listen") && error.contains(&address.to_string()), "{error}");
}

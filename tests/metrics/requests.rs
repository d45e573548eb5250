//! Requests: once each, by route, method, status and code.

use std::convert::Infallible;

use ::http::Method;
use futures_util::{StreamExt, stream};
use policy_server::{Body, Metrics, Problem, prelude::*};
use policy_tests::http::{Running, request, until};

use crate::{Exposition, read};

const DURATION: &str = "http_server_request_duration_seconds_count";
const METHOD: &str = "http_request_method";
const ROUTE: &str = "http_route";
const STATUS: &str = "http_response_status_code";
const ERROR: &str = "error_type";
const CODE: &str = "policy_code";

#[get("/orders/{id}")]
#[cors(origins = ["https://app.shop.example"])]
#[auth(public)]
async fn order(id: u64) -> Result<String, Problem> {
    match id {
        1 => Ok("a lamp".to_owned()),
        2 => Err(Problem::not_found().code("orders.unknown")),
        3 => Err(Problem::internal("the disk is gone")),
        4 => Err(Problem::new(StatusCode::BAD_GATEWAY).code(format!("of-client-{id}"))),
        5 => Err(Problem::new(StatusCode::from_u16(799).unwrap())),
        _ => panic!("on purpose"),
    }
}

#[derive(Debug, Problems)]
enum OrderError {
    #[problem(409, code = "orders.closed")]
    Closed,
    #[problem(507, code = "orders.disk-full")]
    DiskFull,
}

#[delete("/orders/{id}")]
#[auth(public)]
async fn remove_order(id: u64) -> Result<(), OrderError> {
    Err(if id == 1 { OrderError::Closed } else { OrderError::DiskFull })
}

#[post("/orders")]
#[auth(public)]
async fn new_order(text: String) -> String {
    text.repeat(2)
}

#[get("/waits")]
#[limit(timeout = "50ms")]
#[auth(public)]
async fn waits() {
    std::future::pending::<()>().await;
}

#[get("/stream")]
#[auth(public)]
async fn streams() -> Body {
    Body::from_stream(stream::iter(["one", "two", "three"]).map(Ok::<_, Infallible>))
}

fn app(metrics: &Metrics) -> App<()> {
    App::new(()).metrics(metrics).routes(routes![order, remove_order, new_order, waits, streams])
}

fn count_requests(read: &Exposition, labels: &[(&str, &str)]) -> f64 {
    read.sum(DURATION, labels)
}

#[tokio::test]
async fn a_request_is_counted_once_by_its_route_method_and_end() {
    let metrics = Metrics::new();
    let client = app(&metrics).test();
    for (method, path, times) in [
        ("GET", "/orders/1", 3),
        ("HEAD", "/orders/1", 1),
        ("GET", "/orders/2", 2),
        ("GET", "/orders/3", 1),
        ("GET", "/orders/4", 1),
        ("GET", "/orders/5", 1),
        ("GET", "/orders/6", 1),
        ("GET", "/orders/x", 1),
        ("DELETE", "/orders/1", 2),
        ("DELETE", "/orders/2", 1),
        ("PUT", "/orders/1", 1),
        ("PURGE", "/orders/1", 2),
        ("GET", "/nowhere", 4),
        ("GET", "/waits", 1),
    ] {
        for _ in 0..times {
            client.request(method.parse().unwrap(), path).send().await;
        }
    }
    let read = read(&metrics);
    let of_route = |method, status| {
        count_requests(&read, &[(ROUTE, "/orders/{id}"), (METHOD, method), (STATUS, status)])
    };
    assert_eq!(of_route("GET", "200"), 3.0);
    assert_eq!(of_route("HEAD", "200"), 1.0);
    assert_eq!(of_route("GET", "404"), 2.0);
    assert_eq!(of_route("GET", "400"), 1.0);
    assert_eq!(of_route("GET", "500"), 2.0);
    assert_eq!(of_route("GET", "_OTHER"), 1.0, "a status that is not registered");
    let errors = |error| count_requests(&read, &[(ROUTE, "/orders/{id}"), (ERROR, error)]);
    assert_eq!(errors("handler.failed"), 2.0, "an error and a panic");
    assert_eq!(errors("orders.disk-full"), 1.0, "what a handler declares");
    assert_eq!(errors("_OTHER"), 1.0, "a code that a client chose");
    assert_eq!(count_requests(&read, &[(ROUTE, "/waits"), (ERROR, "handler.timed-out")]), 1.0);
    let without_route =
        |method, status| count_requests(&read, &[(ROUTE, ""), (METHOD, method), (STATUS, status)]);
    assert_eq!(without_route("GET", "404"), 4.0);
    assert_eq!(without_route("PUT", "405"), 1.0);
    assert_eq!(without_route("_OTHER", "501"), 2.0);
    assert_eq!(count_requests(&read, &[]), 22.0, "each request once");

    let refused = |code, route| read.sum("policy_refusals_total", &[(CODE, code), (ROUTE, route)]);
    assert_eq!(refused("route.not-found", ""), 4.0);
    assert_eq!(refused("request.parameter-invalid", "/orders/{id}"), 1.0);
    assert_eq!(refused("orders.closed", "/orders/{id}"), 2.0, "what a handler declares");
    assert_eq!(refused("_OTHER", "/orders/{id}"), 3.0, "other codes of the application");
    assert!(!metrics.text().contains("of-client") && !metrics.text().contains("orders.unknown"));
}

#[tokio::test]
async fn sizes_are_of_what_is_stated_and_of_what_was_sent() {
    let metrics = Metrics::new();
    let client = app(&metrics).test();
    client.post("/orders").body("x".repeat(2_000)).send().await;
    assert_eq!(client.get("/stream").send().await.text(), "onetwothree");
    client.get("/nowhere").send().await;
    client.head("/orders/1").send().await;
    let read = read(&metrics);
    let size = |what: &str, route| {
        let name = format!("http_server_{what}_body_size_bytes");
        let of = |part| read.sum(&format!("{name}_{part}"), &[(ROUTE, route)]);
        (of("count"), of("sum"))
    };
    assert_eq!(size("request", "/orders"), (1.0, 2_000.0));
    assert_eq!(size("response", "/orders"), (1.0, 4_000.0));
    assert_eq!(size("response", "/stream"), (1.0, 11.0));
    assert_eq!(size("request", "/stream"), (0.0, 0.0), "there is none");
    assert_eq!(size("response", "/orders/{id}"), (0.0, 0.0), "HEAD has no body");
    let bucket = |bound| {
        let name = "http_server_response_body_size_bytes_bucket";
        read.sum(name, &[(ROUTE, "/orders"), ("le", bound)])
    };
    assert_eq!((bucket("1024.0"), bucket("16384.0"), bucket("+Inf")), (0.0, 1.0, 1.0));
}

#[tokio::test]
async fn preflights_are_counted_by_their_outcome_and_not_as_the_route_of_a_page() {
    let metrics = Metrics::new();
    let client = app(&metrics).test();
    let preflight = |origin: &str| {
        client
            .options("/orders/1")
            .origin(origin)
            .header("access-control-request-method", "GET")
            .send()
    };
    for origin in ["https://app.shop.example", "https://app.shop.example", "https://evil.example"] {
        preflight(origin).await;
    }
    client.options("/orders/1").send().await;
    let read = read(&metrics);
    let preflights =
        |outcome| read.sum("policy_cors_preflights_total", &[("policy_outcome", outcome)]);
    assert_eq!((preflights("granted"), preflights("refused")), (2.0, 1.0));
    assert_eq!(count_requests(&read, &[(METHOD, "OPTIONS")]), 4.0);
}

#[tokio::test]
async fn requests_over_a_socket_state_protocol_and_those_in_flight() {
    let metrics = Metrics::new();
    #[get("/slow")]
    #[auth(public)]
    async fn slow() {
        std::future::pending::<()>().await;
    }
    let server = Running::start(app(&metrics).routes(routes![slow])).await;
    assert_eq!(server.response(request("GET /orders/1", &[])).await.status, 200);
    assert_eq!(
        server.response("GET /orders/1 HTTP/1.0\r\nhost: localhost\r\n\r\n").await.status,
        200
    );
    let active = || read(&metrics).sum("http_server_active_requests", &[(METHOD, "GET")]);
    let mut waiting = server.connect().await;
    waiting.send(request("GET /slow", &[])).await;
    until(async || active() == 1.0).await;
    drop(waiting);
    until(async || active() == 0.0).await;
    let read = read(&metrics);
    for version in ["1.0", "1.1"] {
        let labels =
            [("network_protocol_version", version), ("url_scheme", "http"), (STATUS, "200")];
        assert_eq!(count_requests(&read, &labels), 1.0, "{version}");
    }
    let gone = [(ROUTE, "/slow"), (STATUS, ""), (ERROR, "abandoned")];
    assert_eq!(count_requests(&read, &gone), 1.0, "a client that did not wait");
    let of_http1 = [("network_protocol_version", "1")];
    assert_eq!(read.sum("policy_server_connections_total", &of_http1), 3.0);
    until(async || crate::read(&metrics).sum("policy_server_connections_open", &of_http1) == 0.0)
        .await;
}

#[tokio::test]
async fn a_public_origin_is_served_by_https() {
    let metrics = Metrics::new();
    let client = app(&metrics).public_origin("https://api.shop.example").test();
    client.get("/orders/1").send().await;
    client.get("/orders/1").header("host", "evil.example").send().await;
    let read = read(&metrics);
    assert_eq!(count_requests(&read, &[("url_scheme", "https"), (ROUTE, "/orders/{id}")]), 1.0);
    assert_eq!(count_requests(&read, &[(STATUS, "421"), (ROUTE, "")]), 1.0, "no host is a value");
    assert!(!metrics.text().contains("evil"));
    assert_eq!(client.request(Method::GET, "/orders/1").send().await.status(), 200);
}

//! No client adds a series: their number depends on the routes alone.

use std::{collections::BTreeSet, env};

use ::http::{Method, Request};
use policy_server::{Body, Metrics, Problem, prelude::*};
use policy_tests::random::Random;

use crate::read;

#[get("/orders/{id}")]
#[cors(origins = ["https://app.shop.example"])]
#[auth(public)]
async fn order(id: u64) -> Result<String, Problem> {
    match id % 4 {
        0 => Ok(id.to_string()),
        1 => Err(Problem::not_found().code(format!("orders.{id}"))),
        2 => Err(Problem::new(StatusCode::BAD_GATEWAY).code(format!("upstream.{id}"))),
        _ => {
            let statuses = [418, 503, 507, 599, 799];
            let status = statuses[(id / 4) as usize % statuses.len()];
            Err(Problem::new(StatusCode::from_u16(status).unwrap()))
        }
    }
}

#[post("/orders")]
#[limit(body = "64 B")]
#[auth(public)]
async fn new_order(text: String) -> String {
    text
}

/// 30,000 requests as a test; `cargo xtask long metrics` sends a million.
#[tokio::test]
async fn random_requests_do_not_change_the_number_of_series() {
    let count = env::var("POLICY_METRICS_REQUESTS").map_or(30_000, |it| it.parse().unwrap());
    let metrics = Metrics::new();
    let client = App::new(()).metrics(&metrics).routes(routes![order, new_order]).test();
    let mut random = Random(7);
    let mut sent = 0_u32;
    let mut send = async |count: u32| {
        for _ in 0..count {
            if let Some(request) = random_request(&mut random) {
                client.send(request).await;
                sent += 1;
            }
        }
        sent
    };
    // Each combination of a method and a status is seen once.
    send(10_000).await;
    let before = series(&metrics);
    let sent = send(count).await;
    let after = series(&metrics);
    let new: Vec<_> = after.difference(&before).collect();
    assert!(new.is_empty(), "{} before, {} new: {new:#?}", before.len(), new.len());
    let read = read(&metrics);
    assert_eq!(read.sum("http_server_request_duration_seconds_count", &[]), f64::from(sent));
    let routes = ["/orders", "/orders/{id}"];
    assert_eq!(read.values("http_route"), routes.into());
    let methods =
        ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"];
    assert_eq!(read.values("http_request_method"), methods.into_iter().chain(["_OTHER"]).collect());
    assert!(read.values("error_type").iter().all(|it| !it.starts_with("upstream.")));
    assert_eq!(read.sum("policy_metrics_dropped_series_total", &[]), 0.0);
}

/// The names and labels of all samples.
fn series(metrics: &Metrics) -> BTreeSet<String> {
    read(metrics).samples.keys().map(|key| format!("{key:?}")).collect()
}

/// A request that is random in everything that clients choose.
fn random_request(random: &mut Random) -> Option<Request<Body>> {
    let method = match random.below(14) {
        0..=3 => Method::GET,
        4 => Method::POST,
        5 => Method::HEAD,
        6 => Method::OPTIONS,
        7 => Method::from_bytes(word(random, 12).to_uppercase().as_bytes()).ok()?,
        number => {
            let known = ["CONNECT", "DELETE", "PATCH", "PUT", "QUERY", "TRACE"];
            known[number - 8].parse().ok()?
        }
    };
    let path = match random.below(4) {
        0 => format!("/{}", word(random, 40)),
        1 => format!("/orders/{}", random.below(1 << 32)),
        2 => "/orders".to_owned(),
        _ => format!("/orders/{}?{}={}", word(random, 9), word(random, 9), word(random, 9)),
    };
    let mut request = Request::builder().method(method).uri(path);
    for (name, odds) in
        [("origin", 3), ("host", 6), ("user-agent", 2), ("accept", 4), ("x-forwarded-for", 5)]
    {
        if random.below(odds) == 0 {
            request = request.header(name, format!("https://{}.example", word(random, 20)));
        }
    }
    if random.below(4) == 0 {
        request = request.header("access-control-request-method", word(random, 8));
    }
    let body = if random.below(3) == 0 { word(random, 100) } else { String::new() };
    request.body(Body::from(body)).ok()
}

/// A word of at most this many unreserved characters.
fn word(random: &mut Random, most: usize) -> String {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789-._~";
    (0..=random.below(most)).map(|_| char::from(*random.choose(LETTERS))).collect()
}

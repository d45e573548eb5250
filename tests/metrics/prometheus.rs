//! A Prometheus that reads an app under load, and the files that operators get.

use std::{collections::BTreeSet, fs, path::PathBuf, process::Command};

use policy_server::{Metrics, Problem, prelude::*};
use policy_tests::{
    handlers::hello,
    http::{self, Connection, request},
    program::Program,
};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::{Exposition, process::alone};

#[get("/orders/{id}")]
#[cors(origins = ["https://app.shop.example"])]
#[limit(rate = "1000000/s per address")]
#[auth(public)]
async fn order(id: u64) -> Result<String, Problem> {
    match id % 10 {
        0 => Err(Problem::internal("the disk is gone")),
        _ => Ok(id.to_string()),
    }
}

const CLIENTS: u64 = 8;
const REQUESTS: u64 = 500;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/operate").join(name)
}

/// The expressions of the dashboard and of the alerts, with values for their variables.
fn expressions() -> Vec<String> {
    let dashboard: Value =
        serde_json::from_slice(&fs::read(file("dashboard.json")).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let of_dashboard = targets.map(|target| target["expr"].as_str().unwrap().to_owned());
    let alerts = fs::read_to_string(file("alerts.yml")).unwrap();
    let of_alerts = alerts.split("expr:").skip(1).map(|rest| {
        let end = rest.find("\n        for:").unwrap_or(usize::MAX);
        let end = end.min(rest.find("\n        labels:").unwrap());
        rest[..end].replace('|', " ").trim().to_owned()
    });
    let all = of_dashboard.chain(of_alerts);
    all.map(|it| it.replace("$__rate_interval", "1m").replace("$job", ".*")).collect()
}

/// The names in an expression that begin as ours do.
fn names(expression: &str) -> BTreeSet<&str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = expression.split(|letter| !is_part(letter));
    let is_ours = |word: &&str| word.starts_with("http_server_") || word.starts_with("policy_");
    words.filter(is_ours).collect()
}

/// An expression with a misspelt name has no result, which Prometheus does not report as an error.
#[test]
fn dashboard_and_alerts_use_names_that_exist() {
    let metrics = Metrics::new();
    let client = App::new(()).metrics(&metrics).routes(routes![hello]).test();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        client.get("/hello").body("size").send().await;
        client.get("/nowhere").send().await;
    });
    let read = Exposition::parse(&metrics.text());
    let known: BTreeSet<&str> = read
        .samples
        .keys()
        .flat_map(|(name, labels)| labels.keys().map(|it| &**it).chain([&**name]))
        .chain(["http_route", "policy_code", "policy_store"])
        .collect();
    let expressions = expressions();
    assert!(expressions.len() > 30, "{expressions:#?}");
    for expression in &expressions {
        let unknown: Vec<_> = names(expression).difference(&known).copied().collect();
        assert!(unknown.is_empty(), "{unknown:?} in `{expression}`");
    }
    // Every metric has a panel or an alert.
    let used_names: BTreeSet<&str> = expressions.iter().flat_map(|it| names(it)).collect();
    for family in read.families.keys() {
        let is_shown = used_names.iter().any(|name| name.starts_with(&**family));
        assert!(is_shown, "{family} is on no panel");
    }
}

#[test]
#[ignore = "needs Prometheus: `cargo xtask test` runs it"]
fn promtool_accepts_the_alerts() {
    let mut promtool = Command::new("promtool");
    let output = promtool.args(["check", "rules"]).arg(file("alerts.yml")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("SUCCESS: 9 rules found"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: `cargo xtask test` runs it"]
async fn prometheus_counts_as_many_requests_as_were_sent() {
    let _alone = alone().await;
    let app = App::new(()).metrics(Metrics::new().listen("127.0.0.1:0")).routes(routes![order]);
    let server = app.bind("127.0.0.1:0").await.unwrap();
    let (address, metrics) = (server.local_addr(), server.metrics_addr().unwrap());
    let running = tokio::spawn(server.run_until(std::future::pending()));
    let prometheus = Program::prometheus(&format!(
        "global: {{ scrape_interval: 100ms, evaluation_interval: 100ms }}
rule_files: [ '{}' ]
scrape_configs:
  - job_name: shop
    static_configs: [ {{ targets: [ '{metrics}' ] }} ]
",
        file("alerts.yml").canonicalize().unwrap().display()
    ))
    .await;
    // The first values are read before there are any requests, so that rates see all of them.
    until(&prometheus, "up == 1").await;
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        clients.spawn(async move {
            let mut connection = Connection::open(address).await;
            for number in 0..REQUESTS {
                let fields = ["origin: https://app.shop.example", "connection: keep-alive"];
                let what = format!("GET /orders/{}", client * REQUESTS + number);
                connection.send(request(&what, &fields)).await;
                connection.response().await;
            }
        });
    }
    clients.join_all().await;
    let sent = CLIENTS * REQUESTS;
    until(&prometheus, &format!("sum(http_server_request_duration_seconds_count) == {sent}")).await;
    for expression in [
        format!("sum(http_server_request_duration_seconds_bucket{{le=\"+Inf\"}}) == {sent}"),
        format!(
            "sum(http_server_request_duration_seconds_count{{error_type=\"handler.failed\"}}) == {}",
            sent / 10
        ),
        format!("sum(policy_refusals_total{{policy_code=\"handler.failed\"}}) == {}", sent / 10),
        format!("sum(policy_rate_requests_total{{policy_outcome=\"granted\"}}) == {sent}"),
        format!("policy_server_connections_total{{network_protocol_version=\"1\"}} > {CLIENTS}"),
    ] {
        assert_ne!(ask(&prometheus, &expression).await, 0, "{expression}");
    }
    let expressions = expressions();
    for expression in &expressions {
        ask(&prometheus, expression).await;
    }
    // A tenth of the responses are errors, so that panels show them and their alert waits.
    until(&prometheus, "ALERTS{alertname=\"PolicyServerErrors\",alertstate=\"pending\"}").await;
    let shows = expressions.iter().filter(|it| it.contains("http_server_request_duration"));
    for expression in shows.filter(|it| !it.contains(" > 1")) {
        assert_ne!(ask(&prometheus, expression).await, 0, "{expression}");
    }
    running.abort();
}

/// Waits until an expression has a result.
async fn until(prometheus: &Program, expression: &str) {
    http::until(async || ask(prometheus, expression).await > 0).await;
}

/// How many results an expression has; Prometheus has to understand it.
async fn ask(prometheus: &Program, expression: &str) -> usize {
    let query: String = url::form_urlencoded::byte_serialize(expression.as_bytes()).collect();
    let mut connection = Connection::open(prometheus.address).await;
    // It sends no chunks to such a client, and closes the connection.
    let ask = format!("GET /api/v1/query?query={query} HTTP/1.0\r\nhost: localhost\r\n\r\n");
    connection.send(ask).await;
    let response = String::from_utf8(connection.rest().await).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").expect(&response);
    if head.starts_with("HTTP/1.0 503") {
        // It listens before it is ready.
        return 0;
    }
    let answer: Value = serde_json::from_str(body).expect(body);
    assert_eq!(answer["status"], "success", "`{expression}`: {answer}");
    answer["data"]["result"].as_array().unwrap().len()
}

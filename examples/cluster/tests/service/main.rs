//! The cluster as its documentation starts it, with parts that are killed.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "what a test cannot do without fails it"
)]

mod browser;

use policy_tests::{
    example::Example,
    http::{Connection, RawResponse, request, until},
};

/// Of a page at the host that requests here name.
const ORIGIN: &str = "origin: http://localhost";

/// Starts the example.
pub(crate) fn start(store: &str) -> Example {
    let mut command = Example::command(env!("CARGO_BIN_EXE_cluster"));
    command.arg(store).env("POLICY_CLUSTER_PORT", "0");
    Example::start(&mut command, &["page", "operator"]).expect("a cluster that starts")
}

/// A response of the page's origin. Instances end each connection.
async fn ask(cluster: &Example, what: &str, fields: &[&str]) -> RawResponse {
    let mut connection = Connection::open(cluster.address("page")).await;
    let fields = [&[ORIGIN, "content-length: 0"], fields].concat();
    connection.send(request(what, &fields)).await;
    connection.response().await
}

/// Does something to a part.
async fn act(cluster: &Example, part: &str, action: &str) {
    let mut connection = Connection::open(cluster.address("operator")).await;
    let what = format!("POST /parts/{part}/{action}");
    connection.send(request(&what, &["content-length: 0"])).await;
    let response = connection.response().await;
    assert_eq!(response.status, 204, "{part} {action}: {response:?}");
}

/// The state of a part, as the page shows it.
async fn state(cluster: &Example, part: &str) -> String {
    let mut connection = Connection::open(cluster.address("operator")).await;
    connection.send(request("GET /parts", &[])).await;
    let parts = connection.response().await.json();
    let found =
        parts.as_array().expect("a list").iter().find(|one| one["name"] == part).expect("the part");
    found["state"].as_str().expect("a state").to_owned()
}

/// Somebody logs in once, and then everything is killed that can be.
async fn a_visitor_stays_logged_in(cluster: Example) {
    for name in ["one", "two", "three"] {
        until(async || state(&cluster, name).await == "ready").await;
    }
    let mut connection = Connection::open(cluster.address("page")).await;
    let body = r#"{"name": "ada"}"#;
    let fields = [ORIGIN, "content-type: application/json", "content-length: 15"];
    connection.send(request("POST /login", &fields) + body).await;
    let login = connection.response().await;
    assert_eq!(login.status, 200, "{login:?}");
    let cookie = login.header("set-cookie").and_then(|line| line.split(';').next());
    let cookie = format!("cookie: {}", cookie.expect("a session"));
    let token = ask(&cluster, "GET /csrf", &[&cookie]).await.json();
    let token = format!("x-csrf-token: {}", token["token"].as_str().expect("a CSRF token"));

    // Each request goes to the next instance, and all count the same number.
    let mut instances = Vec::new();
    for count in 1..=3 {
        let counted = ask(&cluster, "POST /count", &[&cookie, &token]).await;
        assert_eq!(counted.text(), format!(r#"{{"name":"ada","count":{count}}}"#));
        instances.push(counted.header("x-instance").expect("its name").to_owned());
    }
    instances.sort_unstable();
    assert_eq!(instances, ["one", "three", "two"]);

    for name in ["one", "two"] {
        act(&cluster, name, "kill").await;
        assert_eq!(state(&cluster, name).await, "gone");
        // The front tries the next one where nothing listens.
        assert_eq!(ask(&cluster, "GET /me", &[&cookie]).await.status, 200);
    }
    act(&cluster, "three", "restart").await;
    act(&cluster, "two", "start").await;
    let me = async || ask(&cluster, "GET /me", &[&cookie]).await;
    assert_eq!(me().await.text(), r#"{"name":"ada","count":3}"#);

    for (fault, recovery) in [("kill", "start"), ("pause", "resume")] {
        act(&cluster, "store", fault).await;
        let away = me().await;
        assert_eq!(away.status, 503, "{away:?}");
        assert!(away.header("retry-after").is_some() && away.header("set-cookie").is_none());
        until(async || state(&cluster, "two").await == "not ready").await;
        act(&cluster, "store", recovery).await;
        until(async || me().await.status == 200).await;
        assert_eq!(me().await.text(), r#"{"name":"ada","count":3}"#);
    }
    assert_eq!(ask(&cluster, "POST /logout", &[&cookie, &token]).await.status, 204);
    assert_eq!(me().await.status, 401);
    cluster.stop().expect("an end");
}

#[tokio::test]
#[ignore = "needs PostgreSQL: `cargo xtask test` runs it"]
async fn a_visitor_stays_logged_in_with_postgresql() {
    a_visitor_stays_logged_in(start("postgres")).await;
}

#[tokio::test]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn a_visitor_stays_logged_in_with_redis() {
    a_visitor_stays_logged_in(start("redis")).await;
}

#[tokio::test]
#[ignore = "needs Redis: `cargo xtask test` runs it"]
async fn only_the_page_of_the_cluster_may_end_parts() {
    let cluster = start("redis");
    let page = format!("origin: {}", cluster.printed("page"));
    for (origin, site, status) in [
        (&*page, "same-site", 204),
        ("origin: http://localhost:1", "same-site", 403),
        ("origin: https://evil.example", "cross-site", 403),
    ] {
        let mut connection = Connection::open(cluster.address("operator")).await;
        let site = format!("sec-fetch-site: {site}");
        let fields = [origin, &site, "sec-fetch-mode: cors", "content-length: 0"];
        connection.send(request("POST /parts/one/pause", &fields)).await;
        assert_eq!(connection.response().await.status, status, "{origin}");
        if status == 204 {
            act(&cluster, "one", "resume").await;
        }
        until(async || state(&cluster, "one").await == "ready").await;
    }
}

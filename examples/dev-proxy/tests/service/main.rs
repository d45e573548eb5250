//! The development proxy example over real sockets and in a browser.
#![expect(clippy::expect_used, reason = "what a test cannot do without fails it")]

use policy_tests::{
    axe,
    example::Example,
    http::{Connection, request},
    webdriver::{Browser, Failure},
};
use serde_json::{Value, json};

fn start() -> Example {
    let mut command = Example::command(env!("CARGO_BIN_EXE_dev-proxy"));
    command.env("POLICY_DEV_PROXY_PORTS", "0,0");
    Example::start(&mut command, &["API", "page"]).expect("an example that starts")
}

#[tokio::test]
async fn the_api_is_a_part_of_the_origin_of_its_page() {
    let example = start();
    let mut connection = Connection::open(example.address("page")).await;
    connection.send(request("GET /", &[])).await;
    let page = connection.response().await;
    assert!(page.text().contains(&format!("content=\"{}\"", example.printed("API"))), "{page:?}");

    connection.send(request("GET /api/orders", &[])).await;
    let orders = connection.response().await;
    assert_eq!(orders.text(), r#"["lamp","chair"]"#);
    assert_eq!(orders.header("set-cookie"), Some("visited=orders; HttpOnly; Path=/api"));

    connection.send(request("POST /api/orders", &["content-length: 0"])).await;
    assert_eq!(connection.response().await.header("location"), Some("/api/orders/3"));

    connection.send(request("GET /api/seen", &["cookie: visited=orders"])).await;
    let fields = connection.response().await.json();
    let host = example.printed("API").strip_prefix("http://").expect("an origin");
    let forwarded = "for=127.0.0.1;host=localhost;proto=http";
    assert_eq!(fields, json!({ "host": host, "forwarded": forwarded, "cookie": "visited=orders" }));
}

#[test]
#[ignore = "needs Chromium, chromedriver and axe: `cargo xtask test` runs it"]
fn the_page_reads_responses_only_through_the_proxy() -> Result<(), Failure> {
    let example = start();
    let browser = Browser::start()?;
    browser.goto(example.printed("page"))?;
    assert_eq!(browser.title()?, "Policy development proxy");
    let results = browser.run("return window.results;", &Value::Null)?;
    for name in ["list", "create", "seen"] {
        assert_eq!(results[name]["direct"], json!({ "error": "TypeError" }), "{name}");
        assert_eq!(results[name]["proxied"]["status"], 200, "{name}");
    }
    assert_eq!(results["create"]["proxied"]["url"], "/api/orders/3");
    let fields: Value =
        serde_json::from_str(results["seen"]["proxied"]["body"].as_str().unwrap_or_default())?;
    assert_eq!(fields["cookie"], "visited=orders");
    let messages = "message 1, message 2, message 3";
    assert_eq!(results["live"]["proxied"]["body"], messages);
    assert_eq!(results["live"]["direct"]["body"], messages);
    axe::judge(&mut &browser, "dev-proxy")
}

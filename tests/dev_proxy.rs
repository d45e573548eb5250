//! The example of a development proxy: what its page is shown, over real sockets and in a browser.
#![expect(clippy::expect_used, clippy::panic, reason = "what a test cannot do without fails it")]
#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]

#[path = "support/http.rs"]
mod http;
#[path = "support/webdriver.rs"]
mod webdriver;

use std::{
    env,
    io::{BufRead, BufReader, Lines},
    process::{Child, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use http::{Connection, request};
use webdriver::{Browser, Failure};

/// The example as its reader starts it. Dropping it kills it.
struct Example {
    process: Child,
    /// Kept open, or the example could not speak any more.
    output: Lines<BufReader<ChildStdout>>,
    page: String,
    api: String,
}

impl Example {
    fn start() -> Self {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut process = Command::new(cargo)
            .args(["run", "--quiet", "--example", "dev_proxy"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("POLICY_DEV_PROXY_PORTS", "0,0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("cargo");
        let output = BufReader::new(process.stdout.take().expect("its output")).lines();
        let mut example = Self { process, output, page: String::new(), api: String::new() };
        while let Some(Ok(line)) = example.output.next() {
            if let Some(origin) = line.strip_prefix("API: ") {
                example.api = origin.trim().to_owned();
            } else if let Some(origin) = line.strip_prefix("page: ") {
                example.page = origin.trim().to_owned();
                return example;
            }
        }
        panic!("the example ended at once");
    }

    async fn connect(&self) -> Connection {
        let port = self.page.rsplit(':').next().expect("a port").parse::<u16>().expect("a port");
        Connection::open(([127, 0, 0, 1], port).into()).await
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _reaped = self.process.wait();
    }
}

#[tokio::test]
async fn the_api_is_a_part_of_the_origin_of_its_page() {
    let example = Example::start();
    let mut connection = example.connect().await;
    connection.send(request("GET /", &[])).await;
    let page = connection.answer().await;
    assert!(page.text().contains(&format!("content=\"{}\"", example.api)), "{page:?}");

    connection.send(request("GET /api/orders", &[])).await;
    let orders = connection.answer().await;
    assert_eq!(orders.text(), r#"["lamp","chair"]"#);
    assert_eq!(orders.header("set-cookie"), Some("visited=orders; HttpOnly; Path=/api"));

    connection.send(request("POST /api/orders", &["content-length: 0"])).await;
    assert_eq!(connection.answer().await.header("location"), Some("/api/orders/3"));

    connection.send(request("GET /api/seen", &["cookie: visited=orders"])).await;
    let seen: Value = serde_json::from_slice(&connection.answer().await.body).expect("JSON");
    let host = example.api.strip_prefix("http://").expect("an origin");
    let forwarded = "for=127.0.0.1;host=localhost;proto=http";
    assert_eq!(seen, json!({ "host": host, "forwarded": forwarded, "cookie": "visited=orders" }));
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn the_page_sees_through_the_proxy_what_the_browser_keeps_from_it_without() -> Result<(), Failure> {
    let example = Example::start();
    let browser = Browser::start()?;
    browser.goto(&example.page)?;
    assert_eq!(browser.title()?, "Policy development proxy");
    let results = browser.run("return window.results;", &Value::Null)?;
    for name in ["list", "create", "seen"] {
        assert_eq!(results[name]["direct"], json!({ "error": "TypeError" }), "{name}");
        assert_eq!(results[name]["proxied"]["status"], 200, "{name}");
    }
    assert_eq!(results["create"]["proxied"]["url"], "/api/orders/3");
    let seen: Value =
        serde_json::from_str(results["seen"]["proxied"]["body"].as_str().unwrap_or_default())?;
    assert_eq!(seen["cookie"], "visited=orders");
    let messages = "message 1, message 2, message 3";
    assert_eq!(results["live"]["proxied"]["body"], messages);
    assert_eq!(results["live"]["direct"]["body"], messages);
    if let Some(path) = env::var_os("POLICY_SCREENSHOT") {
        browser.screenshot(path.as_ref())?;
    }
    Ok(())
}

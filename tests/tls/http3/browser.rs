//! A page that Chromium loads over HTTP/3, and that loads over HTTP/3.

use std::fs;

use data_encoding::BASE64;
use policy_tests::webdriver::{Browser, Failure};
use rcgen::{KeyPair, PublicKeyData};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::*;

#[get("/page")]
#[headers(csp = "default-src 'self'")]
#[auth(public)]
async fn page() -> ([(&'static str, &'static str); 1], &'static str) {
    ([("content-type", "text/html; charset=utf-8")], "<!DOCTYPE html><title>A page</title>")
}

/// What the page reads, and the protocol of each resource.
const VISIT: &str = "
    const text = async (path, init) => {
        const response = await fetch(path, init);
        return [response.status, await response.text()];
    };
    const body = 'x'.repeat(300000);
    const echoed = await text('/echo', { method: 'POST', body });
    const results = {
        hello: await text('/hello'),
        cookies: (document.cookie = 'a=1', document.cookie = 'b=2', await text('/cookies')),
        missing: (await text('/nowhere'))[0],
        echoed: echoed[0] === 200 && echoed[1] === body,
    };
    const entries = [...performance.getEntriesByType('navigation'),
                     ...performance.getEntriesByType('resource')];
    return { results, protocols: entries.map(entry => entry.nextHopProtocol) };";

fn visit(address: std::net::SocketAddr, key: &KeyPair) -> Result<Value, Failure> {
    let flags = [
        "--enable-quic".to_owned(),
        format!("--origin-to-force-quic-on={address}"),
        format!(
            "--ignore-certificate-errors-spki-list={}",
            BASE64.encode(&Sha256::digest(key.subject_public_key_info()))
        ),
    ];
    let browser = Browser::with(&flags, &json!({}))?;
    browser.goto(&format!("https://{address}/page"))?;
    browser.run(VISIT, &Value::Null)
}

#[tokio::test]
#[ignore = "needs Chromium and chromedriver"]
async fn chromium_loads_a_page() {
    let server = Server::start(app().routes(routes![page])).await;
    let pair = fs::read_to_string(server.folder().join("localhost.pem")).unwrap();
    let (_, key) = pair.split_at(pair.find("-----BEGIN PRIVATE KEY").unwrap());
    let key = KeyPair::from_pem(key).unwrap();
    let address = server.address();
    // The server runs on this thread.
    let visited = tokio::task::spawn_blocking(move || visit(address, &key)).await.unwrap();
    let visited = visited.unwrap();
    assert_eq!(
        visited["results"],
        json!({
            "hello": [200, "hello"],
            "cookies": [200, "[\"a=1; b=2\"]"],
            "missing": 404,
            "echoed": true,
        })
    );
    // The page, what it fetched, and the icon that browsers request.
    let protocols = visited["protocols"].as_array().unwrap();
    assert!(protocols.len() >= 5 && protocols.iter().all(|name| name == "h3"), "{protocols:?}");
}

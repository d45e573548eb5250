//! The catalogue example over real sockets: the behaviour that its comments describe.
#![expect(clippy::expect_used, reason = "what a test cannot do without fails it")]

mod browser;

use std::time::Instant;

use policy_tests::{
    example::Example,
    http::{self, Connection, RawResponse},
};
use serde_json::{Value, json};

/// Starts the example on free ports.
fn start() -> Example {
    let mut command = Example::command(env!("CARGO_BIN_EXE_catalogue"));
    command.env("POLICY_CATALOGUE_PORTS", "0,0");
    Example::start(&mut command, &["catalogue", "partner"]).expect("an example that starts")
}

/// A request without a body: `GET /` and further fields.
async fn send(catalogue: &Example, what: &str, fields: &[&str]) -> RawResponse {
    let mut connection = Connection::open(catalogue.address("catalogue")).await;
    connection.send(http::request(what, fields)).await;
    if what.starts_with("HEAD ") { connection.head().await } else { connection.response().await }
}

async fn get(catalogue: &Example, path: &str) -> RawResponse {
    send(catalogue, &format!("GET {path}"), &[]).await
}

/// A PUT of JSON.
async fn put(catalogue: &Example, path: &str, fields: &[&str], body: &Value) -> RawResponse {
    let body = body.to_string();
    let length = format!("content-length: {}", body.len());
    let mut all = vec!["content-type: application/json", &length];
    all.extend(fields);
    let mut connection = Connection::open(catalogue.address("catalogue")).await;
    connection.send(http::request(&format!("PUT {path}"), &all) + &body).await;
    connection.response().await
}

fn varies_by(response: &RawResponse, field: &str) -> bool {
    let lines = response.headers.iter().filter(|(name, _)| name == "vary");
    lines.flat_map(|(_, value)| value.split(", ")).any(|one| one == field)
}

#[tokio::test]
async fn the_list_is_data_or_a_page_and_varies_by_accept() {
    let catalogue = start();
    let data = get(&catalogue, "/products").await;
    assert_eq!(data.header("content-type"), Some("application/json"));
    assert_eq!(data.header("cache-control"), Some("public, max-age=5"));
    assert_eq!(data.json()[0]["name"], "Desk lamp");
    assert!(varies_by(&data, "accept") && varies_by(&data, "origin"), "{data:?}");

    let page = send(&catalogue, "GET /products", &["accept: text/html,*/*;q=0.8"]).await;
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(varies_by(&page, "accept"), "{page:?}");
    assert!(page.text().contains("<li>Lantern &lt;outdoor>: 35.00</li>"), "{page:?}");
    let csp = page.header("content-security-policy").expect("a policy");
    assert_eq!(csp, "default-src 'none'; base-uri 'none'; frame-ancestors 'none'");

    let neither = send(&catalogue, "GET /products", &["accept: image/png"]).await;
    assert_eq!(neither.status, 406);
}

#[tokio::test]
async fn an_unchanged_list_or_product_gets_304() {
    let catalogue = start();
    for (path, control) in [("/products", "public, max-age=5"), ("/products/1", "public, no-cache")]
    {
        let first = get(&catalogue, path).await;
        let tag = first.header("etag").expect("a tag");
        let field = format!("if-none-match: {tag}");
        let again = send(&catalogue, &format!("GET {path}"), &[&field]).await;
        assert_eq!(again.status, 304, "{path}");
        assert_eq!(again.header("cache-control"), Some(control));
        assert_eq!(again.header("etag"), Some(tag));
        assert!(varies_by(&again, "origin"), "{again:?}");
        let head = send(&catalogue, &format!("HEAD {path}"), &[]).await;
        assert_eq!(head.lines(), first.lines(), "{path}");
    }
    assert_eq!(get(&catalogue, "/products/1").await.header("etag"), Some("\"1\""));
}

#[tokio::test]
async fn changes_need_the_current_version_of_a_product() {
    let catalogue = start();
    let lamp = |price: u32| json!({ "name": "Desk lamp", "price": price });
    let blind = put(&catalogue, "/products/1", &[], &lamp(1)).await;
    assert_eq!(blind.problem(), (428, "request.precondition-required".to_owned()));
    // Two clients have version 1.
    let ada = put(&catalogue, "/products/1", &["if-match: \"1\""], &lamp(5000)).await;
    assert_eq!((ada.status, ada.header("etag")), (200, Some("\"2\"")));
    let bob = put(&catalogue, "/products/1", &["if-match: \"1\""], &lamp(3000)).await;
    assert_eq!(bob.problem(), (412, "request.precondition-failed".to_owned()));
    let now = get(&catalogue, "/products/1").await.json();
    assert_eq!(now, json!({ "id": 1, "name": "Desk lamp", "price": 5000, "version": 2 }));
    // A client with version 1 gets the new one, and not 304.
    let stale = send(&catalogue, "GET /products/1", &["if-none-match: \"1\""]).await;
    assert_eq!(stale.status, 200);
    let nowhere = put(&catalogue, "/products/99", &["if-match: *"], &lamp(1)).await;
    assert_eq!(nowhere.status, 404);
}

#[tokio::test]
async fn a_refused_change_names_all_its_errors() {
    let catalogue = start();
    let wrong = json!({ "name": "", "price": 0 });
    let refused = put(&catalogue, "/products/1", &["if-match: *"], &wrong).await;
    assert_eq!(refused.status, 422);
    let errors = &refused.json()["errors"];
    let pointers: Vec<_> = (0..2).map(|n| errors[n]["pointer"].as_str()).collect();
    assert_eq!(pointers, [Some("/name"), Some("/price")], "{errors}");

    let long = json!({ "name": "x".repeat(5000), "price": 1 });
    assert_eq!(put(&catalogue, "/products/1", &["if-match: *"], &long).await.status, 413);

    // What a form of another site could send.
    let plain = ["content-type: text/plain", "content-length: 2", "if-match: *"];
    let mut connection = Connection::open(catalogue.address("catalogue")).await;
    connection.send(http::request("PUT /products/1", &plain) + "{}").await;
    assert_eq!(connection.response().await.status, 415);
}

/// RFC 9110 9.2.2: the effect is idempotent, not the response.
#[tokio::test]
async fn a_second_delete_is_answered_404_and_changes_nothing() {
    let catalogue = start();
    assert_eq!(send(&catalogue, "DELETE /products/2", &[]).await.status, 204);
    let after_one = get(&catalogue, "/products").await;
    let second = send(&catalogue, "DELETE /products/2", &[]).await;
    assert_eq!(second.status, 404);
    assert_eq!(second.json()["detail"], "there is no product 2");
    let after_two = get(&catalogue, "/products").await;
    assert_eq!(after_one.body, after_two.body);
    assert_eq!(after_one.header("etag"), after_two.header("etag"));
    assert_eq!(after_two.json().as_array().map(Vec::len), Some(5));
    assert_eq!(get(&catalogue, "/products/2").await.status, 404);
}

#[tokio::test]
async fn one_address_searches_20_times_a_minute() {
    let catalogue = start();
    let mut connection = Connection::open(catalogue.address("catalogue")).await;
    let begun = Instant::now();
    let mut granted = 0;
    let refused = loop {
        connection.send(http::request("GET /search?q=LAMP", &[])).await;
        let response = connection.response().await;
        if response.status != 200 {
            break response;
        }
        granted += 1;
        assert_eq!(response.header("cache-control"), Some("no-store"));
        assert_eq!(response.json().as_array().map(Vec::len), Some(3));
        // One more for every three seconds that the searches take.
        let most = 20 + begun.elapsed().as_secs() / 3 + 1;
        assert!(granted <= most, "{granted} in {:?}", begun.elapsed());
    };
    assert!(granted >= 20, "{granted}");
    assert_eq!(refused.problem().0, 429);
    let wait: u32 = refused.header("retry-after").and_then(|wait| wait.parse().ok()).expect("s");
    assert!((1..=60).contains(&wait), "{wait}");
    // The rest of the catalogue has another limit.
    assert_eq!(get(&catalogue, "/products").await.status, 200);
}

#[tokio::test]
async fn at_most_two_searches_run_concurrently() {
    let catalogue = start();
    let mut searches = Vec::new();
    for _ in 0..8 {
        searches.push(Connection::open(catalogue.address("catalogue")).await);
    }
    for search in &mut searches {
        search.send(http::request("GET /search?q=lamp", &[])).await;
    }
    let mut statuses = Vec::new();
    for search in &mut searches {
        statuses.push(search.response().await.status);
    }
    statuses.sort_unstable();
    let granted = statuses.iter().filter(|status| **status == 200).count();
    let refused = statuses.iter().filter(|status| **status == 503).count();
    assert_eq!(granted + refused, 8, "{statuses:?}");
    assert!(granted >= 2 && refused >= 1, "{statuses:?}");
}

#[tokio::test]
async fn a_download_resumes_unless_the_file_has_changed() {
    let catalogue = start();
    let whole = get(&catalogue, "/price-list.csv").await;
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    assert_eq!(whole.header("cache-control"), Some("public, max-age=60, must-revalidate"));
    let disposition = whole.header("content-disposition");
    assert_eq!(disposition, Some("attachment; filename=\"price-list.csv\""));
    assert!(whole.text().contains("\r\n6,\"Bulb, \"\"daylight\"\"\",5.50\r\n"), "{whole:?}");
    let tag = format!("if-range: {}", whole.header("etag").expect("a tag"));
    let (length, half) = (whole.body.len(), whole.body.len() / 2);
    let rest = format!("range: bytes={half}-");
    let part = send(&catalogue, "GET /price-list.csv", &[&rest, &tag]).await;
    assert_eq!(part.status, 206);
    assert_eq!(part.body, whole.body[half..]);
    let range = format!("bytes {half}-{}/{length}", length - 1);
    assert_eq!(part.header("content-range"), Some(&*range));

    let beyond = send(&catalogue, "GET /price-list.csv", &["range: bytes=99999-"]).await;
    assert_eq!(beyond.status, 416);
    assert_eq!(beyond.header("content-range"), Some(&*format!("bytes */{length}")));

    assert_eq!(send(&catalogue, "DELETE /products/5", &[]).await.status, 204);
    let changed = send(&catalogue, "GET /price-list.csv", &[&rest, &tag]).await;
    assert_eq!(changed.status, 200, "the whole new file");
    assert_ne!(changed.body.len(), length);
}

#[tokio::test]
async fn an_old_partner_gets_a_script_and_no_function_of_its_choice() {
    let catalogue = start();
    let script = get(&catalogue, "/prices?callback=show").await;
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert!(script.text().starts_with("/**/typeof show==='function'&&show([{"), "{script:?}");
    assert!(!script.text().contains('<'), "what could end a script element is escaped");
    let data = get(&catalogue, "/prices").await;
    assert_eq!(data.header("content-type"), Some("application/json"));
    for hostile in ["alert(1)", "%3Cscript%3E", "a.b", "", "show&callback=show"] {
        let refused = get(&catalogue, &format!("/prices?callback={hostile}")).await;
        assert_eq!(refused.problem().0, 400, "{hostile}");
        assert!(!refused.text().contains("alert"), "{refused:?}");
    }
}

#[tokio::test]
async fn pages_of_other_sites_load_only_granted_routes() {
    let catalogue = start();
    let origin = format!("origin: {}", catalogue.printed("partner"));
    let cors = ["sec-fetch-site: cross-site", "sec-fetch-mode: cors", &*origin];
    let granted = send(&catalogue, "GET /products", &cors).await;
    assert_eq!(granted.status, 200);
    assert_eq!(granted.header("access-control-allow-origin"), Some(catalogue.printed("partner")));
    assert_eq!(send(&catalogue, "GET /search?q=lamp", &cors).await.status, 403);
    let image = ["sec-fetch-site: cross-site", "sec-fetch-mode: no-cors", "sec-fetch-dest: image"];
    assert_eq!(send(&catalogue, "GET /static/lamp.svg", &image).await.status, 403);
    let link =
        ["sec-fetch-site: cross-site", "sec-fetch-mode: navigate", "sec-fetch-dest: document"];
    assert_eq!(send(&catalogue, "GET /price-list.csv", &link).await.status, 200);
}

#[tokio::test]
async fn files_are_compressed_under_the_same_policy() {
    let catalogue = start();
    let plain = get(&catalogue, "/static/page.js").await;
    let packed = send(&catalogue, "GET /static/page.js", &["accept-encoding: gzip"]).await;
    let accepts = "accept-encoding: gzip";
    assert_eq!((plain.status, packed.status), (200, 200));
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() * 2 < plain.body.len(), "{} bytes", packed.body.len());
    let strong = plain.header("etag").expect("a tag");
    let weak = packed.header("etag").expect("a tag");
    assert_eq!(weak, format!("W/{strong}"), "two representations have two tags");
    let tag = format!("if-none-match: {weak}");
    let kept = send(&catalogue, "GET /static/page.js", &[accepts, &tag]).await;
    assert_eq!((kept.status, kept.header("etag")), (304, Some(weak)));
    let head = send(&catalogue, "HEAD /static/page.js", &[accepts]).await;
    for response in [&plain, &packed, &kept, &head] {
        assert_eq!(response.header("cache-control"), Some("public, max-age=3600"));
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        assert!(varies_by(response, "accept-encoding"), "{response:?}");
        assert!(varies_by(response, "sec-fetch-site"), "{response:?}");
    }
    let gone = get(&catalogue, "/static/none.js").await;
    assert_eq!((gone.status, gone.header("cache-control")), (404, Some("no-store")));
    // Files outside of the folder are not served.
    assert_eq!(get(&catalogue, "/static/../products.rs").await.status, 400);
    assert_eq!(get(&catalogue, "/static/%2e%2e/products.rs").await.status, 400);
}

#[tokio::test]
async fn the_page_runs_one_script_and_is_never_cached_or_framed() {
    let catalogue = start();
    let page = get(&catalogue, "/").await;
    assert_eq!(page.header("cache-control"), Some("no-store"));
    assert_eq!(page.header("x-frame-options"), Some("DENY"));
    let csp = page.header("content-security-policy").expect("a policy");
    let nonce = csp.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next());
    let nonce = nonce.expect("a nonce");
    assert!(csp.contains("frame-ancestors 'none'"), "{csp}");
    assert_eq!(page.text().matches("<script").count(), 1);
    assert!(page.text().contains(&format!("<script nonce=\"{nonce}\" src=")), "{page:?}");
    let again = get(&catalogue, "/").await;
    assert_ne!(again.header("content-security-policy"), Some(csp), "another one each time");
}

#[tokio::test]
async fn it_ends_in_order() {
    let catalogue = start();
    assert_eq!(get(&catalogue, "/arrivals?target=/").await.text(), "[]");
    catalogue.stop().expect("an orderly end");
}

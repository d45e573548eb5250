//! The quickstart in a real browser: what pages of a granted and of a refused origin may read, and
//! which requests the API received.
//!
//! Needs Chromium and chromedriver, which plain `cargo test` cannot expect: `cargo xtask test`
//! installs them and runs these tests too.

mod example;
mod recording;

use policy_tests::{
    axe,
    webdriver::{Browser, Failure},
};
use serde_json::{Value, json};

use example::Quickstart;

/// What the page writes into `window.__results` after all its calls.
const RESULTS: &str = "
    while (!window.__results) await new Promise(resolve => setTimeout(resolve, 20));
    return window.__results;";

/// The row of one call: what the page could read, and the methods that arrived.
fn row<'a>(results: &'a Value, name: &str) -> Result<&'a Value, Failure> {
    let rows = results["rows"].as_array().ok_or("no rows")?;
    Ok(rows.iter().find(|row| row["name"] == name).ok_or_else(|| format!("no row `{name}`"))?)
}

/// The methods that arrived for a call, a preflight as `preflight`.
fn arrived(row: &Value) -> Vec<&str> {
    let arrivals = row["arrived"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut methods = Vec::new();
    for arrival in arrivals {
        let preflight = arrival["preflight"] == true;
        methods.extend(if preflight { Some("preflight") } else { arrival["method"].as_str() });
    }
    methods
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_granted_page_reads_only_granted_routes() -> Result<(), Failure> {
    let quickstart = Quickstart::start()?;
    let browser = Browser::start()?;
    browser.goto(quickstart.granted_page())?;
    assert_eq!(browser.title()?, "Policy quickstart");
    let results = browser.run(RESULTS, &Value::Null)?;
    assert_eq!(results["origin"], quickstart.granted_page());

    let simple = row(&results, "simple")?;
    assert_eq!(simple["status"], 200);
    assert_eq!(simple["headers"], json!({ "etag": "\"1\"", "x-served-by": null }));
    assert_eq!(arrived(simple), ["GET"], "a simple request is not preflighted");

    let preflighted = row(&results, "preflighted")?;
    assert_eq!(preflighted["status"], 200);
    let body: Value = serde_json::from_str(preflighted["body"].as_str().unwrap_or_default())?;
    assert_eq!(body, json!({ "text": "feed the cat", "revision": 2 }));
    assert_eq!(arrived(preflighted), ["preflight", "PUT"]);

    let again = row(&results, "again")?;
    assert_eq!(again["status"], 200);
    assert_eq!(arrived(again), ["PUT"], "max_age keeps the permission");

    let header = row(&results, "header")?;
    assert_eq!(header["error"], "TypeError");
    assert_eq!(arrived(header), ["preflight"], "the browser holds the PUT back");

    let other = row(&results, "other")?;
    assert_eq!(other["error"], "TypeError");
    assert_eq!(arrived(other), ["GET"]);

    let unknown = row(&results, "unknown")?;
    assert_eq!(unknown["status"], 404);
    let problem: Value = serde_json::from_str(unknown["body"].as_str().unwrap_or_default())?;
    assert_eq!(problem["status"], 404);
    Ok(())
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_refused_page_reads_nothing_and_its_preflighted_requests_never_arrive() -> Result<(), Failure> {
    let quickstart = Quickstart::start()?;
    let browser = Browser::start()?;
    browser.goto(quickstart.refused_page())?;
    let results = browser.run(RESULTS, &Value::Null)?;
    assert_eq!(results["origin"], quickstart.refused_page());
    for (name, methods) in [
        ("simple", "GET"),
        ("preflighted", "preflight"),
        ("again", "preflight"),
        ("header", "preflight"),
        ("other", "GET"),
        ("unknown", "GET"),
    ] {
        let row = row(&results, name)?;
        assert_eq!(row["error"], "TypeError", "{name}");
        assert_eq!(row.get("status"), None, "{name}");
        assert_eq!(arrived(row), [methods], "{name}");
    }
    let reason = "blocked by CORS policy";
    let console = browser.console_with(reason, 6)?;
    let refusals = console.iter().filter(|line| line.contains(reason));
    assert_eq!(refusals.count(), 6, "the browser gives the same reason: {console:#?}");
    Ok(())
}

#[test]
#[ignore = "needs Chromium, chromedriver and axe: `cargo xtask test` runs it"]
fn the_page_explains_the_result_of_the_browser() -> Result<(), Failure> {
    let quickstart = Quickstart::start()?;
    let browser = Browser::start()?;
    for (view, page, verdict, why) in [
        ("granted", quickstart.granted_page(), "status 200", "which the route exposes"),
        ("refused", quickstart.refused_page(), "nothing", "the browser hides all of it"),
    ] {
        let attribute = "#[cors(origins = PAGES, expose = [\"etag\"])]";
        browser.goto(page)?;
        browser.run(RESULTS, &Value::Null)?;
        assert_eq!(browser.text_of("#rows tr:first-child .verdict")?, verdict);
        let reason = browser.text_of("#rows tr:first-child td:last-child")?;
        assert!(reason.contains(why) && reason.contains(attribute), "{reason}");
        axe::judge(&mut &browser, view)?;
    }
    Ok(())
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn rows_are_cards_on_a_phone_and_nothing_is_out_of_view() -> Result<(), Failure> {
    let quickstart = Quickstart::start()?;
    let browser = Browser::with(&["--window-size=390,844".to_owned()], &json!({}))?;
    browser.goto(quickstart.granted_page())?;
    browser.run(RESULTS, &Value::Null)?;
    let layout = browser.run(
        "const row = getComputedStyle(document.querySelector('#rows tr')).display;
         return [row, innerWidth < 700, document.documentElement.scrollWidth <= innerWidth];",
        &Value::Null,
    )?;
    assert_eq!(layout, json!(["block", true, true]));
    Ok(())
}

#[test]
fn the_quickstart_serves_its_page_and_ends_in_order() -> Result<(), Failure> {
    let quickstart = Quickstart::start()?;
    let response = quickstart.response()?;
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(response.contains(quickstart.granted_page()), "the page knows the other: {response}");
    quickstart.stop()
}

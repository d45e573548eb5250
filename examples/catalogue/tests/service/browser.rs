//! The page of the catalogue, which shows for each request how it was served.

use policy_tests::{
    axe,
    example::Example,
    webdriver::{Browser, Failure},
};
use serde_json::{Value, json};

use super::start;

/// Opens the page, which asks once for everything.
fn open(browser: &Browser, catalogue: &Example) -> Result<(), Failure> {
    browser.goto(catalogue.printed("catalogue"))?;
    is_done(browser)
}

/// Clicks a button and waits until its work is done.
fn click(browser: &Browser, selector: &str) -> Result<(), Failure> {
    let click = "document.querySelector(input).click();";
    browser.run(click, &json!(selector))?;
    is_done(browser)
}

fn is_done(browser: &Browser) -> Result<(), Failure> {
    browser.wait_for("!document.querySelector('button:disabled')")
}

/// The seconds between the first two requests for a path.
fn seconds_between(browser: &Browser, path: &str) -> Result<f64, Failure> {
    let between = "
        const entries = performance.getEntriesByName(new URL(input, location).href);
        return (entries[1].startTime - entries[0].startTime) / 1000;";
    browser.run(between, &json!(path))?.as_f64().ok_or_else(|| "no number".into())
}

/// The requests since the last call, as `name verdict statuses`: the verdict by the browser's
/// timings, and what the server saw. The page must show that both agree.
fn take_requests(browser: &Browser) -> Result<Vec<String>, Failure> {
    let requests = browser.run("return window.__asked.splice(0);", &Value::Null)?;
    let requests = requests.as_array().ok_or("no list")?.iter().map(|one| {
        assert_eq!(one["agrees"], true, "{one}");
        let text = |key: &str| one[key].as_str().unwrap_or_default();
        format!("{} {} {}", text("name"), text("verdict"), one["saw"])
    });
    Ok(requests.collect())
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn the_page_tells_network_cache_and_revalidated_apart() -> Result<(), Failure> {
    let catalogue = start();
    let browser = Browser::start()?;
    open(&browser, &catalogue)?;
    assert_eq!(browser.title()?, "Catalogue");
    let first = take_requests(&browser)?;
    let network = ["list", "product", "file", "static", "search"];
    assert_eq!(first, network.map(|name| format!("{name} network [200]")));
    click(&browser, "#ask-all")?;
    let kept = take_requests(&browser)?;
    // Requested twice within `max_age = 5`, if the machine was fast enough.
    let is_fresh = seconds_between(&browser, "/products")? < 3.5;
    let list = if is_fresh || kept[0] == "list cache []" {
        "list cache []"
    } else {
        "list revalidated [304]"
    };
    let expected = [
        list,
        "product revalidated [304]",
        "file cache []",
        "static cache []",
        "search network [200]",
    ];
    assert_eq!(kept, expected);
    click(&browser, "#ask-stale")?;
    assert_eq!(take_requests(&browser)?[0], "list revalidated [304]", "older than `max_age = 5`");
    assert_eq!(browser.text_of("#row-list .verdict")?, "revalidated");
    assert_eq!(browser.text_of("#row-list td:nth-child(4)")?, "GET, answered 304");
    let tally = browser.text_of("#tally")?;
    let (revalidated, cache) = if list == "list cache []" { (3, 5) } else { (4, 4) };
    assert_eq!(
        tally.split_whitespace().collect::<Vec<_>>().join(" "),
        format!("Network 7 Revalidated {revalidated} Cache {cache}")
    );

    // A product was changed, so its stored response is out of date.
    click(&browser, "[data-do=raise]")?;
    click(&browser, "#row-product button")?;
    assert_eq!(take_requests(&browser)?, ["product network [200]"]);
    click(&browser, "#row-product button")?;
    assert_eq!(take_requests(&browser)?, ["product revalidated [304]"]);
    assert!(browser.console()?.iter().all(|line| !line.contains("Content Security Policy")));
    Ok(())
}

#[test]
#[ignore = "needs Chromium, chromedriver and axe: `cargo xtask test` runs it"]
fn the_page_shows_refused_changes_and_limits() -> Result<(), Failure> {
    let catalogue = start();
    let browser = Browser::start()?;
    open(&browser, &catalogue)?;
    for (action, statuses) in [
        ("raise", "200"),
        ("old", "412"),
        ("blind", "428"),
        ("wrong", "422"),
        ("remove", "204"),
        ("remove", "404"),
        ("part", "206"),
        ("beyond", "416"),
        ("crowd", "200 503"),
        ("often", "200 429"),
    ] {
        click(&browser, &format!("[data-do={action}]"))?;
        let newest = "return document.querySelector('#log li').dataset.status;";
        assert_eq!(browser.run(newest, &Value::Null)?, statuses, "{action}");
    }
    let often = browser.text_of("#log li:first-child")?;
    assert!(often.contains("ask again in"), "{often}");
    axe::judge(&mut &browser, "catalogue")?;
    Ok(())
}

#[test]
#[ignore = "needs Chromium, chromedriver and axe: `cargo xtask test` runs it"]
fn the_partner_of_the_catalogue_reads_the_granted_routes() -> Result<(), Failure> {
    let catalogue = start();
    let browser = Browser::start()?;
    browser.goto(catalogue.printed("partner"))?;
    browser.wait_for("window.__results")?;
    let results = browser.run("return window.__results;", &Value::Null)?;
    assert_eq!(results["script"], "show was called with 6 products");
    assert_eq!(results["hostile"], "nothing: an error event");
    assert_eq!(results["cors"], "status 200, 6 products");
    assert_eq!(results["other"], "nothing: TypeError");
    assert_eq!(results["opaque"], "nothing it can read");
    assert_eq!(results["image"], "nothing: an error event");
    axe::judge(&mut &browser, "partner")?;
    // A link leads to the page, which has its own policy.
    browser.leave("document.querySelector('main a').click()", &Value::Null)?;
    browser.wait_for("document.title === 'Products'")?;
    assert_eq!(browser.url()?, format!("{}/products", catalogue.printed("catalogue")));
    // The catalogue itself lists the refused requests.
    browser.goto(catalogue.printed("catalogue"))?;
    let statuses = "
        const statuses = {};
        for (const target of input) {
            const response = await fetch(`/arrivals?${new URLSearchParams({ target })}`);
            statuses[target] = (await response.json()).map(({ status }) => status);
        }
        return statuses;";
    let targets = [
        "/prices?callback=show",
        "/prices?callback=alert(1)//",
        "/products",
        "/search?q=lamp",
        "/price-list.csv",
        "/static/lamp.svg",
    ];
    let results = browser.run(statuses, &json!(targets))?;
    for (target, status) in targets.iter().zip([200, 400, 200, 403, 403, 403]) {
        assert_eq!(results[target][0], status, "{target}");
    }
    Ok(())
}

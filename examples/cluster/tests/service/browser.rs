//! The page in a browser.

use policy_tests::{
    axe,
    webdriver::{Browser, Failure},
};
use serde_json::Value;

use super::start;

const READY: &str = "[...document.querySelectorAll('#parts li')].filter(part => \
                     part.textContent.includes('ready,')).length";

#[test]
#[ignore = "needs Chromium, chromedriver, axe and Redis: `cargo xtask test` runs it"]
fn the_page_kills_an_instance_and_its_user_stays_logged_in() -> Result<(), Failure> {
    let cluster = start("redis");
    let browser = Browser::start()?;
    let click = |button: &str| {
        browser.wait_for(&format!("document.querySelector('{button}') !== null"))?;
        browser.run(&format!("document.querySelector('{button}').click();"), &Value::Null)
    };
    browser.goto(cluster.printed("page"))?;
    assert_eq!(browser.title()?, "Cluster");
    browser.wait_for(&format!("{READY} === 3"))?;
    click("#login")?;
    browser.wait_for("document.querySelector('#user').textContent === 'ada'")?;
    click("#add")?;
    browser.wait_for("document.querySelector('#count').textContent === '1'")?;

    click("[data-key=\"two kill\"]")?;
    browser.wait_for("document.querySelector('[data-key=\"two start\"]') !== null")?;
    for count in 2..=4 {
        click("#add")?;
        browser.wait_for(&format!("document.querySelector('#count').textContent === '{count}'"))?;
    }
    // The policy that decides is shown with each request.
    browser.wait_for(
        "[...document.querySelectorAll('#calls tr')].some(row => \
             row.textContent.includes('GET /me') && row.textContent.includes('#[auth(session)]'))",
    )?;
    axe::judge(&mut &browser, "cluster")?;
    click("[data-key=\"store kill\"]")?;
    browser.wait_for(
        "document.querySelector('#status').textContent.includes('Nobody is logged out')",
    )?;
    click("[data-key=\"store start\"]")?;
    browser.wait_for("document.querySelector('#status').textContent === ''")?;
    assert_eq!(browser.text_of("#user")?, "ada");
    click("#logout")?;
    browser.wait_for("!document.querySelector('#signed-out').hidden")?;
    Ok(())
}

//! The page of a fleet in a real browser.

use std::fs;

use policy_tests::{
    axe,
    webdriver::{Browser, Failure},
};
use serde_json::Value;

use crate::{
    fleets::few,
    play::browsers::{DOWN, ENTER, goes_to},
    run::run_at,
};

/// What a user sees.
struct User<'a>(&'a Browser);

impl User<'_> {
    /// The services and the paths of the routes that are seen.
    fn sees(&self) -> Result<Vec<[String; 2]>, Failure> {
        const SEEN: &str = "
            const rows = [...document.querySelectorAll('tbody tr')];
            const text = (row, part) => row.querySelector(part).innerText.split('\\n')[0];
            return rows.filter((row) => row.checkVisibility())
                .map((row) => [text(row, '.service'), text(row, 'th')]);";
        Ok(serde_json::from_value(self.0.run(SEEN, &Value::Null)?)?)
    }

    fn counts(&self) -> Result<String, Failure> {
        self.0.text_of("#count")
    }
}

#[test]
#[ignore = "needs Chromium, chromedriver and axe: `cargo xtask test` runs it"]
fn the_page_of_a_fleet_is_read_and_filtered_by_keyboard_in_any_size_and_theme()
-> Result<(), Failure> {
    let folder = few("fleet-page");
    let page = folder.join("fleet.html");
    fs::write(&page, run_at(&folder, "show . --format html").out)?;
    let browser = Browser::start()?;
    browser.resize(1280, 900)?;
    browser.goto(&format!("file://{}", page.display()))?;
    let user = User(&browser);
    assert_eq!((user.sees()?.len(), &*user.counts()?), (12, "12 routes"));

    browser.press("/v2")?;
    let all = user.sees()?;
    let services: Vec<_> = all.iter().map(|[service, _]| service.as_str()).collect();
    assert_eq!((services, &*user.counts()?), (vec!["s0", "s1", "s2"], "3 of 12 routes"));
    goes_to(&browser, "#service")?;
    browser.press(&DOWN.repeat(2))?;
    assert_eq!(user.sees()?, [all[1].clone()]);

    // No route has that method, and a button shows all routes again.
    goes_to(&browser, "#method")?;
    let method = || browser.run("return document.getElementById('method').value;", &Value::Null);
    while !user.sees()?.is_empty() {
        let before = method()?;
        browser.press(DOWN)?;
        assert_ne!(method()?, before, "every method is served");
    }
    goes_to(&browser, "#nothing button")?;
    browser.press(ENTER)?;
    browser.wait_for("document.getElementById('count').textContent === '12 routes'")?;

    goes_to(&browser, "thead th:nth-child(1) button")?;
    browser.press(ENTER)?;
    let first = user.sees()?[0].clone();
    browser.press(ENTER)?;
    let last = user.sees()?[0].clone();
    assert_eq!((&*first[0], &*last[0]), ("s0", "s2"), "{first:?}, {last:?}");

    goes_to(&browser, ".section:nth-of-type(2) summary")?;
    browser.press(ENTER)?;
    let calls = browser.text_of(".section[open]")?;
    assert!(calls.contains("s2 with its tokens"), "{calls}");
    axe::judge(&mut &browser, "fleet")?;
    let is_wide = "return document.querySelector('[open] dd').clientWidth > innerWidth / 2;";
    assert_eq!(browser.run(is_wide, &Value::Null)?, true, "words break on a phone");
    assert_eq!(browser.console()?, [""; 0], "it violates its own policy");

    // The policy is in force: a script that is added does not run.
    const ADD: &str = "
        const refused = new Promise((resolve) =>
            document.addEventListener('securitypolicyviolation', resolve, { once: true }));
        const script = document.createElement('script');
        script.textContent = 'document.title = \"added\"';
        document.head.append(script);
        return [(await refused).effectiveDirective, document.title];";
    let added = browser.run(ADD, &Value::Null)?;
    assert_eq!(added[0], "script-src-elem");
    assert_ne!(added[1], "added");
    Ok(())
}

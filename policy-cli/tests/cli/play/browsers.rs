//! The page, in Chromium and Firefox.

use policy_tests::{
    axe,
    bidi::Bidi,
    webdriver::{Browser, Failure},
};
use serde_json::{Value, json};

use super::served::Playground;

/// Keys as WebDriver writes them.
const TAB: &str = "\u{e004}";
pub(crate) const DOWN: &str = "\u{e015}";
pub(crate) const ENTER: &str = "\u{e007}";
const SPACE: &str = " ";

/// Whether the last question is answered, and a result is shown.
const ANSWERED: &str = "document.querySelector('#cast .actor, #empty:not([hidden])') !== null";

/// Moves the focus, key by key, to the next element of a selector.
pub(crate) fn goes_to(browser: &Browser, selector: &str) -> Result<(), Failure> {
    for _ in 0..60 {
        browser.press(TAB)?;
        let is_there =
            browser.run("return document.activeElement.matches(input);", &json!(selector))?;
        if is_there == json!(true) {
            return Ok(());
        }
    }
    Err(format!("`{selector}` cannot be reached by the keyboard").into())
}

fn says(browser: &Browser, who: &str) -> Result<String, Failure> {
    browser.text_of(&format!("[data-who={who}] .says"))
}

#[test]
#[ignore = "needs Chromium, chromedriver and axe: `cargo xtask test` runs it"]
fn the_page_is_used_by_keyboard_in_any_size_and_theme() -> Result<(), Failure> {
    let playground = Playground::start();
    let browser = Browser::start()?;
    browser.resize(1280, 900)?;
    browser.goto(&playground.url)?;
    browser.wait_for(ANSWERED)?;
    assert_eq!(says(&browser, "own")?, "Reads the response for its user.");
    axe::judge(&mut &browser, "play")?;
    browser.resize(1280, 900)?;

    // A scene: what the attacker gets before and after the fix.
    goes_to(&browser, "#scene")?;
    browser.press(&DOWN.repeat(2))?;
    browser.wait_for("document.querySelector('.harm[data-who=attacker]') !== null")?;
    assert_eq!(says(&browser, "attacker")?, "Reads the data of your user.");
    assert!(browser.url()?.ends_with("#scene=subdomain&side=before"), "{}", browser.url()?);
    axe::judge(&mut &browser, "play-scene")?;
    browser.resize(1280, 900)?;
    goes_to(&browser, "#sides input")?;
    browser.press(DOWN)?;
    browser.wait_for("document.querySelector('.safe[data-who=attacker]') !== null")?;
    goes_to(&browser, "[data-who=attacker] summary")?;
    let is_open = "return document.querySelector('[data-who=attacker]').open;";
    if browser.run(is_open, &Value::Null)? == json!(false) {
        browser.press(ENTER)?;
    }
    let console = browser.text_of("[data-who=attacker] .console")?;
    assert!(console.contains("No 'Access-Control-Allow-Origin' header is present"), "{console}");
    goes_to(&browser, "[data-who=attacker] .fields summary")?;
    browser.press(SPACE)?;
    let fields = browser.text_of("[data-who=attacker] .fields[open]")?;
    assert!(fields.contains("sec-fetch-site"), "{fields}");
    axe::judge(&mut &browser, "play-open")?;
    browser.resize(1280, 900)?;

    // What does not compile is underlined.
    goes_to(&browser, "#scene")?;
    browser.press(DOWN)?;
    browser.wait_for("document.querySelector('#paint .error') !== null")?;
    let underlined = "return [...document.querySelectorAll('#paint .error')].map((it) => it.textContent).join('');";
    assert_eq!(browser.run(underlined, &Value::Null)?, json!("\"*\""));
    assert!(browser.text_of("#reports")?.contains("cors.any-origin-with-credentials"));
    assert!(browser.text_of("#empty")?.contains("does not compile or start"));
    axe::judge(&mut &browser, "play-error")?;
    browser.resize(1280, 900)?;

    // A link to a scene opens the panel of the caller who shows it.
    browser.goto(&format!("{}#scene=role&side=before", playground.url))?;
    browser.wait_for("document.querySelector('[data-who=program]')?.open")?;
    assert_eq!(says(&browser, "program")?, "Gets the response: every user may call this.");
    assert_eq!(browser.console()?, [""; 0], "it violates its own policy");
    Ok(())
}

/// Edits, makes a link, and opens it.
const EDIT_AND_LINK: &str = "async (url) => {
    const until = async (holds) => {
        for (let turn = 0; !holds() && turn < 500; turn += 1) {
            await new Promise((resolve) => setTimeout(resolve, 20));
        }
        if (!holds()) throw new Error(`never: ${holds}`);
    };
    const source = document.getElementById('source');
    await until(() => document.querySelector('#cast .actor'));
    source.value = '#[get(\"/só\")]\\n#[auth(public)]\\nasync fn so() {}\\n';
    source.dispatchEvent(new Event('input'));
    await until(() => document.querySelector('#paint .error'));
    const wrong = document.querySelector('#paint .error').textContent;
    source.value = '#[get(\"/so\")]\\n#[auth(public)]\\nasync fn so() {} // só';
    source.dispatchEvent(new Event('input'));
    await until(() => document.querySelector('#route').textContent.includes('GET /so'));
    document.getElementById('attacker').value = 'https://other.test';
    document.getElementById('attacker').dispatchEvent(new Event('input'));
    await until(() => document.getElementById('cast').textContent.includes('https://other.test'));
    document.getElementById('share').click();
    return [wrong, location.href];
}";

const STATE: &str = "async () => {
    for (let turn = 0; !document.querySelector('#cast .actor') && turn < 500; turn += 1) {
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const of = (id) => document.getElementById(id).value;
    return [of('source'), of('attacker'), document.getElementById('cast').textContent.includes('other.test')];
}";

fn a_link_restores_the_state_in(mut browser: Bidi) -> Result<(), Failure> {
    let playground = Playground::start();
    browser.goto(&playground.url)?;
    let found = browser.run(EDIT_AND_LINK, &Value::Null)?;
    let [wrong, link]: [String; 2] = serde_json::from_value(found)?;
    assert_eq!(wrong, "\"/só\"", "{}", browser.version());
    assert!(link.contains("#app="), "{link}");
    // The same page with another fragment is not loaded again.
    browser.goto("about:blank")?;
    browser.goto(&link)?;
    let state = browser.run(STATE, &Value::Null)?;
    let source = "#[get(\"/so\")]\n#[auth(public)]\nasync fn so() {} // só";
    assert_eq!(state, json!([source, "https://other.test", true]), "{}", browser.version());
    axe::judge(&mut browser, "play-link")?;
    Ok(())
}

#[test]
#[ignore = "needs Chromium, chromedriver and axe: `cargo xtask test` runs it"]
fn a_link_restores_the_state_in_chromium() -> Result<(), Failure> {
    a_link_restores_the_state_in(Bidi::chromium(&[], &json!({}))?)
}

#[test]
#[ignore = "needs Firefox and axe: `cargo xtask test` runs it"]
fn a_link_restores_the_state_in_firefox() -> Result<(), Failure> {
    a_link_restores_the_state_in(Bidi::firefox(&[])?)
}

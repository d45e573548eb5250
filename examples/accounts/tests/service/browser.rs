//! The accounts example and its page.

use std::{
    thread,
    time::{Duration, Instant},
};

use policy_tests::{
    axe,
    example::Example,
    folder::Folder,
    pages,
    webdriver::{Browser, Failure},
};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::start_in;

/// How long a page may take to load.
const PATIENCE: Duration = Duration::from_secs(60);

const PASSWORD: &str = "correct horse battery";

/// A browser that shows the page.
struct User<'a>(&'a Browser);

impl<'a> User<'a> {
    fn opens(browser: &'a Browser, accounts: &Example) -> Result<Self, Failure> {
        browser.goto(accounts.printed("page"))?;
        let user = Self(browser);
        user.waits()?;
        Ok(user)
    }

    /// Waits until the page has finished its work.
    fn waits(&self) -> Result<(), Failure> {
        self.0.wait_for("document.body.getAttribute('aria-busy') === 'false'")
    }

    /// Fills in fields, clicks a button, and returns the page's message.
    fn does(&self, fields: &[(&str, &str)], button: &str) -> Result<String, Failure> {
        const ACT: &str = "
            for (const [id, value] of input.fields) document.getElementById(id).value = value;
            document.querySelector(input.button).click();";
        self.0.run(ACT, &json!({ "fields": fields, "button": button }))?;
        self.waits()?;
        self.0.text_of("#status")
    }

    fn logs_in(&self, password: &str, button: &str) -> Result<String, Failure> {
        self.does(&[("name", "ada"), ("password", password)], button)
    }

    fn gets_tokens(&self, password: &str) -> Result<(), Failure> {
        let fields = [("token-name", "ada"), ("token-password", password)];
        let message = self.does(&fields, "#token-get")?;
        assert_eq!(message, "Two tokens, and somebody made a copy of them.");
        Ok(())
    }

    /// Waits until the page shows that this user is logged in, or no user if empty.
    fn is_shown(&self, name: &str) -> Result<(), Failure> {
        self.0.wait_for(&format!("document.body.dataset.user === '{name}'"))?;
        self.waits()
    }

    fn sessions(&self) -> Result<Value, Failure> {
        self.0.run("return document.querySelectorAll('#sessions tr').length;", &Value::Null)
    }

    fn listens(&self) -> Result<(), Failure> {
        self.0.wait_for("document.getElementById('stream').textContent === 'open'")
    }
}

#[test]
#[ignore = "needs Chromium, chromedriver and axe: `cargo xtask test` runs it"]
fn the_page_shows_where_a_user_is_logged_in_and_ends_it() -> Result<(), Failure> {
    let folder = Folder::new()?;
    let accounts = start_in(&folder)?;
    let (laptop, phone) = (Browser::start()?, Browser::start()?);
    let (laptop, phone) = (User::opens(&laptop, &accounts)?, User::opens(&phone, &accounts)?);
    laptop.is_shown("")?;
    assert_eq!(laptop.logs_in(PASSWORD, "#signup")?, "Welcome.");
    laptop.is_shown("ada")?;
    assert_eq!(laptop.0.text_of("#user")?, "ada");
    assert_eq!(laptop.0.run("return document.cookie", &Value::Null)?, "");
    laptop.listens()?;

    let message = phone.logs_in("not the password", "#login")?;
    assert_eq!(message, "the name or the password is wrong (accounts.wrong)");
    assert_eq!(phone.logs_in(PASSWORD, "#login")?, "Welcome.");
    phone.is_shown("ada")?;
    phone.listens()?;
    laptop.0.wait_for(
        "document.getElementById('news').textContent.includes('A login on a new device')",
    )?;
    assert_eq!(phone.sessions()?, 2);
    laptop.does(&[], "#reload-sessions")?;
    assert_eq!(laptop.sessions()?, 2);

    // A returning user sees what is new since the last visit.
    laptop.does(&[], "#logout")?;
    laptop.is_shown("")?;
    assert_eq!(laptop.logs_in(PASSWORD, "#login")?, "Welcome.");
    laptop.is_shown("ada")?;
    let events = laptop.0.text_of("#events")?;
    for text in ["The account was created", "A login on a new device", "127.0.0.1"] {
        assert!(events.contains(text), "{text} in {events}");
    }
    let new = laptop.0.text_of("#sessions tr[data-new=true]")?;
    assert!(new.contains("New since you were last here") && new.contains("Chrome"), "{new}");
    axe::judge(&mut &*laptop.0, "account")?;
    let message = laptop.does(&[], "#sessions tr[data-new=true] button")?;
    assert_eq!(message, "The session ended.");
    assert_eq!(laptop.sessions()?, 1);
    // The page notices by the end of its stream.
    phone.is_shown("")?;

    assert_eq!(phone.logs_in(PASSWORD, "#login")?, "Welcome.");
    phone.listens()?;
    let new = "a password of today";
    let fields = [("current-password", PASSWORD), ("new-password", new)];
    let message = laptop.does(&fields, "#change-password")?;
    assert_eq!(message, "The password was changed; all other sessions ended.");
    phone.is_shown("")?;
    laptop.is_shown("ada")?;

    assert_eq!(phone.logs_in(new, "#login")?, "Welcome.");
    phone.listens()?;
    let message = phone.does(&[], "#logout-everywhere")?;
    assert_eq!(message, "Logged out everywhere; all tokens are revoked.");
    phone.is_shown("")?;
    laptop.is_shown("")
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn the_page_shows_the_state_of_tokens() -> Result<(), Failure> {
    const GOOD: &str = "The token is good.";
    let folder = Folder::new()?;
    let accounts = start_in(&folder)?;
    let browser = Browser::start()?;
    let user = User::opens(&browser, &accounts)?;
    assert_eq!(user.logs_in(PASSWORD, "#signup")?, "Welcome.");

    user.gets_tokens(PASSWORD)?;
    assert_eq!(user.does(&[], "#token-use")?, GOOD);
    let message = user.does(&[], "#token-refresh")?;
    assert_eq!(message, "A new pair of tokens; the previous refresh token is used.");
    assert_eq!(user.does(&[], "#token-use")?, GOOD);
    user.does(&[], "#token-drop")?;
    assert_eq!(user.does(&[], "#copy-use")?, GOOD, "to drop a token ends nothing");

    user.gets_tokens(PASSWORD)?;
    let message = user.does(&[], "#token-logout")?;
    assert_eq!(message, "The service refuses these tokens from now on.");
    let refused = user.does(&[], "#copy-use")?;
    assert!(refused.ends_with("(auth.token-invalid)"), "{refused}");

    user.gets_tokens(PASSWORD)?;
    assert_eq!(user.does(&[], "#token-use")?, GOOD);
    user.does(&[], "#logout-everywhere")?;
    for button in ["#token-use", "#copy-use"] {
        let refused = user.does(&[], button)?;
        assert!(refused.ends_with("(auth.token-invalid)"), "{button}: {refused}");
    }
    Ok(())
}

/// The site is the host here, and a link from another site leads there with the cookie.
#[test]
#[ignore = "needs Chromium, chromedriver and axe: `cargo xtask test` runs it"]
fn a_page_of_another_site_gets_no_cookie_and_works_with_a_token() -> Result<(), Failure> {
    let folder = Folder::new()?;
    let accounts = start_in(&folder)?;
    let browser = Browser::start()?;
    let user = User::opens(&browser, &accounts)?;
    assert_eq!(user.logs_in(PASSWORD, "#signup")?, "Welcome.");
    user.is_shown("ada")?;

    browser.goto(accounts.printed("other"))?;
    browser.wait_for("window.__results")?;
    let alone = browser.text_of("#cookie")?;
    for text in ["status 401", "auth.credentials-missing", "cookie withheld: SameSite=Lax"] {
        assert!(alone.contains(text), "{text} in {alone}");
    }
    let fill = "
        document.getElementById('name').value = 'ada';
        document.getElementById('password').value = input;
        document.getElementById('form').requestSubmit();";
    browser.run(fill, &json!(PASSWORD))?;
    browser.wait_for("window.__results.profile")?;
    let results = browser.run("return window.__results;", &Value::Null)?;
    assert_eq!(results["cookie"]["body"]["code"], "auth.credentials-missing");
    assert_eq!(results["login"], json!({ "ok": false, "error": "TypeError" }), "not granted");
    assert_eq!(results["token"]["status"], 200);
    assert_eq!(results["profile"]["body"], json!({ "name": "ada", "by": "token" }));
    // The attribute that decided is shown beside each.
    for (row, attribute) in [
        ("#cookie", "#[auth(session | token)]"),
        ("#login", "origins_at_run_time(\"shop\")"),
        ("#token", "#[cors(origins = PAGES)]"),
        ("#profile", "#[cors(origins = PAGES, credentials)]"),
    ] {
        let text = browser.text_of(row)?;
        assert!(text.contains(attribute), "{attribute} in {text}");
    }
    axe::judge(&mut &browser, "other-site")?;

    browser.leave("document.getElementById('link').click()", &Value::Null)?;
    browser.wait_for("document.body.innerText.includes('\"by\":\"session\"')")
}

/// Cookies ignore ports, so the browser sends the same one to the service at its new port.
#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn logins_survive_a_restart() -> Result<(), Failure> {
    let folder = Folder::new()?;
    let accounts = start_in(&folder)?;
    let browser = Browser::start()?;
    let user = User::opens(&browser, &accounts)?;
    assert_eq!(user.logs_in(PASSWORD, "#signup")?, "Welcome.");
    accounts.stop()?;
    let accounts = start_in(&folder)?;
    User::opens(&browser, &accounts)?.is_shown("ada")
}

/// The example runs without TLS, so its cookie is `Lax`: it is sent from another port of the same
/// host, which is the same site, and not from another site.
#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_forged_form_does_not_log_the_user_out() -> Result<(), Failure> {
    let folder = Folder::new()?;
    let accounts = start_in(&folder)?;
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let pages = runtime.block_on(pages::serve())?.port();
    let flag = "--host-resolver-rules=MAP evil.test 127.0.0.1".to_owned();
    let browser = Browser::with(&[flag], &json!({}))?;
    let user = User::opens(&browser, &accounts)?;
    assert_eq!(user.logs_in(PASSWORD, "#signup")?, "Welcome.");
    let target = format!("{}/logout/everywhere", accounts.printed("service"));
    for (page, status, code) in [
        (format!("http://localhost:{pages}"), "403", "csrf.origin"),
        (format!("http://evil.test:{pages}"), "401", "auth.credentials-missing"),
    ] {
        browser.goto(&page)?;
        browser.submit(&target)?;
        let until = Instant::now() + PATIENCE;
        while browser.url()? != target && Instant::now() < until {
            thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(browser.url()?, target, "nothing was said against it");
        let text = browser.run("return document.body.innerText", &Value::Null)?;
        let text = text.as_str().ok_or("no page")?;
        assert!(text.contains(status) && text.contains(code), "{text}");
    }
    User::opens(&browser, &accounts)?.is_shown("ada")
}

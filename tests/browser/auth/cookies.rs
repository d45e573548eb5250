//! The session cookie: how the browser stores it, and who can replace it.

use super::*;

/// The value of the only cookie that the page's requests carry.
fn the_cookie(browser: &Browser) -> Result<Value, Failure> {
    let mut cookies = browser.cookies()?;
    assert_eq!(cookies.len(), 1, "{cookies:?}");
    Ok(cookies.remove(0))
}

/// Lets a page of the same site set a cookie, by the header and by a script.
fn plant(browser: &Browser, shop: &Shop, cookie: &str) -> Result<(), Failure> {
    let encoded: String = cookie.bytes().map(|byte| format!("%{byte:02x}")).collect();
    browser.goto(&format!("{}/?cookie={encoded}", shop.app()))?;
    browser.run("document.cookie = input;", &json!(cookie)).map(drop)
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn the_session_cookie_is_kept_from_scripts_other_hosts_and_other_sites() -> Result<(), Failure> {
    let shop = Shop::open()?;
    let browser = shop.browser_of("ada")?;
    let mut cookie = the_cookie(&browser)?;
    assert_eq!(cookie["value"].take().as_str().map(str::len), Some(43));
    let kept = json!({
        "name": "__Host-sid",
        "value": null,
        "path": "/",
        // Without a dot: a host-only cookie. Without `expiry`: until the browser ends.
        "domain": "api.shop.example",
        "secure": true,
        "httpOnly": true,
        "sameSite": "Lax",
    });
    assert_eq!(cookie, kept);
    let state = browser.run("return [document.cookie, isSecureContext];", &Value::Null)?;
    assert_eq!(state, json!(["", true]));
    Ok(())
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_login_changes_the_id_and_a_logout_takes_the_cookie_away() -> Result<(), Failure> {
    let shop = Shop::open()?;
    let browser = shop.browser()?;
    browser.goto(&shop.api())?;
    assert_eq!(call(&browser, &shop, "POST", "/visit")?, json!([200, "1"]));
    let before = the_cookie(&browser)?;
    // A session exists already, so even the login needs its token.
    let refused = call(&browser, &shop, "POST", "/login/ada")?;
    assert_eq!(refused[0], 403);
    let token = token(&browser, &shop)?;
    let response = call_with(&browser, &shop, "POST", "/login/ada", &token)?;
    assert_eq!(response, json!([200, "ada"]));
    let after = the_cookie(&browser)?;
    assert_ne!(before["value"], after["value"]);

    let token = self::token(&browser, &shop)?;
    let response = call_with(&browser, &shop, "POST", "/logout", &token)?;
    assert_eq!(response, json!([200, "logged out"]));
    assert_eq!(browser.cookies()?, [Value::Null; 0]);
    // The old ids are invalid.
    for mut old in [before, after] {
        // Otherwise it would apply to all hosts below, which the prefix forbids.
        old.as_object_mut().expect("a cookie").remove("domain");
        browser.add_cookie(&old)?;
        assert_eq!(call(&browser, &shop, "GET", "/me")?[0], 401);
        let kept = the_cookie(&browser)?;
        assert_eq!(kept["value"], old["value"], "a late response takes no newer cookie away");
    }
    assert_eq!(shop.arrivals.first("/me").cookies.matches("__Host-sid=").count(), 1);
    Ok(())
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_sibling_host_cannot_plant_a_session() -> Result<(), Failure> {
    let shop = Shop::open()?;
    let browser = shop.browser_of("mallory")?;
    let id = the_cookie(&browser)?["value"].as_str().unwrap_or_default().to_owned();
    browser.forget_cookies()?;
    for cookie in [
        // A sibling host can set cookies,
        "planted=1; Domain=shop.example; Path=/; Secure".to_owned(),
        // but none with this prefix.
        format!("__Host-sid={id}; Domain=shop.example; Path=/; Secure"),
        format!("__Host-sid={id}; Domain=shop.example; Path=/me; Secure; SameSite=None"),
        format!("__Host-sid={id}; Path=/; Secure"),
        format!("__host-sid={id}; Domain=shop.example; Path=/; Secure"),
    ] {
        plant(&browser, &shop, &cookie)?;
    }
    browser.goto(&shop.api())?;
    assert_eq!(call(&browser, &shop, "GET", "/me")?[0], 401);
    assert_eq!(shop.arrivals.first("/me").cookies, "planted=1");
    Ok(())
}

/// If the cookie's name has no prefix, a sibling's cookie is sent, too, even before the host's own.
#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn two_session_cookies_are_refused() -> Result<(), Failure> {
    let shop = Shop::with(Sessions::memory().cookie_name("sid"), SameSite::Lax)?;
    let browser = shop.browser_of("mallory")?;
    let id = the_cookie(&browser)?["value"].as_str().unwrap_or_default().to_owned();
    browser.forget_cookies()?;
    shop.log_in(&browser, "ada")?;
    plant(&browser, &shop, &format!("sid={id}; Domain=shop.example; Path=/me; Secure"))?;
    browser.goto(&shop.api())?;
    assert_eq!(call(&browser, &shop, "GET", "/me")?[0], 401);
    let cookies = shop.arrivals.first("/me").cookies;
    assert_eq!(cookies.matches("sid=").count(), 2, "{cookies}");
    assert!(cookies.starts_with(&format!("sid={id}; ")), "the planted one first: {cookies}");
    Ok(())
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn only_navigations_are_redirected_to_the_login_page() -> Result<(), Failure> {
    let shop = Shop::with(Sessions::memory().login_page("/"), SameSite::Lax)?;
    let browser = shop.browser()?;
    browser.goto(&format!("{}/me?a=b", shop.api()))?;
    assert_eq!(browser.url()?, format!("{}/?next=%2Fme%3Fa%3Db", shop.api()));
    assert_eq!(call(&browser, &shop, "GET", "/me")?[0], 401);
    Ok(())
}

/// The header with the CSRF token of the session.
pub(crate) fn token(browser: &Browser, shop: &Shop) -> Result<Value, Failure> {
    token_in(&call(browser, shop, "GET", "/csrf")?)
}

/// Request headers with the token of a response.
pub(crate) fn token_in(response: &Value) -> Result<Value, Failure> {
    assert_eq!(response[0], 200);
    let body: Value = serde_json::from_str(response[1].as_str().unwrap_or_default())?;
    Ok(json!({ "x-csrf-token": body["token"] }))
}

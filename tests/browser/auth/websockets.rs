//! WebSockets, which browsers open across origins without a preflight.

use super::{cookies::token, *};

/// Opens a WebSocket as `window.__socket` and returns its first message, or `refused`.
const OPEN: &str = "
    const socket = window.__socket = new WebSocket(input.replace('https:', 'wss:'));
    window.__closed = new Promise(resolve => socket.onclose = resolve);
    return new Promise(resolve => {
        socket.onmessage = message => resolve(message.data);
        socket.onerror = () => resolve('refused');
    });";

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_websocket_opens_for_granted_pages_and_closes_at_the_logout() -> Result<(), Failure> {
    let shop = Shop::open()?;
    let browser = shop.browser_of("ada")?;
    for (page, name) in [(shop.api(), "own"), (shop.app(), "granted")] {
        browser.goto(&page)?;
        let url = format!("{}/socket?{name}", shop.api());
        assert_eq!(browser.run(OPEN, &json!(url))?, "ada", "{name}");
        assert_eq!(shop.arrival(&format!("/socket?{name}")).status, 101);
    }
    let open = browser.run("return window.__socket.readyState === WebSocket.OPEN", &Value::Null)?;
    assert_eq!(open, true);
    let token = token(&browser, &shop)?;
    assert_eq!(call_with(&browser, &shop, "POST", "/logout", &token)?[0], 200);
    let closed =
        "const {code, reason, wasClean} = await window.__closed; return [code, reason, wasClean]";
    let closed = browser.run(closed, &Value::Null)?;
    assert_eq!(closed, json!([1008, "auth.credential-ended", true]));
    let url = format!("{}/socket?after", shop.api());
    assert_eq!(browser.run(OPEN, &json!(url))?, "refused");
    assert_eq!(shop.arrival("/socket?after").status, 401);
    Ok(())
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_websocket_does_not_open_for_another_page_that_has_the_cookie() -> Result<(), Failure> {
    let shop = Shop::with(Sessions::memory(), SameSite::None)?;
    let browser = shop.browser_of("ada")?;
    browser.goto(&shop.evil())?;
    let url = format!("{}/socket", shop.api());
    assert_eq!(browser.run(OPEN, &json!(url))?, "refused");
    let arrival = shop.arrival("/socket");
    assert!(arrival.has_session_cookie());
    assert_eq!(arrival.origin, Some(shop.evil()));
    assert_eq!(arrival.refused_with(), (403, "cors.websocket-origin-not-granted"));
    Ok(())
}

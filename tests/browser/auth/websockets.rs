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

/// Opens a WebSocket with the credential that the input names, and ends that: the first message, the
/// protocol, and how the page sees the end.
const END: &str = "
    const text = async (path, init) => {
        const response = await fetch(path, init);
        if (!response.ok) throw `${path}: ${response.status}`;
        return response.text();
    };
    const post = (path, headers) => text(path, { method: 'POST', headers });
    let protocols = [], headers, end;
    if (input === 'token') {
        const token = await text('/token');
        [protocols, headers] = [['bearer', token], { authorization: `Bearer ${token}` }];
        end = '/revoke';
    } else {
        await post('/login/ada', {});
        headers = { 'x-csrf-token': JSON.parse(await text('/csrf')).token };
        end = '/logout';
    }
    const socket = new WebSocket(location.origin.replace('https:', 'wss:') + '/socket', protocols);
    const closed = new Promise(resolve => socket.onclose = resolve);
    const first = await new Promise((resolve, reject) => {
        socket.onmessage = message => resolve(message.data);
        socket.onerror = () => reject('refused');
    });
    await post(end, headers);
    const { code, reason, wasClean } = await closed;
    return [first, socket.protocol, code, reason, wasClean];";

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_websocket_opens_for_granted_pages_and_closes_at_the_logout() -> Result<(), Failure> {
    let shop = Shop::open()?;
    let browser = shop.browser_of("ada")?;
    for (page, name) in [(shop.api(), "own"), (shop.app(), "granted")] {
        browser.goto(&page)?;
        let url = format!("{}/socket?{name}", shop.api());
        assert_eq!(browser.run(OPEN, &json!(url))?, "ada", "{name}");
        assert_eq!(shop.arrivals.first(&format!("/socket?{name}")).status, 101);
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
    assert_eq!(shop.arrivals.first("/socket?after").status, 401);
    browser.goto(&shop.api())?;
    let ended = browser.run(END, &json!("token"))?;
    assert_eq!(ended, json!(["ada", "bearer", 1008, "auth.credential-ended", true]));
    Ok(())
}

#[test]
#[ignore = "needs Firefox"]
fn firefox_opens_websockets_and_gets_the_reason_of_their_end() -> Result<(), Failure> {
    let shop = Shop::open()?;
    let mut browser = shop.firefox(&[])?;
    browser.goto(&shop.api())?;
    for (credential, protocol) in [("session", ""), ("token", "bearer")] {
        let ended = browser.run(&format!("async input => {{ {END} }}"), &json!(credential))?;
        let expected = json!(["ada", protocol, 1008, "auth.credential-ended", true]);
        assert_eq!(ended, expected, "{credential}");
    }
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
    let arrival = shop.arrivals.first("/socket");
    assert!(arrival.has_session_cookie());
    assert_eq!(arrival.origin, Some(shop.evil()));
    assert_eq!(arrival.refused_with(), (403, "cors.websocket-origin-not-granted"));
    Ok(())
}

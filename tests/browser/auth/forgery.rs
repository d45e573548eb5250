//! Requests that a foreign page can make the user's browser send.

use super::*;

/// Navigates by a link.
fn follow(browser: &Browser, url: &str) -> Result<(), Failure> {
    const FOLLOW: &str = "
        const link = document.createElement('a');
        link.href = input;
        document.body.append(link);
        link.click();";
    browser.leave(FOLLOW, &json!(url))
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_forged_form_arrives_without_a_lax_cookie_and_a_link_with_it() -> Result<(), Failure> {
    let shop = Shop::open()?;
    let browser = shop.browser_of("ada")?;
    browser.goto(&shop.evil())?;
    // The cookie is withheld even where nothing else protects.
    browser.submit(&format!("{}/transfer-unprotected", shop.api()))?;
    let form = shop.arrivals.first("/transfer-unprotected");
    assert_eq!(form.origin, Some(shop.evil()));
    assert!(!form.has_session_cookie());
    assert_eq!((form.status, shop.transfers()), (401, 0));

    browser.goto(&shop.evil())?;
    follow(&browser, &format!("{}/me", shop.api()))?;
    let link = shop.arrivals.first("/me");
    assert_eq!(link.fetch_site.as_deref(), Some("cross-site"));
    assert!(link.has_session_cookie());
    assert_eq!(link.status, 200);
    Ok(())
}

/// The cookie is sent, so only the gate prevents the forgery: without it, the forgery succeeds.
/// From a host of the same site the cookie is sent for every `SameSite`.
#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_forged_form_with_the_cookie_fails_at_the_gate_alone() -> Result<(), Failure> {
    for (same_site, from_sibling) in [(SameSite::None, false), (SameSite::Lax, true)] {
        let shop = Shop::with(Sessions::memory(), same_site)?;
        let browser = shop.browser_of("ada")?;
        let page = if from_sibling { shop.blog() } else { shop.evil() };
        let mut sent = Vec::new();
        for path in ["/transfer", "/transfer-by-origin", "/transfer-unprotected"] {
            browser.goto(&page)?;
            browser.submit(&format!("{}{path}", shop.api()))?;
            let arrival = shop.arrivals.first(path);
            assert_eq!(arrival.origin.as_ref(), Some(&page), "{path}");
            assert!(arrival.has_session_cookie(), "{path}");
            sent.push((path, arrival.status, arrival.code, shop.transfers()));
        }
        let refused = "csrf.origin".to_owned();
        assert_eq!(
            sent,
            [
                ("/transfer", 403, refused.clone(), 0),
                ("/transfer-by-origin", 403, refused, 0),
                ("/transfer-unprotected", 200, String::new(), 1),
            ],
            "{page}"
        );
    }
    Ok(())
}

/// Even from a page without referrer, whose origin the browser then hides.
#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_form_of_the_app_passes_with_its_csrf_token() -> Result<(), Failure> {
    const SUBMIT: &str = "
        document.forms[0].action = input;
        document.forms[0].submit();";
    const WITHOUT: &str = "document.forms[0].elements.csrf_token.remove();";
    let shop = Shop::open()?;
    let browser = shop.browser_of("ada")?;
    for (before, target, status, code) in
        [("", "/transfer?with", 200, ""), (WITHOUT, "/transfer?without", 403, "csrf.token")]
    {
        browser.goto(&format!("{}/form", shop.api()))?;
        browser.leave(&format!("{before}{SUBMIT}"), &json!(target))?;
        let arrival = shop.arrivals.first(target);
        assert_eq!(arrival.origin.as_deref(), Some("null"), "{target}");
        assert_eq!(arrival.fetch_site.as_deref(), Some("same-origin"), "{target}");
        assert_eq!(arrival.refused_with(), (status, code), "{target}");
    }
    assert_eq!(shop.transfers(), 1);
    Ok(())
}

/// Before the first session there is no CSRF token.
#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_forged_form_cannot_log_in() -> Result<(), Failure> {
    let shop = Shop::open()?;
    let browser = shop.browser()?;
    browser.goto(&shop.evil())?;
    browser.submit(&format!("{}/login/mallory", shop.api()))?;
    assert_eq!(shop.arrivals.first("/login/mallory").refused_with(), (403, "csrf.origin"));
    browser.goto(&shop.api())?;
    assert_eq!(browser.cookies()?, [Value::Null; 0]);
    Ok(())
}

/// The browser sends `Origin: null` once a request was redirected by another origin than the one
/// that made it.
#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_form_that_is_sent_on_by_a_page_of_ours_stays_a_forgery() -> Result<(), Failure> {
    let shop = Shop::with(Sessions::memory(), SameSite::None)?;
    let browser = shop.browser_of("ada")?;
    let target = |by: &str| format!("{}/transfer-by-origin?{by}", shop.api());
    let by_sibling = format!("{}/?to={}", shop.app(), target("sibling"));
    let by_api = format!("{}/moved/transfer-by-origin", shop.api());
    for (through, target, origin) in [
        (by_sibling, "/transfer-by-origin?sibling", "null".to_owned()),
        (by_api, "/transfer-by-origin", shop.evil()),
    ] {
        browser.goto(&shop.evil())?;
        browser.submit(&through)?;
        let arrival = shop.arrivals.first(target);
        assert_eq!(arrival.origin, Some(origin), "{target}");
        assert_eq!(arrival.fetch_site.as_deref(), Some("cross-site"), "{target}");
        assert!(arrival.has_session_cookie(), "{target}");
        assert_eq!(arrival.refused_with(), (403, "csrf.origin"), "{target}");
    }
    assert_eq!(shop.transfers(), 0);
    Ok(())
}

/// All other ways in which a page can send a request, each with its own name in the query.
const EVERY_WAY: &str = "
    const add = (name, properties) => {
        const element = Object.assign(document.createElement(name), properties);
        document.body.append(element);
        return element;
    };
    const to = way => input + '?' + way;
    add('img', { src: to('image') });
    add('script', { src: to('script') });
    add('link', { rel: 'stylesheet', href: to('style') });
    add('iframe', { src: to('frame') });
    add('video', { src: to('video') });
    add('object', { data: to('object') });
    add('iframe', { name: 'inner' });
    const form = (way, enctype, target) => add('form', {
        method: 'post', action: to(way), enctype, target,
    }).submit();
    form('form-in-frame', 'application/x-www-form-urlencoded', 'inner');
    add('iframe', { name: 'multipart' });
    form('multipart-form', 'multipart/form-data', 'multipart');
    add('iframe', { name: 'plain' });
    form('plain-form', 'text/plain', 'plain');
    add('iframe', { name: 'sandboxed', sandbox: 'allow-scripts allow-forms', srcdoc:
        `<form method=post action='${to('sandboxed-form')}'></form>
         <script>document.forms[0].submit()</script>` });
    add('iframe', { src: 'data:text/html,' + encodeURIComponent(
        `<form method=post action='${to('data-form')}'></form>
         <script>document.forms[0].submit()</script>`) });
    navigator.sendBeacon(to('beacon'), 'to=mallory');
    const fetching = (way, rest) =>
        fetch(to(way), { mode: 'no-cors', credentials: 'include', ...rest }).catch(() => {});
    fetching('fetch-get', {});
    fetching('fetch-post', { method: 'POST', body: 'to=mallory' });
    fetching('fetch-json', { method: 'POST', headers: { 'content-type': 'application/json' },
        body: '{}' });
    fetching('fetch-no-referrer', { method: 'POST', referrerPolicy: 'no-referrer' });
    fetching('fetch-keepalive', { method: 'POST', keepalive: true });
    const request = new XMLHttpRequest();
    request.open('POST', to('xhr'));
    request.withCredentials = true;
    request.send('to=mallory');";

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn whatever_a_page_of_another_site_sends_changes_nothing() -> Result<(), Failure> {
    const READING: [&str; 7] =
        ["image", "script", "style", "frame", "video", "object", "fetch-get"];
    const WRITING: [&str; 11] = [
        "form-in-frame",
        "multipart-form",
        "plain-form",
        "sandboxed-form",
        "data-form",
        "beacon",
        "fetch-post",
        "fetch-json",
        "fetch-no-referrer",
        "fetch-keepalive",
        "xhr",
    ];
    /// The ones among them that do not name their origin.
    const NAMELESS: [&str; 2] = ["sandboxed-form", "data-form"];
    let shop = Shop::with(Sessions::memory(), SameSite::None)?;
    let browser = shop.browser_of("ada")?;
    browser.goto(&shop.evil())?;
    browser.run(EVERY_WAY, &json!(format!("{}/transfer-by-origin", shop.api())))?;
    let mut with_cookie = 0;
    for way in READING.into_iter().chain(WRITING) {
        let arrival = shop.arrivals.first(&format!("/transfer-by-origin?{way}"));
        assert_eq!(arrival.fetch_site.as_deref(), Some("cross-site"), "{way}");
        with_cookie += usize::from(arrival.has_session_cookie());
        let writes = WRITING.contains(&way);
        assert_eq!(arrival.method, if writes { "POST" } else { "GET" }, "{way}");
        let status = if writes { 403 } else { 405 };
        assert_eq!(arrival.status, status, "{way}: {arrival:?}");
        assert!(!writes || arrival.code == "csrf.origin", "{way}: {arrival:?}");
        let is_nameless = arrival.origin.as_deref() == Some("null");
        assert!(is_nameless || !NAMELESS.contains(&way), "{way}: {arrival:?}");
    }
    assert_eq!(with_cookie, READING.len() + WRITING.len());
    assert_eq!(shop.transfers(), 0);
    Ok(())
}

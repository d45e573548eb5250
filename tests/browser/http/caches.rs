//! Cache declarations in two other caches: Chromium's, and Python's `cachecontrol`.

use std::collections::BTreeMap;

use super::{
    declarations::{AGE, DECLARATIONS, Declaration, Second, app},
    peers::CACHECONTROL,
    *,
};

/// The two URLs that are requested twice each: the response of one changes, the other does not.
fn targets(declaration: &Declaration) -> [String; 2] {
    [declaration.path.to_owned(), format!("{}?age={AGE}", declaration.path)]
}

/// Sends each request twice in a row.
fn jobs() -> Value {
    let job = |declaration: &Declaration, target: String| {
        let Declaration { method, accepts, .. } = declaration;
        json!({ "method": method, "target": target, "accepts": accepts })
    };
    let of = |declaration| targets(declaration).map(|target| job(declaration, target));
    DECLARATIONS.iter().flat_map(of).collect()
}

/// The result of a second request, from the statuses that the server returned for both, in order.
fn observe(site: &Site, target: &str) -> Second {
    match *site.arrivals.statuses(target) {
        [_] => Second::Kept,
        [_, 304] => Second::Asked,
        [_, _] => Second::Fetched,
        ref other => panic!("{target}: {other:?}"),
    }
}

/// Both responses for each target: the bytes transferred, as the browser counts them.
const TWICE: &str = "
    const token = (await (await fetch('/login', { method: 'POST' })).json()).access_token;
    const sizes = {};
    for (const { method, target, accepts } of input) {
        sizes[target] = [];
        for (const accept of accepts) {
            performance.clearResourceTimings();
            const headers = { accept };
            if (target.startsWith('/token')) headers.authorization = `Bearer ${token}`;
            await (await fetch(target, { method, headers })).text();
            let entry;
            const url = new URL(target, location).href;
            while (!(entry = performance.getEntriesByName(url)[0])) {
                await new Promise(resolve => setTimeout(resolve, 1));
            }
            sizes[target].push(entry.transferSize);
        }
    }
    return sizes;";

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn the_cache_of_a_browser_behaves_as_it_is_declared() -> Result<(), Failure> {
    let site = Site::open(app())?;
    let browser = Browser::start()?;
    browser.goto(&site.origin())?;
    let sizes = browser.run(TWICE, &jobs())?;
    let mut wrong = BTreeMap::new();
    for declaration in DECLARATIONS {
        for (target, expected) in targets(declaration).into_iter().zip(declaration.browser) {
            if expected == Second::Behind {
                site.arrivals.wait_for(&target, 2);
            }
            let is_kept = sizes[&target][1] == 0;
            let found = match (observe(&site, &target), is_kept) {
                (Second::Asked, true) => Second::Behind,
                (found, _) => found,
            };
            // Bytes were transferred exactly if a request was sent. For a redirect, the browser
            // counts only the response of its target.
            let agrees = is_kept == matches!(found, Second::Kept | Second::Behind)
                || declaration.path == "/moved";
            if found != expected || !agrees {
                wrong.insert(target.clone(), (expected, found, sizes[&target].clone()));
            }
        }
    }
    assert!(wrong.is_empty(), "expected, found, sizes: {wrong:#?}");
    assert!(DECLARATIONS.len() >= 30);
    Ok(())
}

#[test]
#[ignore = "needs Python and cachecontrol: `cargo xtask test` runs it"]
fn the_cache_of_another_client_behaves_as_it_is_declared() -> Result<(), Failure> {
    let site = Site::open(app())?;
    CACHECONTROL.run(&[&site.origin()], &jobs());
    let mut wrong = BTreeMap::new();
    for declaration in DECLARATIONS {
        for (target, expected) in targets(declaration).into_iter().zip(declaration.client) {
            let found = observe(&site, &target);
            if found != expected {
                wrong.insert(target, (expected, found));
            }
        }
    }
    assert!(wrong.is_empty(), "expected, found: {wrong:#?}");
    Ok(())
}

/// RFC 9111 4.1: by `Vary: cookie`, which is added without a declaration.
#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn cached_responses_of_a_session_are_not_shown_to_the_next() -> Result<(), Failure> {
    let site = Site::open(app())?;
    let browser = Browser::start()?;
    browser.goto(&site.origin())?;
    let read_twice = "
        await fetch('/login', { method: 'POST' });
        for (let time = 0; time < 2; time++) await (await fetch('/session/max-age')).text();";
    browser.run(read_twice, &Value::Null)?;
    assert_eq!(site.arrivals.statuses("/session/max-age").len(), 1, "it is kept");
    browser.forget_cookies()?;
    browser.run(read_twice, &Value::Null)?;
    assert_eq!(site.arrivals.statuses("/session/max-age").len(), 2, "and not for another session");
    Ok(())
}

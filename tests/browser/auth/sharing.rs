//! Pages of other origins that use the API with the user's cookie.

use super::{cookies::token, *};

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_granted_page_of_the_same_site_acts_for_the_user_with_the_token() -> Result<(), Failure> {
    let shop = Shop::open()?;
    let browser = shop.browser()?;
    browser.goto(&shop.app())?;
    assert_eq!(call(&browser, &shop, "POST", "/login/ada")?, json!([200, "ada"]));
    assert_eq!(call(&browser, &shop, "GET", "/me")?, json!([200, "ada"]));
    let refused = call(&browser, &shop, "POST", "/transfer?without")?;
    assert_eq!(refused[0], 403);
    assert_eq!(shop.arrivals.first("/transfer?without").refused_with(), (403, "csrf.token"));
    let token = token(&browser, &shop)?;
    for method in ["POST", "PUT"] {
        let target = format!("/transfer?{method}");
        let response = call_with(&browser, &shop, method, &target, &token)?;
        assert_eq!(response, json!([200, "transferred"]), "{method}");
        assert_eq!(shop.arrivals.methods(&target), ["OPTIONS", method]);
    }
    assert_eq!(shop.transfers(), 2);
    let arrival = shop.arrivals.first("/me");
    assert_eq!(arrival.fetch_site.as_deref(), Some("same-site"));
    assert_eq!(arrival.origin, Some(shop.app()));
    Ok(())
}

#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_page_of_another_site_neither_reads_nor_changes_anything() -> Result<(), Failure> {
    let shop = Shop::with(Sessions::memory(), SameSite::None)?;
    let browser = shop.browser_of("ada")?;
    let stolen = token(&browser, &shop)?;
    browser.goto(&shop.evil())?;
    for (method, path) in [
        ("GET", "/me"),
        ("GET", "/csrf"),
        ("POST", "/transfer"),
        ("POST", "/transfer-by-origin"),
        ("PUT", "/transfer"),
        ("POST", "/login/mallory"),
        ("POST", "/logout"),
        ("POST", "/visit"),
    ] {
        let target = format!("{path}?simple-{method}");
        assert_eq!(call(&browser, &shop, method, &target)?, json!(["TypeError"]), "{target}");
        let arrival = shop.arrivals.first(&target);
        match method {
            "GET" => {
                assert_eq!((arrival.status, arrival.has_session_cookie()), (200, true), "{target}");
            }
            "POST" => {
                assert_eq!(arrival.refused_with(), (403, "csrf.origin"), "{target}");
                assert!(arrival.has_session_cookie(), "{target}");
            }
            _ => assert_eq!(shop.arrivals.methods(&target), ["OPTIONS"]),
        }
        // If a header requires a preflight, only the preflight arrives.
        let target = format!("{path}?preflighted-{method}");
        let response = call_with(&browser, &shop, method, &target, &stolen)?;
        assert_eq!(response, json!(["TypeError"]), "{target}");
        assert_eq!(shop.arrivals.methods(&target), ["OPTIONS"], "{target}");
    }
    assert_eq!(shop.transfers(), 0);
    browser.goto(&shop.api())?;
    assert_eq!(call(&browser, &shop, "GET", "/me")?, json!([200, "ada"]), "still logged in");
    Ok(())
}

/// Each of these requests needs a preflight.
#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_granted_page_reads_the_reason_of_unrouted_requests() -> Result<(), Failure> {
    let shop = Shop::open()?;
    let browser = shop.browser()?;
    let typed = json!({ "content-type": "application/json" });
    let authorized = json!({ "authorization": "Bearer of-nobody" });
    let cases = [
        ("PUT", "/nowhere", &typed, 404, "route.not-found"),
        ("GET", "/nowhere/else", &authorized, 404, "route.not-found"),
        ("PATCH", "/me", &typed, 405, "route.method-not-allowed"),
        ("DELETE", "/transfer", &authorized, 405, "route.method-not-allowed"),
    ];
    browser.goto(&shop.app())?;
    for (method, path, headers, status, code) in cases {
        let response = call_with(&browser, &shop, method, path, headers)?;
        assert_eq!(response[0], status, "{method} {path}: {response}");
        assert!(response[1].as_str().is_some_and(|body| body.contains(code)), "{response}");
        assert_eq!(shop.arrivals.methods(path), ["OPTIONS", method]);
    }
    browser.goto(&shop.evil())?;
    for (method, path, headers, _, _) in cases {
        let target = format!("{path}?evil");
        let response = call_with(&browser, &shop, method, &target, headers)?;
        assert_eq!(response, json!(["TypeError"]), "{method} {path}");
        assert_eq!(shop.arrivals.methods(&target), ["OPTIONS"]);
    }
    Ok(())
}

/// A page of another site that the API grants sends the user's cookie, if its `SameSite` and the
/// user's settings allow it.
#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_granted_page_of_another_site_depends_on_third_party_cookies() -> Result<(), Failure> {
    for (same_site, third_party, path, arrives) in [
        (SameSite::None, ThirdPartyCookies::Allowed, "/me", true),
        (SameSite::None, ThirdPartyCookies::Blocked, "/me", false),
        (SameSite::Lax, ThirdPartyCookies::Allowed, "/shared/either", false),
    ] {
        let shop = Shop::with(Sessions::memory(), same_site)?;
        let browser = shop.browser_with(third_party, &[])?;
        shop.log_in(&browser, "ada")?;
        assert_eq!(call(&browser, &shop, "GET", "/me")?, json!([200, "ada"]));
        browser.goto(&shop.partner())?;
        let target = format!("{path}?partner");
        let response = call(&browser, &shop, "GET", &target)?;
        let arrival = shop.arrivals.first(&target);
        let case = format!("{same_site:?} {third_party:?}");
        assert_eq!(arrival.fetch_site.as_deref(), Some("cross-site"), "{case}");
        assert_eq!(arrival.has_session_cookie(), arrives, "{case}");
        assert_eq!(response[0], if arrives { 200 } else { 401 }, "{case}");
        if arrives {
            let token = token(&browser, &shop)?;
            let response = call_with(&browser, &shop, "POST", "/transfer", &token)?;
            assert_eq!(response, json!([200, "transferred"]));
        }
    }
    Ok(())
}

/// With `Partitioned`, a page of another site has a session of its own, also where third-party cookies
/// are blocked. The user is not logged in anywhere else.
#[test]
#[ignore = "needs Chromium and chromedriver: `cargo xtask test` runs it"]
fn a_partitioned_session_belongs_to_one_site() -> Result<(), Failure> {
    for third_party in [ThirdPartyCookies::Allowed, ThirdPartyCookies::Blocked] {
        let shop = Shop::with(Sessions::memory().partitioned(), SameSite::None)?;
        let browser = shop.browser_with(third_party, &[])?;
        browser.goto(&shop.partner())?;
        assert_eq!(call(&browser, &shop, "POST", "/login/ada")?, json!([200, "ada"]));
        assert_eq!(call(&browser, &shop, "GET", "/me")?, json!([200, "ada"]), "{third_party:?}");
        browser.goto(&shop.api())?;
        let elsewhere = call(&browser, &shop, "GET", "/me?elsewhere")?;
        assert_eq!(elsewhere[0], 401, "{third_party:?}");
    }
    Ok(())
}

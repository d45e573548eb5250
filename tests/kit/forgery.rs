//! Requests that foreign pages send with the cookies of their visitors.

use std::collections::HashMap;

use policy_server::{http::StatusCode, testing::*};

use super::{PROFILES, logged_in, net};

#[tokio::test]
async fn a_form_of_another_site_changes_nothing() {
    for profile in PROFILES {
        let net = net();
        let browser = logged_in(&net, profile).await;
        let evil = browser.open("https://evil.example");
        let form = Fetch::form("https://api.shop.example/transfer", [("amount", "1000")]);
        let response = evil.fetch(&net, form).await;
        // `SameSite=Lax` keeps the cookie back, so the request is anonymous.
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{}", profile.name);
        let sent = net.requests();
        let arrived = sent.last().expect("the form");
        assert_eq!(arrived.headers["origin"], "https://evil.example");
        assert!(!arrived.headers.contains_key("cookie"), "{}", profile.name);
    }
}

/// Pages of the same site send the cookie, so the origin and the token decide.
#[tokio::test]
async fn a_form_of_the_same_site_without_the_token_changes_nothing() {
    let net = net();
    let browser = logged_in(&net, Profile::CHROMIUM).await;
    for (page, code) in
        [("https://blog.shop.example", "csrf.origin"), ("https://app.shop.example", "csrf.token")]
    {
        let form = Fetch::form("https://api.shop.example/transfer", [("amount", "1000")]);
        let response = browser.open(page).fetch(&net, form).await;
        assert_eq!(response.status(), 403);
        assert!(net.requests().last().is_some_and(|sent| sent.headers.contains_key("cookie")));
        let console = response.console().expect("words");
        assert!(console.contains(code), "{console}");
    }
}

#[tokio::test]
async fn a_sandboxed_frame_is_of_no_origin() {
    let net = net();
    let browser = logged_in(&net, Profile::CHROMIUM).await;
    let frame = browser.open("https://app.shop.example").frame("https://app.shop.example/ad");
    let frame = frame.sandboxed();
    for page in [frame.frame("https://app.shop.example"), frame] {
        let me = Fetch::get("https://api.shop.example/me").credentials(Include);
        assert!(page.fetch(&net, me).await.is_blocked());
        assert_eq!(net.requests().last().map(|sent| &sent.headers["origin"] == "null"), Some(true));
    }
}

/// The legitimate request of the shop's page.
#[tokio::test]
async fn the_page_of_the_shop_returns_the_token() {
    let net = net();
    let browser = logged_in(&net, Profile::FIREFOX).await;
    let page = browser.open("https://app.shop.example");
    let csrf = Fetch::get("https://api.shop.example/csrf").credentials(Include);
    let csrf: HashMap<String, String> = page.fetch(&net, csrf).await.json();
    let order = Fetch::put("https://api.shop.example/orders/7")
        .credentials(Include)
        .header("x-csrf-token", &csrf["token"]);
    let response = page.fetch(&net, order.clone()).await;
    assert_eq!(response.text(), "7");
    let form = Fetch::form("https://api.shop.example/transfer", [("csrf_token", &csrf["token"])]);
    assert_eq!(page.fetch(&net, form).await.text(), "transferred");
}

/// A page with `no-referrer`: its forms send `Origin: null`, and Fetch Metadata shows that they are
/// its own.
#[tokio::test]
async fn a_page_without_referrers_may_still_use_its_own_forms() {
    let net = net();
    let browser = logged_in(&net, Profile::CHROMIUM).await;
    let page = browser.open("https://api.shop.example/page");
    let page = page.referrer_policy(ReferrerPolicy::NoReferrer);
    let csrf: HashMap<String, String> = page.fetch(&net, Fetch::get("/csrf")).await.json();
    let form = Fetch::form("/transfer", [("csrf_token", &csrf["token"])]);
    assert_eq!(page.fetch(&net, form).await.text(), "transferred");
    let sent = net.requests();
    let form = sent.last().expect("the form");
    assert_eq!(form.headers["origin"], "null");
    assert_eq!(form.headers["sec-fetch-site"], "same-origin");
}
